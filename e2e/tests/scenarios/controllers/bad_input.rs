//! Mistakes of users: what is wrong stands on the Job, nothing spins, and it runs once it is mended.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Controllers, Identity, Lab, LabGuard, Scheduler, Setup};
use serde_json::{Value, json};

use super::faults::accepted;
use super::{JOBS, both, command, events, job, look, wait_job, wait_phase};
use crate::LIMIT;

const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn queue(name: &str, parent: &str) -> Value {
    json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "parent": parent},
    })
}

/// The Job says so, in its status and in an event, and is not given up.
fn waits_for(
    lab: &LabGuard,
    controllers: &Controllers,
    name: &str,
    reason: &str,
    words: &str,
) -> Result<()> {
    let seen = wait_job(lab, controllers, name, &format!("says {reason}"), |seen| {
        seen.reason == reason
    })?;
    ensure!(seen.phase == "Pending", "{name}: {}", seen.status);
    ensure!(seen.message.contains(words), "{name}: {}", seen.status);
    controllers.eventually(LIMIT, "an event says it too", || {
        let told = events(lab, name)?;
        let is_told = told
            .iter()
            .any(|line| line.starts_with(reason) && line.contains(words));
        ensure!(is_told, "{told:?}");
        Ok(Some(()))
    })
}

#[test]
fn a_job_of_a_queue_that_is_missing_closed_or_no_leaf_waits_for_it() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    // Without the policy on Commands, as in Volcano.
    let unguarded = Setup {
        flags: vec!["--unguarded-queue-commands=true".to_owned()],
        ..Setup::default()
    };
    let controllers = Controllers::start(lab.cluster(), &unguarded)?;
    let _scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(QUEUES, &queue("shut", "root"))?;
    lab.rest().create(QUEUES, &queue("stem", "root"))?;
    lab.rest().create(QUEUES, &queue("twig", "stem"))?;
    let folder = lab.cluster().folder().to_owned();
    lab.cluster().shell(&folder, "pumice queue close shut")?;
    controllers.eventually(LIMIT, "the queue is closed", || {
        let queue = lab.rest().get(&format!("{QUEUES}/shut"))?;
        Ok((queue["status"]["state"] == "Closed").then_some(()))
    })?;
    for name in ["missing", "shut", "stem"] {
        let mut object = job(&format!("in-{name}"), 1);
        object["spec"]["queue"] = json!(name);
        lab.rest().create(JOBS, &object)?;
    }
    for (name, words) in [
        ("in-missing", "queue \"missing\" does not exist; create it"),
        ("in-shut", "queue \"shut\" is Closed; open it"),
        ("in-stem", "queue \"stem\" has queues below it, as \"twig\""),
    ] {
        waits_for(&lab, &controllers, name, "QueueNotReady", words)?;
    }
    lab.rest().create(QUEUES, &queue("missing", "root"))?;
    lab.cluster().shell(&folder, "pumice queue open shut")?;
    lab.delete(&format!("{QUEUES}/twig"))?;
    for name in ["in-missing", "in-shut", "in-stem"] {
        let seen = wait_phase(&lab, &controllers, name, "Running")?;
        ensure!(seen.reason.is_empty(), "{name}: {}", seen.status);
    }
    Ok(())
}

#[test]
fn a_job_whose_claim_is_missing_waits_for_it() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let mut object = job("claims", 1);
    object["spec"]["volumes"] = json!([{"mountPath": "/data", "volumeClaimName": "data"}]);
    lab.rest().create(JOBS, &object)?;
    let words = "PersistentVolumeClaim data does not exist; create it";
    waits_for(&lab, &controllers, "claims", "PVCError", words)?;
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            "storageClassName": "by-hand", "hostPath": {"path": "/nowhere"},
        },
    });
    lab.rest().create("/api/v1/persistentvolumes", &volume)?;
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand",
            "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "disk",
        },
    });
    lab.rest().create(CLAIMS, &claim)?;
    wait_phase(&lab, &controllers, "claims", "Running").map(|_| ())
}

#[test]
fn a_template_the_api_server_refuses_is_told_in_its_words_and_tried_ever_more_rarely() -> Result<()>
{
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let mut object = job("crooked", 20);
    let pod = &mut object["spec"]["tasks"][0]["template"]["spec"];
    // What only the admission of the API server knows: names of containers are looked at before.
    pod["priority"] = json!(5);
    lab.rest().create(JOBS, &object)?;
    let words = "the integer value of priority (5) must not be provided";
    waits_for(&lab, &controllers, "crooked", "FailedCreate", words)?;
    let refusals = || -> Result<f64> {
        let writes = controllers.metric("pumice_controller_writes_total")?;
        Ok(writes.unwrap_or(0.0))
    };
    std::thread::sleep(Duration::from_secs(5));
    let before = refusals()?;
    std::thread::sleep(Duration::from_secs(10));
    let more = refusals()? - before;
    ensure!(more <= 4.0, "{more} writes in ten seconds");
    let made = accepted(&lab, Identity::Controllers, "create", None, "crooked-")?;
    ensure!(made.is_empty(), "{made:?}");
    Ok(())
}

