//! What is odd about a Job that runs all the same.

use pumice_api::Job;
use pumice_api::job::LifecyclePolicy;

use super::plugins;
use super::problem::JobDoubt;

/// The event that says how long a pod may be pending.
const PENDING: &str = "PodPending";

/// What is odd about a defaulted Job.
pub fn doubts(job: &Job) -> Vec<JobDoubt> {
    let mut doubts = Vec::new();
    policies("spec", &job.spec.policies, &mut doubts);
    for (at, task) in job.spec.tasks.iter().enumerate() {
        policies(&format!("spec.tasks[{at}]"), &task.policies, &mut doubts);
    }
    doubts.extend(plugins::doubts(job));
    doubts
}

/// A pod is pending as soon as it is made, so that without a timeout the event says nothing.
fn policies(owner: &str, policies: &[LifecyclePolicy], doubts: &mut Vec<JobDoubt>) {
    for (at, policy) in policies.iter().enumerate() {
        let mut events = policy.events.iter().chain([&policy.event]);
        if policy.timeout.is_none() && events.any(|event| event == PENDING) {
            doubts.push(JobDoubt {
                path: format!("{owner}.policies[{at}]"),
                message: "PodPending without timeout never acts: every pod is pending at first"
                    .to_owned(),
                help: "say how long a pod may be pending, for example timeout: 10m".to_owned(),
            });
        }
    }
}
