//! Worked examples of spec/02 §20.

use super::*;
use crate::testing::*;
use pumice_conf::Value;
use pumice_framework::TopologyKeys;
use pumice_framework::points::{ClassKey, CountedCluster, Signature};
use pumice_model::object::GroupObject;
use pumice_model::topology::PodCounters;

type Given<'a> = &'a [(&'a str, &'a str)];

fn plugin(arguments: Given) -> TaskTopology {
    let arguments = arguments
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::Str((*value).to_owned())))
        .collect();
    TaskTopology::new(&arguments)
}

/// A PodGroup `g` with annotations `volcano.sh/task-topology-…`.
fn topology_group(annotations: Given) -> GroupObject {
    let mut annotations: Vec<(String, String)> = annotations
        .iter()
        .map(|(key, value)| {
            (
                format!("volcano.sh/task-topology-{key}"),
                (*value).to_owned(),
            )
        })
        .collect();
    annotations.sort();
    group("g", 1).queue("default").annotations(annotations)
}

/// Pods of the group, a line each: name, role or `-`, request, and the node if it has one.
fn with_pods(cluster: Cluster, pods: &str) -> Cluster {
    let lines = pods.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(cluster, |cluster, line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let role = if words[1] == "-" { "" } else { words[1] };
        let new = pod(words[0], words[2]).group("g").role(role);
        cluster.with(match words.get(3) {
            Some(node) => new.on(node),
            None => new,
        })
    })
}

fn nodes(names: &[(&str, &str)]) -> Cluster {
    let named = names.iter().map(|(name, cores)| node(name, cores));
    named.fold(Cluster::default(), Cluster::with)
}

/// The buckets of group `g`, in order: their pods in the order they were put there.
fn buckets(plugin: &TaskTopology, state: &State) -> Vec<String> {
    let Some(of) = plugin.jobs.get(&job(state, "g")) else {
        return Vec::new();
    };
    let mut found = vec![Vec::new(); of.buckets.waiting.len()];
    for member in &of.buckets.members {
        found[member.bucket].push(&*state.task(member.task).name);
    }
    found.iter().map(|names| names.join(" ")).collect()
}

/// The waiting pods in the order they are tried, as far as the plugin says.
fn tried(plugin: &TaskTopology, state: &State, pods: &[&str]) -> String {
    let mut tasks: Vec<TaskIx> = pods.iter().map(|name| task(state, name)).collect();
    tasks.sort_by(|left, right| plugin.task_order(state, *left, *right));
    names(state, &tasks)
}

/// Scores of all nodes for a pod.
fn scores(plugin: &TaskTopology, state: &State, pod: &str) -> Vec<i64> {
    let ix = task(state, pod);
    let mut signature = Signature::default();
    signature.add(SPEC.name, plugin.signature(state, ix));
    let class = Class::new(state, ClassKey::of(state, ix), Arc::new(signature));
    let (mut keys, mut counters) = (TopologyKeys::default(), PodCounters::default());
    let mut found = Vec::new();
    let with = &mut Counting::new(state, &mut counters, &mut keys);
    plugin.candidate_scores(with, &class, &mut found);
    let nodes: Vec<u32> = state.nodes().indices().map(|node| node.0).collect();
    let mut scores = vec![0; nodes.len()];
    let counters = &counters;
    for score in &mut found {
        score.add(CountedCluster { state, counters }, &nodes, &mut scores);
    }
    scores
}

const TRAINING: &str = "
    g-ps-0 ps 1c
    g-ps-1 ps 1c
    g-worker-0 worker 1c
    g-worker-1 worker 1c
    g-worker-2 worker 1c
    g-worker-3 worker 1c";

const NEAR_PS: Given = &[("affinity", "ps,worker"), ("anti-affinity", "ps")];

