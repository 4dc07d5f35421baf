//! What a simulation says of each pod, job and queue, read from its JSON.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What became of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodFate {
    /// It was bound to this node, with these shared cards.
    Bound(String, Vec<String>),
    /// It waits on this node for what is being released.
    Pipelined(String),
    /// It was evicted, for a job or for nobody in particular.
    Evicted(Option<String>),
    /// Waits for a place.
    Waits,
}

impl std::fmt::Display for PodFate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bound(node, cards) if cards.is_empty() => write!(f, "on {node}"),
            Self::Bound(node, cards) => write!(f, "on {node}, {}", cards.join(", ")),
            Self::Pipelined(node) => write!(f, "waits for room on {node}"),
            Self::Evicted(Some(by)) => write!(f, "evicted for {by}"),
            Self::Evicted(None) => f.write_str("evicted"),
            Self::Waits => f.write_str("waits"),
        }
    }
}

/// A pod and why it waits, if it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodOutcome {
    /// PodGroup of the pod, or the pod itself: `namespace/name`.
    pub job: String,
    /// What became of it in the end.
    pub fate: PodFate,
    /// Why it waits; empty where it does not.
    pub why: String,
}

/// A queue in the end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueOutcome {
    /// Name of the queue.
    pub name: String,
    /// Largest ratio of what it holds to what it deserves.
    pub share: f64,
    /// What it holds, as quantities.
    pub allocated: BTreeMap<String, String>,
}

/// What came of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutcome {
    /// Pods of which something became, by `namespace/name`.
    pub pods: BTreeMap<String, PodOutcome>,
    /// How many evictions there were; a pod of the same name may have come again and be bound.
    pub evictions: usize,
    /// Why jobs without pods wait, by PodGroup.
    pub held: BTreeMap<String, String>,
    /// Names of Jobs by those of their PodGroups.
    pub job_names: BTreeMap<String, String>,
    /// Queues by name.
    pub queues: BTreeMap<String, QueueOutcome>,
    /// Free cards, and those of them that are of use to no task, where the mix of tasks is known.
    pub cards: Option<(f64, f64)>,
}

impl RunOutcome {
    /// Reads the JSON of a simulation.
    ///
    /// # Errors
    /// It is no JSON, or that of something else.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let report: ReportText = serde_json::from_slice(bytes)
            .map_err(|error| format!("it is not the JSON of a simulation: {error}"))?;
        Ok(report.outcome())
    }
}

/// The keys of a simulation's JSON that are compared. What another version does not tell is empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportText {
    binds: Vec<BindText>,
    evictions: Vec<EvictionText>,
    pending: Vec<PendingText>,
    queues: Vec<QueueOutcome>,
    #[serde(default)]
    pipelined: Vec<PipelinedText>,
    #[serde(default)]
    pod_groups: Vec<GroupText>,
    #[serde(default)]
    jobs: Vec<JobText>,
    #[serde(default)]
    mix: Option<ReportMix>,
}

#[derive(Deserialize)]
struct BindText {
    pod: String,
    node: String,
    #[serde(default)]
    job: String,
    #[serde(default)]
    cards: Vec<String>,
}

#[derive(Deserialize)]
struct EvictionText {
    pod: String,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    job: String,
}

#[derive(Deserialize)]
struct PendingText {
    pod: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    job: String,
}

#[derive(Deserialize)]
struct PipelinedText {
    pod: String,
    node: String,
}

#[derive(Deserialize)]
struct GroupText {
    name: String,
    #[serde(default)]
    waiting: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobText {
    name: String,
    #[serde(default)]
    pod_group: String,
}

#[derive(Deserialize)]
struct ReportMix {
    #[serde(default)]
    cards: Vec<CardsText>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CardsText {
    free_cards: f64,
    useless_cards: f64,
}

impl ReportText {
    fn outcome(self) -> RunOutcome {
        let mut outcome = RunOutcome {
            evictions: self.evictions.len(),
            ..RunOutcome::default()
        };
        let mut put = |pod: String, job: String, fate, why| {
            let job = if job.is_empty() { pod.clone() } else { job };
            outcome.pods.insert(pod, PodOutcome { job, fate, why });
        };
        // Of several the last counts: a pod that went may have come again under its name.
        for one in self.evictions {
            put(one.pod, one.job, PodFate::Evicted(one.by), String::new());
        }
        for one in self.binds {
            let fate = PodFate::Bound(one.node, one.cards);
            put(one.pod, one.job, fate, String::new());
        }
        for one in self.pending {
            put(one.pod, one.job, PodFate::Waits, one.message);
        }
        for one in self.pipelined {
            if let Some(pod) = outcome.pods.get_mut(&one.pod) {
                pod.fate = PodFate::Pipelined(one.node);
            }
        }
        let held = self.pod_groups.into_iter();
        outcome.held = held
            .filter_map(|group| Some((group.name, group.waiting?)))
            .collect();
        let names = self.jobs.into_iter();
        outcome.job_names = names.map(|job| (job.pod_group, job.name)).collect();
        let queues = self.queues.into_iter();
        outcome.queues = queues.map(|queue| (queue.name.clone(), queue)).collect();
        outcome.cards = self.mix.map(|mix| {
            let sum = |of: fn(&CardsText) -> f64| mix.cards.iter().map(of).sum();
            (
                sum(|cards| cards.free_cards),
                sum(|cards| cards.useless_cards),
            )
        });
        outcome
    }
}
