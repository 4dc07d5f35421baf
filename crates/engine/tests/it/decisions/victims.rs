//! Who is evicted for whom, and what becomes of the room (spec/07).

use pumice_model::Delta;
use pumice_model::object::{
    GroupObject, GroupPhase, HostPort, NodeObject, PodObject, PodPhase, PreemptableMark,
    PriorityClassObject, SubGroupPolicy,
};

use super::cluster::*;
use super::devices::{decide, holding, split_card, two_cards, vgpu};

/// Volcano's usual configuration with `preempt`.
pub const PREEMPT: &str = r#"
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: nodeorder
"#;

/// A configuration that evicts, and in which gangs are protected.
pub const GANGS_PROTECTED: &str = r#"
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
"#;

pub fn class(name: &str, value: i32) -> Delta {
    Delta::PriorityClassApply(PriorityClassObject {
        name: name.to_owned(),
        value,
        ..PriorityClassObject::default()
    })
}

pub fn ranked(class: &str, group: GroupObject) -> GroupObject {
    GroupObject {
        priority_class: class.to_owned(),
        ..group
    }
}

pub trait Plans {
    /// One cycle: who goes, who is nominated to which node, and accepted Bindings.
    fn plan(&mut self) -> Vec<String>;
    /// An evicted pod is gone.
    fn gone(&mut self, uid: &str);
}

impl Plans for Cluster {
    fn plan(&mut self) -> Vec<String> {
        let decisions = self.decide();
        let state = self.engine.state();
        let name = |task| state.task(task).name.to_string();
        let going = decisions.evictions.iter();
        let mut lines: Vec<String> = going.map(|e| format!("-{}", name(e.task))).collect();
        lines.extend(decisions.nominations.iter().map(|(task, node)| {
            let node = &state.nodes().object(*node).name;
            format!("{} ({node})", name(*task))
        }));
        lines.extend(self.accept(&decisions));
        lines
    }

    fn gone(&mut self, uid: &str) {
        self.apply(Delta::PodDelete(uid.to_owned()));
    }
}

/// A cluster with the classes `low` (10), `mid` (50) and `high` (100).
pub fn cluster(conf: &str) -> Cluster {
    Cluster::under(conf)
        .with(class("low", 10))
        .with(class("mid", 50))
        .with(class("high", 100))
}

pub fn small(name: &str) -> NodeObject {
    node(name, "4c 8Gi pods=9")
}

/// A job of one pod that runs.
pub fn runs(cluster: Cluster, class: &str, on_node: &str, name: &str, request: &str) -> Cluster {
    cluster
        .group(ranked(class, group(name, 1)))
        .pod(on(on_node, member(name, pod(name, request))))
}

#[test]
fn the_fewest_go_and_of_these_the_cheapest() {
    // n1: two small pods; n2: one of mid priority; n3: one of low priority, which is cheapest.
    let mut cluster = cluster(PREEMPT)
        .node(small("n1"))
        .node(small("n2"))
        .node(small("n3"));
    cluster = runs(cluster, "low", "n1", "a1", "2c");
    cluster = runs(cluster, "low", "n1", "a2", "2c");
    cluster = runs(cluster, "mid", "n2", "b", "4c");
    cluster = runs(cluster, "low", "n3", "c", "4c");
    let mut cluster = cluster
        .group(ranked("high", group("new", 1)))
        .pod(member("new", pod("new", "3c")));
    assert_eq!(cluster.plan(), ["-c", "new (n3)"]);
    assert_eq!(
        cluster.plan(),
        [""; 0],
        "nobody is evicted twice for one need"
    );
    cluster.gone("c");
    assert_eq!(cluster.plan(), ["new n3"]);
}

#[test]
fn a_gang_is_placed_whole_or_nobody_goes_for_it() {
    let with = |nodes: usize| {
        let mut all = cluster(PREEMPT);
        for at in 0..nodes {
            let name = format!("n{at}");
            all = all.node(small(&name));
            all = runs(all, "low", &name, &format!("old{at}"), "4c");
        }
        let new = |at| member("new", pod(&format!("new{at}"), "4c"));
        all.group(ranked("high", group("new", 3)))
            .pod(new(0))
            .pod(new(1))
            .pod(new(2))
    };
    assert_eq!(with(2).plan(), [""; 0]);
    let mut whole = with(3);
    let plan = [
        "-old0",
        "-old1",
        "-old2",
        "new0 (n0)",
        "new1 (n1)",
        "new2 (n2)",
    ];
    assert_eq!(whole.plan(), plan);
    // Two of three rooms are free: nothing is bound yet.
    whole.gone("old0");
    whole.gone("old1");
    assert_eq!(whole.plan(), [""; 0]);
    whole.gone("old2");
    assert_eq!(whole.plan(), ["new0 n0", "new1 n1", "new2 n2"]);
}

