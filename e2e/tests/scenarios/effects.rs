//! Writes whose fate is unknown, an overloaded API server, and how many writes there are.

use anyhow::{Result, ensure};
use pumice_e2e::{Fault, Lab, Scheduler, Setup};

use crate::{
    LIMIT, LONG, PODS, QUIET, accepted_binds, bare_pod, behind_proxy, binds_of,
    no_node_is_overfull, stays_pending, wait_running, wait_running_for,
};

#[test]
fn a_bind_whose_answer_is_lost_is_settled_and_its_place_stays_taken() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    proxy.inject(3, Fault::SwallowAnswer, binds_of("lost-"));
    lab.gang("lost", "default", 10, 10)?;
    lab.rest().create(PODS, &bare_pod("beside", Some("1")))?;
    wait_running_for(LONG, &lab, &scheduler, "lost-", 10)?;
    assert_eq!(proxy.hits(), 3);
    let unknown = scheduler.metric("pumice_bind_unknown_outcome_total")?;
    ensure!(unknown >= Some(1.0), "unknown outcomes: {unknown:?}");
    stays_pending(&lab, "beside")?;
    let twice: Vec<_> = accepted_binds(&lab)?
        .into_iter()
        .filter(|(pod, count)| pod.starts_with("lost-") && *count > 1)
        .collect();
    ensure!(twice.is_empty(), "{twice:?}");
    no_node_is_overfull(&lab)
}

#[test]
fn a_busy_api_server_is_given_the_time_it_asks_for() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    proxy.inject(8, Fault::Answer(429, Some(1)), binds_of("busy-"));
    proxy.inject(4, Fault::Answer(503, None), binds_of("busy-"));
    lab.gang("busy", "default", 20, 20)?;
    wait_running_for(LONG, &lab, &scheduler, "busy-", 20)?;
    assert_eq!(proxy.hits(), 12);
    no_node_is_overfull(&lab)
}

#[test]
fn an_unchanged_cluster_is_not_written_to() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("idle-runs", "default", 3, 3)?;
    lab.gang("idle-waits", "default", 3, 3)?;
    wait_running(&lab, &scheduler, "idle-runs-", 3)?;
    let audit = lab.cluster().folder().join("audit.log");
    // Statuses are collected for a moment before they are written.
    let mut last = 0;
    scheduler.eventually(LIMIT, "the writes come to an end", || {
        std::thread::sleep(QUIET);
        let lines = std::fs::read_to_string(&audit)?.lines().count();
        Ok((std::mem::replace(&mut last, lines) == lines).then_some(()))
    })?;
    std::thread::sleep(3 * QUIET);
    let lines = std::fs::read_to_string(&audit)?.lines().count();
    assert_eq!(lines, last, "writes although nothing changed");
    Ok(())
}
