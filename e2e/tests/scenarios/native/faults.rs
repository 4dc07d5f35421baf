//! A scheduler that is killed, Bindings that are refused, and an API server that serves no groups for a while.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Fault, Lab, NodeShape, Scheduler, Setup};

use super::{condition_of, make_gang, make_members, wait_placed, wait_told};
use crate::{
    LIMIT, LONG, behind_proxy, binds_of, hold_binds, no_node_is_overfull, stays_pending,
    wait_bound, wait_running, wait_running_for,
};

/// Condition of a gang that is bound in part.
const IN_PART: &str = "BoundInPart";

#[test]
fn a_gang_cut_by_sigkill_is_completed_after_the_restart_before_its_rival() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(4, "4", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let mut scheduler = Scheduler::start(lab.cluster(), &setup)?;
    proxy.inject(5, Fault::Delay(Duration::ZERO), binds_of("cut-"));
    hold_binds(&proxy, "cut-");
    make_gang(&lab, "cut", 12)?;
    make_members(&lab, "cut", 0..12)?;
    wait_bound(&lab, &scheduler, "cut-", 5)?;
    scheduler.process().kill();
    drop(proxy);
    // Fits beside the five, and not beside all twelve.
    make_gang(&lab, "rival", 8)?;
    make_members(&lab, "rival", 0..8)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    wait_running(&lab, &scheduler, "cut-", 12)?;
    wait_placed(&lab, &scheduler, "cut", true)?;
    stays_pending(&lab, "rival-")?;
    no_node_is_overfull(&lab)
}

#[test]
fn a_gang_of_which_bindings_are_refused_says_that_it_is_bound_in_part_until_it_is_whole()
-> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    // So that it is certain that none has landed.
    proxy.inject(usize::MAX, Fault::Answer(422, None), binds_of("torn-2"));
    make_gang(&lab, "torn", 3)?;
    make_members(&lab, "torn", 0..3)?;
    wait_running(&lab, &scheduler, "torn-", 2)?;
    scheduler.eventually(LIMIT, "it says that it is bound in part", || {
        let told = condition_of(&lab, "torn", IN_PART)?.context("no such condition")?;
        ensure!(told["reason"] == "GangIncomplete", "{told}");
        Ok(Some(()))
    })?;
    proxy.heal();
    wait_running_for(LONG, &lab, &scheduler, "torn-", 3)?;
    wait_placed(&lab, &scheduler, "torn", true)?;
    scheduler.eventually(LIMIT, "it says so no longer", || {
        Ok(condition_of(&lab, "torn", IN_PART)?.is_none().then_some(()))
    })
}

#[test]
fn where_groups_are_served_no_longer_their_pods_wait_and_say_so_and_who_runs_goes_on() -> Result<()>
{
    let mut lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_gang(&lab, "runs", 2)?;
    make_members(&lab, "runs", 0..2)?;
    wait_running(&lab, &scheduler, "runs-", 2)?;
    make_gang(&lab, "waits", 3)?;
    make_members(&lab, "waits", 0..3)?;
    wait_placed(&lab, &scheduler, "waits", false)?;
    lab.cluster_mut().serve_native_groups(false)?;
    let unserved = "serves none of its versions v1beta1, v1alpha3 and v1alpha2";
    wait_told(&lab, &scheduler, "waits-0", unserved)?;
    let more = NodeShape::default().object("more");
    lab.rest().create("/api/v1/nodes", &more)?;
    stays_pending(&lab, "waits-")?;
    ensure!(lab.running("runs-")? == 2, "who ran is gone");
    lab.cluster_mut().serve_native_groups(true)?;
    wait_running_for(LONG, &lab, &scheduler, "waits-", 3)?;
    ensure!(lab.running("runs-")? == 2, "who ran is gone");
    Ok(())
}
