//! Gangs that are bound in part: since when, for those who set them a deadline.
//!
//! The engine completes them first (`PluginChain::job_order`); giving one up is not its decision.

use pumice_model::{JobIx, State};
use rustc_hash::FxHashMap;

/// Partial gangs by job, with the UID that tells a job from a later one of the same index.
#[derive(Default)]
pub struct PartialGangs {
    since: FxHashMap<JobIx, (Box<str>, i64)>,
}

impl PartialGangs {
    /// Looks at a job again at the end of a cycle.
    pub fn look_at(&mut self, state: &State, ix: JobIx, now_s: i64) {
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

    /// Forgets all of them, unless jobs still are gangs.
    pub fn forget_unless(&mut self, gangs: bool) {
        if !gangs {
            self.since.clear();
        }
    }

    /// Every partial gang and when it was first seen as one, by job index.
    pub fn all(&self) -> Vec<(JobIx, i64)> {
        let mut all: Vec<_> = self.since.iter().map(|(ix, (_, s))| (*ix, *s)).collect();
        all.sort_unstable();
        all
    }
}
