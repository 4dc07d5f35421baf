//! Jobs by kubectl, made to run by our controllers and our scheduler alone.

mod jobs;
mod process;
mod volcano;

use anyhow::Result;
use pumice_e2e::{Controllers, Lab, LabGuard, Scheduler, Setup};
use serde_json::{Value, json};

/// Lease of Volcano's controllers, and of ours.
const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/vc-controller-manager";

/// Jobs of the namespace the scenarios use.
const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";

/// The lab without the stand-in for a Job controller.
fn lab() -> Result<LabGuard> {
    let mut lab = Lab::take()?;
    lab.stop_job_controller();
    Ok(lab)
}

/// Controllers and a scheduler that do not elect.
fn both(lab: &LabGuard) -> Result<(Controllers, Scheduler)> {
    let setup = Setup::default();
    let controllers = Controllers::start(lab.cluster(), &setup)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    Ok((controllers, scheduler))
}

/// A Job as a user writes it, of one task.
fn job(name: &str, replicas: usize) -> Value {
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "minAvailable": replicas,
            "schedulerName": "volcano",
            "queue": "default",
            "tasks": [{
                "name": "worker",
                "replicas": replicas,
                "template": {"spec": {
                    "restartPolicy": "Never",
                    "containers": [{
                        "name": "main", "image": "example.com/none",
                        "resources": {"requests": {"cpu": "10m"}},
                    }],
                }},
            }],
        },
    })
}

/// Phase of a Job.
fn phase(lab: &LabGuard, name: &str) -> Result<String> {
    let job = lab.rest().get(&format!("{JOBS}/{name}"))?;
    let phase = job["status"]["state"]["phase"].as_str();
    Ok(phase.unwrap_or_default().to_owned())
}
