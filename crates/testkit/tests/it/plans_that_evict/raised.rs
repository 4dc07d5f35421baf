//! Whoever was helped is helped as well when it matters more: a job for which others went, and that got all it
//! needs, gets it too with a higher priority.

use pumice_model::object::{GroupObject, PriorityClassObject};
use pumice_model::{Delta, JobIx};
use pumice_testkit::generate::full_cluster;

use super::{CYCLES, Run, SETTLED, placed};
use crate::run;

const CASES: u64 = 300;

/// A class above all that are made.
const RAISED: &str = "raised";
const RAISED_VALUE: i32 = 1_000_000;

/// So many helped jobs of a cluster are raised, one at a time.
const MAX_RAISED: usize = 2;

impl Run {
    /// Follows the cluster until it has settled; keys of the jobs for which others went, each once, in order.
    fn follow(&mut self) -> Vec<String> {
        let mut helped = Vec::new();
        for cycle in 0..CYCLES + SETTLED {
            let decisions = self.cycle(cycle);
            let by = decisions
                .evictions
                .iter()
                .filter_map(|eviction| eviction.by);
            for key in by.map(|job| self.engine.state().population().job_key(job)) {
                if !helped.contains(&key) {
                    helped.push(key);
                }
            }
        }
        helped
    }

    fn job(&self, key: &str) -> Option<JobIx> {
        let (namespace, name) = key.split_once('/')?;
        self.engine.state().population().job_by_key(namespace, name)
    }

    /// The job has all the pods it needs.
    fn has_all(&self, key: &str) -> bool {
        let state = self.engine.state();
        self.job(key).is_some_and(|job| {
            let min = usize::try_from(state.job(job).min_available).unwrap_or(0);
            placed(state, job) >= min
        })
    }
}

/// A copy of the objects in which one PodGroup is of the highest class.
fn raised(objects: &[Delta], key: &str) -> Option<Vec<Delta>> {
    let is_of = |group: &GroupObject| format!("{}/{}", group.namespace, group.name) == key;
    let mut objects = objects.to_vec();
    let group = objects.iter_mut().find_map(|delta| match delta {
        Delta::GroupApply(group) if is_of(group) => Some(group),
        _ => None,
    })?;
    group.priority_class = RAISED.to_owned();
    let class = PriorityClassObject {
        name: RAISED.to_owned(),
        value: RAISED_VALUE,
        ..PriorityClassObject::default()
    };
    objects.insert(0, Delta::PriorityClassApply(class));
    Some(objects)
}

#[test]
fn a_job_that_was_helped_is_helped_with_a_higher_priority_too() {
    let mut count = 0;
    for seed in run::seeds(0, CASES) {
        let objects = full_cluster(seed);
        let mut before = Run::new(seed, &objects);
        let helped = before.follow();
        let served = helped.iter().filter(|key| before.has_all(key));
        for key in served.take(MAX_RAISED) {
            let Some(objects) = raised(&objects, key) else {
                continue;
            };
            let mut after = Run::new(seed, &objects);
            after.follow();
            assert!(after.has_all(key), "{key} is not served: {}", after.context);
            count += 1;
        }
    }
    // The cases are not trivial.
    assert!(count > CASES / 5, "{count} were raised");
}
