//! JobFlows and JobTemplates, as users see them.

mod overlay;
mod probes;
mod trouble;

use pumice_controllers::job_flow::JobFlowController;
use pumice_controllers::job_template::JobTemplateController;
use pumice_controllers::runtime::{ManagedKind, ManagedRef};
use serde_json::{Value, json};

use crate::cluster::{Dice, World, seconds};

fn world() -> World {
    World::new(|| {
        vec![
            Box::new(JobFlowController::new()),
            Box::new(JobTemplateController),
        ]
    })
}

fn spec() -> Value {
    json!({
        "queue": "default", "maxRetry": 3,
        "tasks": [{"name": "t", "replicas": 2, "template": {"spec": {
            "containers": [{"name": "c", "image": "i"}],
        }}}],
    })
}

fn template(world: &mut World, name: &str) -> ManagedRef {
    let object = json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec()});
    world.server.apply(ManagedKind::JobTemplate, object)
}

/// A flow `f` with these steps, and a template for each.
fn apply(world: &mut World, flows: Value) {
    for flow in flows.as_array().expect("a list") {
        let name = flow["name"].as_str().expect("a name");
        let of = ManagedRef::new(ManagedKind::JobTemplate, "n", name);
        if world.server.get(&of).is_none() {
            template(world, name);
        }
    }
    let object = json!({
        "metadata": {"name": "f", "namespace": "n"},
        "spec": {"flows": flows, "jobRetainPolicy": "retain"},
    });
    world.server.apply(ManagedKind::JobFlow, object);
    world.settle();
}

/// a, then b and c, then d.
fn diamond() -> Value {
    json!([
        {"name": "a"},
        {"name": "b", "dependsOn": {"targets": ["a"]}},
        {"name": "c", "dependsOn": {"targets": ["a"]}},
        {"name": "d", "dependsOn": {"targets": ["b", "c"]}},
    ])
}

fn flow() -> ManagedRef {
    ManagedRef::new(ManagedKind::JobFlow, "n", "f")
}

fn job(name: &str) -> ManagedRef {
    ManagedRef::new(ManagedKind::Job, "n", name)
}

fn jobs(world: &World) -> Vec<String> {
    let names = world.server.names(ManagedKind::Job);
    names.into_iter().map(|of| of.name).collect()
}

fn set_phase(world: &mut World, name: &str, phase: &str) {
    let now = seconds(world.now);
    world.server.edit(&job(name), |job| {
        job["status"]["state"] = json!({"phase": phase, "lastTransitionTime": now});
    });
    world.settle();
}

fn status(world: &World) -> &Value {
    &world.server.get(&flow()).expect("there")["status"]
}

fn phase(world: &World) -> &str {
    status(world)["state"]["phase"].as_str().unwrap_or_default()
}

fn created(world: &World) -> Vec<String> {
    let written = world.written().into_iter();
    written.filter(|w| w.starts_with("create Job n/")).collect()
}

#[test]
fn a_step_starts_when_all_its_targets_have_completed() {
    let mut world = world();
    apply(&mut world, diamond());
    assert_eq!(jobs(&world), ["f-a"]);
    assert_eq!(phase(&world), "Pending");
    set_phase(&mut world, "f-a", "Running");
    assert_eq!(
        (jobs(&world), phase(&world)),
        (vec!["f-a".to_owned()], "Running")
    );
    set_phase(&mut world, "f-a", "Completed");
    assert_eq!(jobs(&world), ["f-a", "f-b", "f-c"]);
    set_phase(&mut world, "f-b", "Completed");
    assert_eq!(jobs(&world), ["f-a", "f-b", "f-c"]);
    set_phase(&mut world, "f-c", "Completed");
    assert_eq!(jobs(&world), ["f-a", "f-b", "f-c", "f-d"]);
    set_phase(&mut world, "f-d", "Completed");
    assert_eq!(phase(&world), "Succeed");
    assert_eq!(world.reasons(), ["Created"; 4]);
    assert_eq!(jobs(&world).len(), 4, "they are retained");
}

