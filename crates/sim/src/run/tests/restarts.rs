//! Jobs that restart: the loop waits for what their controller waits for, and says why they wait.

use super::*;

/// A running pod of Job `old`, and how it has ended.
fn failed_pod() -> &'static str {
    "\
kind: Pod
apiVersion: v1
metadata:
  name: j-main-0
  annotations: {scheduling.k8s.io/group-name: j, volcano.sh/job-name: j, volcano.sh/task-spec: main, volcano.sh/task-index: \"0\"}
spec:
  schedulerName: volcano
  nodeName: n1
  containers:
  - {name: main, resources: {requests: {cpu: 1}}}
  - {name: side}
status:
  phase: Failed
  containerStatuses:
  - {name: main, state: {terminated: {exitCode: 0}}}
  - {name: side, state: {terminated: {exitCode: 7}}}
---
"
}

/// [`JOB`] of one pod that runs already, with a policy.
fn job(policy: &str) -> String {
    JOB.replace(
        "minAvailable: 2",
        &format!("minAvailable: 1\n  policies: [{policy}]"),
    )
    .replace("replicas: 2", "replicas: 1")
    .replace(
        "---\n",
        "status: {state: {phase: Running}, minAvailable: 1, running: 1}\n---\n",
    )
}

fn line(report: &Report) -> (&str, &str, &str) {
    let job = report.jobs.first().expect("a Job");
    (&job.phase, &job.reason, &job.message)
}

#[test]
fn a_job_that_restarts_is_made_anew_and_bound_again() {
    for (action, begins) in [
        ("RestartJob", "pod j-main-0"),
        ("RestartTask", "restarting task main: pod j-main-0"),
        ("RestartPod", "restarting: pod j-main-0"),
    ] {
        let policy = format!("{{event: PodFailed, action: {action}}}");
        let text = [NODE, &job(&policy), failed_pod()].concat();
        let report = run(&text, Mode::FixedPoint);
        let bound: Vec<&str> = report.binds.iter().map(|bind| &*bind.pod).collect();
        assert_eq!(bound, ["default/j-main-0"], "{action}");
        let message = format!(
            "{begins} failed with exit code 7 of container side (policy of the Job: event PodFailed, \
             action {action})"
        );
        assert_eq!(line(&report), ("Running", action, message.as_str()));
    }
}

#[test]
fn a_job_that_restarts_without_room_waits_with_its_reason() {
    let node = NODE.replace("cpu: \"4\"", "cpu: 500m");
    let policy = "{exitCode: 7, action: RestartJob}";
    let text = [node.as_str(), &job(policy), failed_pod()].concat();
    let report = run(&text, Mode::FixedPoint);
    assert_eq!(report.binds, []);
    let (phase, reason, message) = line(&report);
    assert_eq!((phase, reason), ("Pending", "RestartJob"));
    let said =
        "pod j-main-0 failed with exit code 7 of container side (policy of the Job: exitCode 7";
    assert!(message.starts_with(said), "{message}");
    assert!(report.jobs[0].waits());
}

#[test]
fn a_preempted_job_says_who_went_for_whom() {
    let config = parse(PREEMPT_CONF, &pumice_engine::REGISTRY).config;
    let report = run_under(&config.expect("valid"), &somebody_goes(), Mode::FixedPoint);
    let old = report.jobs.iter().find(|job| job.name == "default/old");
    let old = old.expect("the Job");
    assert_eq!(old.reason, "PodEvicted");
    let said =
        "pod old-main-1 was evicted by scheduler volcano: preempt for PodGroup default/new, at ";
    assert!(old.message.starts_with(said), "{}", old.message);
}

#[test]
fn tasks_that_wait_for_others_start_without_a_minimum_and_say_why_they_never_will_with_one() {
    let tasks = "  - replicas: 1
    name: ps
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}
  - replicas: 2
    name: worker
    dependsOn: {name: [ps]}
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}
";
    let head = "\
kind: Job
apiVersion: batch.volcano.sh/v1alpha1
metadata: {name: j}
spec:
  schedulerName: volcano
";
    let report = run(
        &[NODE, head, "  tasks:\n", tasks].concat(),
        Mode::FixedPoint,
    );
    assert_eq!((report.binds.len(), line(&report).0), (3, "Running"));
    let text = [NODE, head, "  minAvailable: 3\n  tasks:\n", tasks].concat();
    let report = run(&text, Mode::FixedPoint);
    let (phase, reason, message) = line(&report);
    assert_eq!((phase, reason), ("Pending", "DependencyDeadlock"));
    assert!(message.contains("write spec.minAvailable: 1"), "{message}");
}
