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
    group.priority_class(class)
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
        .with(ranked(class, group(name, 1)))
        .with(pod(name, request).group(name).on(on_node))
}

#[test]
fn the_fewest_go_and_of_these_the_cheapest() {
    // n1: two small pods; n2: one of mid priority; n3: one of low priority, which is cheapest.
    let mut cluster = cluster(PREEMPT)
        .with(small("n1"))
        .with(small("n2"))
        .with(small("n3"));
    cluster = runs(cluster, "low", "n1", "a1", "2c");
    cluster = runs(cluster, "low", "n1", "a2", "2c");
    cluster = runs(cluster, "mid", "n2", "b", "4c");
    cluster = runs(cluster, "low", "n3", "c", "4c");
    let mut cluster = cluster
        .with(ranked("high", group("new", 1)))
        .with(pod("new", "3c").group("new"));
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
            all = all.with(small(&name));
            all = runs(all, "low", &name, &format!("old{at}"), "4c");
        }
        let new = |at| pod(&format!("new{at}"), "4c").group("new");
        all.with(ranked("high", group("new", 3)))
            .with(new(0))
            .with(new(1))
            .with(new(2))
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
    let all = cluster(PREEMPT).with(small("n1"));
    let mut all = runs(all, "low", "n1", "old", "4c")
        .with(ranked("mid", group("new", 1)))
        .with(pod("new", "3c").group("new"));
    assert_eq!(all.plan(), ["-old", "new (n1)"]);
    // Somebody more important, and somebody who would fit beside, come while `old` is ending.
    let mut all = all
        .with(ranked("high", group("late", 1)))
        .with(pod("late", "2c").group("late"))
        .with(ranked("low", group("little", 1)))
        .with(pod("little", "1c").group("little"));
    all.gone("old");
    assert_eq!(all.plan(), ["new n1", "little n1"]);
}

#[test]
fn a_gang_at_its_minimum_is_left_alone_where_gangs_are_protected() {
    let all = |conf| {
        let old = |at: usize| pod(&format!("old{at}"), "2c").group("old").on("n1");
        cluster(conf)
            .with(small("n1"))
            .with(ranked("low", group("old", 2)))
            .with(old(1))
            .with(old(2))
            .with(ranked("high", group("new", 1)))
            .with(pod("new", "1c").group("new"))
    };
    assert_eq!(all(GANGS_PROTECTED).plan(), [""; 0]);
    assert_eq!(all(PREEMPT).plan(), ["-old2", "new (n1)"]);
}

#[test]
fn equal_priority_evicts_nobody_even_if_no_plugin_orders() {
    let conf = "actions: \"enqueue, allocate, preempt\"\n\
                tiers: [{plugins: [{name: gang}, {name: conformance}, {name: predicates}]}]\n";
    for (victim, expected) in [("mid", vec![]), ("low", vec!["-old", "new (n1)"])] {
        let all = cluster(conf).with(small("n1"));
        let old = |at: usize| pod(&format!("o{at}"), "1c").group("o").on("n1");
        let all = all.with(ranked(victim, group("o", 0))).with(old(1));
        let mut all = runs(all, victim, "n1", "old", "3c");
        // `old` is protected by its minimum, but for a group that needs none.
        all = all.with(ranked(victim, group("old", 0)));
        let mut all = all
            .with(ranked("mid", group("new", 1)))
            .with(pod("new", "3c").group("new"));
        assert_eq!(all.plan(), expected, "{victim}");
    }
}

#[test]
fn slots_and_ports_of_victims_are_free_once_they_are_gone() {
    let port = |pod: PodObject| {
        pod.host_ports([HostPort {
            ip: "0.0.0.0".to_owned(),
            protocol: "TCP".to_owned(),
            port: 80,
        }])
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
            .with(node)
            .with(ranked("low", group("old", 1)))
            .with(old.group("old").on("n1"))
            .with(ranked("high", group("new", 1)))
            .with(new.group("new"));
        assert_eq!(all.plan(), ["-old", "new (n1)"]);
        all.gone("old");
        assert_eq!(all.plan(), ["new n1"]);
    }
}

