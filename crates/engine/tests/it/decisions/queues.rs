//! Closed queues, admission, and what backfill does not ask.

use pumice_conf::parse;
use pumice_model::Delta;
use pumice_model::object::{
    GroupObject, GroupPhase, HighestTier, PodObject, PodPhase, QueueObject, QueueState,
    TopologyRequest,
};

use super::cluster::*;

fn closed() -> QueueObject {
    QueueObject {
        state: QueueState::Closed,
        ..queue("shut")
    }
}

fn in_closed_queue(group: GroupObject) -> GroupObject {
    GroupObject {
        queue: "shut".to_owned(),
        ..group
    }
}

fn asking(min_resources: &str, group: GroupObject) -> GroupObject {
    GroupObject {
        min_resources: Some(amounts(min_resources)),
        ..group
    }
}

fn cluster(conf: Option<&str>) -> Cluster {
    let cluster = conf.map_or_else(Cluster::new, Cluster::under);
    cluster.node(node("n1", "4c 8Gi pods=9")).queue(closed())
}

#[test]
fn a_closed_queue_is_enforced_by_the_queue_plugin_alone() {
    for (conf, binds, phase) in [
        (None, 0, GroupPhase::Pending),
        (Some(NO_QUEUE_PLUGIN), 1, GroupPhase::Inqueue),
    ] {
        let mut cluster = cluster(conf)
            .group(in_closed_queue(asking("1c", waiting(group("g", 1)))))
            .pod(member("g", pod("p", "1c")));
        assert_eq!(cluster.cycle().len(), binds, "{conf:?}");
        assert_eq!(cluster.phase("g"), phase, "{conf:?}");
    }
}

#[test]
fn a_group_without_min_resources_is_admitted_unasked_even_into_a_closed_queue() {
    let mut cluster = cluster(None)
        .group(in_closed_queue(waiting(group("g", 1))))
        .pod(member("g", pod("p", "1c")));
    assert_eq!(cluster.cycle().len(), 0);
    assert_eq!(cluster.phase("g"), GroupPhase::Inqueue);
}

fn capped(capability: &str) -> QueueObject {
    QueueObject {
        capability: amounts(capability),
        ..queue("default")
    }
}

#[test]
fn a_capability_of_pods_holds_for_pods_with_a_request_and_for_best_effort_ones() {
    let mut cluster = Cluster::new()
        .node(node("n1", "4c 8Gi pods=9"))
        .queue(capped("pods=2"))
        .group(group("g", 1));
    for (name, request) in [("p1", "1c"), ("p2", ""), ("p3", ""), ("p4", "1c")] {
        cluster = cluster.pod(member("g", pod(name, request)));
    }
    // `allocate` takes those with a request, and nothing is left for `backfill`.
    assert_eq!(cluster.cycle(), ["p1 n1", "p4 n1"]);
    assert_eq!(cluster.cycle(), [""; 0]);
    let (_, why) = cluster.why("p2");
    assert!(why.contains("queue \"default\""), "{why}");
    assert!(
        why.contains("pods (capability 2, used 2, asked 1)"),
        "{why}"
    );
    // With more of them allowed the best-effort pods come too; a closed queue keeps no pod from it.
    cluster.apply(Delta::QueueApply(Box::new(QueueObject {
        state: QueueState::Closed,
        ..capped("pods=3")
    })));
    assert_eq!(cluster.cycle(), ["p2 n1"]);
}

#[test]
fn a_capability_of_vgpu_memory_holds_for_whole_cards_too() {
    let whole = |name| {
        let mut pod = super::devices::vgpu(name, 1);
        let asks_memory = |(name, _): &(String, i64)| name != "volcano.sh/vgpu-memory";
        pod.request.retain(asks_memory);
        pod.facts.containers[0].amounts.retain(asks_memory);
        member("g", pod)
    };
    let conf = "actions: \"allocate\"\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: \
                proportion}, {name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]}]\n";
    // Two cards of 24,576 MiB.
    let mut cluster = Cluster::under(conf)
        .node(super::devices::two_cards("n1"))
        .queue(capped("volcano.sh/vgpu-memory=40000"))
        .group(group("g", 1))
        .pod(whole("p1"))
        .pod(whole("p2"));
    assert_eq!(cluster.cycle(), ["p1 n1"]);
    let (_, why) = cluster.why("p2");
    let amounts = "volcano.sh/vgpu-memory (capability 40000, used 24576, asked 24576)";
    assert!(why.contains(amounts), "{why}");
}

