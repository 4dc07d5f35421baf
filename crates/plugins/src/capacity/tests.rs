//! Queues with amounts of their own (examples of spec/02 §10.8), flat and as a tree.

mod faults;
mod reclaim;
mod steps;

use super::*;
use crate::testing::*;
use pumice_framework::Bound;
use pumice_model::object::{GroupPhase, QueueObject, QueueState};
use pumice_model::resource::CPU;

const GI: i64 = 1 << 30;

/// A queue below `parent`, with `deserved`, `guarantee` and `capability`.
fn tree_queue(
    name: &str,
    parent: &str,
    deserved: &str,
    guarantee: &str,
    capability: &str,
) -> QueueObject {
    queue(name)
        .parent(parent)
        .deserved(deserved)
        .guarantee(guarantee)
        .capability(capability)
}

/// A group of the queue's name in it, with running and waiting pods.
fn filled(cluster: Cluster, queue: &str, running: (usize, &str), next: &str) -> Cluster {
    let (count, request) = running;
    let cluster =
        cluster
            .with(group(queue, 1).queue(queue))
            .pods(count, queue, pod("", request).on("n"));
    match next {
        "" => cluster,
        request => cluster.with(pod(&format!("next-{queue}"), request).group(queue)),
    }
}

/// spec/02 §10.8, without a tree.
fn flat() -> State {
    let cluster = Cluster::default()
        .with(node("n", "16c 32Gi pods=100"))
        .with(tree_queue("qa", "", "6c 12Gi", "", "10c"))
        .with(tree_queue("qb", "", "10c 20Gi", "4c 8Gi", ""))
        .with(tree_queue("qc", "", "", "", ""));
    let cluster = filled(cluster, "qa", (8, "1c 1Gi"), "");
    let cluster = filled(cluster, "qb", (2, "1c 2Gi"), "2c 2Gi");
    filled(cluster, "qc", (2, "1c 1Gi"), "").state()
}

/// spec/02 §10.8, with a tree.
fn tree() -> State {
    tree_with("root", "").state()
}

fn tree_with(root: &str, root_capability: &str) -> Cluster {
    let cluster = Cluster::default().with(node("n", "16c 32Gi pods=100"));
    let cluster = match root {
        "" => cluster,
        root => cluster.with(tree_queue(root, "", "", "", root_capability)),
    };
    let cluster = cluster
        .with(tree_queue("eng", "", "12c 24Gi", "4c 8Gi", "14c 28Gi"))
        .with(tree_queue("dev", "eng", "4c 8Gi", "2c 4Gi", ""))
        .with(tree_queue("prod", "eng", "8c 16Gi", "", "9c"))
        .with(tree_queue("sci", "root", "4c 8Gi", "3c 2Gi", ""));
    let cluster = filled(cluster, "dev", (6, "1c 1Gi"), "1c 1Gi");
    let cluster = filled(cluster, "prod", (3, "1c 2Gi"), "2c 2Gi");
    filled(cluster, "sci", (5, "1c 1Gi"), "1c 1Gi")
}

fn hierarchical(state: &State, levels: i64) -> CapacityPlugin {
    opened(CapacityPlugin::new(true, levels), state)
}

fn share(plugin: &CapacityPlugin, state: &State, name: &str) -> f64 {
    let view = plugin.queue_view(state, queue_ix(state, name));
    view.expect("a queue").share
}

/// Real capability in cores and Gi; -1 for no limit.
fn ceiling(plugin: &CapacityPlugin, state: &State, name: &str) -> (i64, i64) {
    let own = plugin.of(queue_ix(state, name));
    let show = |ix, unit| match own.ceiling(ix) {
        entitlement::UNLIMITED => -1,
        amount => amount / unit,
    };
    (show(CPU, 1000), show(pumice_model::resource::MEMORY, GI))
}

#[track_caller]
fn check_shares(plugin: &CapacityPlugin, state: &State, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let found = share(plugin, state, name);
        assert!((found - expected).abs() < 1e-3, "{name}: {found}");
    }
}

/// Names of the queues, first in turn first.
fn in_turn<'a>(plugin: &CapacityPlugin, state: &State, names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_by(|l, r| plugin.queue_order(state, queue_ix(state, l), queue_ix(state, r)));
    names
}

