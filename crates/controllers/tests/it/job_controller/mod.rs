//! The Job controller against an API server in memory, from the user's side.

mod bad_input;
mod basics;
mod changes;
mod commands;
mod dependencies;
mod ends;
mod every_policy;
mod evicted;
mod exit_codes;
mod killed;
mod pod_group_told;
mod policies;
mod samples;

use pumice_controllers::finished_jobs::FinishedJobs;
use pumice_controllers::job::JobController;
use pumice_controllers::runtime::{Controller, ManagedKind, ManagedRef};
use serde_json::{Value, json};

use crate::cluster::World;

fn controllers() -> Vec<Box<dyn Controller>> {
    vec![Box::new(JobController::default()), Box::new(FinishedJobs)]
}

/// A world with an open queue `default`.
fn world() -> World {
    let mut world = World::new(controllers);
    let queue = json!({"metadata": {"name": "default"}, "spec": {}});
    world.server.apply(ManagedKind::Queue, queue);
    world
}

/// A task as users write it.
fn task(name: &str, replicas: i32) -> Value {
    let container = json!({
        "name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}},
    });
    let spec = json!({"containers": [container], "restartPolicy": "Never"});
    json!({"name": name, "replicas": replicas, "template": {"spec": spec}})
}

/// Applies a Job `j` in namespace `n`.
fn apply(world: &mut World, spec: Value) -> ManagedRef {
    let job = json!({"metadata": {"name": "j", "namespace": "n"}, "spec": spec});
    world.server.apply(ManagedKind::Job, job)
}

/// Applies it and lets all its pods run.
fn run(world: &mut World, spec: Value) -> ManagedRef {
    let job = apply(world, spec);
    world.pass_seconds(1);
    world.server.admit_groups();
    world.pass_seconds(1);
    world.server.start_pods();
    world.pass_seconds(2);
    job
}

fn status(world: &World, job: &ManagedRef) -> Value {
    let job = world.server.get(job).expect("a job");
    job["status"].clone()
}

fn phase(world: &World, job: &ManagedRef) -> String {
    let status = status(world, job);
    status["state"]["phase"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn pod(name: &str) -> ManagedRef {
    ManagedRef::new(ManagedKind::Pod, "n", name)
}

fn uid(world: &World, of: &ManagedRef) -> String {
    let object = world.server.get(of).expect("there");
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Names of all pods.
fn pods(world: &World) -> Vec<String> {
    let names = world.server.names(ManagedKind::Pod);
    names.into_iter().map(|of| of.name).collect()
}

/// Deletions are finished, groups admitted and pods started, until that changes nothing.
fn carry_on(world: &mut World) {
    for _ in 0..4 {
        world.server.finish_deletions();
        world.pass_seconds(2);
        world.server.admit_groups();
        world.pass_seconds(2);
        world.server.start_pods();
        world.pass_seconds(2);
    }
}
