//! Closed queues, admission, and what backfill does not ask.

use pumice_conf::parse;
use pumice_model::Delta;
use pumice_model::object::{
    GroupObject, GroupPhase, HighestTier, PodPhase, QueueObject, QueueState, TopologyRequest,
};

use super::cluster::*;

fn closed() -> QueueObject {
    queue("shut").state(QueueState::Closed)
}

fn asking(min_resources: &str, group: GroupObject) -> GroupObject {
    group.min_resources(min_resources)
}

fn cluster(conf: Option<&str>) -> Cluster {
    let cluster = conf.map_or_else(Cluster::new, Cluster::under);
    cluster.with(node("n1", "4c 8Gi pods=9")).with(closed())
}

#[test]
fn a_closed_queue_is_enforced_by_the_queue_plugin_alone() {
    for (conf, binds, phase) in [
        (None, 0, GroupPhase::Pending),
        (Some(NO_QUEUE_PLUGIN), 1, GroupPhase::Inqueue),
    ] {
        let mut cluster = cluster(conf)
            .with(asking("1c", group("g", 1).waiting()).queue("shut"))
            .with(pod("p", "1c").group("g"));
        assert_eq!(cluster.cycle().len(), binds, "{conf:?}");
        assert_eq!(cluster.phase("g"), phase, "{conf:?}");
    }
}

#[test]
fn a_group_without_min_resources_is_admitted_unasked_even_into_a_closed_queue() {
    let mut cluster = cluster(None)
        .with(group("g", 1).waiting().queue("shut"))
        .with(pod("p", "1c").group("g"));
    assert_eq!(cluster.cycle().len(), 0);
    assert_eq!(cluster.phase("g"), GroupPhase::Inqueue);
}

#[test]
fn a_capability_of_pods_holds_for_pods_with_a_request_and_for_best_effort_ones() {
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(queue("default").capability("pods=2"))
        .with(group("g", 1));
    for (name, request) in [("p1", "1c"), ("p2", ""), ("p3", ""), ("p4", "1c")] {
        cluster = cluster.with(pod(name, request).group("g"));
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
    cluster.apply(
        queue("default")
            .capability("pods=3")
            .state(QueueState::Closed),
    );
    assert_eq!(cluster.cycle(), ["p2 n1"]);
}

#[test]
fn a_capability_of_vgpu_memory_holds_for_whole_cards_too() {
    let whole = |name| {
        let mut pod = super::devices::vgpu(name, 1);
        let asks_memory = |(name, _): &(String, i64)| name != "volcano.sh/vgpu-memory";
        pod.request.retain(asks_memory);
        pod.facts.containers[0].amounts.retain(asks_memory);
        pod.group("g")
    };
    let conf = "actions: \"allocate\"\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: \
                proportion}, {name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]}]\n";
    // Two cards of 24,576 MiB.
    let mut cluster = Cluster::under(conf)
        .with(super::devices::two_cards("n1"))
        .with(queue("default").capability("volcano.sh/vgpu-memory=40000"))
        .with(group("g", 1))
        .with(whole("p1"))
        .with(whole("p2"));
    assert_eq!(cluster.cycle(), ["p1 n1"]);
    let (_, why) = cluster.why("p2");
    let amounts = "volcano.sh/vgpu-memory (capability 40000, used 24576, asked 24576)";
    assert!(why.contains(amounts), "{why}");
}

#[test]
fn backfill_asks_no_queue() {
    let mut cluster = cluster(None)
        .with(group("g", 1).queue("shut"))
        .with(pod("p", "").group("g"));
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
        let bare = pod("p", "1c").queue(queue.map(str::to_owned));
        let mut cluster = cluster(None).with(bare);
        assert_eq!(cluster.cycle().len(), binds, "{queue:?}");
    }
}

#[test]
fn a_refused_group_is_passed_over_for_the_next_one_of_its_queue() {
    let mut cluster = cluster(None)
        .with(asking("40c", group("a-large", 1).waiting()))
        .with(asking("1c", group("b-small", 1).waiting()));
    cluster.cycle();
    assert_eq!(cluster.phase("a-large"), GroupPhase::Pending);
    assert_eq!(cluster.phase("b-small"), GroupPhase::Inqueue);
}

