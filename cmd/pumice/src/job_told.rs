//! A Job as its object tells of it, in the words of `pumice job view` and of the page alike.

use pumice_api::Job;
use pumice_api::job::{LifecyclePolicy, TaskSpec};
use pumice_page::{WorkloadTask, WorkloadView};

/// The phase as it is shown: a Job that nobody has looked at is Pending.
pub fn phase(job: &Job) -> String {
    match job.status.state.phase.as_str() {
        "" => "Pending".to_owned(),
        phase => phase.to_owned(),
    }
}

/// Pods of all tasks.
pub fn replicas(job: &Job) -> i64 {
    let tasks = job.spec.tasks.iter();
    tasks.map(|task| i64::from(task.replicas)).sum()
}

/// All that is told of it.
pub fn told(job: &Job) -> WorkloadView {
    let (meta, spec, status) = (&job.metadata, &job.spec, &job.status);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    WorkloadView {
        name: format!("{}/{}", text(&meta.namespace), text(&meta.name)),
        phase: phase(job),
        reason: status.state.reason.clone(),
        message: status.state.message.clone(),
        restarts: format!("{} of {}", status.retry_count, spec.max_retry),
        minimum: format!("{} of {}", spec.min_available, replicas(job)),
        policies: spec.policies.iter().map(policy).collect(),
        tasks: spec.tasks.iter().map(|one| task(job, one)).collect(),
    }
}

fn task(job: &Job, of: &TaskSpec) -> WorkloadTask {
    let containers = of.template.spec.iter().flat_map(|pod| &pod.containers);
    let counts = job.status.task_status_count.get(&of.name);
    WorkloadTask {
        name: of.name.clone(),
        replicas: of.replicas,
        minimum: of.min_available.unwrap_or(of.replicas),
        images: containers.filter_map(|one| one.image.clone()).collect(),
        pods: counts
            .map(|counts| counts.phase.clone())
            .unwrap_or_default(),
        policies: of.policies.iter().map(policy).collect(),
    }
}

/// `RestartJob on PodFailed, PodEvicted after 5m`, or `AbortJob on exit code 3`.
fn policy(of: &LifecyclePolicy) -> String {
    let event = std::iter::once(&of.event).filter(|event| !event.is_empty());
    let mut on: Vec<String> = Vec::new();
    for event in event.chain(&of.events) {
        if !on.contains(event) {
            on.push(event.clone());
        }
    }
    on.extend(of.exit_code.map(|code| format!("exit code {code}")));
    let after = of.timeout.as_ref();
    let after = after.map_or_else(String::new, |time| format!(" after {time}"));
    format!("{} on {}{after}", of.action, on.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_says_what_is_done_on_what() {
        let words = |text: &str| policy(&serde_json::from_str(text).expect("a policy"));
        for (text, told) in [
            (
                r#"{"action": "RestartJob", "event": "PodFailed", "events": ["PodEvicted", "PodFailed"], "timeout": "5m"}"#,
                "RestartJob on PodFailed, PodEvicted after 5m",
            ),
            (
                r#"{"action": "AbortJob", "exitCode": 3}"#,
                "AbortJob on exit code 3",
            ),
        ] {
            assert_eq!(words(text), told);
        }
    }
}