#[test]
fn what_was_freed_for_somebody_is_his() {
    let all = cluster(PREEMPT).node(small("n1"));
    let mut all = runs(all, "low", "n1", "old", "4c")
        .group(ranked("mid", group("new", 1)))
        .pod(member("new", pod("new", "3c")));
    assert_eq!(all.plan(), ["-old", "new (n1)"]);
    // Somebody more important, and somebody who would fit beside, come while `old` is ending.
    let mut all = all
        .group(ranked("high", group("late", 1)))
        .pod(member("late", pod("late", "2c")))
        .group(ranked("low", group("little", 1)))
        .pod(member("little", pod("little", "1c")));
    all.gone("old");
    assert_eq!(all.plan(), ["new n1", "little n1"]);
}

#[test]
fn a_gang_at_its_minimum_is_left_alone_where_gangs_are_protected() {
    let all = |conf| {
        let old = |at: usize| on("n1", member("old", pod(&format!("old{at}"), "2c")));
        cluster(conf)
            .node(small("n1"))
            .group(ranked("low", group("old", 2)))
            .pod(old(1))
            .pod(old(2))
            .group(ranked("high", group("new", 1)))
            .pod(member("new", pod("new", "1c")))
    };
    assert_eq!(all(GANGS_PROTECTED).plan(), [""; 0]);
    assert_eq!(all(PREEMPT).plan(), ["-old2", "new (n1)"]);
}

#[test]
fn equal_priority_evicts_nobody_even_if_no_plugin_orders() {
    let conf = "actions: \"enqueue, allocate, preempt\"\n\
                tiers: [{plugins: [{name: gang}, {name: conformance}, {name: predicates}]}]\n";
    for (victim, expected) in [("mid", vec![]), ("low", vec!["-old", "new (n1)"])] {
        let all = cluster(conf).node(small("n1"));
        let old = |at: usize| on("n1", member("o", pod(&format!("o{at}"), "1c")));
        let all = all.group(ranked(victim, group("o", 0))).pod(old(1));
        let mut all = runs(all, victim, "n1", "old", "3c");
        // `old` is protected by its minimum, but for a group that needs none.
        all = all.group(ranked(victim, group("old", 0)));
        let mut all = all
            .group(ranked("mid", group("new", 1)))
            .pod(member("new", pod("new", "3c")));
        assert_eq!(all.plan(), expected, "{victim}");
    }
}

#[test]
fn slots_and_ports_of_victims_are_free_once_they_are_gone() {
    let port = |pod: PodObject| PodObject {
        host_ports: vec![HostPort {
            ip: "0.0.0.0".to_owned(),
            protocol: "TCP".to_owned(),
            port: 80,
        }],
        ..pod
    };
    // One slot; then a node with room, whose port is taken.
    for (node, old, new) in [
        (
            node("n1", "4c 8Gi pods=1"),
            pod("old", "1c"),
            pod("new", "1c"),
        ),
        (small("n1"), port(pod("old", "1c")), port(pod("new", "1c"))),
    ] {
        let mut all = cluster(PREEMPT)
            .node(node)
            .group(ranked("low", group("old", 1)))
            .pod(on("n1", member("old", old)))
            .group(ranked("high", group("new", 1)))
            .pod(member("new", new));
        assert_eq!(all.plan(), ["-old", "new (n1)"]);
        all.gone("old");
        assert_eq!(all.plan(), ["new n1"]);
    }
}

