//! Every event of a lifecycle policy with every action, of a task and of the Job.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{Lab, LabGuard};
use serde_json::{Value, json};

use super::{JOBS, both, end_pod, look, pod_uids, runs, two_tasks, wait_job, wait_phase};
use crate::{LIMIT, LONG, PODS};

const ACTIONS: [&str; 7] = [
    "AbortJob",
    "CompleteJob",
    "TerminateJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
];

/// What happens to pod `a-0`, or to task `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    Fails,
    FailsWith(i32),
    IsDeleted,
    TaskSucceeds,
}

/// One Job with one policy.
struct Case {
    name: String,
    cause: Happening,
    action: &'static str,
    policy: Value,
    is_of_task: bool,
}

fn cases() -> Vec<Case> {
    let causes = [
        ("failed", Happening::Fails, json!({"event": "PodFailed"})),
        ("any", Happening::Fails, json!({"event": "*"})),
        (
            "list",
            Happening::Fails,
            json!({"events": ["PodEvicted", "PodFailed"]}),
        ),
        ("code", Happening::FailsWith(3), json!({"exitCode": 3})),
        (
            "late",
            Happening::Fails,
            json!({"event": "PodFailed", "timeout": "2s"}),
        ),
        (
            "evicted",
            Happening::IsDeleted,
            json!({"event": "PodEvicted"}),
        ),
        (
            "done",
            Happening::TaskSucceeds,
            json!({"event": "TaskCompleted"}),
        ),
    ];
    let mut cases = Vec::new();
    for (word, cause, policy) in causes {
        for action in ACTIONS {
            for is_of_task in [true, false] {
                let level = if is_of_task { "task" } else { "job" };
                let mut policy = policy.clone();
                policy["action"] = json!(action);
                cases.push(Case {
                    name: format!("{word}-{}-{level}", action.to_lowercase()),
                    cause,
                    action,
                    policy,
                    is_of_task,
                });
            }
        }
    }
    cases
}

impl Case {
    fn object(&self) -> Value {
        let mut object = two_tasks(&self.name);
        let spec = &mut object["spec"];
        let owner = match self.is_of_task {
            true => &mut spec["tasks"][0],
            false => spec,
        };
        owner["policies"] = json!([self.policy]);
        object
    }

    fn pod(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }

    fn happen(&self, lab: &LabGuard) -> Result<()> {
        let first = self.pod("a-0");
        match self.cause {
            Happening::Fails => end_pod(lab, &first, 1),
            Happening::FailsWith(code) => end_pod(lab, &first, code),
            Happening::IsDeleted => lab.delete(&format!("{PODS}/{first}")),
            Happening::TaskSucceeds => {
                end_pod(lab, &first, 0)?;
                end_pod(lab, &self.pod("a-1"), 0)
            }
        }
    }

    /// Phase, retries, version, and the pods that are replaced.
    fn outcome(&self) -> (&'static str, i64, i64, &'static [&'static str]) {
        let of_task = self.cause == Happening::TaskSucceeds;
        match self.action {
            "AbortJob" => ("Aborted", 0, 1, &[]),
            "CompleteJob" => ("Completed", 0, 1, &[]),
            "TerminateJob" => ("Terminated", 0, 1, &[]),
            "RestartJob" => ("Running", 1, 1, &["a-0", "a-1", "b-0"]),
            "RestartTask" => ("Running", 1, 0, &["a-0", "a-1"]),
            // A task that has succeeded is no pod and no partition: nothing is restarted.
            _ if of_task => ("Running", 0, 0, &[]),
            _ => ("Running", 1, 0, &["a-0"]),
        }
    }

    fn has_come_out(
        &self,
        lab: &LabGuard,
        before: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
    ) -> Result<()> {
        let (phase, retries, version, replaced) = self.outcome();
        let seen = look(lab, &self.name)?;
        ensure!(
            (seen.phase.as_str(), seen.retries, seen.version) == (phase, retries, version),
            "{}",
            seen.status
        );
        for part in ["a-0", "a-1", "b-0"] {
            let pod = self.pod(part);
            let (old, new) = (before.get(&pod), now.get(&pod));
            let is_as_expected = match phase {
                "Running" if replaced.contains(&part) => new.is_some() && new != old,
                "Running" => new == old,
                // Those that have finished stay, the others go.
                _ if part == "b-0" => new.is_none(),
                _ => new.is_none() || new == old,
            };
            ensure!(
                is_as_expected,
                "{pod}: {old:?} and now {new:?}: {}",
                seen.status
            );
        }
        Ok(())
    }
}

#[test]
fn every_action_follows_every_event_at_task_and_job_level() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(4, "64", "256Gi")?;
    let (controllers, scheduler) = both(&lab)?;
    let cases = cases();
    let objects = cases.iter().map(Case::object).collect();
    lab.rest().create_all(JOBS, objects, 8)?;
    let count = cases.len();
    let running = scheduler.eventually(LONG * 2, "all Jobs run", || {
        let jobs = lab.rest().list(JOBS)?;
        let runs = |job: &&Value| job["status"]["state"]["phase"] == "Running";
        let running = jobs.iter().filter(runs).count();
        // All three pods of each, not only those that make it run.
        let pods = lab.running("")?;
        ensure!(
            running == count && pods == 3 * count,
            "{running} Jobs, {pods} pods run"
        );
        Ok(Some(()))
    });
    running.map_err(|error| controllers.explain(error))?;
    let before = pod_uids(&lab)?;
    for case in &cases {
        case.happen(&lab)?;
    }
    controllers.eventually(LONG * 2, "every Job is as its policy says", || {
        let now = pod_uids(&lab)?;
        let outcome = |case: &Case| {
            let outcome = case.has_come_out(&lab, &before, &now);
            outcome
                .err()
                .map(|error| format!("{}: {error:#}", case.name))
        };
        let open: Vec<String> = cases.iter().filter_map(outcome).collect();
        ensure!(
            open.is_empty(),
            "{} of {count}: {}",
            open.len(),
            open.join("\n")
        );
        Ok(Some(()))
    })
}

