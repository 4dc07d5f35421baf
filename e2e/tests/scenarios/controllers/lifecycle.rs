//! From Pending to the end without policies: scaling by kubectl, clean-up.

use anyhow::{Result, ensure};
use pumice_e2e::Lab;
use serde_json::{Value, json};

use super::{JOBS, both, job, pod_uids, runs, wait_job, wait_phase};
use crate::{LIMIT, LONG};

#[test]
fn a_job_is_scaled_up_and_down_by_kubectl() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let mut object = job("wide", 4);
    object["spec"]["minAvailable"] = json!(2);
    object["spec"]["plugins"] = json!({"svc": []});
    lab.cluster()
        .kubectl(&["apply", "-f", "-"], &object.to_string())?;
    for replicas in [4_usize, 7, 2, 3] {
        object["spec"]["tasks"][0]["replicas"] = json!(replicas);
        lab.cluster()
            .kubectl(&["apply", "-f", "-"], &object.to_string())?;
        controllers.eventually(LONG, &format!("{replicas} pods run"), || {
            let there = pod_uids(&lab)?.len();
            let running = lab.running("wide-worker-")?;
            ensure!(
                (there, running) == (replicas, replicas),
                "{there} there, {running} run"
            );
            Ok(Some(()))
        })?;
        controllers.eventually(LIMIT, "the hosts are listed", || {
            let hosts = lab
                .rest()
                .get("/api/v1/namespaces/default/configmaps/wide-svc")?;
            let lines = hosts["data"]["worker.host"]
                .as_str()
                .unwrap_or_default()
                .lines()
                .count();
            Ok((lines == replicas).then_some(()))
        })?;
        let what = format!("counts {replicas}");
        let seen = wait_job(&lab, &controllers, "wide", &what, |seen| {
            seen.status["running"] == replicas
        })?;
        ensure!(
            seen.phase == "Running" && seen.retries == 0,
            "{}",
            seen.status
        );
    }
    Ok(())
}

#[test]
fn a_finished_job_is_deleted_with_its_pods_after_its_time_to_live() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    for (name, ttl, script) in [
        ("at-once", json!(0), "true"),
        ("soon", json!(3), "exit 1"),
        ("never", Value::Null, "true"),
        ("unfinished", json!(0), "tail -f x"),
    ] {
        let mut object = job(name, 2);
        object["spec"]["ttlSecondsAfterFinished"] = ttl;
        runs(&mut object, 0, script);
        lab.rest().create(JOBS, &object)?;
    }
    let names = || -> Result<Vec<String>> {
        let jobs = lab.rest().list(JOBS)?;
        let name = |job: &Value| {
            job["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        Ok(jobs.iter().map(name).collect())
    };
    controllers.eventually(LONG, "two Jobs are left", || {
        let names = names()?;
        ensure!(names == ["never", "unfinished"], "{names:?}");
        Ok(Some(()))
    })?;
    controllers.eventually(LIMIT, "their pods are gone", || {
        let pods = pod_uids(&lab)?;
        Ok((pods.keys().all(|pod| !pod.starts_with("soon"))).then_some(()))
    })?;
    wait_phase(&lab, &controllers, "never", "Completed")?;
    wait_phase(&lab, &controllers, "unfinished", "Running").map(|_| ())
}
