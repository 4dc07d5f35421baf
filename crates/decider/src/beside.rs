//! A dry run beside the scheduler that writes: for each pod that both saw waiting, where either would have it, and
//! since when.
//!
//! ```text
//!  decisions of a cycle ─► BesideBook::decided ─┐
//!  changes, before they are applied ─► see ─────┴► same node, another node, theirs alone (and why not ours), ours alone
//! ```
//!
//! A pod that had its node when it was first seen is not compared, nor one that had it before a cycle ran here. Sums are
//! by queue, rows the newest [`MAX_ROWS`], and of pods that wait for the other scheduler at most `MAX_OPEN` are kept, so
//! many pods of one namespace can push rows of others out, and no more.

use std::collections::{BTreeMap, VecDeque};

use pumice_engine::view::{Ask, Time, View};
use pumice_engine::{Decisions, Engine};
use pumice_model::object::PodObject;
use pumice_model::{Delta, TaskIx, TaskStatus};
use serde::{Deserialize, Serialize};

/// Rows that are kept, newest first.
pub const MAX_ROWS: usize = 1_000;
/// Pods and evictions that are decided here and not there.
const MAX_OPEN: usize = 10_000;
/// Queues with sums of their own; pods of others are summed together.
const MAX_QUEUES: usize = 1_000;
/// Where pods of further queues are summed.
const OTHER_QUEUES: &str = "(others)";

/// What became of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BesideVerdict {
    /// Both chose the same node.
    SameNode,
    /// They chose another node.
    OtherNode,
    /// They gave it a node, and it would have waited here.
    TheirsAlone,
    /// It would have a node here, and waits there.
    OursAlone,
    /// It would be evicted here.
    Evicted,
}

/// One pod under both schedulers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BesideRow {
    /// What became of it.
    pub verdict: BesideVerdict,
    /// `namespace/name`.
    pub pod: String,
    /// `namespace/name` of its PodGroup, or of the pod that has none.
    pub job: String,
    /// Name of the queue.
    pub queue: String,
    /// Node chosen here; of an evicted pod, the one it would leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// Node chosen there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theirs: Option<String>,
    /// When it was first decided here, else seen there.
    pub since: Option<Time>,
    /// Seconds by which it has its node there later than here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_s: Option<i64>,
    /// Why it would have waited here, or would be evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How many pods became what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BesideSums {
    /// Pods with the same node.
    pub same_node: u64,
    /// Pods with another node.
    pub other_node: u64,
    /// Pods that have a node there alone.
    pub theirs_alone: u64,
    /// Pods that have a node there before any cycle ran here with them.
    pub theirs_first: u64,
    /// Pods that would have a node here alone, now.
    pub ours_alone: u64,
    /// Evictions decided here.
    pub evicted: u64,
    /// Pods of these that have ended or are being deleted since, for whatever reason.
    pub evicted_and_gone: u64,
    /// Seconds by which pods had their node there later than here, together.
    pub later_s: i64,
}

/// All that is known of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BesideView {
    /// Since when both are looked at.
    pub since: Option<Time>,
    /// Sums of all queues.
    pub sums: BesideSums,
    /// Sums of each queue.
    pub queues: BTreeMap<String, BesideSums>,
    /// Those that wait there first, then the newest rows.
    pub rows: Vec<BesideRow>,
    /// Decisions of which nothing further is told, since too many were open.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_kept: u64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A decision of ours that is not followed yet.
struct Open {
    row: BesideRow,
    at_s: i64,
}

/// What a dry run and the other scheduler did.
#[derive(Default)]
pub struct BesideBook {
    since_s: Option<i64>,
    /// Pods with a node here and none there, by UID.
    open: BTreeMap<String, Open>,
    /// Pods that were seen waiting, by UID: after how many cycles.
    waiting: BTreeMap<String, u64>,
    /// Pods whose eviction was decided here, by UID: their queue.
    evicted: BTreeMap<String, String>,
    queues: BTreeMap<String, BesideSums>,
    rows: VecDeque<BesideRow>,
    not_kept: u64,
}

impl BesideBook {
    /// What a cycle decided at `now_s`, seconds since the epoch.
    pub fn decided(&mut self, engine: &Engine, decisions: &Decisions, now_s: i64) {
        self.since_s.get_or_insert(now_s);
        for bind in &decisions.binds {
            let uid = engine.state().task(bind.task).uid.to_string();
            let node = engine.state().nodes().object(bind.node).name.clone();
            if let Some(open) = self.open.get_mut(&uid) {
                open.row.ours = Some(node);
            } else if self.open.len() < MAX_OPEN {
                let mut row = row(engine, bind.task, BesideVerdict::OursAlone, now_s);
                row.ours = Some(node);
                self.open.insert(uid, Open { row, at_s: now_s });
            } else {
                self.not_kept += 1;
            }
        }
        for eviction in &decisions.evictions {
            let task = engine.state().task(eviction.task);
            let uid = task.uid.to_string();
            if self.evicted.contains_key(&uid) {
                continue;
            }
            if self.evicted.len() == MAX_OPEN {
                self.not_kept += 1;
                continue;
            }
            let mut row = row(engine, eviction.task, BesideVerdict::Evicted, now_s);
            row.ours = task
                .node
                .map(|node| engine.state().nodes().object(node).name.clone());
            let population = engine.state().population();
            let by = eviction.by.map(|job| population.job_key(job));
            row.why = Some(match by {
                Some(job) => format!("{} for {job}", eviction.reason),
                None => eviction.reason.to_owned(),
            });
            self.sums_of(&row.queue).evicted += 1;
            self.evicted.insert(uid, row.queue.clone());
            self.keep(row);
        }
    }

