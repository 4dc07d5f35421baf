//! When a pod whose Binding failed is placed again, and when one whose eviction failed may be evicted
//! (spec/07 §9.3).
//!
//! The first failure holds it back for a second, every further one for twice as long, up to a
//! minute. A pod that is on a node after all, or gone, starts over.

use pumice_model::{Delta, TaskStatus};
use rustc_hash::FxHashMap;

use crate::Engine;

/// Seconds a pod is held back after its first failure.
const FIRST_S: i64 = 1;

/// Most seconds it is held back.
const LONGEST_S: i64 = 60;

/// Failures in a row, by UID of the pod.
#[derive(Default)]
pub(crate) struct Backoffs(FxHashMap<String, u32>);

impl Backoffs {
    /// One more failure: seconds before the next try.
    fn add(&mut self, uid: &str) -> i64 {
        let count = self.0.entry(uid.to_owned()).or_default();
        let wait_s = FIRST_S << (*count).min(16);
        *count += 1;
        wait_s.min(LONGEST_S)
    }

    /// What failed has happened, or the pod is gone.
    pub fn forget(&mut self, uid: &str) {
        if !self.0.is_empty() {
            self.0.remove(uid);
        }
    }
}

impl Engine {
    /// A Binding has failed at `at_s`: what holds its pod back, if it was waiting for it.
    pub(crate) fn back_off(&mut self, uid: &str, message: &str, at_s: i64) -> Option<Delta> {
        let task = self.state.task_by_uid(uid)?;
        if self.state.task(task).status != TaskStatus::Binding {
            return None;
        }
        Some(Delta::PodHeld {
            uid: uid.to_owned(),
            message: message.to_owned(),
            until_s: at_s.saturating_add(self.bind_backoffs.add(uid)),
        })
    }

    /// An eviction that was decided has failed at `at_s`: what keeps its pod from being chosen again.
    pub(crate) fn spare(&mut self, uid: &str, message: &str, at_s: i64) -> Delta {
        Delta::PodSpared {
            uid: uid.to_owned(),
            message: message.to_owned(),
            until_s: at_s.saturating_add(self.evict_backoffs.add(uid)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_further_failure_holds_a_pod_back_for_twice_as_long() {
        let mut backoffs = Backoffs::default();
        let waits: Vec<i64> = (0..9).map(|_| backoffs.add("a")).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(backoffs.add("b"), 1);
        backoffs.forget("a");
        assert_eq!(backoffs.add("a"), 1);
    }
}
