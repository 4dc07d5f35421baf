//! Commands, as `vcctl job suspend` and the like make them.

use super::*;

/// Asks for an action on the Job `j`.
pub(crate) fn command(world: &mut World, name: &str, action: &str) -> ManagedRef {
    let job = ManagedRef::new(ManagedKind::Job, "n", "j");
    let uid = uid(world, &job);
    let target = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": uid,
    });
    let meta = json!({"name": name, "namespace": "n"});
    let command = json!({"metadata": meta, "action": action, "target": target});
    world.server.apply(ManagedKind::Command, command)
}

fn two() -> Value {
    json!({"tasks": [task("a", 2)]})
}

#[test]
fn a_job_is_suspended_and_resumed() {
    let mut world = world();
    let job = run(
        &mut world,
        json!({"tasks": [task("a", 2)], "minAvailable": 1}),
    );
    world.server.end_pod(&pod("j-a-0"), 0);
    let done = uid(&world, &pod("j-a-0"));
    let suspend = command(&mut world, "suspend", "AbortJob");
    world.pass_seconds(1);
    assert_eq!(phase(&world, &job), "Aborting");
    assert_eq!(world.server.get(&suspend), None);
    carry_on(&mut world);
    let aborted = status(&world, &job);
    assert_eq!(aborted["state"]["phase"], "Aborted");
    assert_eq!(aborted["state"]["reason"], "AbortJob");
    assert_eq!(pods(&world), ["j-a-0"], "what has finished stays");
    command(&mut world, "resume", "ResumeJob");
    world.pass_seconds(1);
    carry_on(&mut world);
    let resumed = status(&world, &job);
    assert_eq!(resumed["state"]["phase"], "Running");
    assert_eq!(
        (&resumed["retryCount"], &resumed["succeeded"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(uid(&world, &pod("j-a-0")), done, "and is not run again");
    assert!(world.server.names(ManagedKind::Command).is_empty());
}

#[test]
fn commands_end_and_restart_jobs() {
    let cases = [
        ("CompleteJob", "Completed", 0),
        ("TerminateJob", "Terminated", 0),
        ("RestartJob", "Running", 1),
    ];
    for (action, expected, retries) in cases {
        let mut world = world();
        let job = run(&mut world, two());
        command(&mut world, "c", action);
        world.pass_seconds(1);
        carry_on(&mut world);
        assert_eq!(phase(&world, &job), expected);
        let after = status(&world, &job);
        assert_eq!(after["retryCount"].as_i64().unwrap_or(0), retries);
        assert!(world.server.names(ManagedKind::Command).is_empty());
        let expected = format!("{action} was asked for by Command c");
        assert!(world.events.iter().any(|event| event.message == expected));
    }
}

#[test]
fn a_command_is_carried_out_once_whenever_the_process_is_killed() {
    // The status is written, the Command not yet deleted.
    let mut world = world();
    let job = run(&mut world, two());
    world.server.refuse(|write| {
        let is_command = write.of.kind == ManagedKind::Command;
        is_command.then(|| crate::cluster::refusal(500, "InternalError", "not now"))
    });
    let restart = command(&mut world, "c", "RestartJob");
    world.pass_seconds(5);
    carry_on(&mut world);
    assert_eq!(
        phase(&world, &job),
        "Restarting",
        "it waits for the Command to go"
    );
    assert!(world.server.get(&restart).is_some());
    world.server.refuse_nothing();
    world.restart();
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Running");
    assert_eq!(status(&world, &job)["retryCount"], 1);
    assert!(world.server.names(ManagedKind::Command).is_empty());
}

#[test]
fn a_command_that_can_do_nothing_is_told_and_deleted() {
    let cases = [
        ("ResumeJob", "has no effect in phase Running"),
        ("RestartPod", "use AbortJob, ResumeJob"),
        ("Explode", "use AbortJob, ResumeJob"),
    ];
    for (action, expected) in cases {
        let mut world = world();
        run(&mut world, two());
        let before = world.written().len();
        command(&mut world, "c", action);
        world.pass_seconds(5);
        let told = world
            .events
            .iter()
            .find(|event| event.reason == "CommandIgnored");
        let message = told.map_or("", |event| event.message.as_str());
        assert!(message.contains(expected), "{message}");
        assert_eq!(world.written()[before..], ["delete Command n/c"]);
    }
}

#[test]
fn a_command_for_a_job_that_is_gone_goes_too() {
    let mut world = world();
    let job = run(&mut world, two());
    command(&mut world, "c", "RestartJob");
    world.server.delete(&job, "", false);
    world.pass_seconds(30);
    assert!(world.server.names(ManagedKind::Command).is_empty());
}

#[test]
fn a_restarting_job_can_be_ended() {
    let mut world = world();
    let job = run(&mut world, two());
    command(&mut world, "again", "RestartJob");
    world.pass_seconds(1);
    assert_eq!(phase(&world, &job), "Restarting");
    command(&mut world, "stop", "TerminateJob");
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Terminated");
    assert!(pods(&world).is_empty());
}
