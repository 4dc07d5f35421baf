//! Jobs by kubectl, made to run by our controllers and our scheduler alone.

mod bad_input;
mod commands;
mod faults;
mod jobs;
mod lifecycle;
mod policies;
mod process;
mod samples;
mod volcano;

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use pumice_e2e::{Controllers, LabGuard, Scheduler, Setup};
use serde_json::{Value, json};

use crate::{LONG, PODS};

/// Lease of Volcano's controllers, and of ours.
const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/vc-controller-manager";

/// Jobs of the namespace the scenarios use.
pub(crate) const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";

/// The queue of Jobs that name none, which is there once a scheduler has run.
pub(crate) fn make_queue(lab: &LabGuard) -> Result<()> {
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "default"}, "spec": {"weight": 1},
    });
    lab.rest()
        .create("/apis/scheduling.volcano.sh/v1beta1/queues", &queue)
        .map(|_| ())
}

/// Controllers and a scheduler that do not elect.
fn both(lab: &LabGuard) -> Result<(Controllers, Scheduler)> {
    let setup = Setup::default();
    let controllers = Controllers::start(lab.cluster(), &setup)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    Ok((controllers, scheduler))
}

/// A Job as a user writes it, of one task.
pub(crate) fn job(name: &str, replicas: usize) -> Value {
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

/// A Job of two pods in task `a`, each a partition of its own, and one in task `b`.
fn two_tasks(name: &str) -> Value {
    let mut object = job(name, 2);
    let spec = &mut object["spec"];
    spec["minAvailable"] = json!(3);
    let mut second = spec["tasks"][0].clone();
    spec["tasks"][0]["name"] = json!("a");
    spec["tasks"][0]["partitionPolicy"] = json!({"totalPartitions": 2, "partitionSize": 1});
    second["name"] = json!("b");
    second["replicas"] = json!(1);
    if let Some(tasks) = spec["tasks"].as_array_mut() {
        tasks.push(second);
    }
    object
}

/// The shell commands the containers of a task run.
fn runs(object: &mut Value, task: usize, script: &str) {
    let container = &mut object["spec"]["tasks"][task]["template"]["spec"]["containers"][0];
    container["command"] = json!(["sh", "-c", script]);
}

/// UIDs of the pods of `default` by name, of those that are not on their way out.
fn pod_uids(lab: &LabGuard) -> Result<BTreeMap<String, String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pods = lab.rest().list(PODS)?;
    let there = pods
        .iter()
        .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    let pair = |pod: &Value| {
        let meta = &pod["metadata"];
        (text(&meta["name"]), text(&meta["uid"]))
    };
    Ok(there.map(pair).collect())
}

/// Ends a pod with this exit code, as its kubelet does.
pub(crate) fn end_pod(lab: &LabGuard, name: &str, code: i32) -> Result<()> {
    let path = format!("{PODS}/{name}/status");
    let now = jiff::Timestamp::now().to_string();
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let ended = json!({"exitCode": code, "finishedAt": now});
    let status = json!({
        "name": "main", "image": "example.com/none", "imageID": "", "ready": false,
        "restartCount": 0, "state": {"terminated": ended},
    });
    let patch = json!({"status": {"phase": phase, "containerStatuses": [status]}});
    lab.rest().patch(&path, &patch).map(|_| ())
}

/// Status of a Job, as far as users look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JobSeen {
    phase: String,
    reason: String,
    message: String,
    retries: i64,
    version: i64,
    status: Value,
}

fn seen(object: &Value) -> JobSeen {
    let status = &object["status"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    JobSeen {
        phase: text(&status["state"]["phase"]),
        reason: text(&status["state"]["reason"]),
        message: text(&status["state"]["message"]),
        retries: status["retryCount"].as_i64().unwrap_or(0),
        version: status["version"].as_i64().unwrap_or(0),
        status: status.clone(),
    }
}

fn look(lab: &LabGuard, name: &str) -> Result<JobSeen> {
    Ok(seen(&lab.rest().get(&format!("{JOBS}/{name}"))?))
}

/// Waits until the Job is as asked for.
fn wait_job(
    lab: &LabGuard,
    controllers: &Controllers,
    name: &str,
    what: &str,
    is_so: impl Fn(&JobSeen) -> bool,
) -> Result<JobSeen> {
    controllers.eventually(LONG, &format!("Job {name} {what}"), || {
        let seen = look(lab, name)?;
        ensure!(is_so(&seen), "it is {}", seen.status);
        Ok(Some(seen))
    })
}

fn wait_phase(
    lab: &LabGuard,
    controllers: &Controllers,
    name: &str,
    phase: &str,
) -> Result<JobSeen> {
    wait_job(lab, controllers, name, &format!("is {phase}"), |seen| {
        seen.phase == phase
    })
}

/// A Command as vcctl makes it.
fn command(lab: &LabGuard, name: &str, action: &str) -> Result<()> {
    let object = lab.rest().get(&format!("{JOBS}/{name}"))?;
    let target = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name,
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    });
    let command = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {
            "generateName": format!("{name}-{}-", action.to_lowercase()),
            "namespace": "default",
            "ownerReferences": [target],
        },
        "target": target,
        "action": action,
    });
    lab.cluster()
        .kubectl(&["create", "-f", "-"], &command.to_string())
        .map(|_| ())
}

/// Messages of the events of an object in `default`, with their reasons.
pub(crate) fn events(lab: &LabGuard, name: &str) -> Result<Vec<String>> {
    let path =
        format!("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D{name}");
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let events = lab.rest().list(&path)?;
    let line = |event: &Value| format!("{}: {}", text(event, "reason"), text(event, "message"));
    Ok(events.iter().map(line).collect())
}
