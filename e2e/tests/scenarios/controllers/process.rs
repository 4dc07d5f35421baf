//! The process: start, lease, standby, missing definitions and grants.

use anyhow::{Result, ensure};
use pumice_e2e::{
    Controllers, Fault, FaultProxy, Identity, Lab, LabGuard, Matcher, PodGroupController,
    PodGroupSetup, Rest, Scheduler, Setup,
};

use serde_json::{Value, json};

use super::{JOBS, LEASE, both, job, look, make_queue, pod_uids, wait_phase};
use crate::{GROUPS, LIMIT, LONG};

/// Shorter than the default, so that a test need not wait for it.
const SHORT: [&str; 3] = [
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=1s",
];

fn electing() -> Setup {
    Setup {
        elects: true,
        flags: SHORT.map(str::to_owned).to_vec(),
        ..Setup::default()
    }
}

fn holder(lab: &LabGuard) -> Result<Option<String>> {
    let lease = lab.rest().get(LEASE)?;
    let holder = lease["spec"]["holderIdentity"].as_str();
    Ok(holder
        .filter(|holder| !holder.is_empty())
        .map(str::to_owned))
}

#[test]
fn a_standby_does_nothing_until_the_leader_is_killed_and_then_goes_on() -> Result<()> {
    let lab = Lab::take()?;
    make_queue(&lab)?;
    let mut leader = Controllers::launch(lab.cluster(), &electing())?;
    let first = leader.eventually(LIMIT, "the first replica leads", || holder(&lab))?;
    let mut standby = Controllers::start(lab.cluster(), &electing())?;
    leader.process().kill();
    lab.rest().create(JOBS, &job("after", 1))?;
    standby.eventually(LIMIT, "the Job has its PodGroup", || {
        Ok((!lab.rest().list(GROUPS)?.is_empty()).then_some(()))
    })?;
    let second = holder(&lab)?;
    ensure!(
        second.is_some_and(|second| second != first),
        "still {first}"
    );
    let status = standby.terminate()?;
    ensure!(status.code() == Some(0), "{status}\n{}", standby.log());
    assert_eq!(holder(&lab)?, None, "the lease is given back");
    Ok(())
}

#[test]
fn kinds_that_are_denied_are_told_with_the_grant_and_the_others_work() -> Result<()> {
    let lab = Lab::take()?;
    make_queue(&lab)?;
    let proxy = FaultProxy::start(lab.cluster())?;
    let address = proxy.address();
    let cluster = lab.cluster();
    let path = cluster.kubeconfig_for(Identity::Controllers, address, "denied.kubeconfig")?;
    let denied: Matcher = Box::new(|_, path| path.contains("/daemonsets"));
    proxy.inject(usize::MAX, Fault::Answer(403, None), denied);
    let setup = Setup {
        kubeconfig: Some(path),
        ..Setup::default()
    };
    let controllers = Controllers::start(cluster, &setup)?;
    lab.rest().create(JOBS, &job("denied", 1))?;
    controllers.eventually(LONG, "the Job has its PodGroup", || {
        Ok((!lab.rest().list(GROUPS)?.is_empty()).then_some(()))
    })?;
    let log = controllers.log();
    ensure!(
        log.contains("grant list and watch on daemonsets of apps"),
        "{log}"
    );
    Ok(())
}

/// Volcano's controllers as far as others see them: they hold the lease.
fn volcanos(lab: &LabGuard) -> Result<PodGroupController> {
    let rest = Rest::new(lab.cluster().client(Identity::Admin)?);
    let setup = PodGroupSetup {
        delay: None,
        lease_s: Some(4),
    };
    Ok(PodGroupController::start(rest, setup))
}

/// Writes of our controllers that are none of the lease.
fn writes(lab: &LabGuard) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(lab.cluster().folder().join("audit.log"))?;
    let read = |line: &str| {
        let entry: Value = serde_json::from_str(line).ok()?;
        let about = &entry["objectRef"];
        let is_ours = entry["user"]["username"] == Identity::Controllers.user();
        let is_lease = about["resource"] == "leases";
        (is_ours && !is_lease).then(|| format!("{} {}", entry["verb"], about))
    };
    Ok(text.lines().filter_map(read).collect())
}

#[test]
fn volcanos_lease_is_waited_for_taken_when_it_runs_out_and_given_back() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let theirs = volcanos(&lab)?;
    lab.rest().create(JOBS, &job("handed", 2))?;
    scheduler.eventually(LIMIT, "Volcano's controllers lead", || holder(&lab))?;
    let before = writes(&lab)?.len();
    let mut ours = Controllers::start(lab.cluster(), &electing())?;
    // Longer than the lease.
    std::thread::sleep(std::time::Duration::from_secs(8));
    assert_eq!(holder(&lab)?.as_deref(), Some("controller_1"));
    let written = writes(&lab)?;
    ensure!(written.len() == before, "{:?}", &written[before..]);
    assert_eq!(look(&lab, "handed")?.phase, "");
    // They end without a word: the lease runs out.
    drop(theirs);
    wait_phase(&lab, &ours, "handed", "Running")?;
    let pods = pod_uids(&lab)?;
    let status = ours.terminate()?;
    ensure!(status.code() == Some(0), "{status}\n{}", ours.log());
    assert_eq!(holder(&lab)?, None, "given back");
    // Theirs again: what runs stays.
    let theirs = volcanos(&lab)?;
    scheduler.eventually(LIMIT, "Volcano's controllers lead again", || holder(&lab))?;
    let before = writes(&lab)?.len();
    let ours = Controllers::start(lab.cluster(), &electing())?;
    lab.rest().create(JOBS, &job("theirs", 1))?;
    std::thread::sleep(std::time::Duration::from_secs(8));
    let written = writes(&lab)?;
    ensure!(written.len() == before, "{:?}", &written[before..]);
    assert_eq!(pod_uids(&lab)?, pods);
    // They end and say so: ours need not wait for the lease to run out.
    drop(theirs);
    lab.rest()
        .patch(LEASE, &json!({"spec": {"holderIdentity": ""}}))?;
    wait_phase(&lab, &ours, "theirs", "Running")?;
    assert_eq!(pod_uids(&lab)?.len(), 3);
    Ok(())
}

#[test]
fn two_replicas_that_are_killed_in_turn_run_a_job_through() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "32", "64Gi")?;
    let (first, scheduler) = both(&lab)?;
    drop(first);
    let mut pair = [
        Controllers::launch(lab.cluster(), &electing())?,
        Controllers::launch(lab.cluster(), &electing())?,
    ];
    for at in 0..4_usize {
        let name = format!("turn-{at}");
        lab.rest().create(JOBS, &job(&name, 2))?;
        pair[at % 2].process().kill();
        let runs = scheduler.eventually(LONG, "the Job runs", || {
            Ok((look(&lab, &name)?.phase == "Running").then_some(()))
        });
        runs.map_err(|error| pair[(at + 1) % 2].explain(error))?;
        pair[at % 2] = Controllers::launch(lab.cluster(), &electing())?;
    }
    assert_eq!(pod_uids(&lab)?.len(), 8);
    Ok(())
}
