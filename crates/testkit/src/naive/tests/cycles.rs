//! Worked examples of spec/01 §6.8, and whole cycles around them.

use pumice_conf::Config;
use pumice_model::object::{NodeObject, PodObject, QueueObject, QueueState};

use super::builders::*;
use crate::naive::{Outcome, schedule};

const ACTIONS: &[&str] = &["enqueue", "allocate", "backfill"];

fn default_conf() -> Config {
    let plugins = [
        "priority",
        "gang",
        "conformance",
        "overcommit",
        "drf",
        "predicates",
        "proportion",
        "nodeorder",
    ];
    named(ACTIONS, &plugins)
}

/// A gang of 5 pods of one core, minMember 3, on nodes with these numbers of cores.
fn gang_of_five(cores: &[i64], more: Vec<PodObject>, cycles: u32) -> Outcome {
    let pods = (0..5).map(|index| pod(&format!("p{index}"), "1c 1Gi").group("j"));
    let nodes = cores.iter().enumerate();
    let cluster =
        Cluster::default()
            .nodes(nodes.map(|(index, cores)| {
                node(&format!("n{index}"), &format!("{cores}c 16Gi pods=110"))
            }))
            .groups([group("j", 3)])
            .pods(pods)
            .pods(more);
    schedule(&default_conf(), &cluster.0, "default", cycles)
}

fn condition(outcome: &Outcome) -> (&str, &str, &str) {
    let (kind, status, reason) = &outcome.conditions["ns/j"][0];
    (kind, status, reason)
}

#[test]
fn a_gang_with_room_for_more_than_its_minimum_takes_all_the_room() {
    let outcome = gang_of_five(&[4], vec![], 1);
    let names: Vec<&str> = outcome.binds.iter().map(|(pod, _)| pod.as_str()).collect();
    assert_eq!(names, ["ns/p0", "ns/p1", "ns/p2", "ns/p3"]);
    assert_eq!(outcome.phases["ns/j"], "Inqueue");
    let ready = (
        "Scheduled",
        "True",
        "tasks in gang are ready to be scheduled",
    );
    assert_eq!(condition(&outcome), ready);
    assert_eq!(gang_of_five(&[4], vec![], 2).phases["ns/j"], "Running");
}

#[test]
fn a_gang_that_needs_what_is_being_released_waits_and_binds_nothing() {
    let mut leaving = pod("leaving", "1c 1Gi").on("n0");
    leaving.deleting = true;
    leaving.ours = false;
    let outcome = gang_of_five(&[3], vec![leaving], 1);
    assert_eq!(outcome.binds, []);
    assert_eq!(outcome.pipelined, [("ns/p2".to_owned(), "n0".to_owned())]);
    assert_eq!(
        condition(&outcome),
        ("Unschedulable", "True", "NotEnoughResources")
    );
}

#[test]
fn a_gang_without_room_for_its_minimum_leaves_nothing_behind() {
    let outcome = gang_of_five(&[2], vec![], 2);
    assert_eq!(outcome.binds, []);
    assert_eq!(outcome.pipelined, []);
    assert_eq!(outcome.phases["ns/j"], "Inqueue");
    assert_eq!(
        condition(&outcome),
        ("Unschedulable", "True", "NotEnoughResources")
    );
}

#[test]
fn a_gang_with_too_few_pods_names_that_as_the_reason() {
    let cluster = Cluster::default()
        .nodes([node("n0", "8c 16Gi pods=110")])
        .groups([group("j", 3)])
        .pods([pod("p0", "1c 1Gi").group("j")]);
    let outcome = schedule(&default_conf(), &cluster.0, "default", 1);
    assert_eq!(
        condition(&outcome),
        ("Unschedulable", "True", "NotEnoughTasks")
    );
}

#[test]
fn best_effort_members_bind_with_their_gang_or_not_at_all() {
    // (pod slots of the node, binds)
    for (slots, binds) in [(3, 3), (2, 0)] {
        let pods = [
            pod("p0", "1c 1Gi").group("j"),
            pod("p1", "1c 1Gi").group("j"),
            pod("p2", "").group("j"),
        ];
        let cluster = Cluster::default()
            .nodes([node("n0", &format!("8c 16Gi pods={slots}"))])
            .groups([group("j", 3)])
            .pods(pods);
        let outcome = schedule(&default_conf(), &cluster.0, "default", 1);
        assert_eq!(outcome.binds.len(), binds);
    }
}

#[test]
fn a_bare_pod_is_a_job_of_one_and_goes_through_admission() {
    let closed = QueueObject {
        state: QueueState::Closed,
        ..queue("shut")
    };
    for (name, binds) in [(None, 1), (Some("shut"), 0), (Some("absent"), 0)] {
        let mut bare = pod("bare", "1c 1Gi");
        bare.queue = name.map(str::to_owned);
        let cluster = Cluster::default()
            .nodes([node("n0", "8c 16Gi pods=110")])
            .queues([closed.clone()])
            .pods([bare]);
        let outcome = schedule(&default_conf(), &cluster.0, "default", 1);
        assert_eq!(outcome.binds.len(), binds, "{name:?}");
        let phase = if binds == 1 { "Inqueue" } else { "Pending" };
        assert_eq!(outcome.phases["ns/podgroup-bare"], phase);
    }
}

#[test]
fn sub_groups_are_placed_one_by_one_until_the_job_is_ready() {
    let policy = pumice_model::object::SubGroupPolicy {
        name: "slice".to_owned(),
        selector: None,
        match_label_keys: vec!["slice".to_owned()],
        size: 2,
        min_groups: 1,
        topology: None,
    };
    // The node takes three pods: the first slice, and one pod that is no slice alone.
    for (cores, binds) in [(1, 0), (3, 2), (4, 4)] {
        let mut gang = group("j", 2);
        gang.sub_groups = vec![policy.clone()];
        let pods = (0..4).map(|index| {
            let slice = (index / 2).to_string();
            pod(&format!("p{index}"), "1c 1Gi")
                .group("j")
                .labels(pairs(&[("slice", &slice)]))
        });
        let cluster = Cluster::default()
            .nodes([node("n0", &format!("{cores}c 16Gi pods=110"))])
            .groups([gang])
            .pods(pods);
        let outcome = schedule(&default_conf(), &cluster.0, "default", 1);
        assert_eq!(outcome.binds.len(), binds, "{cores}");
    }
}

#[test]
fn the_lowest_name_wins_among_equal_nodes() {
    let nodes: Vec<NodeObject> = ["n2", "n1", "n10"]
        .map(|name| node(name, "8c 16Gi pods=110"))
        .to_vec();
    let pods = [pod("bare", "1c 1Gi")];
    let cluster = Cluster::default().nodes(nodes).pods(pods);
    let outcome = schedule(&default_conf(), &cluster.0, "default", 1);
    assert_eq!(outcome.binds, [("ns/bare".to_owned(), "n1".to_owned())]);
}
