//! The rules of spec/02 §19.

use pumice_conf::{Value, parse};
use pumice_model::object::{NodeUsage, PodObject, PriorityClassObject};
use pumice_model::{Delta, TaskStatus};

use super::*;
use crate::testing::*;

const NOW_S: i64 = 1_000_000;

fn measured(node: &str, cpu: i64, memory: i64, at_s: i64) -> Delta {
    Delta::NodeUsage {
        node: node.to_owned(),
        usage: Some(NodeUsage {
            cpu: cpu * 1000,
            memory: memory * 1000,
            at_s,
        }),
    }
}

fn int(name: &str, value: i64) -> (String, Value) {
    (name.to_owned(), Value::Int(value))
}

/// `cpu` and `memory` thresholds of 20 and targets of 80, and what else there is.
fn params(more: &[(String, Value)]) -> Value {
    let both = |percent| Value::Map(vec![int("cpu", percent), int("memory", percent)]);
    let mut pairs = vec![
        ("thresholds".to_owned(), both(20)),
        ("targetThresholds".to_owned(), both(80)),
    ];
    pairs.extend_from_slice(more);
    Value::Map(pairs)
}

fn plugin(more: &[(String, Value)]) -> Rescheduling {
    let strategy = Value::Map(vec![
        (
            "name".to_owned(),
            Value::Str(LOW_NODE_UTILIZATION.to_owned()),
        ),
        ("params".to_owned(), params(more)),
    ]);
    let strategies = [("strategies".to_owned(), Value::List(vec![strategy]))];
    Rescheduling::new(&strategies.into_iter().collect())
}

fn ranked(priority: i32, pod: PodObject) -> PodObject {
    pod.controlled(true).priority(priority)
}

/// A node that is used little and one that is used much, with pods of 4 cores and 4Gi.
fn example() -> Cluster {
    Cluster::default()
        .with(node("low", "16c 64Gi pods=110"))
        .with(node("high", "32c 128Gi pods=110"))
        .with(ranked(1, pod("p1", "4c 4Gi").on("high")))
        .with(ranked(2, pod("p2", "4c 4Gi").on("high")))
        .with(ranked(3, pod("p3", "4c 4Gi").on("high")))
        .with(pod("alone", "4c 4Gi").on("high"))
}

const ALL: &str = "p3 p2 p1 alone";

fn with(cluster: Cluster, deltas: Vec<Delta>) -> State {
    let mut state = cluster.state();
    for delta in deltas {
        state.apply(delta);
    }
    state.seal();
    state
}

fn usual() -> Vec<Delta> {
    vec![
        measured("low", 10, 10, NOW_S - 60),
        measured("high", 95, 50, NOW_S - 60),
    ]
}

fn open_at(plugin: &mut Rescheduling, state: &State, now_s: i64) {
    let cycle = CycleInfo {
        now_s,
        ..CycleInfo::default()
    };
    plugin.open(state, &cycle);
}

fn ask(plugin: &Rescheduling, state: &State) -> String {
    let all = ALL
        .split(' ')
        .filter_map(|name| state.population().task_by_uid(name));
    let all: Vec<TaskIx> = all.collect();
    names(state, &plugin.victim_tasks(state, &all))
}

fn named(mut plugin: Rescheduling, state: &State) -> String {
    open_at(&mut plugin, state, NOW_S);
    ask(&plugin, state)
}

#[test]
fn the_least_important_leave_a_full_node_until_it_is_below_its_target() {
    let state = with(example(), usual());
    // 95 %, 82.5 %, 70 %; nobody would make `alone` anew.
    assert_eq!(named(plugin(&[]), &state), "p1 p2");
}

#[test]
fn nobody_leaves_unless_some_node_is_used_little_and_another_much() {
    let cases = [
        (
            "high is not high",
            vec![
                measured("low", 10, 10, NOW_S),
                measured("high", 80, 80, NOW_S),
            ],
        ),
        (
            "low is not low",
            vec![
                measured("low", 20, 10, NOW_S),
                measured("high", 95, 50, NOW_S),
            ],
        ),
        ("low is not known", vec![measured("high", 95, 50, NOW_S)]),
        ("high is not known", vec![measured("low", 10, 10, NOW_S)]),
        (
            "low is stale",
            vec![
                measured("low", 10, 10, NOW_S - 301),
                measured("high", 95, 50, NOW_S),
            ],
        ),
        (
            "both are low",
            vec![
                measured("low", 10, 10, NOW_S),
                measured("high", 10, 10, NOW_S),
            ],
        ),
    ];
    for (what, usage) in cases {
        assert_eq!(named(plugin(&[]), &with(example(), usage)), "", "{what}");
    }
    let cordoned = node("low", "16c 64Gi pods=110").unschedulable(true);
    let mut deltas = vec![cordoned.delta()];
    deltas.extend(usual());
    assert_eq!(
        named(plugin(&[]), &with(example(), deltas)),
        "",
        "low is cordoned"
    );
    let one = [int("numberOfNodes", 1)];
    assert_eq!(
        named(plugin(&one), &with(example(), usual())),
        "",
        "one is too few"
    );
}

