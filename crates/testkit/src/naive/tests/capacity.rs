//! The examples of spec/02 §10.8, and queues without a place (§10.1).

use pumice_conf::{Config, Value};
use pumice_model::object::{GroupPhase, QueueObject};

use super::builders::*;
use crate::naive::capacity::{self, Tree, allocatable, gives};
use crate::naive::cycle::Cycle;
use crate::naive::order;

/// Whole cores and GiB.
fn of(cores: i64, gib: i64) -> Vec<(String, i64)> {
    let mut amounts = amounts(&format!("{cores}c {gib}Gi"));
    amounts.retain(|(_, amount)| *amount > 0);
    amounts
}

fn below(parent: &str, name: &str) -> QueueObject {
    QueueObject {
        parent: parent.to_owned(),
        ..queue(name)
    }
}

fn configured(tree: bool, level: i64) -> Config {
    let level = ("ancestorReclaimLevel", Value::Int(level));
    let mut capacity = plugin("capacity", &[level]);
    capacity.enabled.hierarchy = tree;
    config(&["reclaim"], vec![capacity])
}

/// A node of 16 cores with the queues, so many running pods of each (cores, GiB), and one that waits in
/// `waits`, named `p`.
fn cluster(
    queues: Vec<QueueObject>,
    running: &[(&str, usize, i64)],
    waits: &str,
    ask: i64,
) -> Cluster {
    let groups = running.iter();
    let groups =
        groups.map(|(queue, _, _)| group(queue, 0).queue(queue).phase(GroupPhase::Running));
    let pods = running.iter().flat_map(|(queue, number, gib)| {
        (0..*number).map(move |at| {
            let pod = pod(&format!("{queue}{at}"), &format!("1c {gib}Gi"));
            pod.group(queue).on("n0")
        })
    });
    Cluster::default()
        .nodes([node("n0", "16c 32Gi pods=100")])
        .queues(queues)
        .groups(groups)
        .groups([group("new", 1).queue(waits)])
        .pods(pods)
        .pods([pod("p", &format!("{ask}c {ask}Gi")).group("new")])
}

/// How many pods of a queue may go for `p`.
fn may_go(cycle: &Cycle, queue: &str) -> usize {
    let conf = capacity::plugin(cycle).expect("the plugin");
    let tasks = cycle.world.tasks.values();
    let there = tasks.filter(|task| task.job == Some(format!("ns/{queue}")));
    let uids: Vec<String> = there.map(|task| task.pod.uid.clone()).collect();
    gives(cycle, conf, &[&cycle.world.tasks["p"]], &uids).len()
}

#[test]
fn queues_side_by_side_keep_what_is_guaranteed_and_give_what_they_do_not_deserve() {
    let queues = vec![
        QueueObject {
            deserved: of(6, 12),
            capability: of(10, 0),
            ..queue("a")
        },
        QueueObject {
            deserved: of(10, 20),
            guarantee: of(4, 8),
            ..queue("b")
        },
        queue("c"),
    ];
    let config = configured(false, 0);
    let cluster = cluster(queues, &[("a", 8, 1), ("b", 2, 2), ("c", 2, 1)], "b", 2);
    let cycle = cluster.cycle(&config);
    let conf = capacity::plugin(&cycle).expect("the plugin");
    let tree = Tree::new(&cycle, conf);
    for (name, cores, gib, share) in [
        ("a", 10, 24, 8.0 / 6.0),
        ("b", 16, 32, 0.2),
        ("c", 12, 24, 1.0),
    ] {
        let limits = ["cpu", "memory"].map(|resource| tree.limit(name, resource));
        assert_eq!(limits, [Some(cores * 1000), Some(gib * GI)], "{name}");
        assert!(
            (tree.share(name) - share).abs() < 1e-9,
            "{name}: {}",
            tree.share(name)
        );
    }
    let task = &cycle.world.tasks["p"];
    assert!(allocatable(&cycle, conf, "b", task));
    assert!(capacity::may_reclaim(&cycle, conf, "b", &[task]).is_some());
    assert_eq!((may_go(&cycle, "a"), may_go(&cycle, "c")), (2, 2));
}

