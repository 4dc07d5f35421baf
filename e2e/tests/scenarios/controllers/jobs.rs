//! Jobs from their creation to their end.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{Controllers, Lab, LabGuard, Setup};
use serde_json::{Value, json};

use super::{JOBS, both, job, phase};
use crate::{LIMIT, LONG, PODS, wait_running_for};

/// Ends every pod of `default` well, as a kubelet tells it.
fn end_pods(lab: &LabGuard) -> Result<()> {
    for pod in lab.rest().list(PODS)? {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let ended = json!({"status": {"phase": "Succeeded"}});
        lab.rest().patch(&format!("{PODS}/{name}/status"), &ended)?;
    }
    Ok(())
}

/// Pods by the Job they belong to.
fn pods_by_job(lab: &LabGuard) -> Result<BTreeMap<String, usize>> {
    let mut pods = BTreeMap::new();
    for pod in lab.rest().list(PODS)? {
        let job = pod["metadata"]["annotations"]["volcano.sh/job-name"].as_str();
        *pods.entry(job.unwrap_or_default().to_owned()).or_default() += 1;
    }
    Ok(pods)
}

#[test]
fn a_job_by_kubectl_runs_and_completes() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let (controllers, scheduler) = both(&lab)?;
    lab.cluster()
        .kubectl(&["apply", "-f", "-"], &job("mine", 3).to_string())?;
    wait_running_for(LONG, &lab, &scheduler, "mine-worker-", 3)
        .map_err(|error| controllers.explain(error))?;
    controllers.eventually(LIMIT, "the Job runs", || {
        Ok((phase(&lab, "mine")? == "Running").then_some(()))
    })?;
    end_pods(&lab)?;
    controllers.eventually(LIMIT, "the Job is completed", || {
        Ok((phase(&lab, "mine")? == "Completed").then_some(()))
    })?;
    let made = controllers.metric("volcano_job_completed_phase_count")?;
    assert_eq!(made, Some(1.0));
    Ok(())
}

#[test]
fn sixty_jobs_at_once_run() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(4, "32", "256Gi")?;
    let (controllers, scheduler) = both(&lab)?;
    let jobs = (0..60).map(|n| job(&format!("many-{n}"), 2));
    lab.rest().create_all(JOBS, jobs.collect(), 8)?;
    wait_running_for(LONG * 2, &lab, &scheduler, "many-", 120)
        .map_err(|error| controllers.explain(error))?;
    let pods = pods_by_job(&lab)?;
    ensure!(
        pods.len() == 60 && pods.values().all(|count| *count == 2),
        "{pods:?}"
    );
    Ok(())
}

#[test]
fn controllers_killed_at_any_moment_make_no_pod_twice_and_leave_none_out() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(4, "32", "256Gi")?;
    let (mut controllers, scheduler) = both(&lab)?;
    let jobs = (0..30).map(|n| job(&format!("killed-{n}"), 3));
    lab.rest().create_all(JOBS, jobs.collect(), 8)?;
    for moment in [30, 170, 410, 90, 260] {
        std::thread::sleep(Duration::from_millis(moment));
        controllers.process().kill();
        controllers = Controllers::launch(lab.cluster(), &Setup::default())?;
        // Until it does something.
        controllers.eventually(LIMIT, "it answers", || {
            Ok((controllers.get("/readyz")?.0 == 200).then_some(()))
        })?;
    }
    wait_running_for(LONG * 2, &lab, &scheduler, "killed-", 90)
        .map_err(|error| controllers.explain(error))?;
    let pods = pods_by_job(&lab)?;
    ensure!(
        pods.len() == 30 && pods.values().all(|count| *count == 3),
        "{pods:?}"
    );
    let retried = |job: &Value| job["status"]["retryCount"].as_i64().unwrap_or(0) != 0;
    let jobs = lab.rest().list(JOBS)?;
    ensure!(!jobs.iter().any(retried), "a Job was retried: {jobs:?}");
    Ok(())
}

#[test]
fn a_namespace_deleted_under_a_running_job_goes() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    lab.cluster().create_namespace("leaving")?;
    let mut object = job("left", 2);
    object["metadata"]["namespace"] = json!("leaving");
    let jobs = JOBS.replace("/default/", "/leaving/");
    lab.rest().create(&jobs, &object)?;
    let pods = PODS.replace("/default/", "/leaving/");
    controllers.eventually(LONG, "its pods are there", || {
        Ok((lab.rest().list(&pods)?.len() == 2).then_some(()))
    })?;
    lab.cluster()
        .kubectl(&["delete", "namespace", "leaving", "--wait=false"], "")?;
    controllers.eventually(LONG * 2, "the namespace is gone", || {
        let there = lab.rest().get("/api/v1/namespaces/leaving");
        Ok(there
            .is_err_and(|e| pumice_e2e::is_status(&e, 404))
            .then_some(()))
    })
}