#[test]
fn no_more_leave_than_nodes_that_are_used_little_can_take() {
    let small = |request: &str| {
        let cluster = example().with(node("low", request));
        named(plugin(&[]), &with(cluster, usual()))
    };
    // 70 % of 5 cores are 3.5, of 6 cores 4.2 cores; the one that uses it up still goes.
    assert_eq!(small("5c 64Gi pods=110"), "p1");
    assert_eq!(small("6c 64Gi pods=110"), "p1 p2");
    assert_eq!(small("16c 5Gi pods=110"), "p1");
    assert_eq!(small("0c 64Gi pods=110"), "");
}

#[test]
fn the_fullest_node_goes_first() {
    let cluster = example()
        .with(node("higher", "32c 128Gi pods=110"))
        .with(ranked(9, pod("q", "4c 4Gi").on("higher")))
        .with(node("low", "5c 64Gi pods=110"));
    let mut usage = usual();
    usage.push(measured("higher", 96, 50, NOW_S));
    let state = with(cluster, usage);
    let mut plugin = plugin(&[]);
    open_at(&mut plugin, &state, NOW_S);
    let all: Vec<TaskIx> = ["p1", "q"].map(|name| task(&state, name)).to_vec();
    assert_eq!(names(&state, &plugin.victim_tasks(&state, &all)), "q");
}

#[test]
fn important_pods_stay_where_a_threshold_says_so() {
    let class = |name: &str| {
        (
            "thresholdPriorityClassName".to_owned(),
            Value::Str(name.to_owned()),
        )
    };
    let cases = [
        (vec![int("thresholdPriority", 2)], "p1"),
        (vec![int("thresholdPriority", 3)], "p1 p2"),
        (vec![class("mid")], "p1"),
        (vec![class("mid"), int("thresholdPriority", 1)], ""),
        (vec![class("gone")], ""),
    ];
    for (more, expected) in cases {
        let mut deltas = usual();
        deltas.push(Delta::PriorityClassApply(PriorityClassObject {
            name: "mid".to_owned(),
            value: 2,
            ..PriorityClassObject::default()
        }));
        let state = with(example(), deltas);
        assert_eq!(named(plugin(&more), &state), expected, "{more:?}");
    }
}

#[test]
fn with_node_fit_only_those_go_for_whose_request_there_is_room() {
    let fit = [("nodeFit".to_owned(), Value::Bool(true))];
    let cluster = || {
        Cluster::default()
            .with(node("low", "16c 64Gi pods=110"))
            .with(node("high", "32c 128Gi pods=110"))
            .with(ranked(1, pod("p1", "4c 4Gi example.com/x=1").on("high")))
            .with(ranked(2, pod("p2", "4c 4Gi").on("high")))
            .with(ranked(3, pod("p3", "4c 4Gi").on("high")))
    };
    let state = with(cluster(), usual());
    assert_eq!(named(plugin(&[]), &state), "p1 p2");
    assert_eq!(named(plugin(&fit), &state), "p2 p3", "nobody has x");
    // Six cores are idle: what p2 is promised p3 cannot have.
    let full = cluster().with(pod("others", "10c 1Gi").on("low"));
    assert_eq!(named(plugin(&fit), &with(full, usual())), "p2");
}

#[test]
fn best_effort_pods_go_first_among_equals_and_count_as_scores_count_them() {
    let cluster = Cluster::default()
        .with(node("low", "16c 64Gi pods=110"))
        .with(node("high", "2c 128Gi pods=110"))
        .with(ranked(1, pod("p2", "1c").on("high")))
        .with(ranked(1, pod("p1", "").on("high")));
    let state = with(cluster, usual());
    assert!(state.task(task(&state, "p1")).best_effort);
    // 100 milli-cores are 5 % of the node: 95 %, 90 %, 40 %.
    assert_eq!(named(plugin(&[]), &state), "p1 p2");
}

