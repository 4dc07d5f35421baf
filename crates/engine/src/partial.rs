//! Gangs that are bound in part: since when, for those who set them a deadline.
//!
//! The engine completes them first (`PluginChain::job_order`); giving one up is not its decision.

use pumice_model::object::GroupPhase;
use pumice_model::{Job, JobIx, State, TaskStatus};
use rustc_hash::FxHashMap;

/// Partial gangs by job, with the UID that tells a job from a later one of the same index.
#[derive(Default)]
pub struct PartialGangs {
    since: FxHashMap<JobIx, (Box<str>, i64)>,
    /// UIDs of gangs with pods on nodes that once were there as a whole, or may have been.
    whole: FxHashMap<JobIx, Box<str>>,
    /// UIDs of the other gangs with pods on nodes.
    begun: FxHashMap<JobIx, Box<str>>,
}

/// Pods that are on their node for certain.
fn on_nodes(job: &Job) -> i32 {
    job.count(TaskStatus::Bound) + job.count(TaskStatus::Running)
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
    /// counts, and the phase only for a gang that had pods on nodes when it was first seen.
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
            self.begun.remove(&ix);
            self.whole.insert(ix, job.uid.clone());
        } else if !is(&self.whole) && !is(&self.begun) {
            let phase = job.status.phase;
            let fresh = matches!(phase, GroupPhase::Pending | GroupPhase::Inqueue);
            let known = if fresh {
                &mut self.begun
            } else {
                &mut self.whole
            };
            known.insert(ix, job.uid.clone());
        }
    }

    /// Whether a gang may have run as a whole.
    pub fn may_have_run(&self, state: &State, ix: JobIx) -> bool {
        self.begun.get(&ix) != Some(&state.job(ix).uid)
    }

    /// Forgets all of them, unless jobs still are gangs.
    pub fn forget_unless(&mut self, gangs: bool) {
        if !gangs {
            *self = Self::default();
        }
    }

    /// Every partial gang and when it was first seen as one, by job index.
    pub fn all(&self) -> Vec<(JobIx, i64)> {
        let mut all: Vec<_> = self.since.iter().map(|(ix, (_, s))| (*ix, *s)).collect();
        all.sort_unstable();
        all
    }
}
