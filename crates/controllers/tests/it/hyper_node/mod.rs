//! HyperNodes, found by labels and counted.

mod configuration;

use pumice_controllers::hyper_node::HyperNodeController;
use pumice_controllers::runtime::{ApiVerb, ManagedKind, ManagedRef};
use serde_json::{Value, json};

use crate::cluster::{Dice, World, refusal};

fn world() -> World {
    World::new(|| vec![HyperNodeController::make(&Default::default())])
}

const TWO_LEVELS: &str = "
networkTopologyDiscovery:
- source: label
  enabled: true
  interval: 10m
  config:
    networkTopologyTypes:
      Topology_A:
      - nodeLabel: example.com/spine
      - nodeLabel: example.com/leaf
      - nodeLabel: kubernetes.io/hostname
";

fn node(world: &mut World, name: &str, labels: Value) -> ManagedRef {
    let object = json!({"metadata": {"name": name, "labels": labels}});
    world.server.apply(ManagedKind::Node, object)
}

fn place(spine: &str, leaf: &str) -> Value {
    json!({"example.com/spine": spine, "example.com/leaf": leaf})
}

/// Four nodes below two leaves below one spine.
fn cluster() -> World {
    let mut world = world();
    for (name, leaf) in [("n1", "l1"), ("n2", "l1"), ("n3", "l2"), ("n4", "l2")] {
        node(&mut world, name, place("s1", leaf));
    }
    world.configure(TWO_LEVELS);
    world.settle();
    world
}

fn user_made(world: &mut World, name: &str, tier: i64, members: Value) -> ManagedRef {
    let spec = json!({"tier": tier, "members": members});
    let object = json!({"metadata": {"name": name}, "spec": spec});
    world.server.apply(ManagedKind::HyperNode, object)
}

fn exact(kind: &str, name: &str) -> Value {
    json!({"type": kind, "selector": {"exactMatch": {"name": name}}})
}

/// Tier, label value, members in order, node count.
type Row = (i64, String, Vec<String>, i64);

/// HyperNodes of the source; members that are HyperNodes are named by their values.
fn found(world: &World) -> Vec<Row> {
    let all = world.server.all(ManagedKind::HyperNode);
    let of_source =
        |one: &&&Value| one["metadata"]["labels"]["volcano.sh/network-topology-source"] == "label";
    let value = |one: &Value| {
        let tier_name = one["spec"]["tierName"].as_str().expect("a tier name");
        one["metadata"]["labels"][tier_name]
            .as_str()
            .expect("a label")
            .to_owned()
    };
    let member = |member: &Value| {
        let name = member["selector"]["exactMatch"]["name"]
            .as_str()
            .expect("exact");
        let child = all.iter().find(|one| one["metadata"]["name"] == name);
        child.map_or_else(|| name.to_owned(), |child| value(child))
    };
    let row = |one: &&Value| {
        let members = one["spec"]["members"].as_array().into_iter().flatten();
        let tier = one["spec"]["tier"].as_i64().expect("a tier");
        let count = one["status"]["nodeCount"].as_i64().unwrap_or(-1);
        let mut members: Vec<String> = members.map(member).collect();
        members.sort();
        (tier, value(one), members, count)
    };
    let mut rows: Vec<Row> = all.iter().filter(of_source).map(row).collect();
    rows.sort();
    rows
}

fn row(tier: i64, value: &str, members: &[&str], count: i64) -> Row {
    let members = members.iter().map(|&member| member.to_owned()).collect();
    (tier, value.to_owned(), members, count)
}

fn count(world: &World, of: &ManagedRef) -> Value {
    world.server.get(of).expect("there")["status"]["nodeCount"].clone()
}

#[test]
fn labels_of_nodes_make_a_tree() {
    let world = cluster();
    let expected = [
        row(1, "l1", &["n1", "n2"], 2),
        row(1, "l2", &["n3", "n4"], 2),
        row(2, "s1", &["l1", "l2"], 4),
    ];
    assert_eq!(found(&world), expected);
    let names = world.server.names(ManagedKind::HyperNode);
    for of in &names {
        let tier = &world.server.get(of).expect("there")["spec"]["tier"];
        let prefix = format!("hypernode-topology-a-tier{tier}-");
        assert!(of.name.starts_with(&prefix), "{}", of.name);
    }
    assert_eq!(world.reasons(), [""; 0]);
}

#[test]
fn names_are_the_same_in_every_cluster_and_after_a_restart() {
    let names = |world: &World| world.server.names(ManagedKind::HyperNode);
    let mut one = cluster();
    assert_eq!(names(&one), names(&cluster()));
    let before = one.written().len();
    one.restart();
    one.pass_seconds(24 * 3_600);
    assert_eq!(
        one.written().len(),
        before,
        "nothing differs, nothing is written"
    );
}