#[test]
fn a_policy_on_pending_pods_acts_after_its_timeout_and_not_on_pods_that_run() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let policy = json!([{"event": "PodPending", "action": "TerminateJob", "timeout": "3s"}]);
    for (name, selector) in [("stuck", json!({"no": "node"})), ("placed", json!({}))] {
        let mut object = two_tasks(name);
        object["spec"]["policies"] = policy.clone();
        object["spec"]["tasks"][1]["template"]["spec"]["nodeSelector"] = selector;
        lab.rest().create(JOBS, &object)?;
    }
    wait_phase(&lab, &controllers, "placed", "Running")?;
    let stuck = wait_phase(&lab, &controllers, "stuck", "Terminated")?;
    ensure!(stuck.message.contains("is pending"), "{}", stuck.status);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(look(&lab, "placed")?.phase, "Running");
    Ok(())
}

#[test]
fn a_gang_that_lost_its_place_is_restarted_by_a_policy_on_unknown() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let mut object = two_tasks("torn");
    object["spec"]["policies"] = json!([{"event": "Unknown", "action": "AbortJob"}]);
    lab.rest().create(JOBS, &object)?;
    wait_phase(&lab, &controllers, "torn", "Running")?;
    // Nothing can be placed any more.
    let closed = json!({"spec": {"unschedulable": true}});
    lab.rest().patch("/api/v1/nodes/n-0", &closed)?;
    std::thread::sleep(Duration::from_millis(500));
    lab.delete(&format!("{PODS}/torn-b-0"))?;
    let torn = wait_phase(&lab, &controllers, "torn", "Aborted")?;
    ensure!(torn.message.contains("Unknown"), "{}", torn.status);
    Ok(())
}

/// The task fails again and again: the second restart is the last that has an effect.
#[test]
fn restarts_end_with_max_retry_and_a_container_that_fails_for_ever_fails_its_task() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    for (name, event, policy) in [
        ("fails", "PodFailed", "Never"),
        ("loops", "TaskFailed", "Always"),
    ] {
        for action in ["RestartJob", "RestartTask", "RestartPod"] {
            let mut object = two_tasks(&format!("{name}-{}", action.to_lowercase()));
            object["spec"]["policies"] = json!([{"event": event, "action": action}]);
            object["spec"]["tasks"][0]["maxRetry"] = json!(2);
            object["spec"]["tasks"][0]["template"]["spec"]["restartPolicy"] = json!(policy);
            runs(&mut object, 0, "sleep 1; exit 1");
            lab.rest().create(JOBS, &object)?;
        }
    }
    for name in ["fails", "loops"] {
        for action in ["restartjob", "restarttask", "restartpod"] {
            let name = format!("{name}-{action}");
            let failed = wait_phase(&lab, &controllers, &name, "Failed")?;
            ensure!(failed.reason == "MaxRetry", "{name}: {}", failed.status);
            ensure!(failed.retries == 3, "{name}: {}", failed.status);
        }
    }
    Ok(())
}

#[test]
fn a_policy_of_the_task_comes_before_one_of_the_job() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let mut object = two_tasks("both");
    object["spec"]["policies"] = json!([{"event": "*", "action": "AbortJob"}]);
    object["spec"]["tasks"][0]["policies"] = json!([{"exitCode": 7, "action": "RestartPod"}]);
    lab.rest().create(JOBS, &object)?;
    wait_phase(&lab, &controllers, "both", "Running")?;
    let before = pod_uids(&lab)?;
    end_pod(&lab, "both-a-1", 7)?;
    controllers.eventually(LIMIT, "the pod is another one", || {
        let now = pod_uids(&lab)?;
        let pod = now.get("both-a-1");
        Ok((pod.is_some() && pod != before.get("both-a-1")).then_some(()))
    })?;
    wait_job(&lab, &controllers, "both", "runs again", |seen| {
        seen.phase == "Running" && seen.retries == 1
    })?;
    // Another code is the Job's.
    end_pod(&lab, "both-a-1", 8)?;
    wait_phase(&lab, &controllers, "both", "Aborted").map(|_| ())
}