#[test]
fn nobody_goes_for_a_pod_whose_policy_is_never_nor_against_a_mark() {
    let all = |mark, preempts| {
        let old = pod("old", "4c").preemptable(mark);
        let new = pod("new", "4c").preempts(preempts);
        cluster(PREEMPT)
            .with(small("n1"))
            .with(ranked("low", group("old", 1)))
            .with(old.group("old").on("n1"))
            .with(ranked("high", group("new", 1)))
            .with(new.group("new"))
    };
    let unsaid = PreemptableMark::Unsaid;
    assert_eq!(all(unsaid, None).plan(), ["-old", "new (n1)"]);
    assert_eq!(all(unsaid, Some(false)).plan(), [""; 0]);
    assert_eq!(all(PreemptableMark::No, None).plan(), [""; 0]);
}

#[test]
fn a_job_that_was_not_admitted_preempts_and_is_admitted_by_its_plan() {
    let all = cluster(PREEMPT).with(small("n1"));
    let mut all = runs(all, "low", "n1", "old", "4c")
        .with(ranked("high", group("new", 1).waiting()))
        .with(pod("new", "4c").group("new"));
    assert_eq!(all.plan(), ["-old", "new (n1)"]);
}

#[test]
fn a_pod_of_a_job_goes_for_a_more_important_one_of_the_same_job() {
    let ranked_pod = |name: &str, priority| pod(name, "4c").group("job").priority(priority);
    let mut all = cluster(PREEMPT)
        .with(small("n1"))
        .with(small("n2"))
        .with(group("job", 3))
        .with(ranked_pod("a", 5).on("n1"))
        .with(ranked_pod("b", 7).on("n2"))
        .with(ranked_pod("c", 9));
    assert_eq!(all.plan(), ["-a", "c (n1)"]);
}

#[test]
fn a_bound_pod_that_does_not_run_yet_may_go_and_one_that_is_going_is_left() {
    let bound = |pod: PodObject| pod.on("n1").phase(PodPhase::Pending);
    let going = |pod: PodObject| pod.on("n2").deleting(true);
    let all = |old: PodObject| {
        cluster(PREEMPT)
            .with(small(old.node.clone().as_deref().expect("a node")))
            .with(ranked("low", group("old", 1)))
            .with(old.group("old"))
            .with(ranked("high", group("new", 1)))
            .with(pod("new", "4c").group("new"))
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
        let all = cluster(&admitting(action)).with(small("n1"));
        let mut all = runs(all, of_old, "n1", "old", "4c")
            .with(ranked(wanted, group("new", 1).waiting()).min_resources("4c"));
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
        cluster(&admitting("preempt")).with(small("n1")),
        "low",
        "n1",
        "old",
        "4c",
    );
    for name in ["a", "b"] {
        all = all.with(ranked("high", group(name, 1).waiting()).min_resources("3c"));
    }
    all.plan();
    assert_eq!(all.phase("a"), GroupPhase::Inqueue);
    assert_eq!(all.phase("b"), GroupPhase::Pending);
}

/// For [`for_gangs`]: no gang goes as a whole.
pub const NO_WHOLE: &str =
    "configurations: [{name: gangpreempt, arguments: {allowWholeBundle: false}}]\n";

/// The usual tiers with an action that takes gangs as a whole.
pub fn for_gangs(arguments: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, gangpreempt\"\n{arguments}\
         tiers: [{{plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}, {{name: predicates}}]}}]\n"
    )
}

/// Nodes, each full with a pod of one gang, and a more important pod that waits.
fn full_of_a_gang(arguments: &str, min: i32, nodes: &[&str]) -> Cluster {
    let mut all = cluster(&for_gangs(arguments)).with(ranked("low", group("old", min)));
    for (at, node) in nodes.iter().enumerate() {
        let old = pod(&format!("old{}", at + 1), "4c").group("old");
        all = all.with(small(node)).with(old.on(node));
    }
    let all = all.with(ranked("high", group("new", 1)));
    all.with(pod("new", "4c").group("new"))
}