#[test]
fn queues_without_a_tree_have_what_the_cluster_and_guarantees_leave() {
    let state = flat();
    let plugin = opened(CapacityPlugin::new(false, 0), &state);
    let found: Vec<_> = ["qa", "qb", "qc"]
        .map(|name| ceiling(&plugin, &state, name))
        .into();
    assert_eq!(found, [(10, 24), (16, 32), (12, 24)]);
    check_shares(
        &plugin,
        &state,
        &[("qa", 8.0 / 6.0), ("qb", 0.2), ("qc", 1.0)],
    );
    assert_eq!(
        in_turn(&plugin, &state, &["qa", "qb", "qc"]),
        ["qb", "qc", "qa"]
    );
    let next = task(&state, "next-qb");
    assert_eq!(
        plugin.allocatable(&state, queue_ix(&state, "qb"), next),
        Ok(())
    );
}

#[test]
fn what_is_deserved_is_at_most_the_real_capability_and_at_least_the_guarantee() {
    let state = Cluster::default()
        .with(node("n", "10c 20Gi pods=100"))
        .with(tree_queue("capped", "", "8c 4Gi", "", "5c"))
        .with(tree_queue("sure", "", "1c", "3c 2Gi", ""))
        .state();
    let plugin = opened(CapacityPlugin::new(false, 0), &state);
    let deserved = |name| plugin.of(queue_ix(&state, name)).deserved.clone();
    let vector = |cores: i64, gi: i64| {
        let mut amounts = ResVec::default();
        amounts.set(CPU, cores * 1000);
        amounts.set(pumice_model::resource::MEMORY, gi * GI);
        amounts
    };
    assert_eq!(deserved("capped"), vector(5, 4));
    assert_eq!(deserved("sure"), vector(3, 2));
}

#[test]
fn a_tree_divides_what_each_parent_may_have() {
    let state = tree();
    let plugin = hierarchical(&state, 0);
    let names = ["root", "eng", "dev", "prod", "sci"];
    let found = names.map(|name| ceiling(&plugin, &state, name));
    assert_eq!(found, [(-1, -1), (14, 28), (14, 28), (9, 24), (-1, -1)]);
    let expected = [
        ("eng", 0.75),
        ("dev", 1.5),
        ("prod", 0.375),
        ("sci", 1.25),
        ("root", 0.875),
    ];
    check_shares(&plugin, &state, &expected);
    let expected = ["prod", "dev", "sci", "eng", "root"];
    assert_eq!(in_turn(&plugin, &state, &names), expected);
    let (prod, next) = (queue_ix(&state, "prod"), task(&state, "next-prod"));
    assert_eq!(plugin.allocatable(&state, prod, next), Ok(()));
}

#[test]
fn a_tree_without_a_queue_named_root_is_the_same_below() {
    let state = tree_with("", "").state();
    let plugin = hierarchical(&state, 0);
    let names = ["eng", "dev", "prod", "sci"];
    let found = names.map(|name| ceiling(&plugin, &state, name));
    assert_eq!(found, [(14, 28), (14, 28), (9, 24), (-1, -1)]);
    assert_eq!(
        in_turn(&plugin, &state, &names),
        ["prod", "dev", "sci", "eng"]
    );
    assert_eq!(plugin.queue_warnings(&state), []);
}

#[test]
fn a_root_that_names_some_resources_limits_no_others() {
    let state = tree_with("root", "15c").state();
    let plugin = hierarchical(&state, 0);
    // 15 - (4 + 3) guaranteed + its own.
    assert_eq!(ceiling(&plugin, &state, "sci"), (11, -1));
    assert_eq!(ceiling(&plugin, &state, "eng"), (12, 28));
    let sci = queue_ix(&state, "sci");
    let fits = plugin.allocatable(&state, sci, task(&state, "next-sci"));
    assert_eq!(fits, Ok(()));
}

#[test]
fn every_ancestor_has_its_say() {
    // 9 of eng's 14 cores are held; prod itself may have 9 and holds 3.
    for (request, expected) in [
        ("5c", None),
        ("6c", Some(("eng", 14_000, 9000))),
        ("7c", None),
    ] {
        let state = tree_with("root", "")
            .with(pod("more", request).group("prod"))
            .state();
        let plugin = hierarchical(&state, 0);
        let prod = queue_ix(&state, "prod");
        let answer = plugin.allocatable(&state, prod, task(&state, "more"));
        let Err(Refusal::Quota(overruns)) = &answer else {
            assert_eq!((request, answer), ("5c", Ok(())));
            continue;
        };
        let [overrun] = overruns[..] else {
            panic!("{overruns:?}")
        };
        let above = overrun.above.map(|ix| state.queue(ix).object.name.as_str());
        let said = (above, overrun.limit, overrun.used);
        match expected {
            Some((above, limit, used)) => assert_eq!(said, (Some(above), limit, used)),
            None => assert_eq!(said, (None, 9000, 3000)),
        }
    }
}