#[test]
fn nobody_goes_for_a_pod_whose_policy_is_never_nor_against_a_mark() {
    let all = |mark, preempts| {
        let old = PodObject {
            preemptable: mark,
            ..pod("old", "4c")
        };
        let new = PodObject {
            preempts,
            ..pod("new", "4c")
        };
        cluster(PREEMPT)
            .node(small("n1"))
            .group(ranked("low", group("old", 1)))
            .pod(on("n1", member("old", old)))
            .group(ranked("high", group("new", 1)))
            .pod(member("new", new))
    };
    let unsaid = PreemptableMark::Unsaid;
    assert_eq!(all(unsaid, None).plan(), ["-old", "new (n1)"]);
    assert_eq!(all(unsaid, Some(false)).plan(), [""; 0]);
    assert_eq!(all(PreemptableMark::No, None).plan(), [""; 0]);
}

#[test]
fn a_job_that_was_not_admitted_preempts_and_is_admitted_by_its_plan() {
    let all = cluster(PREEMPT).node(small("n1"));
    let mut all = runs(all, "low", "n1", "old", "4c")
        .group(ranked("high", waiting(group("new", 1))))
        .pod(member("new", pod("new", "4c")));
    assert_eq!(all.plan(), ["-old", "new (n1)"]);
}

#[test]
fn a_pod_of_a_job_goes_for_a_more_important_one_of_the_same_job() {
    let ranked_pod = |name: &str, priority| PodObject {
        priority,
        ..member("job", pod(name, "4c"))
    };
    let mut all = cluster(PREEMPT)
        .node(small("n1"))
        .node(small("n2"))
        .group(group("job", 3))
        .pod(on("n1", ranked_pod("a", 5)))
        .pod(on("n2", ranked_pod("b", 7)))
        .pod(ranked_pod("c", 9));
    assert_eq!(all.plan(), ["-a", "c (n1)"]);
}

#[test]
fn a_bound_pod_that_does_not_run_yet_may_go_and_one_that_is_going_is_left() {
    let bound = |pod: PodObject| PodObject {
        phase: PodPhase::Pending,
        ..on("n1", pod)
    };
    let going = |pod: PodObject| PodObject {
        deleting: true,
        ..on("n2", pod)
    };
    let all = |old: PodObject| {
        cluster(PREEMPT)
            .node(small(old.node.clone().as_deref().expect("a node")))
            .group(ranked("low", group("old", 1)))
            .pod(member("old", old))
            .group(ranked("high", group("new", 1)))
            .pod(member("new", pod("new", "4c")))
    };
    assert_eq!(all(bound(pod("old", "4c"))).plan(), ["-old", "new (n1)"]);
    assert_eq!(all(going(pod("old", "4c"))).plan(), [""; 0]);
}

/// Volcano's usual tiers with a queue plugin and room for few.
fn admitting(action: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, {action}\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]\n\
         - plugins: [{{name: overcommit}}, {{name: predicates}}, {{name: proportion}}]\n"
    )
}

#[test]
fn a_gate_hides_no_job_for_which_others_might_go() {
    // The cluster is taken to have 1.2 × 4 cores, all of them held.
    for (action, wanted, of_old, admitted) in [
        ("preempt", "high", "low", true),
        ("preempt", "low", "low", false),
        ("backfill", "high", "low", false),
        ("gangpreempt", "high", "low", true),
    ] {
        let all = cluster(&admitting(action)).node(small("n1"));
        let mut all = runs(all, of_old, "n1", "old", "4c").group(GroupObject {
            min_resources: Some(amounts("4c")),
            ..ranked(wanted, waiting(group("new", 1)))
        });
        all.plan();
        assert_eq!(
            all.phase("new") == GroupPhase::Inqueue,
            admitted,
            "{action} {wanted}"
        );
    }
}

#[test]
fn a_gate_counts_what_might_go_for_one_group_once() {
    let mut all = runs(
        cluster(&admitting("preempt")).node(small("n1")),
        "low",
        "n1",
        "old",
        "4c",
    );
    for name in ["a", "b"] {
        all = all.group(GroupObject {
            min_resources: Some(amounts("3c")),
            ..ranked("high", waiting(group(name, 1)))
        });
    }
    all.plan();
    assert_eq!(all.phase("a"), GroupPhase::Inqueue);
    assert_eq!(all.phase("b"), GroupPhase::Pending);
}

/// The usual tiers with an action that takes gangs as a whole.
pub fn for_gangs(arguments: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, gangpreempt\"\n{arguments}\
         tiers: [{{plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}, {{name: predicates}}]}}]\n"
    )
}