#[test]
fn a_gang_goes_as_a_whole_or_gives_what_it_can_spare() {
    let all = |arguments: &str, min| full_of_a_gang(arguments, min, &["n1", "n2", "n3"]);
    // One of three can be spared; then none, and all go together.
    assert_eq!(all("", 2).plan(), ["-old3", "new (n3)"]);
    let whole = ["-old3", "-old2", "-old1", "new (n1)"];
    assert_eq!(all("", 3).plan(), whole);
    assert_eq!(all(NO_WHOLE, 3).plan(), [""; 0]);
}

#[test]
fn a_gang_of_which_some_pods_are_done_is_a_gang_still() {
    let all = |arguments: &str, min| {
        let done = pod("old3", "4c").group("old").on("n2");
        let all = full_of_a_gang(arguments, min, &["n1", "n2"]);
        all.with(done.phase(PodPhase::Succeeded)).plan()
    };
    // The two that run go together or not at all; with one more that it lacks they are free to go.
    assert_eq!(all(NO_WHOLE, 3), [""; 0]);
    assert_eq!(all("", 3), ["-old2", "-old1", "new (n1)"]);
    assert_eq!(all(NO_WHOLE, 4), ["-old2", "-old1", "new (n1)"]);
}

#[test]
fn for_a_gang_the_cheapest_gang_goes_and_no_more_than_needed() {
    let mut all = cluster(&for_gangs(""));
    for (class, name, nodes) in [("mid", "a", ["n1", "n2"]), ("low", "b", ["n3", "n4"])] {
        all = all.with(ranked(class, group(name, 2)));
        for node in nodes {
            all = all
                .with(small(node))
                .with(pod(&format!("{name}-{node}"), "4c").group(name).on(node));
        }
    }
    let mut all = all
        .with(ranked("high", group("new", 2)))
        .with(pod("new1", "3c").group("new"))
        .with(pod("new2", "3c").group("new"));
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
        let mut all = cluster(&for_gangs(NO_WHOLE))
            .with(ranked("low", group("old", 2)).sub_groups([policy.clone()]));
        for (at, part) in parts.iter().enumerate() {
            let old = pod(&format!("old{at}"), "4c").labels(&[("part", part)]);
            let name = format!("n{at}");
            all = all.with(small(&name)).with(old.group("old").on(&name));
        }
        let all = all.with(ranked("high", group("new", 1)));
        all.with(pod("new", "4c").group("new")).plan()
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
        cluster(CARDS).with(node),
        |all, (name, class, ids, memory)| {
            let pod = holding(ids, vgpu(name, *memory));
            all.with(ranked(class, group(name, 0)))
                .with(pod.group(name).on(&on_node))
        },
    )
}

fn wants(all: Cluster, memory: i64) -> Cluster {
    all.with(ranked("high", group("new", 1)))
        .with(vgpu("new", memory).group("new"))
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
    let of = |queue: &str, name: &str| group(name, 0).queue(queue);
    let critical = pod("z", "1c").priority_class("system-node-critical");
    let mut all = Cluster::under(conf)
        .with(small("n1"))
        .with(queue("q"))
        .with(queue("r"))
        .with(of("q", "old"))
        .with(of("r", "new"))
        .with(critical.group("old").on("n1"))
        .with(pod("y", "1c").group("old").on("n1"))
        .with(pod("x", "2c").group("old").on("n1"))
        .with(pod("new", "1c").group("new"));
    // The queue has one core more than it deserves, and the critical pod would be the first to go.
    assert_eq!(all.plan(), ["-y", "new (n1)"]);
}

#[test]
fn a_nomination_that_is_read_stands_from_then_on_until_whoever_wrote_it_takes_it_back() {
    let nominated = |node: Option<&str>| {
        pod("new", "4c")
            .group("new")
            .nominated_node(node.map(str::to_owned))
    };
    let going = pod("old", "4c").on("n1").deleting(true);
    let mut all = Cluster::under(PREEMPT)
        .with(small("n1"))
        .with(small("n2"))
        .with(going)
        .with(pod("other", "4c").on("n2"))
        .with(group("new", 1))
        .with(nominated(Some("n1")));
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
    all.apply(nominated(None));
    assert!(!of(&all));
}