#[test]
fn backfill_asks_no_queue() {
    let mut cluster = cluster(None)
        .group(in_closed_queue(group("g", 1)))
        .pod(member("g", pod("p", "")));
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn a_bare_pod_is_a_job_of_one_and_asks_its_queue_for_admission() {
    for (queue, binds) in [
        (None, 1),
        (Some("default"), 1),
        (Some("shut"), 0),
        (Some("gone"), 0),
    ] {
        let bare = PodObject {
            queue: queue.map(str::to_owned),
            ..pod("p", "1c")
        };
        let mut cluster = cluster(None).pod(bare);
        assert_eq!(cluster.cycle().len(), binds, "{queue:?}");
    }
}

#[test]
fn a_refused_group_is_passed_over_for_the_next_one_of_its_queue() {
    let mut cluster = cluster(None)
        .group(asking("40c", waiting(group("a-large", 1))))
        .group(asking("1c", waiting(group("b-small", 1))));
    cluster.cycle();
    assert_eq!(cluster.phase("a-large"), GroupPhase::Pending);
    assert_eq!(cluster.phase("b-small"), GroupPhase::Inqueue);
}

#[test]
fn bare_pods_that_have_ended_reserve_nothing() {
    let mut cluster = Cluster::new().node(node("n1", "10c 10Gi pods=99"));
    for number in 0..12 {
        let ended = on("n1", pod(&format!("ended-{number}"), "1c"));
        let ended = PodObject {
            phase: PodPhase::Succeeded,
            ..ended
        };
        cluster.apply(Delta::PodApply(Box::new(ended)));
    }
    let mut cluster = cluster
        .group(asking("8c", waiting(group("g", 1))))
        .pod(member("g", pod("p", "8c")));
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn a_group_that_cannot_be_placed_reserves_nothing() {
    let topology = GroupObject {
        topology: Some(TopologyRequest::Hard(HighestTier::Missing)),
        ..asking("4c", waiting(group("a", 1)))
    };
    let mut cluster = Cluster::new()
        .node(node("n1", "4c 8Gi pods=9"))
        .group(topology)
        .pod(member("a", pod("wide", "4c")))
        .group(asking("4c", waiting(group("b", 1))))
        .pod(member("b", pod("p", "4c")));
    assert_eq!(cluster.cycle(), ["p n1"]);
    assert_eq!(cluster.phase("a"), GroupPhase::Pending);
}

#[test]
fn a_bare_pod_admitted_after_allocate_is_bound_in_the_next_cycle() {
    let conf = "actions: \"allocate, backfill, enqueue\"\n\
                tiers: [{plugins: [{name: gang}, {name: predicates}]}]\n";
    let mut cluster = Cluster::under(conf)
        .node(node("n1", "4c 8Gi pods=9"))
        .pod(pod("p", "1c"));
    assert!(cluster.cycle().is_empty());
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn a_bare_pod_that_changes_its_queue_wakes_the_scheduler() {
    let lost = PodObject {
        queue: Some("nowhere".to_owned()),
        ..pod("p", "1c")
    };
    let mut cluster = Cluster::new().node(node("n1", "4c 8Gi pods=9")).pod(lost);
    assert!(cluster.cycle().is_empty());
    assert!(cluster.decide().settled);
    assert_eq!(cluster.pod(pod("p", "1c")).cycle(), ["p n1"]);
}

#[test]
fn another_configuration_holds_from_the_next_cycle_on() {
    let config = |conf: &str| {
        let outcome = parse(conf, &pumice_engine::REGISTRY);
        outcome.config.expect("a configuration")
    };
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .node(node("n1", "4c 8Gi pods=9"))
        .pod(pod("p0", "9c"));
    assert_eq!(cluster.cycle(), [""; 0]);
    // It was admitted, and has to ask again where it would not have been.
    let strict = "actions: \"enqueue, allocate\"\n\
                  tiers: [{plugins: [{name: predicates}, {name: overcommit}]}]\n";
    cluster.engine.reconfigure(&config(strict));
    assert_eq!(cluster.cycle(), [""; 0]);
    let (_, message) = cluster.why("p0");
    assert!(
        message.contains("the pod never fits: it asks 9 cpu"),
        "{message}"
    );
    cluster.engine.reconfigure(&config(NO_QUEUE_PLUGIN));
    cluster.apply(Delta::NodeApply(Box::new(node("n1", "9c 8Gi pods=9"))));
    assert_eq!(cluster.cycle(), ["p0 n1"]);
}

#[test]
fn sums_that_leave_64_bits_stay_in_their_queue() {
    let absurd = |name: &str| {
        let mut pod = pod(name, "1c");
        pod.request = vec![("cpu".to_owned(), i64::MAX), ("pods".to_owned(), 1)];
        pod
    };
    let asking = |name: &str| {
        let mut group = waiting(group(name, i32::MAX));
        group.min_resources = Some(vec![("cpu".to_owned(), i64::MAX)]);
        group.queue = "mad".to_owned();
        group
    };
    let mut sane = waiting(group("sane", 1));
    sane.min_resources = Some(amounts("1c"));
    let mut cluster = Cluster::new()
        .queue(queue("mad"))
        .node(node("n1", "4c 8Gi pods=9"))
        .group(sane)
        .pod(member("sane", pod("sane", "1c")));
    for at in 0..4 {
        let name = format!("mad-{at}");
        let mut in_queue = absurd(&name);
        in_queue.queue = Some("mad".to_owned());
        cluster = cluster.pod(in_queue);
        let name = format!("asking-{at}");
        cluster = cluster.group(asking(&name));
        cluster = cluster.pod(member(&name, absurd(&format!("member-{at}"))));
    }
    assert_eq!(cluster.cycle(), ["sane n1"]);
    assert_eq!(cluster.cycle().len(), 0);
    let state = cluster.engine.state();
    let mad = state.queue(state.population().queue_by_name("mad").expect("a queue"));
    assert_eq!(mad.pending.get(pumice_model::resource::CPU), i64::MAX);
    for at in 0..4 {
        assert_eq!(cluster.phase(&format!("asking-{at}")), GroupPhase::Pending);
        let (_, why) = cluster.why(&format!("member-{at}"));
        assert!(why.contains("the pod never fits"), "{why}");
    }
}

/// Queues as a tree.
const TREE: &str = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: \
                    predicates\n  - name: capacity\n    enableHierarchy: true\n";

fn below(parent: &str, name: &str) -> QueueObject {
    QueueObject {
        parent: parent.to_owned(),
        uid: format!("uid-of-{name}"),
        ..queue(name)
    }
}

/// What owners of queues are told.
fn told(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    cluster.engine.cycle(now_s);
    let events = cluster.engine.reports(now_s).queue_events;
    let name = |ix| cluster.engine.state().queue(ix).object.name.clone();
    events
        .into_iter()
        .map(|event| format!("{}: {}", name(event.queue), event.message))
        .collect()
}

#[test]
fn an_amount_that_counts_nothing_is_told_on_its_queue_until_it_counts() {
    let limited = |name: &str, uncounted: &[&str], capability: &str| QueueObject {
        uncounted: uncounted.iter().map(|name| (*name).to_owned()).collect(),
        capability: amounts(capability),
        ..below("", name)
    };
    let mut cluster = Cluster::under(TREE)
        .node(node("n1", "4c 8Gi pods=9 nvidia.com/gpu=2"))
        .queue(limited("typing", &["cpus"], "nvidia.com/gpus=2"))
        .queue(limited("strange", &["tokens"], "1c"))
        // Nodes with these may be yet to come.
        .queue(limited("waiting", &[], "huawei.com/Ascend310P=2"))
        .queue(limited("devices", &[], "deviceclass/gpu=2"))
        .queue(limited("fine", &[], "1c nvidia.com/gpu=1"));
    let why = "amounts that count nothing, since no node has such a resource";
    let what = "name resources as nodes do, or remove them";
    let mut told_first = told(&mut cluster, 0);
    told_first.retain(|line| !line.starts_with("devices: "));
    told_first.sort();
    assert_eq!(
        told_first,
        [
            format!("strange: {why}: tokens; {what}"),
            format!(
                "typing: {why}: cpus (did you mean \"cpu\"?), nvidia.com/gpus (did you mean \
                 \"nvidia.com/gpu\"?); {what}"
            ),
        ]
    );
    assert_eq!(told(&mut cluster, 1), [""; 0]);
    // A node comes that has the one, and the other is removed.
    cluster.apply(Delta::NodeApply(Box::new(node(
        "n2",
        "4c nvidia.com/gpus=2",
    ))));
    let line = format!("typing: {why}: cpus (did you mean \"cpu\"?); {what}");
    assert_eq!(told(&mut cluster, 2), [line]);
    let mended = limited("typing", &[], "nvidia.com/gpus=2");
    cluster.apply(Delta::QueueApply(Box::new(mended)));
    assert_eq!(told(&mut cluster, 3), [""; 0]);
    assert!(
        !cluster
            .engine
            .known()
            .queue_warnings()
            .values()
            .any(|text| text.contains("cpus"))
    );
}

#[test]
fn what_is_wrong_on_a_queue_is_told_there_once_and_again_later() {
    let mut cluster = Cluster::under(TREE)
        .node(node("n1", "4c 8Gi pods=9"))
        .queue(below("gone", "lost"))
        .queue(below("", "fine"));
    let first = told(&mut cluster, 0);
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(
        first[0].starts_with("lost: queue lost is held"),
        "{first:?}"
    );
    assert_eq!(told(&mut cluster, 1), [""; 0]);
    let due_s = cluster.engine.wake_at_s().expect("a time");
    assert_eq!(told(&mut cluster, due_s), first);
    // Made anew it is another object, whose owner has not been told.
    cluster.apply(Delta::QueueApply(Box::new(QueueObject {
        uid: "another".to_owned(),
        ..below("gone", "lost")
    })));
    assert_eq!(told(&mut cluster, due_s + 1), first);
    cluster.apply(Delta::QueueApply(Box::new(below("fine", "lost"))));
    assert_eq!(told(&mut cluster, due_s + 2), [""; 0]);
    assert_eq!(told(&mut cluster, due_s + 7200), [""; 0]);
    cluster.apply(Delta::QueueDelete("fine".to_owned()));
    assert_eq!(
        told(&mut cluster, due_s + 7201),
        first
            .iter()
            .map(|text| { text.replace("\"gone\"", "\"fine\"") })
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_queue_that_is_held_stops_nobody_else() {
    let of = |queue: &str, name: &str| GroupObject {
        queue: queue.to_owned(),
        ..asking("1c", waiting(group(name, 1)))
    };
    let mut cluster = Cluster::under(TREE)
        .node(node("n1", "4c 8Gi pods=9"))
        .queue(below("gone", "lost"))
        .queue(below("", "top"))
        .queue(below("top", "leaf"))
        .group(of("lost", "a"))
        .group(of("top", "b"))
        .group(of("leaf", "c"));
    for name in ["a", "b", "c"] {
        cluster = cluster.pod(member(name, pod(&format!("pod-{name}"), "1c")));
    }
    assert_eq!(cluster.cycle(), ["pod-c n1"]);
    assert_eq!(cluster.phase("a"), GroupPhase::Pending);
    assert_eq!(cluster.phase("b"), GroupPhase::Pending);
    cluster.engine.reports(0);
    let mut said: Vec<String> = cluster
        .engine
        .reports(9)
        .events
        .into_iter()
        .map(|e| e.message)
        .collect();
    said.sort();
    assert!(
        said.iter()
            .any(|text| text.contains("which does not exist")),
        "{said:?}"
    );
    assert!(
        said.iter()
            .any(|text| text.contains("has other queues below it")),
        "{said:?}"
    );
}

#[test]
fn a_pod_says_which_queue_above_its_own_is_full() {
    let top = QueueObject {
        capability: amounts("2c"),
        ..below("", "top")
    };
    let of_leaf = |name: &str| GroupObject {
        queue: "leaf".to_owned(),
        ..group(name, 1)
    };
    let mut cluster = Cluster::under(TREE)
        .node(node("n1", "4c 8Gi pods=9"))
        .queue(top)
        .queue(below("top", "leaf"))
        .group(of_leaf("a"))
        .group(of_leaf("b"))
        .pod(member("a", pod("p1", "2c")))
        .pod(member("b", pod("p2", "1c")));
    assert_eq!(cluster.cycle(), ["p1 n1"]);
    cluster.engine.reports(0);
    let reports = cluster.engine.reports(9);
    let said: Vec<String> = reports
        .pods
        .into_iter()
        .map(|report| report.message)
        .collect();
    let expected = "insufficient cpu (queue top above it: capability 2, used 2, asked 1)";
    assert!(said.iter().any(|text| text.contains(expected)), "{said:?}");
}

#[test]
fn a_queue_reclaims_from_its_sibling_what_their_parent_is_full_of() {
    let owed = |queue: QueueObject, deserved: &str| QueueObject {
        deserved: amounts(deserved),
        ..queue
    };
    let top = QueueObject {
        capability: amounts("4c"),
        ..owed(below("", "top"), "4c")
    };
    let of = |queue: &str, group: GroupObject| GroupObject {
        queue: queue.to_owned(),
        ..group
    };
    // What dev holds is its minimum: nothing of it is elastic, so top would admit nothing more.
    let busy = of("dev", asking("4c", group("busy", 1)));
    let mut cluster = Cluster::under(&TREE.replace("allocate", "allocate, reclaim"))
        .node(node("n1", "8c 8Gi pods=9"))
        .queue(top)
        .queue(owed(below("top", "dev"), "2c"))
        .queue(owed(below("top", "prod"), "2c"))
        .group(busy)
        .group(of("prod", asking("2c", waiting(group("new", 2)))));
    for name in ["p1", "p2", "p3", "p4"] {
        cluster = cluster.pod(on("n1", member("busy", pod(name, "1c"))));
    }
    for name in ["w1", "w2"] {
        cluster = cluster.pod(member("new", pod(name, "1c")));
    }
    let decisions = cluster.engine.cycle(0);
    assert_eq!(decisions.evictions.len(), 2);
    assert_eq!(cluster.phase("new"), GroupPhase::Inqueue);
}

#[test]
fn a_point_that_capacity_has_switched_off_is_left_to_proportion() {
    let bound = |capacity: &str, first: bool| {
        let (one, other) = match first {
            true => (capacity, "{name: proportion}"),
            false => ("{name: proportion}", capacity),
        };
        let conf = format!(
            "actions: \"enqueue, allocate\"\n\
             tiers:\n\
             - plugins: [{{name: gang}}, {{name: predicates}}, {one}, {other}]\n"
        );
        let limited = QueueObject {
            capability: amounts("3c 3Gi"),
            ..queue("q")
        };
        let mut all = Cluster::under(&conf)
            .node(node("n1", "12c 64Gi pods=20"))
            .queue(limited)
            .group(GroupObject {
                queue: "q".to_owned(),
                ..group("a", 1)
            });
        for at in 0..6 {
            all = all.pod(member("a", pod(&format!("a-{at}"), "1c 1Gi")));
        }
        all.cycle().len()
    };
    for first in [true, false] {
        let off = "{name: capacity, enabledAllocatable: false, enabledOverused: false}";
        for capacity in [
            "{name: capacity}",
            "{name: capacity, enabledAllocatable: false}",
            off,
        ] {
            assert_eq!(bound(capacity, first), 3, "{capacity}");
        }
    }
}
