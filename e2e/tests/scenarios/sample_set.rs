//! Every sample of `config/samples`, created with kubectl: the scheduler binds what
//! `pumice simulate` prints for it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use pumice_e2e::samples::{Sample, names};
use pumice_e2e::{ConfigMount, Lab, LabGuard, Scheduler, Setup, eventually, scratch};

use crate::{LIMIT, QUIET};

/// Shows a single cycle of the simulator; its continuation is the sample `pipelining-then-bound`.
const ONE_CYCLE: &str = "pipelining";

#[test]
fn every_sample_is_bound_as_simulated() -> Result<()> {
    let mut failures = Vec::new();
    let mut tried = 0;
    for name in names()?.iter().filter(|name| *name != ONE_CYCLE) {
        tried += 1;
        if let Err(error) = is_bound_as_simulated(name) {
            failures.push(format!("{name}: {error:#}"));
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(tried > 10, "{tried} samples");
    Ok(())
}

fn is_bound_as_simulated(name: &str) -> Result<()> {
    let mut lab = Lab::take()?;
    let sample = Sample::read(name)?;
    // The scheduler is to find everything there, as the simulator does.
    lab.make_pods_at_once()?;
    if !sample.leaving.is_empty() {
        lab.kubelet().pause();
    }
    lab.create_sample(&sample)?;
    wait_complete(&lab)?;
    let before = lab.bound("")?;
    let mut setup = Setup::default();
    if let Some(text) = &sample.conf {
        setup.conf = Some(ConfigMount::new(&scratch("sample")?, text)?.file());
    }
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    if !sample.leaving.is_empty() {
        std::thread::sleep(QUIET);
        ensure!(
            fresh(&lab, &before)?.is_empty(),
            "bound beside a pod that is leaving"
        );
        lab.kubelet().resume();
    }
    let what = format!("the binds are {:?}", sample.binds);
    scheduler.eventually(LIMIT, &what, || {
        let binds = fresh(&lab, &before)?;
        ensure!(binds == sample.binds, "the binds are {binds:?}");
        Ok(Some(()))
    })?;
    std::thread::sleep(QUIET);
    ensure!(
        fresh(&lab, &before)? == sample.binds,
        "more was bound later"
    );
    Ok(())
}

/// Waits until every Job has its PodGroup and all its pods.
fn wait_complete(lab: &LabGuard) -> Result<()> {
    let jobs = lab.rest().list("/apis/batch.volcano.sh/v1alpha1/jobs")?;
    for job in jobs {
        let name = job["metadata"]["name"].as_str().context("a name")?;
        let tasks = job["spec"]["tasks"].as_array().context("tasks")?;
        let replicas = |task: &serde_json::Value| task["replicas"].as_u64().unwrap_or(1);
        let wanted: u64 = tasks.iter().map(replicas).sum();
        let path = format!("/api/v1/pods?labelSelector=volcano.sh/job-name%3D{name}");
        eventually(LIMIT, &format!("Job {name} has {wanted} pods"), || {
            let count = lab.rest().list(&path)?.len();
            Ok((u64::try_from(count)? >= wanted).then_some(()))
        })?;
    }
    Ok(())
}

/// Pods bound since.
fn fresh(lab: &LabGuard, before: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let mut bound = lab.bound("")?;
    bound.retain(|pod, _| !before.contains_key(pod));
    Ok(bound)
}
