//! The process: start, lease, standby, missing definitions and grants.

use anyhow::{Result, ensure};
use pumice_e2e::{Controllers, Fault, FaultProxy, Identity, LabGuard, Matcher, Setup};

use super::{JOBS, LEASE, job, lab};
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
    let lab = lab()?;
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
    let lab = lab()?;
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