#[test]
fn an_object_that_volcano_has_named_is_kept() {
    let mut world = world();
    node(&mut world, "n1", place("s1", "l1"));
    let labels = json!({"volcano.sh/network-topology-source": "label", "example.com/leaf": "l1",
        "mine": "x"});
    let object = json!({
        "metadata": {"name": "hypernode-topology-a-tier1-x7k2p", "labels": labels},
        "spec": {"tier": 1, "tierName": "old", "members": [exact("Node", "gone")]},
    });
    let of = world.server.apply(ManagedKind::HyperNode, object);
    world.configure(TWO_LEVELS);
    world.settle();
    assert_eq!(
        found(&world),
        [row(1, "l1", &["n1"], 1), row(2, "s1", &["l1"], 1)]
    );
    let kept = world.server.get(&of).expect("there");
    assert_eq!(kept["metadata"]["labels"]["mine"], "x");
    assert_eq!(kept["spec"]["tierName"], "example.com/leaf");
}

#[test]
fn nodes_that_come_go_and_move_are_followed_by_writing_what_differs() {
    let mut world = cluster();
    let before = world.written().len();
    let n4 = ManagedRef::global(ManagedKind::Node, "n4");
    world.server.edit(&n4, |node| {
        node["metadata"]["annotations"] = json!({"beat": "1"})
    });
    world
        .server
        .edit(&n4, |node| node["status"] = json!({"phase": "x"}));
    world.settle();
    assert_eq!(
        world.written().len(),
        before,
        "neither labels nor names have changed"
    );

    world
        .server
        .edit(&n4, |node| node["metadata"]["labels"] = place("s1", "l1"));
    world.settle();
    let expected = [
        row(1, "l1", &["n1", "n2", "n4"], 3),
        row(1, "l2", &["n3"], 1),
        row(2, "s1", &["l1", "l2"], 4),
    ];
    assert_eq!(found(&world), expected);
    assert_eq!(world.written().len(), before + 4, "two members, two counts");

    world
        .server
        .remove(&ManagedRef::global(ManagedKind::Node, "n3"));
    node(&mut world, "n5", place("s2", "l3"));
    world.settle();
    let expected = [
        row(1, "l1", &["n1", "n2", "n4"], 3),
        row(1, "l3", &["n5"], 1),
        row(2, "s1", &["l1"], 3),
        row(2, "s2", &["l3"], 1),
    ];
    assert_eq!(found(&world), expected);
}

#[test]
fn a_node_counts_up_to_the_first_label_it_does_not_have() {
    let mut world = world();
    node(&mut world, "n1", json!({"example.com/leaf": "l1"}));
    node(&mut world, "n2", json!({"example.com/spine": "s1"}));
    node(
        &mut world,
        "n3",
        json!({"example.com/spine": "s1", "example.com/leaf": ""}),
    );
    world.configure(TWO_LEVELS);
    world.settle();
    assert_eq!(found(&world), [row(1, "l1", &["n1"], 1)]);
}

#[test]
fn a_leaf_below_two_spines_is_told_and_stays_below_the_first() {
    let mut world = cluster();
    node(&mut world, "n9", place("s2", "l1"));
    world.settle();
    assert_eq!(found(&world)[2], row(2, "s1", &["l1", "l2"], 5));
    assert_eq!(found(&world).len(), 3);
    assert_eq!(world.reasons(), ["ContradictoryLabels"]);
    let message = &world.events[0].message;
    assert!(
        message.contains("l1 is below example.com/spine s1 by node n1"),
        "{message}"
    );
    assert!(message.contains("s2 by node n9"), "{message}");
}

#[test]
fn hyper_nodes_of_users_are_only_counted() {
    let mut world = cluster();
    let mine = user_made(&mut world, "mine", 1, json!([exact("Node", "n1")]));
    world
        .server
        .remove(&ManagedRef::global(ManagedKind::Node, "n2"));
    world.settle();
    assert_eq!(count(&world, &mine), 1);
    let written = world.written();
    let touched: Vec<_> = written.iter().filter(|w| w.contains("mine")).collect();
    assert_eq!(touched, ["status HyperNode mine"]);
}

