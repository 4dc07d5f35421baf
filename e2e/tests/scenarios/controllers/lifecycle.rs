//! From Pending to the end without policies: minimums, order of tasks, scaling, clean-up.

use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::Lab;
use serde_json::{Value, json};

use super::{JOBS, both, end_pod, job, look, pod_uids, runs, two_tasks, wait_job, wait_phase};
use crate::{LIMIT, LONG};

#[test]
fn jobs_end_as_their_pods_and_minimums_say() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "32", "256Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let good = "sleep 1";
    let bad = "sleep 1; exit 1";
    // Fields of the spec, what tasks `a` (two pods) and `b` (one) do, the phase it ends in.
    let table = [
        ("all-good", json!({}), [good, good], "Completed"),
        ("one-bad", json!({}), [good, bad], "Failed"),
        (
            "enough",
            json!({"minAvailable": 2}),
            [good, bad],
            "Completed",
        ),
        ("too-few", json!({"minAvailable": 2}), [bad, good], "Failed"),
        (
            "two-suffice",
            json!({"minSuccess": 2}),
            [good, "tail -f x"],
            "Completed",
        ),
        (
            "three-needed",
            json!({"minSuccess": 3}),
            [good, bad],
            "Failed",
        ),
        ("runs-on", json!({}), [good, "tail -f x"], "Running"),
    ];
    for (name, fields, scripts, _) in &table {
        let mut object = two_tasks(name);
        for (key, value) in fields.as_object().into_iter().flatten() {
            object["spec"][key] = value.clone();
        }
        // A minimum of the Job below those of its tasks counts pods of any task.
        for (task, script) in scripts.iter().enumerate() {
            runs(&mut object, task, script);
        }
        lab.rest().create(JOBS, &object)?;
    }
    for (name, _, _, phase) in &table {
        let ended = wait_phase(&lab, &controllers, name, phase)?;
        ensure!(ended.retries == 0, "{name}: {}", ended.status);
    }
    // What they ended with stays.
    std::thread::sleep(Duration::from_secs(3));
    for (name, counts) in [
        ("all-good", [3, 0]),
        ("one-bad", [2, 1]),
        ("too-few", [1, 2]),
    ] {
        let seen = look(&lab, name)?;
        let count = |key: &str| seen.status[key].as_i64().unwrap_or(0);
        assert_eq!(
            [count("succeeded"), count("failed")],
            counts,
            "{name}: {}",
            seen.status
        );
    }
    assert_eq!(look(&lab, "runs-on")?.phase, "Running");
    Ok(())
}

#[test]
fn a_task_waits_for_those_it_depends_on() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, scheduler) = both(&lab)?;
    let mut object = two_tasks("ordered");
    object["spec"]["minAvailable"] = json!(1);
    object["spec"]["tasks"][0]["minAvailable"] = json!(1);
    object["spec"]["tasks"][0]["partitionPolicy"] = Value::Null;
    object["spec"]["tasks"][1]["dependsOn"] = json!({"name": ["a"], "iteration": "all"});
    object["spec"]["tasks"][1]["minAvailable"] = json!(0);
    // Not ready before it is on a node.
    let closed = json!({"spec": {"unschedulable": true}});
    lab.rest().patch("/api/v1/nodes/n-0", &closed)?;
    lab.rest().create(JOBS, &object)?;
    controllers.eventually(LONG, "task a has its pods", || {
        Ok((pod_uids(&lab)?.len() == 2).then_some(()))
    })?;
    std::thread::sleep(Duration::from_secs(2));
    ensure!(
        !pod_uids(&lab)?.contains_key("ordered-b-0"),
        "b did not wait"
    );
    let open = json!({"spec": {"unschedulable": null}});
    lab.rest().patch("/api/v1/nodes/n-0", &open)?;
    let waited = scheduler.eventually(LONG, "all run", || {
        Ok((lab.running("ordered-")? == 3).then_some(()))
    });
    waited.map_err(|error| controllers.explain(error))
}

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

#[test]
fn a_pod_that_a_user_deletes_comes_again_without_a_policy() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    lab.rest().create(JOBS, &job("healed", 2))?;
    wait_phase(&lab, &controllers, "healed", "Running")?;
    let before = pod_uids(&lab)?;
    let delete = ["delete", "pod", "healed-worker-1", "--wait=false"];
    lab.cluster().kubectl(&delete, "")?;
    controllers.eventually(LONG, "both pods run, one is new", || {
        let now = pod_uids(&lab)?;
        let is_new = now.get("healed-worker-1") != before.get("healed-worker-1");
        Ok((now.len() == 2 && is_new && lab.running("healed-")? == 2).then_some(()))
    })?;
    let seen = look(&lab, "healed")?;
    ensure!(seen.retries == 0, "{}", seen.status);
    end_pod(&lab, "healed-worker-0", 0)?;
    end_pod(&lab, "healed-worker-1", 0)?;
    wait_phase(&lab, &controllers, "healed", "Completed").map(|_| ())
}