#[test]
fn a_gang_goes_as_a_whole_or_gives_what_it_can_spare() {
    let no_whole = "configurations: [{name: gangpreempt, arguments: {allowWholeBundle: false}}]\n";
    let all = |arguments: &str, min| {
        let old = |at: usize, node| on(node, member("old", pod(&format!("old{at}"), "4c")));
        cluster(&for_gangs(arguments))
            .node(small("n1"))
            .node(small("n2"))
            .node(small("n3"))
            .group(ranked("low", group("old", min)))
            .pod(old(1, "n1"))
            .pod(old(2, "n2"))
            .pod(old(3, "n3"))
            .group(ranked("high", group("new", 1)))
            .pod(member("new", pod("new", "4c")))
    };
    // One of three can be spared; then none, and all go together.
    assert_eq!(all("", 2).plan(), ["-old3", "new (n3)"]);
    let whole = ["-old3", "-old2", "-old1", "new (n1)"];
    assert_eq!(all("", 3).plan(), whole);
    assert_eq!(all(no_whole, 3).plan(), [""; 0]);
}

#[test]
fn for_a_gang_the_cheapest_gang_goes_and_no_more_than_needed() {
    let mut all = cluster(&for_gangs(""));
    for (class, name, nodes) in [("mid", "a", ["n1", "n2"]), ("low", "b", ["n3", "n4"])] {
        all = all.group(ranked(class, group(name, 2)));
        for node in nodes {
            all = all
                .node(small(node))
                .pod(on(node, member(name, pod(&format!("{name}-{node}"), "4c"))));
        }
    }
    let mut all = all
        .group(ranked("high", group("new", 2)))
        .pod(member("new", pod("new1", "3c")))
        .pod(member("new", pod("new2", "3c")));
    assert_eq!(all.plan(), ["-b-n4", "-b-n3", "new1 (n3)", "new2 (n4)"]);
}

#[test]
fn a_sub_group_that_runs_whole_keeps_its_minimum() {
    // Two pairs and one more pod: it alone can be spared, and later a pair that is broken anyway.
    let policy = SubGroupPolicy {
        name: "part".to_owned(),
        match_label_keys: vec!["part".to_owned()],
        size: 2,
        min_groups: 1,
        ..SubGroupPolicy::default()
    };
    let all = |parts: &[&str]| {
        let mut all = cluster(&for_gangs(
            "configurations: [{name: gangpreempt, arguments: {allowWholeBundle: false}}]\n",
        ))
        .group(GroupObject {
            sub_groups: vec![policy.clone()],
            ..ranked("low", group("old", 2))
        });
        for (at, part) in parts.iter().enumerate() {
            let old = PodObject {
                labels: pairs(&[("part", part)]),
                ..pod(&format!("old{at}"), "4c")
            };
            let name = format!("n{at}");
            all = all.node(small(&name)).pod(on(&name, member("old", old)));
        }
        let all = all.group(ranked("high", group("new", 1)));
        all.pod(member("new", pod("new", "4c"))).plan()
    };
    assert_eq!(all(&["a", "a", "b", "b", "b"]), ["-old4", "new (n4)"]);
    assert_eq!(all(&["a", "a", "b", "b"]), [""; 0]);
    assert_eq!(all(&["a", "a", "b"]), ["-old2", "new (n2)"]);
}

/// vGPUs under `preempt`.
pub const CARDS: &str = "actions: \"enqueue, allocate, preempt\"\n\
                     tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, \
                     {name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]}]\n";

/// A node with a job of one pod for each `name class allocation`.
fn holders(node: NodeObject, pods: &[(&str, &str, &str, i64)]) -> Cluster {
    let on_node = node.name.clone();
    pods.iter().fold(
        cluster(CARDS).node(node),
        |all, (name, class, ids, memory)| {
            let pod = holding(ids, vgpu(name, *memory));
            all.group(ranked(class, group(name, 0)))
                .pod(on(&on_node, member(name, pod)))
        },
    )
}

fn wants(all: Cluster, memory: i64) -> Cluster {
    all.group(ranked("high", group("new", 1)))
        .pod(member("new", vgpu("new", memory)))
}

