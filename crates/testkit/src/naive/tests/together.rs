//! Sub-jobs that are assigned domains together (spec/08 §5).

use pumice_model::delta::Delta;
use pumice_model::object::{
    HighestTier, HyperNodeMembers, HyperNodeObject, SelectorOp, SubGroupPolicy, TopologyRequest,
};

use super::builders::*;
use crate::naive::schedule;

/// A rack that is one node of so many cores.
fn rack(name: &str) -> Delta {
    Delta::HyperNodeApply(Box::new(HyperNodeObject {
        name: name.to_owned(),
        uid: name.to_owned(),
        tier: 1,
        tier_name: String::new(),
        members: vec![HyperNodeMembers::Node(name.to_owned())],
    }))
}

/// A policy whose parts have so many pods and want a rack each.
fn policy(name: &str, size: i32, min_groups: i32, asks: bool) -> SubGroupPolicy {
    let tier = HighestTier::Number(1);
    SubGroupPolicy {
        name: name.to_owned(),
        selector: Some(selector("kind", SelectorOp::In(vec![name.to_owned()]))),
        match_label_keys: vec!["part".to_owned()],
        size,
        min_groups,
        topology: asks.then_some(TopologyRequest::Hard(tier)),
    }
}

/// Racks with these cores and a job with these policies, each with one part for each number of pods there
/// is: gives (`part`, rack) of the pods that are bound.
fn placed(racks: &[i64], policies: &[(SubGroupPolicy, &[i32])]) -> Vec<(String, String)> {
    let names: Vec<String> = (0..racks.len()).map(|at| format!("r{at}")).collect();
    let mut gang = group("j", 1);
    let mut pods = Vec::new();
    for (policy, parts) in policies {
        gang.sub_groups.push(policy.clone());
        for (part, number) in (0..).zip(*parts) {
            let part: i32 = part;
            for at in 0..*number {
                let name = format!("{}{part}x{at}", policy.name);
                let labels = [("kind", policy.name.as_str()), ("part", &part.to_string())];
                pods.push(pod(&name, "1c 1Mi").group("j").labels(pairs(&labels)));
            }
        }
    }
    let nodes = names.iter().zip(racks);
    let mut cluster = Cluster::default()
        .nodes(nodes.map(|(name, cores)| node(name, &format!("{cores}c 16Gi pods=110"))))
        .groups([gang])
        .pods(pods);
    cluster.0.extend(names.iter().map(|name| rack(name)));
    let conf = named(&["allocate"], &["gang", "predicates"]);
    let mut binds = schedule(&conf, &cluster.0, "default", 1).binds;
    for (pod, _) in &mut binds {
        *pod = pod["ns/".len()..pod.find('x').expect("a number")].to_owned();
    }
    binds.sort();
    binds.dedup();
    binds
}

fn pairs_of(text: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = text.iter();
    pairs
        .map(|(part, rack)| ((*part).to_owned(), (*rack).to_owned()))
        .collect()
}

#[test]
fn a_part_goes_where_it_leaves_room_for_the_others() {
    // By turns the first one takes the rack that only the second fits in.
    let parts = [
        (policy("a", 2, 1, true), &[2] as &[i32]),
        (policy("b", 3, 1, true), &[3]),
    ];
    let found = placed(&[3, 2], &parts);
    assert_eq!(found, pairs_of(&[("a0", "r1"), ("b0", "r0")]));
    assert_eq!(placed(&[3, 1], &parts), []);
}

#[test]
fn the_search_comes_back_where_the_largest_first_finds_no_room_for_the_rest() {
    // 3 and 2 into the rack of five, 2 and 2 into that of four.
    let parts = [
        (policy("a", 3, 1, true), &[3] as &[i32]),
        (policy("b", 2, 3, true), &[2, 2, 2]),
    ];
    let found = placed(&[4, 5], &parts);
    let expected = [("a0", "r1"), ("b0", "r0"), ("b1", "r0"), ("b2", "r1")];
    assert_eq!(found, pairs_of(&expected));
}

#[test]
fn only_jobs_that_ask_are_searched_for() {
    let parts = [
        (policy("a", 2, 1, false), &[2] as &[i32]),
        (policy("b", 3, 1, false), &[3]),
    ];
    assert_eq!(placed(&[4], &parts), []);
    assert_eq!(placed(&[5], &parts).len(), 2);
}

#[test]
fn a_part_that_is_not_needed_is_left_out() {
    // By turns the first of the policy takes what the other policy needs.
    let parts = [
        (policy("a", 2, 1, true), &[2, 2] as &[i32]),
        (policy("b", 3, 1, true), &[3]),
    ];
    let found = placed(&[3, 2], &parts);
    assert_eq!(found, pairs_of(&[("a0", "r1"), ("b0", "r0")]));
}