#[test]
fn it_is_known_what_limits_a_queue() {
    let state = flat();
    let plugin = opened(CapacityPlugin::new(false, 0), &state);
    let limits = ["qa", "qb", "qc"].map(|name| plugin.of(queue_ix(&state, name)).limit(CPU));
    let expected = [
        (10_000, Bound::Capability),
        (16_000, Bound::Cluster),
        (12_000, Bound::Guarantees),
    ];
    assert_eq!(limits, expected.map(Some));
}

#[test]
fn jobs_are_admitted_within_all_ancestors() {
    // eng: 9 held, 3 of them elastic (dev's job names 4 of its 6, prod's 2 of 3), 14 at most.
    for (wanted, vote) in [("8c", Vote::Permit), ("9c", Vote::Reject)] {
        let state = tree_with("root", "")
            .with(
                group("dev", 1)
                    .queue("dev")
                    .phase(GroupPhase::Running)
                    .min_resources("4c"),
            )
            .with(
                group("prod", 1)
                    .queue("prod")
                    .phase(GroupPhase::Running)
                    .min_resources("2c"),
            )
            .with(
                group("new", 1)
                    .queue("dev")
                    .phase(GroupPhase::Pending)
                    .min_resources(wanted),
            )
            .state();
        let plugin = hierarchical(&state, 0);
        let (answer, refusal) = plugin.job_enqueueable(&state, job(&state, "new"));
        assert_eq!(answer, vote, "{wanted}");
        if let Some(refusal) = refusal {
            let above = refusal.overruns()[0].above;
            assert_eq!(above, Some(queue_ix(&state, "eng")), "{wanted}");
        }
    }
}

#[test]
fn an_admission_counts_for_all_ancestors_until_the_next_cycle() {
    let mut state = tree_with("root", "")
        .with(
            group("first", 1)
                .queue("prod")
                .phase(GroupPhase::Pending)
                .min_resources("4c"),
        )
        .with(
            group("second", 1)
                .queue("dev")
                .phase(GroupPhase::Pending)
                .min_resources("5c"),
        )
        .state();
    let first = job(&state, "first");
    state.admissions().confirm(first);
    let mut plugin = hierarchical(&state, 0);
    let vote = |plugin: &CapacityPlugin| plugin.job_enqueueable(&state, job(&state, "second")).0;
    // Jobs that name no minimum are elastic: nothing that runs stands in the way.
    assert_eq!(vote(&plugin), Vote::Permit);
    for _ in 0..3 {
        plugin.observe(&state, Step::Admitted(first));
    }
    assert_eq!(vote(&plugin), Vote::Reject);
    let mut cycle = CycleInfo::default();
    cycle.changed.jobs = Some(Vec::new());
    (cycle.changed.queues, cycle.changed.nodes) = (ChangedQueues::NONE, false);
    plugin.open(&state, &cycle);
    assert_eq!(vote(&plugin), Vote::Permit);
}

#[test]
fn a_closed_queue_takes_nothing() {
    let closed = tree_queue("qa", "", "6c", "", "").state(QueueState::Closed);
    let cluster = Cluster::default()
        .with(node("n", "16c 32Gi pods=100"))
        .with(closed);
    let state = filled(cluster, "qa", (0, ""), "1c").state();
    let plugin = opened(CapacityPlugin::new(false, 0), &state);
    let (qa, next) = (queue_ix(&state, "qa"), task(&state, "next-qa"));
    let closed = Err(Refusal::NotOpen(QueueState::Closed));
    assert_eq!(plugin.allocatable(&state, qa, next), closed);
    let may = plugin.may_reclaim(&state, qa, &[next]);
    assert_eq!(may.map(|_| ()), closed);
}

#[test]
fn best_effort_pods_keep_to_the_pods_that_a_queue_names() {
    let cluster = Cluster::default()
        .with(node("n", "16c 32Gi pods=100"))
        .with(tree_queue("top", "", "", "", "pods=2"))
        .with(tree_queue("q", "top", "", "", ""));
    let state = filled(cluster, "q", (2, "1c"), "1c").state();
    let plugin = hierarchical(&state, 0);
    let (q, next) = (queue_ix(&state, "q"), task(&state, "next-q"));
    let refusal = plugin.within_limits(&state, q, next).expect_err("a third");
    let above = refusal.overruns()[0].above;
    assert_eq!(above, Some(queue_ix(&state, "top")));
}