#[test]
fn it_is_due_once_an_interval_and_looks_at_what_was_measured_after_the_last_evictions() {
    let mut state = with(example(), usual());
    let mut plugin = plugin(&[]);
    open_at(&mut plugin, &state, NOW_S);
    assert!(VictimTasks::is_due(&plugin));
    assert_eq!(plugin.wake_at_s(), None, "nothing new was measured");
    let victim = task(&state, "p1");
    plugin.observe(&state, Step::Evicting(victim));
    assert_eq!(
        ask(&plugin, &state),
        "p1 p2",
        "within the cycle nothing changes"
    );
    state.evict(victim);
    state.apply(measured("low", 11, 10, NOW_S - 1));
    open_at(&mut plugin, &state, NOW_S + 1);
    assert!(!VictimTasks::is_due(&plugin));
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 300));
    open_at(&mut plugin, &state, NOW_S + 300);
    assert!(VictimTasks::is_due(&plugin));
    assert_eq!(ask(&plugin, &state), "", "measured before they went");
    state.restore(victim, TaskStatus::Running);
    for (name, cpu) in [("low", 10), ("high", 85)] {
        state.apply(measured(name, cpu, 10, NOW_S + 301));
    }
    open_at(&mut plugin, &state, NOW_S + 600);
    assert_eq!(ask(&plugin, &state), "p1");
}

#[test]
fn an_eviction_that_is_taken_back_is_none() {
    let state = with(example(), usual());
    let mut plugin = plugin(&[]);
    open_at(&mut plugin, &state, NOW_S);
    let victim = task(&state, "p1");
    plugin.observe(&state, Step::Evicting(victim));
    plugin.observe(&state, Step::Restored(victim));
    open_at(&mut plugin, &state, NOW_S + 1);
    assert_eq!(ask(&plugin, &state), "p1 p2");
}

#[test]
fn arguments_as_documented_are_read_and_others_told() {
    let text = |arguments: &str| {
        format!(
            "actions: allocate\ntiers:\n- plugins:\n  - name: rescheduling\n    arguments:\n{arguments}"
        )
    };
    let sound = "      interval: 90s\n      metricsPeriod: 5m\n      strategies:\n      - name: \
                 lowNodeUtilization\n        params:\n          thresholds: {\"cpu\": 20, \"memory\": 30, \
                 \"pods\": 40}\n          targetThresholds: {cpu: 80, pod: 90}\n          nodeFit: true\n";
    let config = parse(&text(sound), &REGISTRY).config.expect("valid");
    let conf = config.plugin("rescheduling").expect("named");
    let plugin = Rescheduling::new(&conf.arguments);
    assert_eq!(plugin.interval.length_s, 90);
    let [strategy] = plugin.strategies.as_slice() else {
        panic!("one strategy");
    };
    assert_eq!(strategy.thresholds, [20_000, 30_000, 40_000]);
    assert_eq!(strategy.targets, [80_000, 100_000, 90_000]);
    assert!(strategy.node_fit);
    let cases = [
        (
            "      interval: often\n",
            "`interval`: `often` is no duration",
        ),
        (
            "      strategies: [{name: offlineOnly}]\n",
            "`offlineOnly` is unknown; the strategy is passed over",
        ),
        (
            "      strategies: [{name: lowNodeUtilization, params: {thresholds: {cpu: x}}}]\n",
            "`cpu` must be a whole number",
        ),
        (
            "      strategies: [{name: lowNodeUtilization, params: {targetThresholds: {cpu: 120}}}]\n",
            "120 is above 100; 100 is used",
        ),
        (
            "      strategies: [{name: lowNodeUtilization, params: {threshold: {}}}]\n",
            "did you mean `thresholds`?",
        ),
    ];
    for (arguments, expected) in cases {
        let outcome = parse(&text(arguments), &REGISTRY);
        let told = outcome.diagnostics.iter();
        let told: Vec<String> = told.map(|one| one.render("conf")).collect();
        assert!(
            told.concat().contains(expected),
            "{expected}\n{}",
            told.concat()
        );
    }
    let unnamed = Rescheduling::new(&Arguments::default());
    assert_eq!(
        (unnamed.interval.length_s, unnamed.strategies.len()),
        (300, 1)
    );
}
