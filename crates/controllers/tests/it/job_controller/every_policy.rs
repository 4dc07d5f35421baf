//! Every event of a lifecycle policy with every action, of a task and of the Job.

use std::collections::BTreeMap;

use super::*;

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

/// Two pods in task `a`, each a partition of its own, and one in task `b`; all are needed.
pub(super) fn two_tasks() -> Value {
    let mut a = task("a", 2);
    a["partitionPolicy"] = json!({"totalPartitions": 2, "partitionSize": 1});
    json!({"minAvailable": 3, "tasks": [a, task("b", 1)]})
}

/// UIDs of the pods that are not on their way out, by name.
pub(super) fn uids(world: &World) -> BTreeMap<String, String> {
    let all = world.server.all(ManagedKind::Pod).into_iter();
    let there = all.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pair = |pod: &Value| {
        let meta = &pod["metadata"];
        (text(&meta["name"]), text(&meta["uid"]))
    };
    there.map(pair).collect()
}

/// How often a Job was restarted.
pub(super) fn retries(status: &Value) -> i64 {
    status["retryCount"].as_i64().unwrap_or(0)
}

impl Case {
    fn spec(&self) -> Value {
        let mut spec = two_tasks();
        let owner = match self.is_of_task {
            true => &mut spec["tasks"][0],
            false => &mut spec,
        };
        owner["policies"] = json!([self.policy]);
        spec
    }

    fn happen(&self, world: &mut World) {
        let first = pod("j-a-0");
        match self.cause {
            Happening::Fails => world.server.end_pod(&first, 1),
            Happening::FailsWith(code) => world.server.end_pod(&first, code),
            Happening::IsDeleted => {
                world.server.delete(&first, "", false);
            }
            Happening::TaskSucceeds => {
                world.server.end_pod(&first, 0);
                world.server.end_pod(&pod("j-a-1"), 0);
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

    fn check(&self, status: &Value, before: &BTreeMap<String, String>, world: &World) {
        let now = uids(world);
        let (phase, retried, version, replaced) = self.outcome();
        let seen = (
            status["state"]["phase"].as_str().unwrap_or_default(),
            retries(status),
            status["version"].as_i64().unwrap_or(0),
        );
        assert_eq!(seen, (phase, retried, version), "{}: {status}", self.name);
        for part in ["a-0", "a-1", "b-0"] {
            let pod = format!("j-{part}");
            let (old, new) = (before.get(&pod), now.get(&pod));
            let is_as_expected = match phase {
                "Running" if replaced.contains(&part) => new.is_some() && new != old,
                "Running" => new == old,
                // Those that have finished stay, the others go.
                _ if part == "b-0" => new.is_none(),
                _ => new.is_none() || new == old,
            };
            assert!(
                is_as_expected,
                "{}: {pod}: {old:?} and now {new:?}: {status}",
                self.name
            );
        }
    }
}

#[test]
fn every_action_follows_every_event_at_task_and_job_level() {
    let cases = cases();
    assert_eq!(cases.len(), 98);
    for case in &cases {
        let mut world = world();
        let job = run(&mut world, case.spec());
        assert_eq!(phase(&world, &job), "Running", "{}", case.name);
        let before = uids(&world);
        assert_eq!(before.len(), 3, "{}", case.name);
        case.happen(&mut world);
        carry_on(&mut world);
        case.check(&status(&world, &job), &before, &world);
    }
}

#[test]
fn a_policy_on_pending_pods_acts_after_its_timeout_and_not_on_pods_that_run() {
    let mut world = world();
    let mut spec = two_tasks();
    spec["policies"] = json!([{"event": "PodPending", "action": "TerminateJob", "timeout": "3s"}]);
    let [stuck, placed] = ["stuck", "placed"].map(|name| {
        let job = json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec});
        world.server.apply(ManagedKind::Job, job)
    });
    world.pass_seconds(1);
    world.server.admit_groups();
    world.settle();
    for name in pods(&world).iter().filter(|name| *name != "stuck-b-0") {
        world.server.start_pod(&pod(name));
    }
    world.pass_seconds(2);
    assert_eq!(phase(&world, &placed), "Running");
    assert_eq!(phase(&world, &stuck), "Pending", "its time is not over");
    world.pass_seconds(2);
    world.server.finish_deletions();
    world.pass_seconds(1);
    let ended = status(&world, &stuck);
    assert_eq!(ended["state"]["phase"], "Terminated");
    let message = ended["state"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("is pending"), "{ended}");
    world.pass_seconds(4);
    assert_eq!(phase(&world, &placed), "Running");
}

/// Every pod of task `a` fails, or its container is started once more.
fn fail(world: &mut World, starts_again: bool) {
    let there = uids(world).into_keys();
    for name in there.filter(|name| name.starts_with("j-a-")) {
        let of = pod(&name);
        if starts_again {
            world.server.edit(&of, |pod| {
                let count = &mut pod["status"]["containerStatuses"][0]["restartCount"];
                *count = json!(count.as_i64().unwrap_or(0) + 1);
            });
        } else {
            world.server.end_pod(&of, 1);
        }
    }
}

/// The task fails again and again: the second restart is the last that has an effect.
#[test]
fn restarts_end_with_max_retry_and_a_container_that_fails_for_ever_fails_its_task() {
    for (event, policy, starts_again) in [
        ("PodFailed", "Never", false),
        ("TaskFailed", "Always", true),
    ] {
        for action in ["RestartJob", "RestartTask", "RestartPod"] {
            let mut world = world();
            let mut spec = two_tasks();
            spec["policies"] = json!([{"event": event, "action": action}]);
            spec["tasks"][0]["maxRetry"] = json!(2);
            spec["tasks"][0]["template"]["spec"]["restartPolicy"] = json!(policy);
            let job = run(&mut world, spec);
            assert_eq!(phase(&world, &job), "Running", "{event} {action}");
            for _ in 0..12 {
                if phase(&world, &job) != "Running" {
                    break;
                }
                fail(&mut world, starts_again);
                world.pass_seconds(1);
                carry_on(&mut world);
            }
            let failed = status(&world, &job);
            let seen = (&failed["state"]["phase"], &failed["state"]["reason"]);
            let expected = (&json!("Failed"), &json!("MaxRetry"));
            assert_eq!(seen, expected, "{event} {action}: {failed}");
            assert_eq!(retries(&failed), 3, "{event} {action}: {failed}");
        }
    }
}
