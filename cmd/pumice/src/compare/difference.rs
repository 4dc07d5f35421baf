//! What differs between two outcomes: sums, then jobs, pods, nodes with their cards, queues.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::outcome::{PodFate, PodOutcome, RunOutcome};
use super::settings::SettingRow;

/// A number of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SumRow {
    /// What is counted.
    pub what: &'static str,
    /// How many in the first.
    pub a: f64,
    /// How many in the second.
    pub b: f64,
}

/// How far a job got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobSide {
    /// Pods that were bound.
    pub bound: usize,
    /// Pods that wait.
    pub waiting: usize,
    /// Pods that were evicted and did not come again.
    pub evicted: usize,
    /// Nodes that the bound ones are on.
    pub nodes: usize,
}

/// A job of which something else became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobRow {
    /// `namespace/name` of the Job, of the PodGroup where no Job has made it, or of a pod that has none.
    pub job: String,
    /// How far it got in the first.
    pub a: JobSide,
    /// How far it got in the second.
    pub b: JobSide,
    /// Why more of it waits in one of both.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A pod of which something else became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodRow {
    /// `namespace/name`.
    pub pod: String,
    /// What became of it in the first; empty where nothing was decided about it.
    pub a: String,
    /// What became of it in the second.
    pub b: String,
    /// Why it waits in one of both.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A node, or a card of one, that got another number of pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceRow {
    /// Node name.
    pub node: String,
    /// Name of the card; none for the node as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// Pods bound there in the first.
    pub a: usize,
    /// Pods bound there in the second.
    pub b: usize,
}

/// A queue that holds something else in the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueRow {
    /// Queue name.
    pub queue: String,
    /// Share in the first.
    pub share_a: f64,
    /// Share in the second.
    pub share_b: f64,
    /// Resources of which it holds another amount: what, how much in the first, how much in the second.
    pub allocated: Vec<(String, String, String)>,
}

/// All that differs; the lists are in the order of names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Settings of the configurations that differ, where configurations are compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingRow>,
    /// Sums, the same ones included.
    pub sums: Vec<SumRow>,
    /// Jobs of which something else became.
    pub jobs: Vec<JobRow>,
    /// Pods. Those of a job whose pods have the same places between them are not told.
    pub pods: Vec<PodRow>,
    /// Nodes, each followed by its cards.
    pub places: Vec<PlaceRow>,
    /// Queues that hold something else in the end.
    pub queues: Vec<QueueRow>,
}

impl Comparison {
    /// What differs between two outcomes.
    pub fn of(a: &RunOutcome, b: &RunOutcome) -> Self {
        let (mut jobs, mut pods) = (Vec::new(), Vec::new());
        let (of_a, of_b) = (by_job(a), by_job(b));
        let names: BTreeSet<&str> = of_a.keys().chain(of_b.keys()).copied().collect();
        for name in names {
            let [first, second] = [&of_a, &of_b].map(|all| all.get(name).unwrap_or(&NO_PODS));
            let held = (a.held.get(name), b.held.get(name));
            if places(first) == places(second) && held.0.is_some() == held.1.is_some() {
                continue;
            }
            jobs.push(job_row(a, b, name, (first, second)));
            pods.extend(pod_rows(first, second));
        }
        Self {
            settings: Vec::new(),
            sums: sums(a, b),
            jobs,
            pods,
            places: place_rows(a, b),
            queues: queue_rows(a, b),
        }
    }

    /// Whether anything became otherwise. Settings alone are no difference: it is what came of them that counts.
    pub fn differs(&self) -> bool {
        let lists = !self.jobs.is_empty() || !self.places.is_empty() || !self.queues.is_empty();
        lists || self.sums.iter().any(|sum| sum.a != sum.b)
    }
}

/// Pods of a job by name.
type JobPods<'a> = BTreeMap<&'a str, &'a PodOutcome>;

static NO_PODS: JobPods<'static> = BTreeMap::new();

/// Pods by job; jobs that are held without pods too.
fn by_job(outcome: &RunOutcome) -> BTreeMap<&str, JobPods<'_>> {
    let mut all: BTreeMap<&str, JobPods<'_>> = BTreeMap::new();
    for (name, pod) in &outcome.pods {
        all.entry(&pod.job).or_default().insert(name, pod);
    }
    for job in outcome.held.keys() {
        all.entry(job).or_default();
    }
    all
}

/// What became of the pods of a job, whichever of them it was.
fn places<'a>(pods: &JobPods<'a>) -> Vec<&'a PodFate> {
    let mut fates: Vec<&PodFate> = pods.values().map(|pod| &pod.fate).collect();
    fates.sort();
    fates
}

fn side(pods: &JobPods<'_>) -> JobSide {
    let mut side = JobSide::default();
    let mut nodes = BTreeSet::new();
    for pod in pods.values() {
        match &pod.fate {
            PodFate::Bound(node, _) => {
                side.bound += 1;
                nodes.insert(node);
            }
            PodFate::Evicted(_) => side.evicted += 1,
            PodFate::Pipelined(_) | PodFate::Waits => side.waiting += 1,
        }
    }
    side.nodes = nodes.len();
    side
}

