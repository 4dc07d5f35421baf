//! Tells PodGroups that wait which nodes more would let them run (`--node-advice`).
//!
//! ```text
//!  every so often, while this replica leads ─► a copy ─► the PodGroup whose turn it is ─► the search of `pumice plan`
//!        event NodesWouldHelp on the PodGroup ◄─ what is news ─┘ └─► how many nodes in all: a metric
//! ```
//!
//! One PodGroup is looked at a time, for as long as a plan may take. Turns go round by namespace, so that nobody who makes
//! many PodGroups keeps those of others from theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pumice_admin::metrics::Metrics;
use pumice_cluster::ObjectRef;
use pumice_cluster::effects::{Effects, Write};
use pumice_cluster::lease::TermWatch;
use pumice_engine::Engine;
use pumice_model::{JobIx, TaskStatus};
use pumice_plan::{Patience, PlanBounds, PlannedJob, Remedy, helpful_nodes};
use tokio::sync::mpsc;

use crate::copied_answers::Questions;
use crate::requests::{CopiedGround, DecideRequest};

/// Reason of the event.
const REASON: &str = "NodesWouldHelp";
/// What still holds is told again after that long, in seconds: less than the API server keeps events.
const TELL_AGAIN_S: i64 = 1800;

/// What is needed to tell.
pub struct NodeAdvice {
    /// Who makes copies.
    pub questions: Questions,
    /// The deciding thread.
    pub core: mpsc::Sender<DecideRequest>,
    /// Writes events.
    pub effects: Arc<Effects>,
    /// Only a leader tells.
    pub term: TermWatch,
    /// Where the number of nodes is set.
    pub metrics: Arc<Metrics>,
    /// The pause between two looks.
    pub pause: Duration,
}

/// A PodGroup that waits for nodes.
#[derive(Clone, Debug, PartialEq)]
struct WaitingGroup {
    job: PlannedJob,
    uid: String,
    about: ObjectRef,
}

/// What was found out of a PodGroup.
#[derive(Clone, Debug, Default)]
struct LastAdvice {
    namespace: String,
    /// Number of the look.
    look: u64,
    nodes: usize,
    /// What was told last, and when.
    told: Option<(String, i64)>,
}

/// What was found out of those that wait, by UID.
#[derive(Debug, Default)]
struct AdviceBook {
    looks: u64,
    known: BTreeMap<String, LastAdvice>,
}

impl AdviceBook {
    /// Whose turn it is of those that wait; the others are forgotten.
    fn next(&mut self, waiting: &[WaitingGroup]) -> Option<WaitingGroup> {
        let there: BTreeSet<&str> = waiting.iter().map(|group| group.uid.as_str()).collect();
        self.known.retain(|uid, _| there.contains(uid.as_str()));
        let mut namespaces: BTreeMap<&str, u64> = BTreeMap::new();
        for known in self.known.values() {
            let last = namespaces.entry(&known.namespace).or_default();
            *last = known.look.max(*last);
        }
        let look = |uid: &str| self.known.get(uid).map_or(0, |known| known.look);
        let turn = |group: &&WaitingGroup| {
            let namespace = group.job.namespace.as_str();
            let of_namespace = namespaces.get(namespace).copied().unwrap_or(0);
            (of_namespace, look(&group.uid), group.uid.clone())
        };
        waiting.iter().min_by_key(turn).cloned()
    }

    /// Notes what was found, and says what is to be told of it.
    fn note(&mut self, group: &WaitingGroup, found: Option<&Remedy>, now_s: i64) -> Option<String> {
        self.looks += 1;
        let known = self.known.entry(group.uid.clone()).or_default();
        known.namespace.clone_from(&group.job.namespace);
        known.look = self.looks;
        known.nodes = match found {
            Some(Remedy::MoreNodes { count, .. }) => *count,
            _ => 0,
        };
        let Some(remedy) = found else {
            known.told = None;
            return None;
        };
        let text = format!("tried, and enough alone: {remedy}");
        let stands = |(told, at_s): &(String, i64)| *told == text && now_s - at_s < TELL_AGAIN_S;
        if known.told.as_ref().is_some_and(stands) {
            return None;
        }
        known.told = Some((text.clone(), now_s));
        Some(text)
    }

    /// Nodes with which those that wait would run, each alone.
    fn nodes(&self) -> usize {
        self.known.values().map(|known| known.nodes).sum()
    }
}

impl NodeAdvice {
    /// Looks and tells until the process ends.
    pub async fn run(self) {
        let book = Arc::new(Mutex::new(AdviceBook::default()));
        loop {
            tokio::time::sleep(self.pause).await;
            if !self.term.is_leader() {
                self.metrics.helpful_nodes(0);
                continue;
            }
            let (limit, of_look) = (self.questions.limit(), Arc::clone(&book));
            let answer = move |ground: CopiedGround, is_there: &AtomicBool| {
                let patience = crate::copied_answers::until(is_there, limit);
                Ok(look(&of_look, ground, &patience))
            };
            // Otherwise there is no answer at the moment: the next look may have one.
            let Ok(Ok((news, nodes))) = self.questions.answer(&self.core, answer).await else {
                continue;
            };
            self.metrics.helpful_nodes(nodes);
            if let Some((about, message)) = news {
                let event = Write::Event {
                    about,
                    warning: false,
                    reason: REASON.to_owned(),
                    message,
                };
                self.effects.submit_in(&self.term, event);
            }
        }
    }
}

/// Looks at the PodGroup whose turn it is: what is to be told of it, and the nodes of all.
fn look(
    book: &Mutex<AdviceBook>,
    ground: CopiedGround,
    patience: Patience<'_>,
) -> (Option<(ObjectRef, String)>, usize) {
    let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
    let (config, now_s) = (ground.config, ground.now_s);
    let mut engine = ground.fork.wake(&config);
    let before = engine.fork();
    engine.cycle(now_s);
    let waiting = waiting_groups(&engine);
    let mut news = None;
    if let Some(group) = book.next(&waiting) {
        let (job, bounds) = (group.job.clone(), PlanBounds::default());
        let found = helpful_nodes(before, &config, job, now_s, bounds, patience);
        let text = book.note(&group, found.ok().flatten().as_ref(), now_s);
        news = text.map(|text| (group.about, text));
    }
    (news, book.nodes())
}

/// PodGroups with pods for which more nodes may help.
fn waiting_groups(engine: &Engine) -> Vec<WaitingGroup> {
    let state = engine.state();
    let waits = |job: &JobIx| {
        let record = state.job(*job);
        let mut tasks = record.tasks.iter().copied();
        let first = tasks.find(|task| state.task(*task).status == TaskStatus::Pending);
        let why = first.and_then(|task| engine.known().why_pending(task));
        !record.is_ready() && why.is_some_and(|why| why.reason == "Unschedulable")
    };
    let jobs = state.journal().waiting_jobs().into_iter().filter(waits);
    let group = |job: JobIx| {
        let about = pumice_decider::group_ref(engine, job)?;
        let record = state.job(job);
        Some(WaitingGroup {
            job: PlannedJob {
                namespace: about.namespace.clone(),
                name: record.name.to_string(),
            },
            uid: record.uid.to_string(),
            about,
        })
    };
    jobs.filter_map(group).collect()
}

#[cfg(test)]
mod tests;
