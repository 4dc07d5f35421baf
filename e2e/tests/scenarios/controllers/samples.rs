//! Every Job of `config/samples`, among them those of the documents users read, as kubectl creates
//! it: it runs, and it completes when its containers end or a user says so.

use anyhow::{Context, Result, ensure};
use pumice_e2e::samples::{Sample, names};
use pumice_e2e::{
    ConfigMount, Controllers, DevicePlugins, Lab, LabGuard, PluginSetup, Scheduler, Setup,
    each_at_once, scratch,
};
use serde_json::{Value, json};

use super::seen;
use crate::LONG;
use crate::all_samples::{SAMPLES_AT_ONCE, provision};
use crate::deploying::grant_mindcluster;

const ALL_JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/jobs";

/// A cluster in the midst: here nobody owns its pods, so its Job has none.
const DUMP: &str = "kubectl-list";

/// Pods run in it since a time that a server does not let itself be told, so nobody knows when they end, and whether `unsaid`
/// runs is decided by whether it or `large` is there first.
const ENDS_DECIDE: &str = "reservation";

/// Jobs that cannot run as written, also when the others have ended, by sample, and why.
const WAIT: [(&str, &str, &str); 8] = [
    ("closed-queue", "late", "its queue is closed"),
    (
        "every-card",
        "nvidia-near",
        "no NUMA node has two cards near it",
    ),
    ("every-card", "wrong", "two cards are whole ones"),
    (
        "resource-strategy-fit",
        "etl",
        "the plugin keeps cpus for the GPUs",
    ),
    ("sla", "big", "a pod that never ends takes half of n2"),
    (
        "multifactor",
        "ada-large",
        "a pod that never ends takes a third of n1",
    ),
    ("user-limits", "wide", "it asks more than its user may have"),
    ("local-volumes", "pair", "there is one disk for two pods"),
];

#[test]
fn every_job_of_the_samples_runs_and_completes() -> Result<()> {
    let mut samples = names()?;
    samples.retain(|name| name != DUMP && name != ENDS_DECIDE);
    let counts = each_at_once(&samples, SAMPLES_AT_ONCE, runs_and_completes)?;
    let count: usize = counts.into_iter().sum();
    ensure!(count > 30, "{count} Jobs");
    Ok(())
}

/// How many Jobs the sample has.
fn runs_and_completes(name: &str) -> Result<usize> {
    let sample = Sample::read(name)?;
    let is_job = |object: &&Value| {
        object["kind"] == "Job" && object["apiVersion"] == "batch.volcano.sh/v1alpha1"
    };
    let count = sample.generations.iter().flatten().filter(is_job).count();
    // Running pods of a Job that no controller has made would have to be evicted.
    if count == 0 || sample.evicts || sample.has_quota {
        return Ok(0);
    }
    let lab = Lab::take()?;
    let _plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let mut setup = Setup::default();
    if let Some(text) = &sample.conf {
        setup.conf = Some(ConfigMount::new(&scratch("sample")?, text)?.file());
    }
    // Nobody makes anything for them yet.
    lab.create_sample(&sample, || Ok(()))?;
    if name == "npu-mindcluster" {
        grant_mindcluster(lab.cluster())?;
    }
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let is_waiting = |job: &str| {
        let mut all = WAIT.iter();
        all.any(|(sample, waits, _)| *sample == name && *waits == job)
    };
    // Containers end well from the beginning; a Job that gets its place runs and makes room.
    lab.kubelet().end_images();
    let done = controllers.eventually(LONG, "every Job completes", || {
        provision(&lab)?;
        let jobs = lab.rest().list(ALL_JOBS)?;
        let mut open = Vec::new();
        for job in &jobs {
            let seen = seen(job);
            let job_name = job["metadata"]["name"].as_str().context("a name")?;
            if seen.phase == "Running" && ends_never(job) {
                complete(&lab, job)?;
            }
            ensure!(seen.retries == 0, "{job_name} was retried: {}", seen.status);
            if seen.phase != "Completed" && !is_waiting(job_name) {
                open.push(format!("{job_name}: {}", seen.status));
            }
        }
        ensure!(jobs.len() == count, "{} of {count} Jobs", jobs.len());
        ensure!(open.is_empty(), "{}", open.join("; "));
        Ok(Some(()))
    });
    done.map_err(|error| scheduler.explain(error))?;
    for job in lab.rest().list(ALL_JOBS)? {
        let seen = seen(&job);
        let completed = seen.phase == "Completed";
        let name = job["metadata"]["name"].as_str().unwrap_or_default();
        ensure!(completed != is_waiting(name), "{name}: {}", seen.status);
        if completed && !ends_never(&job) {
            let succeeded = seen.status["succeeded"].as_i64().unwrap_or(0);
            let least = seen.status["minAvailable"].as_i64().unwrap_or(0);
            ensure!(succeeded >= least, "{name}: {}", seen.status);
        }
    }
    Ok(count)
}

/// Whether containers of a Job run for ever, or are started again when they have ended: what
/// restartPolicy says where it is left out.
fn ends_never(job: &Value) -> bool {
    let tasks = job["spec"]["tasks"].as_array();
    tasks.into_iter().flatten().any(|task| {
        let pod = &task["template"]["spec"];
        let is_service = matches!(pod["restartPolicy"].as_str(), None | Some("Always"));
        is_service
            || pod["containers"][0]["command"]
                .to_string()
                .contains("tail -f")
    })
}

/// The user says that it is done, as `vcctl` and `pumice job` do: with a Command.
fn complete(lab: &LabGuard, job: &Value) -> Result<()> {
    let meta = &job["metadata"];
    let namespace = meta["namespace"].as_str().context("a namespace")?;
    let name = meta["name"].as_str().context("a name")?;
    let path = format!("/apis/bus.volcano.sh/v1alpha1/namespaces/{namespace}/commands");
    let command = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": format!("complete-{name}")},
        "target": {
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
            "name": name, "uid": meta["uid"],
        },
        "action": "CompleteJob",
    });
    match lab.rest().create(&path, &command) {
        Err(error) if pumice_e2e::is_status(&error, 409) => Ok(()),
        other => other.map(|_| ()),
    }
}