#[test]
fn bare_pods_that_have_ended_reserve_nothing() {
    let mut cluster = Cluster::new().with(node("n1", "10c 10Gi pods=99"));
    for number in 0..12 {
        let ended = pod(&format!("ended-{number}"), "1c").on("n1");
        let ended = ended.phase(PodPhase::Succeeded);
        cluster.apply(ended);
    }
    let mut cluster = cluster
        .with(asking("8c", group("g", 1).waiting()))
        .with(pod("p", "8c").group("g"));
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn a_group_that_cannot_be_placed_reserves_nothing() {
    let topology = asking("4c", group("a", 1).waiting())
        .topology(Some(TopologyRequest::Hard(HighestTier::Missing)));
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(topology)
        .with(pod("wide", "4c").group("a"))
        .with(asking("4c", group("b", 1).waiting()))
        .with(pod("p", "4c").group("b"));
    assert_eq!(cluster.cycle(), ["p n1"]);
    assert_eq!(cluster.phase("a"), GroupPhase::Pending);
}

#[test]
fn a_bare_pod_admitted_after_allocate_is_bound_in_the_next_cycle() {
    let conf = "actions: \"allocate, backfill, enqueue\"\n\
                tiers: [{plugins: [{name: gang}, {name: predicates}]}]\n";
    let mut cluster = Cluster::under(conf)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(pod("p", "1c"));
    assert!(cluster.cycle().is_empty());
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn a_bare_pod_that_changes_its_queue_wakes_the_scheduler() {
    let lost = pod("p", "1c").queue("nowhere");
    let mut cluster = Cluster::new().with(node("n1", "4c 8Gi pods=9")).with(lost);
    assert!(cluster.cycle().is_empty());
    assert!(cluster.decide().settled);
    assert_eq!(cluster.with(pod("p", "1c")).cycle(), ["p n1"]);
}

#[test]
fn another_configuration_holds_from_the_next_cycle_on() {
    let config = |conf: &str| {
        let outcome = parse(conf, &pumice_engine::REGISTRY);
        outcome.config.expect("a configuration")
    };
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(pod("p0", "9c"));
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
    cluster.apply(node("n1", "9c 8Gi pods=9"));
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
        let mut group = group(name, i32::MAX).waiting();
        group.min_resources = Some(vec![("cpu".to_owned(), i64::MAX)]);
        group.queue = "mad".to_owned();
        group
    };
    let mut sane = group("sane", 1).waiting();
    sane.min_resources = Some(amounts("1c"));
    let mut cluster = Cluster::new()
        .with(queue("mad"))
        .with(node("n1", "4c 8Gi pods=9"))
        .with(sane)
        .with(pod("sane", "1c").group("sane"));
    for at in 0..4 {
        let name = format!("mad-{at}");
        let mut in_queue = absurd(&name);
        in_queue.queue = Some("mad".to_owned());
        cluster = cluster.with(in_queue);
        let name = format!("asking-{at}");
        cluster = cluster.with(asking(&name));
        cluster = cluster.with(absurd(&format!("member-{at}")).group(&name));
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
    queue(name).parent(parent).uid(format!("uid-of-{name}"))
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
    let limited = |name: &str, uncounted: &[&str], capability: &str| {
        below("", name)
            .uncounted(uncounted.iter().map(|name| (*name).to_owned()))
            .capability(capability)
    };
    let mut cluster = Cluster::under(TREE)
        .with(node("n1", "4c 8Gi pods=9 nvidia.com/gpu=2"))
        .with(limited("typing", &["cpus"], "nvidia.com/gpus=2"))
        .with(limited("strange", &["tokens"], "1c"))
        // Nodes with these may be yet to come.
        .with(limited("waiting", &[], "huawei.com/Ascend310P=2"))
        .with(limited("devices", &[], "deviceclass/gpu=2"))
        .with(limited("fine", &[], "1c nvidia.com/gpu=1"));
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
    cluster.apply(node("n2", "4c nvidia.com/gpus=2"));
    let line = format!("typing: {why}: cpus (did you mean \"cpu\"?); {what}");
    assert_eq!(told(&mut cluster, 2), [line]);
    let mended = limited("typing", &[], "nvidia.com/gpus=2");
    cluster.apply(mended);
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
        .with(node("n1", "4c 8Gi pods=9"))
        .with(below("gone", "lost"))
        .with(below("", "fine"));
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
    cluster.apply(below("gone", "lost").uid("another"));
    assert_eq!(told(&mut cluster, due_s + 1), first);
    cluster.apply(below("fine", "lost"));
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
    let of = |queue: &str, name: &str| asking("1c", group(name, 1).waiting()).queue(queue);
    let mut cluster = Cluster::under(TREE)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(below("gone", "lost"))
        .with(below("", "top"))
        .with(below("top", "leaf"))
        .with(of("lost", "a"))
        .with(of("top", "b"))
        .with(of("leaf", "c"));
    for name in ["a", "b", "c"] {
        cluster = cluster.with(pod(&format!("pod-{name}"), "1c").group(name));
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
    let top = below("", "top").capability("2c");
    let of_leaf = |name: &str| group(name, 1).queue("leaf");
    let mut cluster = Cluster::under(TREE)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(top)
        .with(below("top", "leaf"))
        .with(of_leaf("a"))
        .with(of_leaf("b"))
        .with(pod("p1", "2c").group("a"))
        .with(pod("p2", "1c").group("b"));
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
    let owed = |queue: QueueObject, deserved: &str| queue.deserved(deserved);
    let top = owed(below("", "top"), "4c").capability("4c");
    let of = |queue: &str, group: GroupObject| group.queue(queue);
    // What dev holds is its minimum: nothing of it is elastic, so top would admit nothing more.
    let busy = of("dev", asking("4c", group("busy", 1)));
    let mut cluster = Cluster::under(&TREE.replace("allocate", "allocate, reclaim"))
        .with(node("n1", "8c 8Gi pods=9"))
        .with(top)
        .with(owed(below("top", "dev"), "2c"))
        .with(owed(below("top", "prod"), "2c"))
        .with(busy)
        .with(of("prod", asking("2c", group("new", 2).waiting())));
    for name in ["p1", "p2", "p3", "p4"] {
        cluster = cluster.with(pod(name, "1c").group("busy").on("n1"));
    }
    for name in ["w1", "w2"] {
        cluster = cluster.with(pod(name, "1c").group("new"));
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
        let limited = queue("q").capability("3c 3Gi");
        let mut all = Cluster::under(&conf)
            .with(node("n1", "12c 64Gi pods=20"))
            .with(limited)
            .with(group("a", 1).queue("q"));
        for at in 0..6 {
            all = all.with(pod(&format!("a-{at}"), "1c 1Gi").group("a"));
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

#[test]
fn who_waits_for_a_held_queue_is_told_anew_when_its_parent_is_another_that_is_missing() {
    let waiting = |cluster: &mut Cluster, now_s: i64| -> Vec<String> {
        cluster.engine.cycle(now_s);
        let reports = cluster.engine.reports(now_s).pods;
        reports.into_iter().map(|report| report.message).collect()
    };
    let mut cluster = Cluster::under(TREE)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(below("gone", "lost"))
        .with(group("a", 1).queue("lost").phase(GroupPhase::Pending))
        .with(pod("p", "1c").group("a"));
    waiting(&mut cluster, 0);
    let first = waiting(&mut cluster, 9);
    assert!(first[0].contains("names queue \"gone\""), "{first:?}");
    assert_eq!(waiting(&mut cluster, 18), [""; 0]);
    cluster.apply(below("far", "lost"));
    let again = waiting(&mut cluster, 27);
    assert!(again[0].contains("names queue \"far\""), "{again:?}");
}