fn tree_queues() -> Vec<QueueObject> {
    let with = |parent: &str, name: &str, deserved, guarantee, capability| QueueObject {
        deserved,
        guarantee,
        capability,
        ..below(parent, name)
    };
    vec![
        with("", "eng", of(12, 24), of(4, 8), of(14, 28)),
        with("eng", "dev", of(4, 8), of(2, 4), of(0, 0)),
        with("eng", "prod", of(8, 16), of(0, 0), of(9, 0)),
        with("", "sci", of(4, 8), of(3, 2), of(0, 0)),
    ]
}

const RUNNING: &[(&str, usize, i64)] = &[("dev", 6, 1), ("prod", 3, 2), ("sci", 5, 1)];

#[test]
fn a_tree_of_queues_has_limits_shares_and_an_order() {
    let config = configured(true, 0);
    let cluster = cluster(tree_queues(), RUNNING, "prod", 1);
    let cycle = cluster.cycle(&config);
    let tree = Tree::new(&cycle, capacity::plugin(&cycle).expect("the plugin"));
    for (name, limits, share) in [
        ("root", None, 0.875),
        ("eng", Some((14, 28)), 0.75),
        ("dev", Some((14, 28)), 1.5),
        ("prod", Some((9, 24)), 0.375),
        ("sci", None, 1.25),
    ] {
        let found = ["cpu", "memory"].map(|resource| tree.limit(name, resource));
        let limits = limits.map(|(cores, gib)| (cores * 1000, gib * GI));
        let expected = [limits.map(|(cpu, _)| cpu), limits.map(|(_, memory)| memory)];
        assert_eq!(found, expected, "{name}");
        assert!(
            (tree.share(name) - share).abs() < 1e-9,
            "{name}: {}",
            tree.share(name)
        );
    }
    let mut names = vec!["dev", "sci", "prod"];
    names.sort_by(|l, r| order::queues(&cycle, l, r));
    assert_eq!(names, ["prod", "dev", "sci"]);
}

#[test]
fn ancestors_have_a_say_in_reclaim_as_far_as_they_are_asked() {
    for (level, waits, other, expected, may) in [
        (0, "prod", "dev", 2, true),
        (0, "prod", "sci", 1, true),
        (0, "sci", "dev", 0, true),
        (0, "sci", "prod", 0, true),
        (1, "prod", "dev", 2, true),
        (1, "prod", "sci", 1, true),
        (1, "sci", "dev", 0, true),
        (2, "sci", "prod", 0, true),
        (0, "dev", "prod", 0, true),
        (1, "dev", "prod", 0, true),
    ] {
        let config = configured(true, level);
        let cluster = cluster(tree_queues(), RUNNING, waits, 1);
        let cycle = cluster.cycle(&config);
        let conf = capacity::plugin(&cycle).expect("the plugin");
        let context = format!("{waits} <- {other}, {level}");
        assert_eq!(may_go(&cycle, other), expected, "{context}");
        let task = &cycle.world.tasks["p"];
        assert_eq!(
            capacity::may_reclaim(&cycle, conf, waits, &[task]).is_some(),
            may,
            "{context}"
        );
    }
}

#[test]
fn queues_without_a_place_are_held_with_all_below_them_and_count_nowhere() {
    let guaranteed = |queue: QueueObject| QueueObject {
        guarantee: of(2, 0),
        ..queue
    };
    let queues = vec![
        guaranteed(below("gone", "lost")),
        below("lost", "under"),
        guaranteed(below("y", "x")),
        below("x", "y"),
        below("y", "z"),
        guaranteed(below("", "fine")),
        QueueObject {
            parent: "x".to_owned(),
            ..queue("root")
        },
    ];
    let config = configured(true, 0);
    let cluster = cluster(queues, &[("lost", 1, 1), ("fine", 1, 1)], "fine", 1);
    let cycle = cluster.cycle(&config);
    let tree = Tree::new(&cycle, capacity::plugin(&cycle).expect("the plugin"));
    for (name, held) in [
        ("lost", true),
        ("under", true),
        ("x", true),
        ("y", true),
        ("z", true),
        ("fine", false),
        ("root", true),
    ] {
        assert_eq!(tree.is_held(name), held, "{name}");
    }
    assert!(
        (tree.share("root") - 0.5).abs() < 1e-9,
        "one core of the two of `fine`"
    );
}
