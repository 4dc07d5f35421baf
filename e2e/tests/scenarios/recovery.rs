//! Restarts: of the scheduler, of the API server, of watches; and the dump of a running scheduler.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use pumice_e2e::{Fault, Lab, NodeShape, Scheduler, Setup, pod_group, programs};
use serde_json::{Value, json};

use crate::{
    GROUPS, LIMIT, LONG, PODS, bare_pod, behind_proxy, binds_of, hold_binds, no_node_is_overfull,
    stays_pending, wait_bound, wait_running, wait_running_for,
};

#[test]
fn a_gang_cut_in_half_by_sigkill_is_completed_after_the_restart() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(6, "10", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let mut scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let at_once = Fault::Delay(std::time::Duration::ZERO);
    proxy.inject(20, at_once, binds_of("g-"));
    hold_binds(&proxy, "g-");
    lab.gang("g", "default", 50, 50)?;
    wait_bound(&lab, &scheduler, "g-", 20)?;
    scheduler.process().kill();
    drop(proxy);
    // A rival that would fit beside the 20 but not beside all 50.
    lab.gang("rival", "default", 30, 30)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    wait_running(&lab, &scheduler, "g-", 50)?;
    stays_pending(&lab, "rival-")?;
    no_node_is_overfull(&lab)
}

#[test]
fn scheduling_goes_on_after_the_api_server_was_restarted() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("a", "default", 5, 5)?;
    wait_running(&lab, &scheduler, "a-", 5)?;
    lab.cluster_mut().restart_apiserver()?;
    lab.gang("b", "default", 5, 5)?;
    wait_running_for(LONG, &lab, &scheduler, "b-", 5)?;
    no_node_is_overfull(&lab)
}

#[test]
fn nothing_is_missed_when_watches_are_cut() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.gang("a", "default", 10, 10)?;
    wait_running(&lab, &scheduler, "a-", 10)?;
    // While no watch works a pod goes and others come.
    let is_watch = || -> pumice_e2e::Matcher { Box::new(|_, path| path.contains("watch=")) };
    proxy.inject(usize::MAX, Fault::Refuse, is_watch());
    proxy.cut_watches();
    for n in 0..10 {
        lab.delete(&format!("{PODS}/a-{n}"))?;
    }
    lab.gang("b", "default", 20, 20)?;
    proxy.heal();
    wait_running_for(LONG, &lab, &scheduler, "b-", 20)?;
    no_node_is_overfull(&lab)
}

/// Runs `pumice simulate` over these files.
fn simulate(paths: &[&std::path::Path]) -> Result<Value> {
    let program = programs::ours("pumice")?;
    let mut command = Command::new(program);
    let output = command
        .args(["simulate", "--output", "json"])
        .args(paths)
        .output()?;
    if !output.status.success() {
        bail!(
            "pumice simulate: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn bound_pods(report: &Value) -> Result<BTreeSet<String>> {
    let binds = report["binds"].as_array().context("binds")?;
    let pod = |bind: &Value| bind["pod"].as_str().map(str::to_owned);
    Ok(binds.iter().filter_map(pod).collect())
}

#[test]
fn a_dump_read_back_by_simulate_gives_the_same_decisions() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "4", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("runs", "default", 6, 6)?;
    wait_running(&lab, &scheduler, "runs-", 6)?;
    lab.gang("waits", "default", 4, 4)?;
    lab.rest().create(PODS, &bare_pod("huge", Some("40")))?;
    stays_pending(&lab, "waits-")?;
    let dump = scheduler.dump()?;
    let nothing = simulate(&[&dump])?;
    ensure!(nothing["configuration"]["from"] == "dump", "{nothing}");
    ensure!(bound_pods(&nothing)?.is_empty(), "simulated: {nothing}");
    // The same change to the dump and to the cluster.
    let node = NodeShape::default().object("more");
    let extra = dump.with_file_name("extra-node.yaml");
    std::fs::write(&extra, node.to_string())?;
    let simulated = bound_pods(&simulate(&[&dump, &extra])?)?;
    lab.rest().create("/api/v1/nodes", &node)?;
    wait_running(&lab, &scheduler, "waits-", 4)?;
    let live: BTreeSet<String> = lab.bound("waits-")?.into_keys().collect();
    assert_eq!(simulated, live);
    Ok(())
}

#[test]
fn a_restarted_scheduler_knows_what_runs() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let mut first = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("a", "default", 3, 3)?;
    wait_running(&lab, &first, "a-", 3)?;
    let status = first.terminate()?;
    ensure!(status.code() == Some(0), "{status}");
    let second = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("b", "default", 2, 2)?;
    lab.rest().create(PODS, &bare_pod("fits", Some("1")))?;
    wait_running(&lab, &second, "fits", 1)?;
    stays_pending(&lab, "b-")?;
    second.eventually(LIMIT, "it is alive", || {
        Ok((second.get("/livez")?.0 == 200).then_some(()))
    })
}

#[test]
fn a_minimum_that_is_raised_before_a_restart_reserves_no_more() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let asking = |name: &str, cpu: &str| {
        let spec = json!({"minMember": 1, "queue": "default", "minResources": {"cpu": cpu}});
        lab.rest().create(GROUPS, &pod_group(name, &spec))
    };
    let phase = |scheduler: &Scheduler, name: &str, expected: &str| {
        scheduler.eventually(LIMIT, &format!("PodGroup {name} is {expected}"), || {
            Ok((lab.group_phase(name)? == expected).then_some(()))
        })
    };
    let mut first = Scheduler::start(lab.cluster(), &Setup::default())?;
    asking("modest", "2")?;
    phase(&first, "modest", "Inqueue")?;
    let status = first.terminate()?;
    ensure!(status.code() == Some(0), "{status}");

    // What anybody may write who may edit the namespace: all that the cluster has.
    let modest = format!("{GROUPS}/modest");
    let raise = json!({"spec": {"minResources": {"cpu": "10"}}});
    let raised = lab.rest().patch(&modest, &raise)?;
    let conditions = raised["status"]["conditions"].as_array();
    let admitted = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Admitted"));
    let message = admitted.map(|one| &one["message"]);
    ensure!(message == Some(&json!("cpu=2")), "{raised}");

    // Of 10 cores 2 are reserved: 8 are left to another, and no more.
    let second = Scheduler::start(lab.cluster(), &Setup::default())?;
    asking("other", "8")?;
    phase(&second, "other", "Inqueue")?;
    asking("late", "1")?;
    second.eventually(LIMIT, "the last one is told why it waits", || {
        let late = lab.rest().get(&format!("{GROUPS}/late"))?;
        let conditions = late["status"]["conditions"].as_array().cloned();
        let told = conditions
            .unwrap_or_default()
            .iter()
            .any(|one| one["type"] == "Unschedulable");
        Ok((told && late["status"]["phase"] == "Pending").then_some(()))
    })
}