    /// What has happened, before the engine knows it.
    pub fn see(&mut self, deltas: &[Delta], engine: &Engine, now_s: i64) {
        for delta in deltas {
            match delta {
                Delta::PodApply(pod) => {
                    if pod.deleting {
                        self.gone(&pod.uid);
                    } else if let Some(node) = &pod.node {
                        self.bound(pod, node, engine, now_s);
                        self.waiting.remove(&pod.uid);
                    } else if pod.ours && self.waiting.len() < MAX_OPEN {
                        let cycles = engine.cycles();
                        self.waiting.entry(pod.uid.clone()).or_insert(cycles);
                    }
                }
                Delta::PodDelete(uid) => self.gone(uid),
                _ => {}
            }
        }
    }

    fn gone(&mut self, uid: &str) {
        self.waiting.remove(uid);
        self.open.remove(uid);
        if let Some(queue) = self.evicted.remove(uid) {
            self.sums_of(&queue).evicted_and_gone += 1;
        }
    }

    fn bound(&mut self, pod: &PodObject, node: &str, engine: &Engine, now_s: i64) {
        if let Some(Open { mut row, at_s }) = self.open.remove(&pod.uid) {
            let later_s = now_s - at_s;
            let is_same = row.ours.as_deref() == Some(node);
            row.verdict = match is_same {
                true => BesideVerdict::SameNode,
                false => BesideVerdict::OtherNode,
            };
            row.theirs = Some(node.to_owned());
            row.later_s = Some(later_s);
            let sums = self.sums_of(&row.queue);
            match is_same {
                true => sums.same_node += 1,
                false => sums.other_node += 1,
            }
            sums.later_s += later_s;
            self.keep(row);
            return;
        }
        // Waiting until now, in our eyes.
        let Some(task) = engine.state().population().task_by_uid(&pod.uid) else {
            return;
        };
        if !pod.ours || engine.state().task(task).status != TaskStatus::Pending {
            return;
        }
        let mut row = row(engine, task, BesideVerdict::TheirsAlone, now_s);
        if self.waiting.get(&pod.uid) == Some(&engine.cycles()) {
            self.sums_of(&row.queue).theirs_first += 1;
            return;
        }
        row.theirs = Some(node.to_owned());
        row.why = why_it_waits(engine, pod);
        self.sums_of(&row.queue).theirs_alone += 1;
        self.keep(row);
    }

    fn sums_of(&mut self, queue: &str) -> &mut BesideSums {
        sums_in(&mut self.queues, queue)
    }

    fn keep(&mut self, row: BesideRow) {
        self.rows.push_front(row);
        self.rows.truncate(MAX_ROWS);
    }

    /// All of it.
    pub fn view(&self) -> BesideView {
        let mut queues = self.queues.clone();
        for open in self.open.values() {
            sums_in(&mut queues, &open.row.queue).ours_alone += 1;
        }
        let mut sums = BesideSums::default();
        for one in queues.values() {
            sums.same_node += one.same_node;
            sums.other_node += one.other_node;
            sums.theirs_alone += one.theirs_alone;
            sums.theirs_first += one.theirs_first;
            sums.ours_alone += one.ours_alone;
            sums.evicted += one.evicted;
            sums.evicted_and_gone += one.evicted_and_gone;
            sums.later_s += one.later_s;
        }
        let mut open: Vec<&Open> = self.open.values().collect();
        open.sort_by_key(|open| open.at_s);
        let rows = open.into_iter().map(|open| &open.row);
        let rows = rows.chain(&self.rows).take(MAX_ROWS).cloned().collect();
        BesideView {
            since: self.since_s.and_then(Time::of),
            sums,
            queues,
            rows,
            not_kept: self.not_kept,
        }
    }
}

/// Sums of a queue, or of all those for which there is no room.
fn sums_in<'q>(queues: &'q mut BTreeMap<String, BesideSums>, queue: &str) -> &'q mut BesideSums {
    let has_own = queues.contains_key(queue) || queues.len() < MAX_QUEUES;
    let name = if has_own { queue } else { OTHER_QUEUES };
    queues.entry(name.to_owned()).or_default()
}

fn row(engine: &Engine, task: TaskIx, verdict: BesideVerdict, now_s: i64) -> BesideRow {
    let state = engine.state();
    let population = state.population();
    let job = state.task(task).job;
    let queue = job.map(|job| state.names().text(state.job(job).queue_name).to_owned());
    BesideRow {
        verdict,
        pod: population.task_key(task),
        job: match job {
            Some(job) => population.job_key(job),
            None => population.task_key(task),
        },
        queue: queue.unwrap_or_default(),
        ours: None,
        theirs: None,
        since: Time::of(now_s),
        later_s: None,
        why: None,
    }
}

/// Why a pod waits here.
fn why_it_waits(engine: &Engine, pod: &PodObject) -> Option<String> {
    let ask = Ask::Pod {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
    };
    match engine.known().view(&ask) {
        Ok(View::Pod(view)) => view.summary.or(view.message),
        _ => None,
    }
}
