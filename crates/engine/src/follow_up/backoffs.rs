//! When a pod whose Binding failed is placed again, and when one whose eviction failed may be evicted
//! (spec/07 §9.3).
//!
//! The first failure holds it back for a second, every further one for twice as long, up to a
//! minute. A pod that is on a node after all, or gone, starts over.

use pumice_model::{Applied, PodChange, State, Task, TaskId, TaskStatus};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Seconds a pod is held back after its first failure.
const FIRST_S: i64 = 1;

/// Most seconds it is held back.
const LONGEST_S: i64 = 60;

/// Failures in a row, by pod.
#[derive(Clone, Default)]
pub(crate) struct Backoffs(FxHashMap<TaskId, u32>);

/// How often something failed in a row for a pod, as another engine is told of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct BackoffMemory {
    uid: String,
    failures: u32,
}

impl Backoffs {
    /// One more failure, at `at_s`: when the next try is.
    pub fn next_try_s(&mut self, task: TaskId, at_s: i64) -> i64 {
        let count = self.0.entry(task).or_default();
        let wait_s = FIRST_S << (*count).min(16);
        *count += 1;
        at_s.saturating_add(wait_s.min(LONGEST_S))
    }

    /// As another engine is told of them.
    pub fn keep(&self, state: &State) -> Vec<BackoffMemory> {
        let told = self.0.iter().filter_map(|(id, failures)| {
            let (uid, failures) = (id.uid(state.population())?.to_owned(), *failures);
            Some(BackoffMemory { uid, failures })
        });
        let mut told: Vec<BackoffMemory> = told.collect();
        told.sort_unstable();
        told
    }

    /// What another engine told of.
    pub fn restore(told: Vec<BackoffMemory>, state: &State) -> Self {
        let known = told.iter();
        let known = known
            .filter_map(|one| Some((TaskId::by_uid(state.population(), &one.uid)?, one.failures)));
        Self(known.collect())
    }

    /// A change was applied. Pods that are gone, or that were read and for which what failed has happened, start
    /// over.
    pub fn follow(
        &mut self,
        applied: &Applied,
        state: &State,
        has_happened: impl Fn(&Task) -> bool,
    ) {
        if self.0.is_empty() {
            return;
        }
        let over = match applied.pod {
            Some(PodChange::Gone { task, .. }) => Some(task),
            Some(PodChange::Read { task, .. }) => {
                let known = state.population().known_task(task);
                let is_over = known.is_some_and(|ix| has_happened(state.task(ix)));
                is_over.then_some(task)
            }
            _ => None,
        };
        if let Some(task) = over {
            self.0.remove(&task);
        }
    }
}

/// The pod is on a node, and not only by a decision of ours.
pub(crate) fn is_placed(task: &Task) -> bool {
    let is_told = !task.status.is_undecided() && task.status != TaskStatus::Binding;
    task.node.is_some() && is_told
}

#[cfg(test)]
mod tests {
    use pumice_model::Delta;
    use pumice_model::object::PodObject;

    use super::*;

    fn pod(name: &str, node: Option<&str>) -> Delta {
        Delta::PodApply(Box::new(PodObject {
            namespace: "ns".to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
            node: node.map(str::to_owned),
            ours: true,
            ..PodObject::default()
        }))
    }

    #[test]
    fn every_further_failure_holds_a_pod_back_for_twice_as_long_until_it_happens() {
        let mut state = State::new("default");
        let [a, b] = ["a", "b"].map(|name| {
            state.apply(pod(name, None));
            state
                .population()
                .task_id(state.population().task_by_uid(name).expect("known"))
        });
        let mut backoffs = Backoffs::default();
        let waits: Vec<i64> = (0..9).map(|_| backoffs.next_try_s(a, 100) - 100).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(backoffs.next_try_s(b, 0), 1);
        let applied = state.apply(pod("a", None));
        backoffs.follow(&applied, &state, |_| false);
        assert_eq!(backoffs.next_try_s(a, 0), 60, "it still waits");
        let applied = state.apply(pod("a", None));
        backoffs.follow(&applied, &state, |_| true);
        assert_eq!(backoffs.next_try_s(a, 0), 1);
        let applied = state.apply(Delta::PodDelete("b".to_owned()));
        backoffs.follow(&applied, &state, |_| false);
        assert_eq!(backoffs.0.len(), 1, "who is gone is forgotten");
    }
}
