//! The API server dies and comes back, again and again.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use pumice_e2e::{Controllers, Lab, LabGuard, Scheduler, Setup, eventually};
use serde_json::json;

use crate::election::{SHORT, holder};
use crate::{
    GROUPS, LIMIT, LONG, PODS, accepted_binds, bare_pod, no_node_is_overfull, wait_bound,
    wait_running_for,
};

/// A new pod is bound this long after the API server is ready, on a machine with nothing else to do.
const RECOVERY: Duration = Duration::from_secs(5);

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";

/// A Volcano Job of two pods, whose PodGroup and pods the controllers make.
fn create_job(lab: &LabGuard, name: &str) -> Result<()> {
    let pod = bare_pod(name, Some("1"));
    let job = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "minAvailable": 2,
            "schedulerName": "volcano",
            "queue": "default",
            "tasks": [{"name": "w", "replicas": 2, "template": {"spec": pod["spec"]}}],
        },
    });
    lab.rest().create(JOBS, &job).map(|_| ())
}

/// A ready API server serves custom resources a moment later.
fn start_again(lab: &mut LabGuard) -> Result<()> {
    lab.cluster_mut().start_apiserver()?;
    eventually(LIMIT, "what the tests create is served again", || {
        for kind in [GROUPS, JOBS, PODS] {
            lab.rest().list(kind)?;
        }
        Ok(Some(()))
    })
}

/// Every PodGroup has a phase.
fn wait_phases(lab: &LabGuard, scheduler: &Scheduler, count: usize) -> Result<()> {
    scheduler.eventually(LIMIT, "every PodGroup has a phase", || {
        let groups = lab.rest().list(GROUPS)?;
        let phase = |group: &&serde_json::Value| group["status"]["phase"].is_string();
        let with_phase = groups.iter().filter(phase).count();
        Ok((groups.len() == count && with_phase == count).then_some(()))
    })
}

/// Nothing was bound twice of the pods with this prefix, which no other test uses.
fn nothing_was_bound_twice(lab: &LabGuard, prefix: &str) -> Result<()> {
    let twice: Vec<_> = accepted_binds(lab)?
        .into_iter()
        .filter(|(pod, count)| pod.starts_with(prefix) && *count > 1)
        .collect();
    ensure!(twice.is_empty(), "bound twice: {twice:?}");
    Ok(())
}

#[test]
fn every_group_has_a_phase_after_the_api_server_was_killed_three_times() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(4, "20", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let _controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    for round in 0..3 {
        lab.gang(&format!("killed-{round}"), "default", 3, 3)?;
        create_job(&lab, &format!("killed-job-{round}"))?;
        // While their statuses are on the way.
        lab.cluster_mut().kill_apiserver();
        start_again(&mut lab)?;
    }
    wait_running_for(LONG, &lab, &scheduler, "killed-", 3 * 5)?;
    wait_phases(&lab, &scheduler, 6)?;
    // A new one gets its phase as before.
    create_job(&lab, "after-job")?;
    lab.gang("after", "default", 2, 2)?;
    wait_running_for(LIMIT, &lab, &scheduler, "after", 4)?;
    wait_phases(&lab, &scheduler, 8)?;
    nothing_was_bound_twice(&lab, "killed-")?;
    no_node_is_overfull(&lab)
}

/// From its creation until it is bound.
fn time_to_bind(lab: &LabGuard, scheduler: &Scheduler, name: &str) -> Result<Duration> {
    let began = Instant::now();
    lab.rest().create(PODS, &bare_pod(name, Some("100m")))?;
    wait_bound(lab, scheduler, name, 1)?;
    Ok(began.elapsed())
}

#[test]
fn a_new_pod_is_bound_within_seconds_after_an_outage_however_long_it_was() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    time_to_bind(&lab, &scheduler, "first")?;
    let usual = time_to_bind(&lab, &scheduler, "usual")?;
    for seconds in [2, 4, 6] {
        lab.cluster_mut().kill_apiserver();
        std::thread::sleep(Duration::from_secs(seconds));
        lab.cluster_mut().start_apiserver()?;
        let took = time_to_bind(&lab, &scheduler, &format!("after-{seconds}"))?;
        eprintln!(
            "outage {seconds} s and start: bound {took:?} after readiness, usually {usual:?}"
        );
        // What a busy machine adds shows in the time it takes without an outage.
        let limit = RECOVERY + 5 * usual;
        ensure!(
            took < limit,
            "after {seconds} s: bound {took:?} after readiness, usually {usual:?}"
        );
    }
    Ok(())
}

#[test]
fn a_scheduler_that_lost_the_lease_in_an_outage_leads_again_without_a_restart() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let setup = Setup {
        elects: true,
        flags: SHORT.map(str::to_owned).to_vec(),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    time_to_bind(&lab, &scheduler, "led-first")?;
    let usual = time_to_bind(&lab, &scheduler, "led-usual")?;
    let before = holder(&lab)?;
    lab.cluster_mut().kill_apiserver();
    // Longer than the term.
    std::thread::sleep(Duration::from_secs(6));
    lab.cluster_mut().start_apiserver()?;
    let took = time_to_bind(&lab, &scheduler, "led-again")?;
    ensure!(
        took < RECOVERY + 5 * usual,
        "bound {took:?} after readiness"
    );
    // The name of the holder is new with every start of a process.
    ensure!(holder(&lab)? == before, "another process than {before:?}");
    let log = scheduler.log();
    ensure!(log.contains("lost the lease"), "{log}");
    nothing_was_bound_twice(&lab, "led-")
}
