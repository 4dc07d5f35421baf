//! All controllers at once: what makes Jobs, what makes pods of them, what removes them.

use pumice_controllers::list::{ControllerOptions, controllers};
use pumice_controllers::runtime::{Controller, ManagedKind, ManagedRef};
use serde_json::{Value, json};

use crate::cluster::{Dice, World};

fn all() -> Vec<Box<dyn Controller>> {
    let made = controllers().filter_map(|one| one.make);
    made.map(|make| make(&ControllerOptions::default()))
        .collect()
}

/// A world with an open queue `default`.
fn world() -> World {
    let mut world = World::new(all);
    let queue = json!({"metadata": {"name": "default"}, "spec": {}, "status": {"state": "Open"}});
    world.server.apply(ManagedKind::Queue, queue);
    world
}

/// A Job of two pods that is removed as soon as it has ended.
fn spec() -> Value {
    json!({
        "queue": "default", "maxRetry": 3, "minAvailable": 2, "ttlSecondsAfterFinished": 0,
        "tasks": [{"name": "t", "replicas": 2, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i"}],
        }}}],
    })
}

fn flow(world: &mut World) -> ManagedRef {
    for name in ["a", "b", "c"] {
        let object = json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec()});
        world.server.apply(ManagedKind::JobTemplate, object);
    }
    let flow = json!({
        "metadata": {"name": "f", "namespace": "n"},
        "spec": {"flows": [
            {"name": "a"},
            {"name": "b", "dependsOn": {"targets": ["a"]}},
            {"name": "c", "dependsOn": {"targets": ["a"], "probe": {"taskStatusList": [
                {"taskName": "t", "phase": "Running"},
            ]}}},
        ]},
    });
    world.server.apply(ManagedKind::JobFlow, flow)
}

fn phase(world: &World, of: &ManagedRef) -> Value {
    let object = world.server.get(of).expect("there");
    object["status"]["state"]["phase"].clone()
}

/// What scheduler and kubelets do in one moment.
fn cluster_works(world: &mut World, dice: &mut Dice) {
    match dice.roll(4) {
        0 => world.server.admit_groups(),
        1 => world.server.start_pods(),
        2 => world.server.end_pods(),
        _ => world.server.finish_deletions(),
    }
}

fn count(world: &World, what: &str) -> Vec<String> {
    let written = world.written().into_iter();
    let mut found: Vec<String> = written.filter(|w| w.starts_with(what)).collect();
    found.sort();
    found
}

#[test]
fn a_flow_of_jobs_that_are_removed_at_once_runs_each_step_once() {
    let mut world = world();
    let flow = flow(&mut world);
    for _ in 0..12 {
        world.pass_seconds(2);
        world.server.admit_groups();
        world.pass_seconds(2);
        world.server.start_pods();
        world.pass_seconds(2);
        world.server.end_pods();
        world.pass_seconds(2);
        world.server.finish_deletions();
    }
    assert_eq!(phase(&world, &flow), "Succeed");
    let steps = ["a", "b", "c"].map(|step| format!("create Job n/f-{step}"));
    assert_eq!(count(&world, "create Job "), steps);
    assert_eq!(count(&world, "create Pod ").len(), 6);
    assert_eq!(world.server.names(ManagedKind::Job), []);
}

#[test]
fn killed_at_any_moment_a_flow_of_jobs_that_are_removed_at_once_runs_each_step_once() {
    for seed in 0..20 {
        let mut world = world();
        let mut dice = Dice::new(seed);
        let flow = flow(&mut world);
        for _ in 0..60 {
            for _ in 0..dice.roll(12) {
                world.step(&mut dice);
            }
            cluster_works(&mut world, &mut dice);
            if dice.roll(3) == 0 {
                world.kill(&mut dice);
            }
            let now = world.now + jiff::SignedDuration::from_millis(700);
            world.set_time(now);
        }
        for _ in 0..12 {
            world.pass_seconds(10);
            world.server.admit_groups();
            world.server.start_pods();
            world.pass_seconds(1);
            world.server.end_pods();
            world.server.finish_deletions();
        }
        world.pass_seconds(400);
        assert_eq!(phase(&world, &flow), "Succeed", "seed {seed}");
        let steps = ["a", "b", "c"].map(|step| format!("create Job n/f-{step}"));
        assert_eq!(count(&world, "create Job "), steps, "seed {seed}");
    }
}

#[test]
fn a_cron_job_of_jobs_that_are_removed_at_once_runs_each_run_once() {
    for seed in 0..8 {
        let mut world = world();
        let mut dice = Dice::new(seed);
        let cron_job = json!({
            "metadata": {"name": "c", "namespace": "n"},
            "spec": {"schedule": "*/10 * * * *", "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": spec()}},
        });
        world.server.apply(ManagedKind::CronJob, cron_job);
        for _ in 0..4 {
            world.pass_seconds(600);
            for _ in 0..25 {
                for _ in 0..dice.roll(12) {
                    world.step(&mut dice);
                }
                cluster_works(&mut world, &mut dice);
                if dice.roll(4) == 0 {
                    world.kill(&mut dice);
                }
            }
            for _ in 0..3 {
                world.pass_seconds(10);
                world.server.admit_groups();
                world.pass_seconds(1);
                world.server.start_pods();
                world.pass_seconds(1);
                world.server.end_pods();
                world.pass_seconds(10);
                world.server.finish_deletions();
            }
        }
        let created = count(&world, "create Job ");
        let mut once = created.clone();
        once.dedup();
        assert_eq!(created, once, "seed {seed}");
        assert_eq!(created.len(), 4, "seed {seed}: {created:?}");
    }
}