fn job_row(
    a: &RunOutcome,
    b: &RunOutcome,
    name: &str,
    pods: (&JobPods<'_>, &JobPods<'_>),
) -> JobRow {
    let (first, second) = (side(pods.0), side(pods.1));
    let reason = |outcome: &RunOutcome, pods: &JobPods<'_>| {
        let of_pod = pods
            .values()
            .map(|pod| &pod.why)
            .find(|why| !why.is_empty());
        of_pod.or(outcome.held.get(name)).cloned()
    };
    let why = match first.bound > second.bound {
        true => reason(b, pods.1),
        false if first.bound < second.bound => reason(a, pods.0),
        false => None,
    };
    let made_by = a.job_names.get(name).or(b.job_names.get(name));
    JobRow {
        job: made_by.map_or(name, String::as_str).to_owned(),
        a: first,
        b: second,
        why: why.unwrap_or_default(),
    }
}

fn pod_rows(first: &JobPods<'_>, second: &JobPods<'_>) -> Vec<PodRow> {
    let names: BTreeSet<&str> = first.keys().chain(second.keys()).copied().collect();
    let text = |pod: Option<&&PodOutcome>| pod.map_or_else(String::new, |pod| pod.fate.to_string());
    let rows = names.into_iter().filter_map(|name| {
        let (a, b) = (first.get(name), second.get(name));
        let is_same = a.map(|pod| &pod.fate) == b.map(|pod| &pod.fate);
        let why = [a, b].into_iter().flatten().map(|pod| &pod.why);
        (!is_same).then(|| PodRow {
            pod: name.to_owned(),
            a: text(a),
            b: text(b),
            why: why
                .clone()
                .find(|why| !why.is_empty())
                .cloned()
                .unwrap_or_default(),
        })
    });
    rows.collect()
}

/// How many pods were bound to each node and each card.
fn bound(outcome: &RunOutcome) -> BTreeMap<(&str, Option<&str>), usize> {
    let mut counts = BTreeMap::new();
    for pod in outcome.pods.values() {
        if let PodFate::Bound(node, cards) = &pod.fate {
            *counts.entry((node.as_str(), None)).or_insert(0) += 1;
            for card in cards {
                *counts
                    .entry((node.as_str(), Some(card.as_str())))
                    .or_insert(0) += 1;
            }
        }
    }
    counts
}

fn place_rows(a: &RunOutcome, b: &RunOutcome) -> Vec<PlaceRow> {
    let (a, b) = (bound(a), bound(b));
    let places: BTreeSet<&(&str, Option<&str>)> = a.keys().chain(b.keys()).collect();
    let of = |all: &BTreeMap<_, usize>, place| all.get(place).copied().unwrap_or(0);
    let rows = places.into_iter().map(|place| PlaceRow {
        node: place.0.to_owned(),
        card: place.1.map(str::to_owned),
        a: of(&a, place),
        b: of(&b, place),
    });
    rows.filter(|row| row.a != row.b).collect()
}

fn sums(a: &RunOutcome, b: &RunOutcome) -> Vec<SumRow> {
    let count = |outcome: &RunOutcome, of: fn(&PodFate) -> bool| {
        outcome.pods.values().filter(|pod| of(&pod.fate)).count() as f64
    };
    let both = |what, of: fn(&PodFate) -> bool| SumRow {
        what,
        a: count(a, of),
        b: count(b, of),
    };
    let nodes = |outcome| {
        bound(outcome)
            .keys()
            .filter(|(_, card)| card.is_none())
            .count() as f64
    };
    let mut rows = vec![
        both("pods bound", |fate| matches!(fate, PodFate::Bound(..))),
        both("pods waiting", |fate| {
            matches!(fate, PodFate::Waits | PodFate::Pipelined(_))
        }),
        SumRow {
            what: "evictions",
            a: a.evictions as f64,
            b: b.evictions as f64,
        },
        SumRow {
            what: "nodes that pods were bound to",
            a: nodes(a),
            b: nodes(b),
        },
    ];
    if let (Some(first), Some(second)) = (a.cards, b.cards) {
        rows.push(SumRow {
            what: "free cards",
            a: first.0,
            b: second.0,
        });
        rows.push(SumRow {
            what: "free cards of use to no task",
            a: first.1,
            b: second.1,
        });
    }
    rows
}

fn queue_rows(a: &RunOutcome, b: &RunOutcome) -> Vec<QueueRow> {
    let names: BTreeSet<&String> = a.queues.keys().chain(b.queues.keys()).collect();
    let rows = names.into_iter().filter_map(|name| {
        let [first, second] = [a, b].map(|one| one.queues.get(name).cloned().unwrap_or_default());
        let keys: BTreeSet<&String> = first
            .allocated
            .keys()
            .chain(second.allocated.keys())
            .collect();
        let amount = |of: &BTreeMap<String, String>, key| {
            of.get(key).cloned().unwrap_or_else(|| "0".to_owned())
        };
        let amounts = keys.into_iter().map(|key| {
            let of = [&first, &second].map(|one| amount(&one.allocated, key));
            (key.clone(), of)
        });
        let allocated: Vec<(String, String, String)> = amounts
            .filter(|(_, [a, b])| a != b)
            .map(|(key, [a, b])| (key, a, b))
            .collect();
        (!allocated.is_empty() || first.share != second.share).then(|| QueueRow {
            queue: name.clone(),
            share_a: first.share,
            share_b: second.share,
            allocated,
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
