//! What became of jobs, and how long jobs like them run, told by a real scheduler and known to the one that comes after.

use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{
    ConfigMount, Controllers, Identity, Lab, LabGuard, PortForwarder, Scheduler, Setup, scratch,
};
use serde_json::{Value, json};

use crate::controllers::{end_pod, job};
use crate::live::{ensure_says, pumice};
use crate::{LIMIT, PODS};

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
const MAPS: &str = "/api/v1/namespaces/volcano-system/configmaps";
const MAP: &str = "volcano-scheduler-run-times";

const CONF: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: runtimeestimate
    arguments:
      runtimeestimate.minJobs: 1
      runtimeestimate.keepIn: volcano-system/volcano-scheduler-run-times
"#;

/// A Job of one pod that takes a node for itself, of a user.
fn whole(name: &str) -> Value {
    let mut object = job(name, 1);
    object["metadata"]["annotations"] = json!({"pumice.sh/user": "ada"});
    object["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] =
        json!("4");
    object
}

/// What the tool prints, once it says all of that.
fn says(
    lab: &LabGuard,
    controllers: &Controllers,
    words: &[&str],
    parts: &[&str],
) -> Result<String> {
    let kubeconfig = lab.cluster().kubeconfig(Identity::Admin);
    controllers.eventually(LIMIT, "the tool says so", || {
        let run = pumice(words, &kubeconfig)?;
        ensure_says(&run.out, parts)?;
        Ok(Some(run.out))
    })
}

fn runs(lab: &LabGuard, controllers: &Controllers, pod: &str) -> Result<()> {
    controllers.eventually(LIMIT, "the pod runs", || {
        let pod = lab.rest().get(&format!("{PODS}/{pod}"))?;
        Ok((pod["status"]["phase"] == "Running").then_some(()))
    })
}

/// The process that comes after tells the same, and guesses by it.
fn the_next_one_knows_it(lab: &LabGuard, controllers: &Controllers) -> Result<()> {
    lab.rest().create(JOBS, &whole("train-3"))?;
    says(
        lab,
        controllers,
        &["history"],
        &["default/train-1", "succeeded", "default/train-3", "waiting"],
    )?;
    says(lab, controllers, &["when", "train-2"], &["has started"])?;
    // It runs longer than the first one did by now, or its end is guessed by that.
    let told = says(lab, controllers, &["when", "train-3"], &["default/train-3"])?;
    let is_guessed = told.contains("by a guess from jobs like it");
    ensure!(
        is_guessed || told.contains("runs longer than was said"),
        "{told}"
    );
    Ok(())
}

#[test]
fn what_became_of_jobs_is_told_and_what_was_learned_of_them_outlives_the_process() -> Result<()> {
    let lab = Lab::take()?;
    let folder = scratch("past")?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    lab.rest()
        .create("/api/v1/nodes", &forwarder.node("control"))?;
    lab.rest().create(
        MAPS,
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MAP}}),
    )?;
    let conf = ConfigMount::new(&folder, CONF)?;
    let setup = || Setup {
        conf: Some(conf.file()),
        flags: vec![format!(
            "--history-dir={}",
            folder.join("history").display()
        )],
        ..Setup::default()
    };
    let start = || Scheduler::start_in_pod(lab.cluster(), "scheduler-0", "control", setup());
    let mut scheduler = start()?;
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    lab.nodes(1, "4", "8Gi")?;
    lab.rest().create(JOBS, &whole("train-1"))?;
    runs(&lab, &controllers, "train-1-worker-0")?;
    lab.rest().create(JOBS, &whole("train-2"))?;
    says(
        &lab,
        &controllers,
        &["history"],
        &["default/train-1", "running", "default/train-2", "waiting"],
    )?;
    // A run time has whole seconds.
    std::thread::sleep(Duration::from_secs(2));
    end_pod(&lab, "train-1-worker-0", 0)?;
    runs(&lab, &controllers, "train-2-worker-0")?;
    let told = says(
        &lab,
        &controllers,
        &["history", "train-1", "--from", "1h"],
        &["succeeded", "h of cpu", "n-0", "ada"],
    )?;
    ensure!(!told.contains("unseen"), "{told}");
    let rows = says(
        &lab,
        &controllers,
        &["history", "-o", "csv"],
        &["train-1", "train-2"],
    )?;
    ensure!(rows.lines().count() >= 3, "{rows}");

    ensure!(scheduler.terminate()?.success());
    lab.delete("/api/v1/namespaces/volcano-system/pods/scheduler-0")?;
    let kept = lab.rest().get(&format!("{MAPS}/{MAP}"))?;
    let text = kept["data"]["run-times"].as_str().unwrap_or_default();
    ensure!(text.contains("\"name\":\"train\""), "{kept:#}");
    let _next = start()?;
    the_next_one_knows_it(&lab, &controllers)
}
