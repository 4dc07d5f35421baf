//! What a plan costs on a running scheduler: until the user tool has printed it, and while the deciding thread copies.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    Cluster, Identity, PortForwarder, Scheduler, Setup, eventually, programs, scratch,
};
use serde_json::{Value, json};

use crate::measure::PATIENCE;
use crate::report::{Latency, PlanFigures};

/// Members of the gang that is planned.
const MEMBERS: usize = 100;
/// Name of the scheduler's pod.
const POD: &str = "volcano-scheduler-0";

/// Plans of a gang, one after the other.
pub fn figures(cluster: &Cluster, samples: usize, flags: &[String]) -> Result<PlanFigures> {
    eprintln!("measuring plans");
    let forwarder = PortForwarder::start(cluster)?;
    cluster
        .rest()
        .create("/api/v1/nodes", &forwarder.node("control"))?;
    let setup = Setup {
        flags: flags.to_vec(),
        ..Setup::default()
    };
    let scheduler = Scheduler::start_in_pod(cluster, POD, "control", setup)?;
    let file = scratch("plans")?.join("gang.json");
    let requests = json!({"cpu": "1", "memory": "1Gi"});
    let job = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "planned"},
        "spec": {"schedulerName": "volcano", "minAvailable": MEMBERS, "tasks": [{
            "name": "worker", "replicas": MEMBERS, "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
            }},
        }]},
    });
    std::fs::write(&file, job.to_string())?;
    let kubeconfig = cluster.kubeconfig(Identity::Admin);
    let plan = || -> Result<f64> {
        let start = Instant::now();
        let output = Command::new(programs::ours("pumice")?)
            .arg("plan")
            .arg("-f")
            .arg(&file)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .output()
            .context("run pumice")?;
        let took = start.elapsed().as_secs_f64() * 1000.0;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{said}");
        let shown = String::from_utf8_lossy(&output.stdout);
        ensure!(shown.contains("planned-worker-99"), "{shown}");
        Ok(took)
    };
    eventually(PATIENCE, "the scheduler plans", || Ok(plan().ok()))?;
    let times = (0..samples).map(|_| plan()).collect::<Result<_>>()?;
    let page: Value = serde_json::from_str(&scheduler.get("/debug/diag")?.1)?;
    let rows = page["thread"].as_array().context("rows")?;
    let answers = rows.iter().find(|row| row["name"] == "answers");
    let longest = answers.and_then(|row| row["longestMs"].as_f64());
    Ok(PlanFigures {
        printed: Latency::of(times),
        held_up_ms: longest.context("how long answers took")?,
    })
}