#[test]
fn pods_are_shared_out_among_buckets_by_what_their_roles_say() {
    let cases: [(Given, &str, &[&str]); 10] = [
        (
            NEAR_PS,
            TRAINING,
            &[
                "g-ps-0 g-worker-0 g-worker-2",
                "g-ps-1 g-worker-1 g-worker-3",
            ],
        ),
        (
            &[("affinity", " ps , worker ; ")],
            TRAINING,
            &["g-ps-0 g-ps-1 g-worker-0 g-worker-1 g-worker-2 g-worker-3"],
        ),
        (
            &[("anti-affinity", "ps,worker")],
            TRAINING,
            &[
                "g-ps-0 g-ps-1",
                "g-worker-0 g-worker-1 g-worker-2 g-worker-3",
            ],
        ),
        (
            &[("anti-affinity", "ps;worker")],
            "g-ps-0 ps 1c
             g-ps-1 ps 1c
             g-worker-0 worker 1c",
            &["g-ps-0 g-worker-0", "g-ps-1"],
        ),
        // Near and apart at once is neither.
        (
            &[("affinity", "ps"), ("anti-affinity", "ps")],
            "g-ps-0 ps 1c
             g-ps-1 ps 1c",
            &["g-ps-0 g-ps-1"],
        ),
        // Of two buckets it is drawn to alike, the one that asks for less.
        (
            &[("anti-affinity", "ps"), ("affinity", "ps,worker")],
            "g-ps-0 ps 3c
             g-ps-1 ps 2c
             g-worker-0 worker 1c",
            &["g-ps-0", "g-ps-1 g-worker-0"],
        ),
        // The order says who is put there first.
        (
            &[("affinity", "ps,worker"), ("task-order", "worker,ps")],
            "g-ps-0 ps 1c
             g-worker-0 worker 1c",
            &["g-worker-0 g-ps-0"],
        ),
        // What runs has the buckets of its nodes; who has left, and who is of no named role, has none.
        (
            NEAR_PS,
            "g-ps-0 ps 1c n2
             g-worker-0 worker 1c n1
             g-worker-1 worker 1c
             g-other-0 other 1c
             g-none-0 - 1c",
            &["g-worker-0", "g-ps-0 g-worker-1"],
        ),
        (&[("task-order", "ps,worker")], TRAINING, &[]),
        (&[], TRAINING, &[]),
    ];
    for (annotations, pods, expected) in cases {
        let cluster = nodes(&[("n1", "8c pods=9"), ("n2", "8c pods=9")]);
        let state = with_pods(cluster.with(topology_group(annotations)), pods).state();
        let plugin = opened(plugin(&[]), &state);
        assert_eq!(buckets(&plugin, &state), expected, "{annotations:?}");
    }
}

#[test]
fn a_bucket_is_tried_as_a_whole_the_fullest_first_and_ranks_count_without_buckets_too() {
    let all = [
        "g-worker-3",
        "g-worker-2",
        "g-worker-1",
        "g-worker-0",
        "g-ps-1",
        "g-ps-0",
    ];
    let cases: [(Given, &str, &str); 4] = [
        (
            NEAR_PS,
            "",
            "g-ps-0 g-worker-2 g-worker-0 g-ps-1 g-worker-3 g-worker-1",
        ),
        (
            &[
                ("affinity", "ps,worker"),
                ("anti-affinity", "ps"),
                ("task-order", "worker"),
            ],
            "",
            "g-worker-3 g-worker-2 g-worker-1 g-worker-0 g-ps-1 g-ps-0",
        ),
        // Only what waits makes a bucket full.
        (
            &[("anti-affinity", "ps,worker")],
            "g-ps-9 ps 1c n1
             g-ps-8 ps 1c n1
             g-ps-7 ps 1c n1",
            "g-worker-3 g-worker-2 g-worker-1 g-worker-0 g-ps-1 g-ps-0",
        ),
        (
            &[("task-order", "worker,ps")],
            "",
            "g-worker-3 g-worker-2 g-worker-1 g-worker-0 g-ps-1 g-ps-0",
        ),
    ];
    for (annotations, more, expected) in cases {
        let cluster = nodes(&[("n1", "8c pods=9")]).with(topology_group(annotations));
        let state = with_pods(with_pods(cluster, TRAINING), more).state();
        let plugin = opened(plugin(&[]), &state);
        assert_eq!(tried(&plugin, &state, &all), expected, "{annotations:?}");
    }
}

#[test]
fn nodes_score_by_how_much_of_the_bucket_they_have_or_could_take() {
    // Buckets of three pods; the second of two nodes has room for two of them.
    let cases: [(Given, &str, &str, [i64; 2]); 7] = [
        (&[], "", "g-ps-0", [100, 66]),
        (&[("task-topology.weight", "10")], "", "g-ps-0", [1000, 666]),
        (&[("task-topology.weight", "-3")], "", "g-ps-0", [100, 66]),
        (&[("task-topology.weight", "0")], "", "g-ps-0", [0, 0]),
        // g-ps-0 is on the first, and three workers wait in its bucket; the other node has room for two.
        (&[], "g-ps-0 ps 1c n1", "g-worker-0", [100, 50]),
        // g-ps-1 keeps apart from it.
        (&[], "g-ps-0 ps 1c n1", "g-ps-1", [25, 50]),
        (&[], "", "g-other-0", [0, 0]),
    ];
    for (arguments, placed, pod, expected) in cases {
        let cluster = nodes(&[("n1", "8c pods=9"), ("n2", "2c pods=9")]);
        let cluster = cluster.with(topology_group(NEAR_PS));
        let waiting = TRAINING.lines().filter(|line| {
            let name = line.split_whitespace().next();
            !placed.split_whitespace().any(|word| Some(word) == name)
        });
        let waiting: Vec<&str> = waiting.chain(["g-other-0 other 1c"]).collect();
        let cluster = with_pods(with_pods(cluster, placed), &waiting.join("\n"));
        let state = cluster.state();
        let plugin = opened(plugin(arguments), &state);
        let found = scores(&plugin, &state, pod);
        assert_eq!(found, expected, "{arguments:?} {placed} {pod}");
    }
}