#[test]
fn a_quota_that_is_used_up_is_waited_for_and_never_ends_a_job() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "2"}},
    });
    lab.rest().create(QUOTAS, &quota)?;
    controllers.eventually(LIMIT, "the quota is in force", || {
        let quota = lab.rest().get(&format!("{QUOTAS}/few"))?;
        Ok((quota["status"]["hard"]["pods"] == "2").then_some(()))
    })?;
    lab.rest().create(JOBS, &job("hungry", 4))?;
    waits_for(
        &lab,
        &controllers,
        "hungry",
        "FailedCreate",
        "exceeded quota: few",
    )?;
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(look(&lab, "hungry")?.phase, "Pending");
    let more = json!({"spec": {"hard": {"pods": "10"}}});
    lab.rest().patch(&format!("{QUOTAS}/few"), &more)?;
    let seen = wait_phase(&lab, &controllers, "hungry", "Running")?;
    ensure!(seen.retries == 0, "{}", seen.status);
    Ok(())
}

/// What stands in the Job, or in the answer to kubectl: wherever a user learns of it first.
fn told(lab: &LabGuard, controllers: &Controllers, object: &Value) -> Result<String> {
    let text = object.to_string();
    if let Err(error) = lab.cluster().kubectl(&["create", "-f", "-"], &text) {
        return Ok(format!("{error:#}"));
    }
    let name = object["metadata"]["name"].as_str().context("a name")?;
    let is_told = |seen: &super::JobSeen| !seen.reason.is_empty();
    let seen = wait_job(lab, controllers, name, "says what is wrong", is_told)?;
    ensure!(seen.reason == "InvalidJob", "{name}: {}", seen.status);
    Ok(seen.message)
}

#[test]
fn jobs_that_cannot_be_say_what_is_wrong_where() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let long = format!("long-{}", "x".repeat(70));
    let table: [(&str, &str, Value, &[&str]); 9] = [
        (
            "flag",
            "/plugins",
            json!({"svc": ["--publish-not-ready-addresses=maybe"]}),
            &["svc", "publish"],
        ),
        (
            "port",
            "/plugins",
            json!({"pytorch": ["--port=many"]}),
            &["pytorch", "port"],
        ),
        ("unknown", "/plugins", json!({"magic": []}), &["magic"]),
        (
            "action",
            "/policies",
            json!([{"event": "PodFailed", "action": "Dance"}]),
            &["Dance"],
        ),
        (
            "event",
            "/policies",
            json!([{"event": "Rain", "action": "AbortJob"}]),
            &["Rain"],
        ),
        ("many", "/minAvailable", json!(7), &["minAvailable"]),
        ("none", "/tasks", json!([]), &["tasks"]),
        (
            "circle",
            "/tasks/0/dependsOn",
            json!({"name": ["worker"]}),
            &["spec.tasks", "wait for each other", "worker"],
        ),
        (&long, "/maxRetry", json!(3), &["63"]),
    ];
    for (name, place, value, words) in table {
        let mut object = job(name, 2);
        // A place that is not there yet is a field of the object above it.
        let (owner, field) = place.rsplit_once('/').context("a path")?;
        let owner = object["spec"].pointer_mut(owner).context("an owner")?;
        owner[field] = value;
        let said = told(&lab, &controllers, &object)?;
        for word in words {
            ensure!(said.contains(word), "{name}: nothing of {word:?} in {said}");
        }
    }
    Ok(())
}

#[test]
fn with_the_policies_a_wrong_edit_is_refused_and_our_own_writes_are_not() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "spare"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            "storageClassName": "by-hand", "hostPath": {"path": "/nowhere"},
        },
    });
    lab.rest().create("/api/v1/persistentvolumes", &volume)?;
    let mut object = job("fixed", 2);
    object["spec"]["volumes"] = json!([{"mountPath": "/data", "volumeClaim": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand",
        "resources": {"requests": {"storage": "1Gi"}},
    }}]);
    lab.rest().create(JOBS, &object)?;
    wait_phase(&lab, &controllers, "fixed", "Running")?;
    let before = super::pod_uids(&lab)?;
    let image = json!([{"op": "replace", "value": "example.com/other",
        "path": "/spec/tasks/0/template/spec/containers/0/image"}]);
    let queue = json!([{"op": "replace", "path": "/spec/queue", "value": "other"}]);
    for patch in [image, queue] {
        controllers.eventually(LIMIT, "the edit is refused", || {
            let patch = patch.to_string();
            let arguments = [
                "patch",
                "vcjob",
                "fixed",
                "--type=json",
                "--dry-run=server",
                "-p",
            ];
            let refused = lab
                .cluster()
                .kubectl(&[&arguments[..], &[&patch]].concat(), "");
            let text = format!("{:#}", refused.err().context("it is taken")?);
            ensure!(text.contains("cannot be changed"), "{text}");
            Ok(Some(()))
        })?;
    }
    assert_eq!(super::pod_uids(&lab)?, before);
    let more = json!({"spec": {"tasks": [object["spec"]["tasks"][0].clone()]}});
    let mut more = more;
    more["spec"]["tasks"][0]["replicas"] = json!(3);
    lab.rest().patch(&format!("{JOBS}/fixed"), &more)?;
    wait_job(&lab, &controllers, "fixed", "is wider", |seen| {
        seen.status["running"] == 3
    })?;
    command(&lab, "fixed", "CompleteJob")?;
    wait_phase(&lab, &controllers, "fixed", "Completed").map(|_| ())
}
