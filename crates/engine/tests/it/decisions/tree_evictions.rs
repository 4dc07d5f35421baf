//! Trees of PodGroups of Kubernetes itself where somebody is evicted (spec/03 §B11).

use pumice_model::object::{GroupObject, NativeTraits};

use super::cluster::*;
use super::group_trees::{composite, within};
use super::victims::{GANGS_PROTECTED, Plans, cluster, for_gangs, ranked, small};

/// Three nodes, each full with a pod of a tree that needs one of two groups: `a` has so many of the pods, `b` the rest.
fn full(conf: &str, of_a: usize, root: GroupObject) -> Cluster {
    let all = cluster(conf)
        .with(ranked("low", root))
        .with(within("a", 1, "all"))
        .with(within("b", 1, "all"));
    let all = (0..3).fold(all, |all, at| {
        let group = if at < of_a { "a" } else { "b" };
        let (node, name) = (format!("n{at}"), format!("old{at}"));
        let old = pod(&name, "4c").group(format!("scheduling.k8s.io/{group}"));
        all.with(small(&node)).with(old.on(&node))
    });
    all.with(ranked("high", group("new", 1)))
        .with(pod("new", "4c").group("new"))
}

#[test]
fn a_tree_gives_what_a_group_has_beyond_its_minimum_and_never_the_last_pod_of_a_group() {
    let plan = full(GANGS_PROTECTED, 2, composite("all", 1, "")).plan();
    assert_eq!(plan, ["-old1", "new (n1)"], "b has one pod alone");
    let whole = GroupObject {
        native: NativeTraits {
            goes_whole: true,
            ..composite("all", 1, "").native
        },
        ..composite("all", 1, "")
    };
    assert_eq!(full(GANGS_PROTECTED, 2, whole.clone()).plan(), [""; 0]);
    let plan = full(&for_gangs(""), 2, whole).plan();
    let gone = plan.iter().filter(|step| step.starts_with('-')).count();
    assert_eq!(gone, 3, "{plan:?}");
}

/// Three nodes with a pod each, of which two can be spared, and a tree of higher priority.
fn wanted(needs: i32, groups: &[&str], min_count: i32) -> Vec<String> {
    let all = cluster(GANGS_PROTECTED).with(ranked("low", group("old", 1)));
    let all = (0..3).fold(all, |all, at| {
        let (node, name) = (format!("n{at}"), format!("old{at}"));
        all.with(small(&node))
            .with(pod(&name, "4c").group("old").on(&node))
    });
    let all = all.with(ranked("high", composite("all", needs, "")));
    let mut all = groups.iter().fold(all, |all, name| {
        let all = all.with(within(name, min_count, "all"));
        (0..min_count).fold(all, |all, at| {
            let pod = pod(&format!("{name}{at}"), "4c");
            all.with(pod.group(format!("scheduling.k8s.io/{name}")))
        })
    });
    all.plan()
}

#[test]
fn others_go_for_a_tree_if_that_makes_room_for_all_that_it_needs() {
    let gone = |plan: &[String]| plan.iter().filter(|step| step.starts_with('-')).count();
    for (needs, groups, min_count, expected) in [
        (2, &["a", "b"][..], 1, 2),
        (3, &["a", "b", "c"], 1, 0),
        (1, &["a", "b"], 2, 2),
        (2, &["a", "b"], 2, 0),
    ] {
        let plan = wanted(needs, groups, min_count);
        assert_eq!(gone(&plan), expected, "{needs} of {groups:?}: {plan:?}");
    }
}