#[test]
fn a_job_has_the_requester_of_its_flow() {
    let mut world = world();
    apply(
        &mut world,
        json!([{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]),
    );
    let key = "pumice.sh/requester";
    let of_first = &world.server.get(&job("f-a")).expect("there")["metadata"];
    assert!(of_first["annotations"].get(key).is_none(), "{of_first}");
    world.server.edit(&flow(), |flow| {
        flow["metadata"]["annotations"] = json!({key: "jane"});
    });
    set_phase(&mut world, "f-a", "Completed");
    let of_second = &world.server.get(&job("f-b")).expect("there")["metadata"];
    assert_eq!(of_second["annotations"][key], "jane");
    assert!(of_second["labels"].get(key).is_none(), "{of_second}");
}

#[test]
fn a_job_says_what_it_was_made_by() {
    let mut world = world();
    apply(&mut world, json!([{"name": "a"}]));
    let made = world.server.get(&job("f-a")).expect("there");
    for map in ["labels", "annotations"] {
        let map = &made["metadata"][map];
        assert_eq!(map["volcano.sh/createdByJobTemplate"], "n.a");
        assert_eq!(map["volcano.sh/createdByJobFlow"], "n.f");
    }
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!(owner["apiVersion"], "flow.volcano.sh/v1alpha1");
    assert_eq!(owner["kind"], "JobFlow");
    assert_eq!(owner["controller"], true);
    assert_eq!(made["spec"]["tasks"], spec()["tasks"]);
}

#[test]
fn the_status_lists_every_job_by_its_phase_with_its_history() {
    let mut world = world();
    apply(
        &mut world,
        json!([{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]),
    );
    world.pass_seconds(10);
    set_phase(&mut world, "f-a", "Running");
    world.pass_seconds(10);
    set_phase(&mut world, "f-a", "Completed");
    set_phase(&mut world, "f-b", "Restarting");
    set_phase(&mut world, "f-c", "Running");
    let status = status(&world);
    assert_eq!(status["completedJobs"], json!(["f-a"]));
    assert_eq!(status["unKnowJobs"], json!(["f-b"]));
    assert_eq!(status["runningJobs"], json!(["f-c"]));
    assert_eq!(status["pendingJobs"], json!(["f-d"]));
    assert_eq!(status["conditions"]["f-a"]["phase"], "Completed");
    assert_eq!(
        status["conditions"]["f-a"]["createTime"],
        "2026-01-01T00:00:00Z"
    );
    let expected = json!({
        "name": "f-a", "state": "Completed",
        "startTimestamp": "2026-01-01T00:00:00Z", "endTimestamp": "2026-01-01T00:00:20Z",
        "runningHistories": [
            {"state": "Pending", "startTimestamp": "2026-01-01T00:00:00Z",
                "endTimestamp": "2026-01-01T00:00:10Z"},
            {"state": "Running", "startTimestamp": "2026-01-01T00:00:10Z",
                "endTimestamp": "2026-01-01T00:00:20Z"},
            {"state": "Completed", "startTimestamp": "2026-01-01T00:00:20Z"},
        ],
    });
    assert_eq!(status["jobStatusList"][0], expected);
}

#[test]
fn a_step_that_has_completed_never_runs_again_when_its_job_is_removed() {
    let mut world = world();
    apply(&mut world, diamond());
    set_phase(&mut world, "f-a", "Completed");
    world.server.remove(&job("f-a"));
    world.restart();
    world.pass_seconds(600);
    assert_eq!(jobs(&world), ["f-b", "f-c"]);
    assert_eq!(status(&world)["completedJobs"], json!(["f-a"]));
    for name in ["f-b", "f-c", "f-d"] {
        set_phase(&mut world, name, "Completed");
        world.server.remove(&job(name));
        world.settle();
    }
    assert_eq!(phase(&world), "Succeed");
    assert_eq!(created(&world).len(), 4);
}

#[test]
fn a_job_that_ended_and_went_before_it_was_recorded_has_ended() {
    let mut world = world();
    apply(
        &mut world,
        json!([{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]),
    );
    let now = seconds(world.now);
    world.server.edit(&job("f-a"), |job| {
        job["status"]["state"] = json!({"phase": "Completed", "lastTransitionTime": now});
    });
    world.server.remove(&job("f-a"));
    world.settle();
    assert_eq!(jobs(&world), ["f-b"]);
    assert_eq!(status(&world)["completedJobs"], json!(["f-a"]));
}

#[test]
fn the_job_of_a_step_that_has_not_ended_is_made_again() {
    let mut world = world();
    apply(&mut world, json!([{"name": "a"}]));
    set_phase(&mut world, "f-a", "Running");
    world.server.remove(&job("f-a"));
    world.settle();
    assert_eq!(jobs(&world), ["f-a"]);
    assert_eq!(phase(&world), "Running");
    assert_eq!(status(&world)["pendingJobs"], json!(["f-a"]));
}

#[test]
fn jobs_of_a_flow_that_succeeded_go_if_they_shall() {
    let mut world = world();
    apply(&mut world, json!([{"name": "a"}, {"name": "b"}]));
    world.server.edit(&flow(), |flow| {
        flow["spec"]["jobRetainPolicy"] = json!("delete")
    });
    set_phase(&mut world, "f-a", "Completed");
    assert_eq!(jobs(&world), ["f-a", "f-b"]);
    set_phase(&mut world, "f-b", "Completed");
    assert_eq!(jobs(&world), [""; 0]);
    world.pass_seconds(600);
    assert_eq!((phase(&world), created(&world).len()), ("Succeed", 2));
    assert_eq!(status(&world)["completedJobs"], json!(["f-a", "f-b"]));
}

#[test]
fn after_a_failure_nothing_more_is_started_but_what_goes_on_is_followed() {
    for end in ["Failed", "Terminated"] {
        let mut world = world();
        apply(&mut world, diamond());
        set_phase(&mut world, "f-a", "Completed");
        set_phase(&mut world, "f-b", end);
        set_phase(&mut world, "f-c", "Completed");
        assert_eq!(jobs(&world), ["f-a", "f-b", "f-c"]);
        assert_eq!(phase(&world), "Failed");
        assert_eq!(status(&world)["completedJobs"], json!(["f-a", "f-c"]));
        assert_eq!(world.reasons().last(), Some(&"JobFlowFailed"));
        world.server.remove(&job("f-b"));
        world.pass_seconds(600);
        assert_eq!(created(&world).len(), 3, "a failed step does not run again");
        assert_eq!(phase(&world), "Failed");
    }
}

#[test]
fn steps_that_cannot_be_are_told_once_and_wait_for_an_edit() {
    let cases = [
        (
            json!([{"name": "a", "dependsOn": {"targets": ["x"]}}]),
            "there is no step \"x\"",
        ),
        (
            json!([{"name": "a", "dependsOn": {"targets": ["a"]}}]),
            "wait for each other for ever: a",
        ),
        (
            json!([
                {"name": "a", "dependsOn": {"targets": ["c"]}},
                {"name": "b", "dependsOn": {"targets": ["a"]}},
                {"name": "c", "dependsOn": {"targets": ["b"]}},
                {"name": "d"},
            ]),
            "spec.flows: these wait for each other for ever: a, b, c",
        ),
        (
            json!([{"name": "a"}, {"name": "a"}]),
            "spec.flows[1].name: there is another step \"a\"",
        ),
        (json!([]), "spec.flows: there is no step"),
        (
            json!([{"name": "a", "dependsOn": {"probe": {"tcpSocketList": [{"port": 22}]}}}]),
            "there are no targets to probe",
        ),
        (
            json!([{"name": "b"}, {"name": "a", "dependsOn": {"targets": ["b"],
                "probe": {"tcpSocketList": [{"port": 0}]}}}]),
            "spec.flows[1].dependsOn.probe.tcpSocketList[0].port: 0 is not a port",
        ),
        (
            json!([{"name": "b"}, {"name": "a", "dependsOn": {"targets": ["b"],
                "probe": {"taskStatusList": [{"phase": "Done"}]}}}]),
            "\"Done\" is not a phase of pods; use Pending, Running",
        ),
    ];
    for (flows, words) in cases {
        let mut world = world();
        apply(&mut world, flows.clone());
        world.server.edit(&flow(), |flow| {
            flow["metadata"]["labels"] = json!({"a": "b"})
        });
        world.pass_seconds(3_600);
        assert_eq!(jobs(&world), [""; 0], "{flows}");
        assert_eq!(world.reasons(), ["InvalidJobFlow"], "{flows}");
        let message = &world.events[0].message;
        assert!(message.contains(words), "{message}");
        assert_eq!(phase(&world), "Pending");

        template(&mut world, "good");
        world.server.edit(&flow(), |flow| {
            flow["spec"]["flows"] = json!([{"name": "good"}])
        });
        world.settle();
        assert_eq!(jobs(&world), ["f-good"], "{flows}");
    }
}

#[test]
fn a_step_that_is_added_runs_also_after_the_others_have_succeeded() {
    let mut world = world();
    apply(&mut world, json!([{"name": "a"}]));
    set_phase(&mut world, "f-a", "Completed");
    assert_eq!(phase(&world), "Succeed");
    template(&mut world, "b");
    world.server.edit(&flow(), |flow| {
        flow["spec"]["flows"] =
            json!([{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]);
    });
    world.settle();
    assert_eq!((jobs(&world).len(), phase(&world)), (2, "Running"));
    set_phase(&mut world, "f-b", "Completed");
    assert_eq!(phase(&world), "Succeed");
}

#[test]
fn a_failed_step_that_is_taken_out_of_the_flow_lets_the_others_go_on() {
    let mut world = world();
    apply(
        &mut world,
        json!([{"name": "a"}, {"name": "b"}, {"name": "c", "dependsOn": {"targets": ["a"]}}]),
    );
    set_phase(&mut world, "f-b", "Failed");
    set_phase(&mut world, "f-a", "Completed");
    assert_eq!(phase(&world), "Failed");
    world.server.edit(&flow(), |flow| {
        flow["spec"]["flows"] =
            json!([{"name": "a"}, {"name": "c", "dependsOn": {"targets": ["a"]}}]);
    });
    world.settle();
    assert_eq!((phase(&world), jobs(&world).len()), ("Running", 3));
}

#[test]
fn a_patch_is_applied() {
    let mut world = world();
    let patch = json!({"jobSpec": {"queue": "q2", "tasks": [{"name": "t", "replicas": 5,
        "template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}},
    }]}});
    apply(&mut world, json!([{"name": "a", "patch": patch}]));
    let made = &world.server.get(&job("f-a")).expect("there")["spec"];
    assert_eq!(made["queue"], "q2");
    assert_eq!(made["tasks"][0]["replicas"], 5);
    let container = &made["tasks"][0]["template"]["spec"]["containers"][0];
    assert_eq!(
        *container,
        json!({"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]})
    );
}

#[test]
fn templates_with_dots_and_long_names_are_followed() {
    let mut world = world();
    let long = "x".repeat(30) + "." + &"y".repeat(30);
    template(&mut world, "v1.2");
    template(&mut world, &long);
    let namespace = "n";
    apply(&mut world, json!([{"name": "v1.2"}]));
    let of = ManagedRef::new(ManagedKind::JobTemplate, namespace, "v1.2");
    let status = &world.server.get(&of).expect("there")["status"];
    assert_eq!(status["jobDependsOnList"], json!(["f-v1.2"]));

    // A Job whose label does not fit is found by its annotation.
    let made_by = format!("n.{long}");
    let object = json!({"metadata": {"name": "j", "namespace": "n",
        "annotations": {"volcano.sh/createdByJobTemplate": made_by}}, "spec": {"tasks": []}});
    world.server.apply(ManagedKind::Job, object);
    world.settle();
    let of = ManagedRef::new(ManagedKind::JobTemplate, namespace, &long);
    let list = |world: &World| world.server.get(&of).expect("there")["status"].clone();
    assert_eq!(list(&world)["jobDependsOnList"], json!(["j"]));
    world.server.remove(&job("j"));
    world.settle();
    assert_eq!(list(&world)["jobDependsOnList"], Value::Null);
}

#[test]
fn a_label_that_would_be_too_long_is_left_to_the_annotation() {
    let mut world = world();
    let namespace = "n".repeat(60);
    for (kind, name) in [
        (ManagedKind::JobTemplate, "step"),
        (ManagedKind::JobFlow, "flow"),
    ] {
        let spec = match kind {
            ManagedKind::JobFlow => json!({"flows": [{"name": "step"}]}),
            _ => spec(),
        };
        let object = json!({"metadata": {"name": name, "namespace": namespace}, "spec": spec});
        world.server.apply(kind, object);
    }
    world.settle();
    let of = ManagedRef::new(ManagedKind::Job, &namespace, "flow-step");
    let meta = &world.server.get(&of).expect("made")["metadata"];
    assert_eq!(meta["labels"].get("volcano.sh/createdByJobFlow"), None);
    let expected = format!("{namespace}.flow");
    assert_eq!(meta["annotations"]["volcano.sh/createdByJobFlow"], expected);
}

#[test]
fn killed_at_any_moment_every_step_runs_once_also_if_jobs_are_removed_when_they_end() {
    for seed in 0..60 {
        let mut world = world();
        let mut dice = Dice::new(seed);
        apply(&mut world, diamond());
        for _ in 0..12 {
            let running = jobs(&world);
            if !running.is_empty() {
                let name = running[dice.roll(running.len())].clone();
                let of = job(&name);
                let ended = world.server.get(&of).expect("there")["status"]["state"]["phase"]
                    == "Completed";
                match ended {
                    // The garbage collector sees what the controller has recorded, or is slower.
                    true if status(&world)["completedJobs"].to_string().contains(&name) => {
                        world.server.remove(&of);
                    }
                    _ => {
                        let now = seconds(world.now);
                        world.server.edit(&of, |job| {
                            job["status"]["state"] =
                                json!({"phase": "Completed", "lastTransitionTime": now});
                        });
                    }
                }
            }
            for _ in 0..dice.roll(10) {
                world.step(&mut dice);
            }
            world.kill(&mut dice);
            for _ in 0..dice.roll(30) {
                world.step(&mut dice);
            }
        }
        world.settle();
        for _ in 0..4 {
            for name in jobs(&world) {
                set_phase(&mut world, &name, "Completed");
            }
        }
        assert_eq!(phase(&world), "Succeed", "seed {seed}");
        let mut created = created(&world);
        created.sort();
        let expected = ["f-a", "f-b", "f-c", "f-d"].map(|name| format!("create Job n/{name}"));
        assert_eq!(created, expected, "seed {seed}");
    }
}

#[test]
fn a_flow_counts_the_steps_that_have_completed_and_writes_no_count_that_is_not_kept() {
    let mut world = world();
    apply(&mut world, diamond());
    let progress = |world: &World| {
        let flow = world.server.get(&flow()).expect("a flow");
        flow["status"]["progress"].clone()
    };
    assert_eq!(progress(&world), "0/4");
    set_phase(&mut world, "f-a", "Completed");
    world.settle();
    assert_eq!(progress(&world), "1/4");
    // As by an API server whose definition has no such field.
    world.server.log.clear();
    world.server.edit(&flow(), |flow| {
        flow["status"]
            .as_object_mut()
            .expect("a status")
            .remove("progress");
    });
    world.pass_seconds(600);
    assert_eq!(world.written(), Vec::<String>::new());
}
