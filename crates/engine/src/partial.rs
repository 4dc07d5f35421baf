//! Gangs that are bound in part: since when, and which of them may be given up.
//!
//! The engine completes them first (`Plugins::job_order`). What stays partial is given up after
//! a deadline (`give_up`), but only what this scheduler bound as that gang, and not a gang that
//! was on nodes as a whole and has lost members.

use pumice_model::object::{GroupPhase, GroupStatus};
use pumice_model::{Job, JobIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::give_up::Setbacks;

/// Partial gangs by job, with the UID that tells a job from a later one of the same index.
#[derive(Clone, Default)]
pub struct PartialGangs {
    since: FxHashMap<JobIx, (Box<str>, i64)>,
    /// UIDs of gangs with pods on nodes that once were there as a whole, or may have been.
    whole: FxHashMap<JobIx, Box<str>>,
    /// UIDs of the other gangs with pods on nodes.
    begun: FxHashMap<JobIx, Box<str>>,
    pub(crate) setbacks: Setbacks,
}

/// Type of the condition of a PodGroup in phase Unknown that was never on nodes as a whole: after a
/// restart nothing else tells.
pub(crate) const NEVER_WHOLE: &str = "BoundInPart";

fn says_never_whole(status: &GroupStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|condition| condition.kind == NEVER_WHOLE && condition.status == "True")
}

/// Pods that are on their node for certain.
fn on_nodes(job: &Job) -> i32 {
    job.count(TaskStatus::Bound) + job.count(TaskStatus::Running)
}

/// Members that are on their node for certain, by name.
pub(crate) fn members_on_nodes(state: &State, job: JobIx) -> Vec<TaskIx> {
    let there = |status| matches!(status, TaskStatus::Bound | TaskStatus::Running);
    let members = state.job(job).tasks.iter().copied();
    let mut found: Vec<TaskIx> = members
        .filter(|ix| there(state.task(*ix).gang_status()))
        .collect();
    found.sort_by_key(|ix| &state.task(*ix).name);
    found
}

/// Some member on a node is older than the PodGroup, which was made for pods that were there.
fn is_younger_than_its_pods(state: &State, ix: JobIx) -> bool {
    let created_s = state.job(ix).created_s;
    let members = members_on_nodes(state, ix).into_iter();
    members
        .map(|ix| state.task(ix).created_s)
        .any(|pod_s| pod_s < created_s)
}

impl PartialGangs {
    /// Looks at a job again at the end of a cycle, before its phase is computed anew.
    pub fn look_at(&mut self, state: &State, ix: JobIx, now_s: i64) {
        self.note_whole(state, ix);
        if !state.has_job(ix) || !state.job(ix).is_partial() {
            self.since.remove(&ix);
            return;
        }
        let uid = &state.job(ix).uid;
        let known = self.since.get(&ix).is_some_and(|(known, _)| known == uid);
        if !known {
            self.since.insert(ix, (uid.clone(), now_s));
        }
    }

    /// Whether a gang was there as a whole. The phase alone does not tell: it is Unknown both when a
    /// pod of a gang bound in part runs and when a gang that ran has lost members. So what was seen
    /// counts, and the status only for a gang that had pods on nodes when it was first seen: its phase,
    /// and the condition [`NEVER_WHOLE`] beside the phase Unknown. A PodGroup that came after such a pod
    /// has nothing to do with its Binding.
    fn note_whole(&mut self, state: &State, ix: JobIx) {
        let job = state.has_job(ix).then(|| state.job(ix));
        let Some(job) = job.filter(|job| job.min_available > 1) else {
            self.whole.remove(&ix);
            self.begun.remove(&ix);
            return;
        };
        let on_nodes = on_nodes(job);
        let is = |known: &FxHashMap<JobIx, Box<str>>| known.get(&ix) == Some(&job.uid);
        if on_nodes == 0 {
            self.whole.remove(&ix);
            self.begun.insert(ix, job.uid.clone());
        } else if on_nodes + job.completed() >= job.min_available {
            self.setbacks.forget(|| state.job_key(ix));
            self.begun.remove(&ix);
            self.whole.insert(ix, job.uid.clone());
        } else if !is(&self.whole) && !is(&self.begun) {
            let phase = job.status.phase;
            let fresh = matches!(phase, GroupPhase::Pending | GroupPhase::Inqueue);
            let begins = fresh && !is_younger_than_its_pods(state, ix);
            let known = match begins || says_never_whole(&job.status) {
                true => &mut self.begun,
                false => &mut self.whole,
            };
            known.insert(ix, job.uid.clone());
        }
    }

    /// Whether this scheduler bound the pods that are on nodes as members of the gang, which was
    /// never there as a whole. Not so of pods whose PodGroup came after their Binding, which were
    /// bound one by one, nor of pods with another `schedulerName`.
    pub fn was_bound_in_part(&self, state: &State, ix: JobIx) -> bool {
        let begun = self.begun.get(&ix) == Some(&state.job(ix).uid);
        let mut members = state.job(ix).tasks.iter().map(|task| state.task(*task));
        begun && !members.any(|task| task.joined_bound || !task.ours)
    }

    /// Forgets all of them, unless jobs still are gangs.
    pub fn forget_unless(&mut self, gangs: bool) {
        if !gangs {
            let setbacks = std::mem::take(&mut self.setbacks);
            *self = Self {
                setbacks,
                ..Self::default()
            };
        }
    }

    /// Every partial gang and when it was first seen as one, by job index.
    pub fn all(&self) -> Vec<(JobIx, i64)> {
        let mut all: Vec<_> = self.since.iter().map(|(ix, (_, s))| (*ix, *s)).collect();
        all.sort_unstable();
        all
    }
}