#[test]
fn of_pods_on_cards_those_go_whose_card_then_has_room() {
    let x = ("x", "low", "GPU-aa,NVIDIA,12000,0:", 12_000);
    let y = ("y", "low", "GPU-aa,NVIDIA,12000,0:", 12_000);
    let z = ("z", "mid", "GPU-bb,NVIDIA,12000,0:", 12_000);
    // One is enough on the second card, though it is dearer than two on the first.
    let mut all = wants(holders(two_cards("n1"), &[x, y, z]), 20_000);
    assert_eq!(all.plan(), ["-z", "new (n1)"]);
    all.gone("z");
    assert_eq!(decide(&mut all), ["new GPU-bb,NVIDIA,20000,0:"]);
    // With 12,000 on either card the cheaper one goes, whose card then has 24,000 and more.
    let y = ("y", "mid", "GPU-bb,NVIDIA,12000,0:", 12_000);
    let mut all = wants(holders(two_cards("n1"), &[x, y]), 20_000);
    assert_eq!(all.plan(), ["-x", "new (n1)"]);
}

#[test]
fn a_card_that_is_split_is_freed_whole_if_another_split_is_asked() {
    let a = ("a", "low", "GPU-m0[group1-0],NVIDIA,3000,0:", 3000);
    let b = ("b", "low", "GPU-m0[group1-1],NVIDIA,3000,0:", 3000);
    let mut all = wants(holders(split_card("n1"), &[a, b]), 40_000);
    let plan = all.plan();
    assert_eq!(plan, ["-a", "-b", "new (n1)"]);
    all.gone("a");
    assert_eq!(all.plan(), [""; 0], "the card is still split for b");
    all.gone("b");
    assert_eq!(decide(&mut all).len(), 1);
}

#[test]
fn nobody_goes_for_a_card_that_no_node_has() {
    let x = ("x", "low", "GPU-aa,NVIDIA,12000,0:", 12_000);
    let mut all = wants(holders(two_cards("n1"), &[x]), 30_000);
    assert_eq!(all.plan(), [""; 0]);
}

/// A tier may have no word on what pods go for: on reclaim `priority` has none.
#[test]
fn whoever_is_protected_is_not_counted_behind_a_tier_without_a_word() {
    let conf = "actions: \"enqueue, allocate, reclaim\"\n\
                tiers:\n\
                - plugins: [{name: priority}]\n\
                - plugins: [{name: conformance}, {name: predicates}, {name: proportion}]\n";
    let of = |queue: &str, name: &str| GroupObject {
        queue: queue.to_owned(),
        ..group(name, 0)
    };
    let critical = PodObject {
        priority_class: "system-node-critical".to_owned(),
        ..pod("z", "1c")
    };
    let mut all = Cluster::under(conf)
        .node(small("n1"))
        .queue(queue("q"))
        .queue(queue("r"))
        .group(of("q", "old"))
        .group(of("r", "new"))
        .pod(on("n1", member("old", critical)))
        .pod(on("n1", member("old", pod("y", "1c"))))
        .pod(on("n1", member("old", pod("x", "2c"))))
        .pod(member("new", pod("new", "1c")));
    // The queue has one core more than it deserves, and the critical pod would be the first to go.
    assert_eq!(all.plan(), ["-y", "new (n1)"]);
}

#[test]
fn a_nomination_that_is_read_stands_from_then_on_until_whoever_wrote_it_takes_it_back() {
    let nominated = |node: Option<&str>| PodObject {
        nominated_node: node.map(str::to_owned),
        ..member("new", pod("new", "4c"))
    };
    let going = PodObject {
        deleting: true,
        ..on("n1", pod("old", "4c"))
    };
    let mut all = Cluster::under(PREEMPT)
        .node(small("n1"))
        .node(small("n2"))
        .pod(going)
        .pod(on("n2", pod("other", "4c")))
        .group(group("new", 1))
        .pod(nominated(Some("n1")));
    let now_s = 1_000_000;
    let of = |all: &Cluster| {
        let task = all
            .engine
            .state()
            .population()
            .task_by_uid("new")
            .expect("it is there");
        all.engine.known().nominated_node(task).is_some()
    };
    for after_s in [0, 599] {
        all.engine.cycle(now_s + after_s);
        assert!(of(&all), "after {after_s} s");
    }
    all.apply(Delta::PodApply(Box::new(nominated(None))));
    assert!(!of(&all));
}
