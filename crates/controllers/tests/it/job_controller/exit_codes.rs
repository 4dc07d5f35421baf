//! Which containers' exit codes policies answer, and what is said of them.

use super::*;

/// A status of a container that has ended.
fn ended(name: &str, code: i32) -> Value {
    let state = json!({"terminated": {"exitCode": code, "finishedAt": "2026-01-01T00:00:04Z"}});
    json!({
        "name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state,
    })
}

/// A task of one pod with containers `a` and `b`, init container `load` and sidecar `log`.
fn many_containers(policy: Value) -> Value {
    let mut main = task("main", 1);
    main["policies"] = json!([policy]);
    let spec = &mut main["template"]["spec"];
    spec["containers"] = json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]);
    spec["initContainers"] = json!([
        {"name": "load", "image": "i"},
        {"name": "log", "image": "i", "restartPolicy": "Always"},
    ]);
    json!({"tasks": [main]})
}

/// What a Job says once its pod has failed with these statuses.
fn message(policy: Value, regular: &[(&str, i32)], init: &[(&str, i32)]) -> (String, String) {
    let mut world = world();
    let job = run(&mut world, many_containers(policy));
    let statuses = |all: &[(&str, i32)]| -> Vec<Value> {
        all.iter().map(|(name, code)| ended(name, *code)).collect()
    };
    let (regular, init) = (statuses(regular), statuses(init));
    world.server.edit(&pod("j-main-0"), |pod| {
        pod["status"] = json!({
            "phase": "Failed", "containerStatuses": regular, "initContainerStatuses": init,
        });
    });
    world.pass_seconds(1);
    let state = &status(&world, &job)["state"];
    let text = |field: &str| state[field].as_str().unwrap_or_default().to_owned();
    (text("phase"), text("message"))
}

#[test]
fn the_code_of_any_container_counts_whatever_order_the_statuses_have() {
    let policy = || json!({"exitCode": 42, "action": "TerminateJob"});
    let done = [("load", 0), ("log", 0)];
    type Codes<'a> = &'a [(&'a str, i32)];
    let cases: [(Codes<'_>, Codes<'_>, &str); 6] = [
        (&[("a", 0), ("b", 42)], &done, "exit code 42 of container b"),
        (&[("b", 42), ("a", 0)], &done, "exit code 42 of container b"),
        (&[("a", 42), ("b", 0)], &done, "exit code 42 of container a"),
        (
            &[("b", 42), ("a", 1)],
            &done,
            "exit code 1 of container a, exit code 42 of container b",
        ),
        (
            &[],
            &[("log", 0), ("load", 42)],
            "exit code 42 of init container load",
        ),
        // Nothing else tells why it failed.
        (
            &[("a", 0), ("b", 0)],
            &[("log", 42)],
            "exit code 42 of init container log",
        ),
    ];
    for (regular, init, expected) in cases {
        let (phase, message) = message(policy(), regular, init);
        assert_eq!(phase, "Terminated", "{regular:?} {init:?}");
        let expected = format!(
            "pod j-main-0 failed with {expected} (policy of task main: exitCode 42, action \
             TerminateJob)"
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn a_sidecar_that_was_ended_with_the_pod_is_no_reason() {
    let policy = json!({"exitCode": 143, "action": "TerminateJob"});
    let (phase, _) = message(policy, &[("a", 1), ("b", 0)], &[("load", 0), ("log", 143)]);
    assert_eq!(phase, "Failed");
    let policy = json!({"event": "PodFailed", "action": "TerminateJob"});
    let (_, message) = message(policy, &[("a", 1), ("b", 0)], &[("load", 0), ("log", 143)]);
    assert!(
        message.starts_with("pod j-main-0 failed with exit code 1 of container a (policy"),
        "{message}"
    );
}