#[test]
fn pods_keep_apart_from_what_runs_since_long_too() {
    // Nothing is drawn anywhere: a bucket a pod, and the one that runs counts against its node.
    let cluster = nodes(&[("n1", "8c pods=9"), ("n2", "8c pods=9")]);
    let cluster = cluster.with(topology_group(&[("anti-affinity", "ps")]));
    let state = with_pods(cluster, "g-ps-0 ps 1c n1\ng-ps-1 ps 1c").state();
    let plugin = opened(plugin(&[]), &state);
    assert_eq!(scores(&plugin, &state, "g-ps-1"), [0, 100]);
}

#[test]
fn the_rest_of_a_bucket_counts_from_its_first_pod_on_as_far_as_it_fits() {
    let cluster = nodes(&[
        ("n1", "3c pods=9"),
        ("n2", "4c pods=2"),
        ("n3", "9c pods=9"),
    ]);
    let cluster = cluster.with(topology_group(&[("affinity", "a,b")]));
    let pods = "g-a-0 a 1c\ng-a-1 a 1c\ng-b-0 b 4c\ng-b-1 b 1c";
    let state = with_pods(cluster, pods).state();
    let plugin = opened(plugin(&[]), &state);
    // Two of four, then g-b-0 is too large; two places for pods; all.
    assert_eq!(scores(&plugin, &state, "g-a-0"), [50, 50, 100]);
    // A node that does not take the pod itself gets nothing.
    assert_eq!(scores(&plugin, &state, "g-b-0"), [0, 25, 100]);
}

#[test]
fn what_means_nothing_is_told_to_the_owner() {
    let cases: [(Given, i32, Option<&str>); 5] = [
        (
            &[("affinity", "ps,worker;ps,worker,ps")],
            1,
            Some(
                "annotations of task-topology are passed over: volcano.sh/task-topology-affinity names `ps` \
                 twice in `ps,worker,ps`",
            ),
        ),
        (
            &[("task-order", "ps,ps")],
            1,
            Some(
                "annotations of task-topology are passed over: volcano.sh/task-topology-task-order names `ps` \
                 twice in `ps,ps`",
            ),
        ),
        (
            &[("affinity", "ps,wroker")],
            1,
            Some(
                "annotations of task-topology name `wroker`, which is the role (volcano.sh/task-spec) of no pod",
            ),
        ),
        // The others may still come.
        (&[("affinity", "ps,evaluator")], 9, None),
        (NEAR_PS, 1, None),
    ];
    for (annotations, min_member, expected) in cases {
        let cluster =
            nodes(&[("n1", "8c pods=9")]).with(topology_group(annotations).min_member(min_member));
        let state = with_pods(cluster, TRAINING).state();
        let plugin = opened(plugin(&[]), &state);
        let told = plugin.job_warning(&state, job(&state, "g"));
        assert_eq!(told.as_deref(), expected, "{annotations:?}");
    }
}

#[test]
fn classes_are_told_apart_by_bucket_and_role_and_stay_while_nothing_changes() {
    let cluster = nodes(&[("n1", "8c pods=9")]).with(topology_group(NEAR_PS));
    let mut state = with_pods(cluster, TRAINING).state();
    let mut plugin = opened(plugin(&[]), &state);
    let all = |plugin: &TaskTopology, state: &State| {
        ["g-ps-0", "g-worker-0", "g-worker-2", "g-worker-1"]
            .map(|pod| plugin.signature(state, task(state, pod)))
    };
    let [ps, first, second, other] = all(&plugin, &state);
    assert_eq!(first, second);
    assert!(ps != first && first != other, "{ps}, {first}, {other}");
    plugin.open(&state, &CycleInfo::default());
    assert_eq!(all(&plugin, &state), [ps.clone(), first, second, other]);
    let gone = pumice_model::Delta::PodDelete("g-worker-3".to_owned());
    state.apply(gone);
    state.seal();
    plugin.open(&state, &CycleInfo::default());
    assert_ne!(plugin.signature(&state, task(&state, "g-ps-0")), ps);
}
