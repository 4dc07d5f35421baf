//! Several replicas, one lease.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, LabGuard, Scheduler, Setup, Signal};

use crate::{LIMIT, accepted_binds, no_node_is_overfull, stays_pending, wait_running};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/volcano";

/// Shorter than the default, so that a test need not wait for it.
pub(crate) const SHORT: [&str; 3] = [
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=1s",
];

/// Well beyond the lease.
const FROZEN: Duration = Duration::from_secs(10);

fn setup() -> Setup {
    Setup {
        elects: true,
        flags: SHORT.map(str::to_owned).to_vec(),
        ..Setup::default()
    }
}

pub(crate) fn holder(lab: &LabGuard) -> Result<Option<String>> {
    let lease = lab.rest().get(LEASE)?;
    let holder = lease["spec"]["holderIdentity"].as_str();
    Ok(holder
        .filter(|holder| !holder.is_empty())
        .map(str::to_owned))
}

/// A leader, and a standby whose cache is full.
fn pair(lab: &LabGuard) -> Result<(Scheduler, Scheduler)> {
    let leader = Scheduler::launch(lab.cluster(), &setup())?;
    leader.eventually(LIMIT, "the first replica leads", || holder(lab))?;
    let standby = Scheduler::start(lab.cluster(), &setup())?;
    Ok((leader, standby))
}

#[test]
fn a_standby_takes_over_when_the_leader_is_killed() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let (mut leader, standby) = pair(&lab)?;
    lab.gang("a", "default", 10, 10)?;
    wait_running(&lab, &leader, "a-", 10)?;
    let before = holder(&lab)?;
    leader.process().kill();
    lab.gang("b", "default", 10, 10)?;
    wait_running(&lab, &standby, "b-", 10)?;
    ensure!(holder(&lab)? != before, "the holder is still {before:?}");
    no_node_is_overfull(&lab)
}

#[test]
fn a_terminated_leader_gives_the_lease_back_and_exits_with_0() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let mut leader = Scheduler::launch(lab.cluster(), &setup())?;
    leader.eventually(LIMIT, "the replica leads", || holder(&lab))?;
    let status = leader.terminate()?;
    ensure!(status.code() == Some(0), "{status}\n{}", leader.log());
    assert_eq!(holder(&lab)?, None);
    Ok(())
}

#[test]
fn a_frozen_leader_that_wakes_up_binds_nothing_twice() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "20", "64Gi")?;
    let (mut leader, standby) = pair(&lab)?;
    lab.gang("frozen-a", "default", 10, 10)?;
    wait_running(&lab, &leader, "frozen-a-", 10)?;
    leader.process().signal(Signal::STOP);
    lab.gang("frozen-b", "default", 15, 15)?;
    wait_running(&lab, &standby, "frozen-b-", 15)?;
    std::thread::sleep(FROZEN);
    leader.process().signal(Signal::CONT);
    let before = holder(&lab)?.context("a holder")?;
    lab.gang("frozen-c", "default", 15, 15)?;
    wait_running(&lab, &standby, "frozen-c-", 15)?;
    stays_pending(&lab, "nothing-else-")?;
    assert_eq!(holder(&lab)?, Some(before), "the lease did not come back");
    let binds = accepted_binds(&lab)?;
    let ours = || binds.iter().filter(|(pod, _)| pod.starts_with("frozen-"));
    assert_eq!(ours().count(), 40);
    let twice: Vec<_> = ours().filter(|(_, count)| **count > 1).collect();
    ensure!(twice.is_empty(), "bound more than once: {twice:?}");
    no_node_is_overfull(&lab)
}