#[test]
fn only_nodes_that_there_are_count_also_below_other_hyper_nodes() {
    let mut world = world();
    for name in ["a1", "a2", "b1"] {
        node(&mut world, name, json!({"rack": name[..1].to_owned()}));
    }
    let cases = [
        (
            "exact",
            1,
            json!([exact("Node", "a1"), exact("Node", "nobody")]),
            1,
        ),
        (
            "regex",
            1,
            json!([{"type": "Node", "selector": {"regexMatch": {"pattern": "^a"}}}]),
            2,
        ),
        (
            "label",
            1,
            json!([{"type": "Node", "selector": {"labelMatch": {"matchExpressions": [
                {"key": "rack", "operator": "NotIn", "values": ["a"]}]}}}]),
            1,
        ),
        (
            "broken",
            1,
            json!([{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]),
            0,
        ),
        // a1 is below both.
        (
            "above",
            2,
            json!([exact("HyperNode", "exact"), exact("HyperNode", "regex")]),
            2,
        ),
        (
            "top",
            3,
            json!([{"type": "HyperNode", "selector": {"regexMatch": {"pattern": "l$"}}},
            exact("HyperNode", "above"), exact("HyperNode", "nobody")]),
            3,
        ),
        (
            "loop",
            4,
            json!([exact("HyperNode", "loop"), exact("Node", "b1")]),
            1,
        ),
    ];
    for (name, tier, members, _) in &cases {
        user_made(&mut world, name, *tier, members.clone());
    }
    world.settle();
    for (name, _, _, expected) in cases {
        let of = ManagedRef::global(ManagedKind::HyperNode, name);
        assert_eq!(count(&world, &of), expected, "{name}");
    }
    let of = |name| ManagedRef::global(ManagedKind::HyperNode, name);
    world
        .server
        .remove(&ManagedRef::global(ManagedKind::Node, "a2"));
    world.settle();
    assert_eq!(count(&world, &of("regex")), 1);
    assert_eq!(count(&world, &of("top")), 2);
}

#[test]
fn a_configuration_that_cannot_be_read_changes_nothing_and_is_told_once() {
    let mut world = cluster();
    let before = found(&world);
    let written = world.written().len();
    world.configure(&TWO_LEVELS.replace("example.com/leaf", "example.com/spine"));
    world.pass_seconds(3_600);
    node(&mut world, "other", json!({}));
    world.pass_seconds(3_600);
    assert_eq!((found(&world), world.written().len()), (before, written));
    assert_eq!(world.reasons(), ["InvalidConfiguration"]);
    let event = &world.events[0];
    assert_eq!(event.about.kind, ManagedKind::ConfigMap);
    assert!(
        event
            .message
            .contains("the label example.com/spine stands here twice")
    );

    world.configure("");
    world.settle();
    assert_eq!(
        found(&world).len(),
        3,
        "a source that is off leaves what it has made"
    );
    node(&mut world, "n9", place("s1", "l9"));
    world.settle();
    assert_eq!(found(&world).len(), 3);
}

#[test]
fn what_the_server_refuses_is_told_on_the_configuration() {
    let mut world = world();
    node(&mut world, "n1", place("s1", "l1"));
    world.server.refuse(|write| {
        let is_create = matches!(write.verb, ApiVerb::Create(_));
        is_create.then(|| refusal(403, "Forbidden", "no rule for hypernodes"))
    });
    world.configure(TWO_LEVELS);
    world.pass_seconds(60);
    let tries = world.written().len();
    assert!((4..60).contains(&tries), "{tries} tries in a minute");
    assert!(world.events[0].message.contains("no rule for hypernodes"));
    world.server.refuse_nothing();
    world.pass_seconds(300);
    assert_eq!(found(&world).len(), 2);
}

#[test]
fn killed_at_any_moment_the_tree_becomes_whole() {
    for seed in 0..40 {
        let mut world = world();
        let mut dice = Dice::new(seed);
        world.configure(TWO_LEVELS);
        for number in 0..6 {
            let leaf = format!("l{}", dice.roll(3));
            node(&mut world, &format!("n{number}"), place("s1", &leaf));
            for _ in 0..dice.roll(12) {
                world.step(&mut dice);
            }
            if dice.roll(2) == 0 {
                world.kill(&mut dice);
            }
        }
        world.settle();
        let rows = found(&world);
        let counted: i64 = rows.iter().filter(|row| row.0 == 1).map(|row| row.3).sum();
        assert_eq!(counted, 6, "seed {seed}: {rows:?}");
        assert_eq!(
            rows.last().map(|row| (row.0, row.3)),
            Some((2, 6)),
            "seed {seed}"
        );
        let mut values: Vec<&String> = rows.iter().map(|row| &row.1).collect();
        values.dedup();
        assert_eq!(values.len(), rows.len(), "seed {seed}: one for each value");
    }
}
