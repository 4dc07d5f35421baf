//! Gangs that keep to a domain of the network (spec/08) on a real API server, while HyperNodes, nodes and
//! schedulers change.

use anyhow::{Result, ensure};
use pumice_e2e::{Lab, LabGuard, Scheduler, Setup, member, pod_group};
use serde_json::{Value, json};

use crate::{GROUPS, LIMIT, PODS, QUIET, wait_bound, wait_running};

const HYPER_NODES: &str = "/apis/topology.volcano.sh/v1alpha1/hypernodes";

/// A HyperNode of tier 1 over nodes of [`Lab::nodes`].
fn rack(name: &str, nodes: &[u32]) -> Value {
    let member = |node: &u32| {
        json!({
            "type": "Node", "selector": {"exactMatch": {"name": format!("n-{node}")}},
        })
    };
    let members: Vec<Value> = nodes.iter().map(member).collect();
    json!({
        "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode",
        "metadata": {"name": name}, "spec": {"tier": 1, "members": members},
    })
}

/// A PodGroup that keeps to one rack.
fn group(lab: &LabGuard, name: &str, min: usize) -> Result<()> {
    let spec = json!({
        "minMember": min, "queue": "default",
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    });
    lab.rest().create(GROUPS, &pod_group(name, &spec))?;
    Ok(())
}

/// Pods of one CPU each.
fn pods(lab: &LabGuard, name: &str, numbers: std::ops::Range<usize>) -> Result<()> {
    for at in numbers {
        let pod = member(&format!("{name}-{at}"), name);
        lab.rest().create(PODS, &pod)?;
    }
    Ok(())
}

/// Nodes of bound pods with this prefix, each once, in order.
fn nodes_of(lab: &LabGuard, prefix: &str) -> Result<Vec<String>> {
    let mut nodes: Vec<String> = lab.bound(prefix)?.into_values().collect();
    nodes.sort();
    nodes.dedup();
    Ok(nodes)
}

/// A node of the rack is repaired: what is made again waits for it.
fn repair(lab: &LabGuard, scheduler: &Scheduler) -> Result<()> {
    let cordon = |on: bool| json!({"spec": {"unschedulable": on}});
    let node = "/api/v1/nodes/n-0";
    lab.rest().patch(node, &cordon(true))?;
    for pod in lab
        .bound("train-")?
        .into_iter()
        .filter(|(_, node)| node == "n-0")
    {
        let name = pod.0.trim_start_matches("default/").to_owned();
        lab.delete(&format!("{PODS}/{name}"))?;
    }
    pods(lab, "train", 5..8)?;
    // One core of n-2 is left; two pods wait.
    wait_bound(lab, scheduler, "train-", 4)?;
    std::thread::sleep(QUIET);
    ensure!(
        nodes_of(lab, "train-")? == ["n-1", "n-2"],
        "on other nodes during the repair"
    );
    lab.rest().patch(node, &cordon(false))?;
    wait_running(lab, scheduler, "train-", 6)?;
    ensure!(
        nodes_of(lab, "train-")? == ["n-0", "n-1", "n-2"],
        "it left its rack after the repair"
    );
    Ok(())
}

#[test]
fn a_gang_keeps_to_its_domain_through_changes_of_hyper_nodes_repair_and_restart() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(5, "2", "64Gi")?;
    lab.rest().create(HYPER_NODES, &rack("rack-a", &[0, 1]))?;
    lab.rest()
        .create(HYPER_NODES, &rack("rack-b", &[2, 3, 4]))?;
    let mut scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    group(&lab, "wide", 7)?;
    pods(&lab, "wide", 0..7)?;
    group(&lab, "train", 3)?;
    pods(&lab, "train", 0..3)?;
    wait_running(&lab, &scheduler, "train-", 3)?;
    ensure!(
        nodes_of(&lab, "train-")? == ["n-0", "n-1"],
        "the first of two racks"
    );

    // Another process knows of it what runs. It outgrows its rack, and idle nodes beside it are of no use.
    scheduler.process().kill();
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    pods(&lab, "train", 3..5)?;
    wait_bound(&lab, &scheduler, "train-", 4)?;
    std::thread::sleep(QUIET);
    ensure!(
        nodes_of(&lab, "train-")? == ["n-0", "n-1"],
        "it left its rack"
    );
    ensure!(lab.bound("wide-")?.is_empty(), "no rack holds seven");
    scheduler.eventually(LIMIT, "the group is told why", || {
        let group = lab.rest().get(&format!("{GROUPS}/wide"))?;
        let text = group["status"]["conditions"].to_string();
        Ok(text
            .contains("best domain rack-b holds 6 of 7")
            .then_some(()))
    })?;

    // The rack grows: a node moves over, of which the old rack is told nothing yet.
    let grown = rack("rack-a", &[0, 1, 2]);
    let members = json!({"spec": {"members": grown["spec"]["members"]}});
    lab.rest()
        .patch(&format!("{HYPER_NODES}/rack-a"), &members)?;
    wait_running(&lab, &scheduler, "train-", 5)?;
    ensure!(
        nodes_of(&lab, "train-")? == ["n-0", "n-1", "n-2"],
        "the rack has three nodes"
    );

    repair(&lab, &scheduler)?;

    // What it is placed on is no rack any more: it gets nothing. Without any HyperNode there is nothing to keep to.
    lab.delete(&format!("{HYPER_NODES}/rack-a"))?;
    pods(&lab, "train", 8..9)?;
    std::thread::sleep(QUIET);
    ensure!(lab.bound("train-")?.len() == 6, "placed beside its rack");
    lab.delete(&format!("{HYPER_NODES}/rack-b"))?;
    wait_running(&lab, &scheduler, "train-", 7)
}
