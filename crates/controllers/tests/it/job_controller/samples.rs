//! Every Job of `config/samples`, among them those of the documents users read, runs and completes.

use std::path::Path;

use serde::Deserialize;

use super::*;

fn objects(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let read = serde_yaml::Deserializer::from_str(&text);
    read.filter_map(|object| Value::deserialize(object).ok())
        .collect()
}

#[test]
fn every_job_of_the_samples_completes() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/samples");
    let mut count = 0;
    for folder in std::fs::read_dir(samples).expect("samples").flatten() {
        let objects = objects(&folder.path().join("workload.yaml"));
        let is_job = |object: &&Value| {
            object["kind"] == "Job" && object["apiVersion"] == "batch.volcano.sh/v1alpha1"
        };
        for job in objects.iter().filter(is_job) {
            let mut world = world();
            let queue = job["spec"]["queue"].as_str().unwrap_or("default");
            if queue != "default" {
                let queue = json!({"metadata": {"name": queue}, "spec": {}});
                world.server.apply(ManagedKind::Queue, queue);
            }
            let mut job = job.clone();
            if job["metadata"]["namespace"].is_null() {
                job["metadata"]["namespace"] = json!("default");
            }
            for claim in objects
                .iter()
                .filter(|object| object["kind"] == "PersistentVolumeClaim")
            {
                let mut claim = claim.clone();
                claim["metadata"]["namespace"] = job["metadata"]["namespace"].clone();
                world
                    .server
                    .apply(ManagedKind::PersistentVolumeClaim, claim);
            }
            let of = world.server.apply(ManagedKind::Job, job);
            for _ in 0..8 {
                carry_on(&mut world);
                world.server.end_pods();
            }
            world.pass_seconds(5);
            let status = status(&world, &of);
            let place = folder.path();
            assert_eq!(
                status["state"]["phase"], "Completed",
                "{place:?} {of}: {status}"
            );
            assert_eq!(
                status["retryCount"],
                Value::Null,
                "{place:?} {of}: {status}"
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}
