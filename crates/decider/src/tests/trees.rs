//! What PodGroups of trees are told (spec/03 §B11).

use pumice_model::object::{CompositePolicy, GroupObject, GroupStatus, NativeTraits};

use super::*;

const ALL: &str = "scheduling.k8s.io/CompositePodGroup/all";

fn composite(needs: i32) -> GroupObject {
    GroupObject {
        is_native: true,
        native: NativeTraits {
            composite: Some(CompositePolicy::Gang(needs)),
            ..NativeTraits::default()
        },
        ..group(ALL, 1).queue("default")
    }
}

fn within(name: &str) -> GroupObject {
    GroupObject {
        is_native: true,
        native: NativeTraits {
            parent: "all".to_owned(),
            ..NativeTraits::default()
        },
        ..group(&format!("scheduling.k8s.io/{name}"), 1)
    }
}

fn pod(name: &str) -> Delta {
    let pod = pumice_fixtures::pod(&format!("{name}-0"), "1c");
    pod.group(format!("scheduling.k8s.io/{name}")).delta()
}

/// Name, whether it was placed, and the message, of each status that is written.
fn told(writes: &[Write]) -> Vec<String> {
    let one = |write: &Write| match write {
        Write::GroupStatus { name, status, .. } => {
            let native = status.native_conditions();
            let native = native.first().expect("a condition");
            let name = name.rsplit('/').next().unwrap_or_default();
            Some(format!("{name} {} {}", native.holds, native.message))
        }
        _ => None,
    };
    let mut all: Vec<String> = writes.iter().filter_map(one).collect();
    all.sort();
    all
}

#[test]
fn pod_groups_of_a_tree_are_told_that_it_waits_and_that_they_were_placed_each_once() {
    let objects = [queue(), node("n1", 1000), composite(2).delta()];
    let groups = ["a", "b"].into_iter();
    let groups = groups.flat_map(|name| [within(name).delta(), pod(name)]);
    let mut bench = Bench::new(objects.into_iter().chain(groups));
    let mut first = told(&bench.at(1000));
    let waits = "false part of CompositePodGroup all, whose condition says why that waits";
    assert_eq!(first.len(), 3, "{first:?}");
    first.retain(|told| !told.starts_with("all "));
    assert_eq!(first, [format!("a {waits}"), format!("b {waits}")]);
    let says = |name: &str, message: &str| {
        let told = pumice_model::object::GroupCondition {
            kind: "Unschedulable".to_owned(),
            status: "True".to_owned(),
            message: message.to_owned(),
            ..Default::default()
        };
        GroupObject {
            status: GroupStatus::of_native(vec![told]),
            ..within(name)
        }
    };
    let message = waits.trim_start_matches("false ");
    bench
        .decider
        .apply(vec![says("a", message).delta(), says("b", message).delta()]);
    bench.decider.apply(vec![node("n2", 1000)]);
    // A Binding may fail, so nobody is told before the pods are on their nodes.
    assert_eq!(told(&bench.at(1002)), Vec::<String>::new());
    let is_bound = |name: &str, node: &str| {
        let pod = pumice_fixtures::pod(&format!("{name}-0"), "1c");
        pod.group(format!("scheduling.k8s.io/{name}"))
            .on(node)
            .delta()
    };
    bench
        .decider
        .apply(vec![is_bound("a", "n1"), is_bound("b", "n2")]);
    let placed = told(&bench.at(1003));
    let expected =
        ["a", "all", "b"].map(|name| format!("{name} true enough of its pods have nodes"));
    assert_eq!(placed, expected);
}

#[test]
fn a_group_that_was_placed_says_so_for_ever_whatever_becomes_of_its_pods_and_of_what_it_said() {
    let objects = [queue(), node("n1", 2000), composite(1).delta()];
    let is_bound = || {
        let pod = pumice_fixtures::pod("a-0", "1c").group("scheduling.k8s.io/a");
        pod.on("n1").delta()
    };
    let groups = [within("a").delta(), is_bound()];
    let mut bench = Bench::new(objects.into_iter().chain(groups));
    let placed = "a true enough of its pods have nodes".to_owned();
    assert!(told(&bench.at(1000)).contains(&placed));
    // It has not said so yet, and the pod is gone.
    let gone = Delta::PodDelete(pumice_fixtures::pod("a-0", "1c").uid);
    bench.decider.apply(vec![gone, pod("a")]);
    bench.decider.apply(vec![node("n1", 500)]);
    let again = told(&bench.at(1002));
    assert!(
        again.iter().all(|told| !told.starts_with("a false")),
        "{again:?}"
    );
    // Something that was written before lands late.
    let waits = pumice_model::object::GroupCondition {
        kind: "Unschedulable".to_owned(),
        status: "True".to_owned(),
        ..Default::default()
    };
    let late = GroupObject {
        status: GroupStatus::of_native(vec![waits]),
        ..within("a")
    };
    bench.decider.apply(vec![late.delta()]);
    assert!(told(&bench.at(1004)).contains(&placed));
}

#[test]
fn what_is_within_a_tree_is_told_so_whatever_its_kind() {
    let inner = GroupObject {
        native: NativeTraits {
            parent: "all".to_owned(),
            composite: Some(CompositePolicy::Gang(1)),
            ..NativeTraits::default()
        },
        ..group("scheduling.k8s.io/CompositePodGroup/inner", 1)
    };
    let inner = GroupObject {
        is_native: true,
        ..inner
    };
    let mut leaf = within("a");
    leaf.native.parent = "inner".to_owned();
    let objects = [
        queue(),
        node("n1", 500),
        composite(1).delta(),
        inner.delta(),
        leaf.delta(),
    ];
    let mut bench = Bench::new(objects.into_iter().chain([pod("a")]));
    let waits = "false part of CompositePodGroup all, whose condition says why that waits";
    let first = told(&bench.at(1000));
    assert_eq!(first.len(), 3, "{first:?}");
    for name in ["a", "inner"] {
        assert!(first.contains(&format!("{name} {waits}")), "{first:?}");
    }
    let is_bound = pumice_fixtures::pod("a-0", "1c").group("scheduling.k8s.io/a");
    bench.decider.apply(vec![is_bound.on("n1").delta()]);
    let placed = told(&bench.at(1002));
    let expected =
        ["a", "all", "inner"].map(|name| format!("{name} true enough of its pods have nodes"));
    assert_eq!(placed, expected);
}
