//! Every pod that waits has a reason its owner can act on.

use pumice_conf::DEFAULT_CONF;
use pumice_model::Delta;
use pumice_model::object::{
    Gates, GroupObject, GroupPhase, GroupStatus, HighestTier, QueueState, TopologyRequest,
};

use super::cluster::*;

/// Queues are asked when a pod is placed, not before.
const NO_ADMISSION: &str = "actions: \"allocate, backfill\"\n\
                            tiers: [{plugins: [{name: gang}, {name: predicates}, \
                            {name: proportion}]}]\n";

/// Nobody asks how full the cluster is.
const ADMISSION_BY_QUOTA: &str = "actions: \"enqueue, allocate, backfill\"\n\
                                  tiers: [{plugins: [{name: gang}, {name: predicates}, \
                                  {name: proportion}]}]\n";

/// Reason and message of the pod `p` after one cycle, in which it must not be bound.
fn why(cluster: Cluster) -> (&'static str, String) {
    let mut cluster = cluster.with(node("n1", "4c 8Gi pods=9"));
    let binds = cluster.cycle();
    assert!(
        !binds.iter().any(|line| line.starts_with("p ")),
        "{binds:?}"
    );
    cluster.why("p")
}

#[test]
fn what_is_missing_is_named() {
    let (reason, message) = why(Cluster::new().with(pod("p", "1c").group("gone")));
    assert_eq!(reason, "GangIncomplete");
    assert!(
        message.starts_with("PodGroup ns/gone not found"),
        "{message}"
    );
    let lost = group("g", 1).queue("gone");
    let (reason, message) = why(Cluster::new().with(lost).with(pod("p", "1c").group("g")));
    assert_eq!(reason, "QueueClosed");
    assert!(
        message.starts_with("queue \"gone\" of ns/g not found (or set aside as broken): create"),
        "{message}"
    );
}

#[test]
fn where_no_queue_is_known_at_all_the_definition_or_a_permission_is_missing() {
    let cluster = Cluster::new().with(Delta::QueueDelete("default".to_owned()));
    let (_, message) = why(cluster.with(pod("p", "1c")));
    for part in [
        "queue \"default\" of ns/p not found, nor any other",
        "the CRD queues.scheduling.volcano.sh is not installed",
        "may not list queues",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_misspelt_queue_is_answered_with_the_nearest_one_on_pod_and_group() {
    let lost = group("g", 1).waiting().queue("trainning");
    let mut cluster = Cluster::new()
        .with(queue("training"))
        .with(node("n1", "4c 8Gi pods=9"))
        .with(lost.status(GroupStatus {
            is_blank: true,
            ..GroupStatus::default()
        }))
        .with(pod("p", "1c").group("g"));
    let expected = "queue \"trainning\" of ns/g not found (or set aside as broken), did you mean \
                    \"training\"?: create the queue, or name another one";
    assert_eq!(cluster.decide().groups.len(), 1, "its phase is written");
    assert_eq!(cluster.why("p").1, expected);
    assert_eq!(cluster.phase("g"), GroupPhase::Pending);
    let told = cluster
        .condition("g", "Unschedulable")
        .expect("a condition");
    assert_eq!(
        (
            told.status.as_str(),
            told.reason.as_str(),
            told.message.as_str()
        ),
        ("True", "QueueNotFound", expected)
    );
    let events = events(&mut cluster);
    assert_eq!(events, [(true, expected.to_owned())]);
    // Once the queue is there, nothing of it is left.
    cluster.apply(queue("trainning"));
    assert_eq!(cluster.cycle(), ["p n1"]);
    let told = cluster
        .condition("g", "Unschedulable")
        .expect("a condition");
    assert_eq!((told.status.as_str(), told.message.as_str()), ("False", ""));
    assert_ne!(told.reason, "QueueNotFound");
}

/// What is told of PodGroups within the first minute: whether it warns, and the text.
fn events(cluster: &mut Cluster) -> Vec<(bool, String)> {
    let mut events = Vec::new();
    for now_s in [0, 9] {
        cluster.engine.cycle(now_s);
        events.extend(cluster.engine.reports(now_s).events);
    }
    let line = |event: pumice_engine::GroupEvent| (event.warning, event.message);
    events.into_iter().map(line).collect()
}

#[test]
fn a_group_that_runs_is_told_when_its_queue_is_deleted() {
    let mut cluster = Cluster::new()
        .with(queue("q"))
        .with(node("n1", "4c 8Gi pods=9"))
        .with(group("g", 1).queue("q"))
        .with(pod("p", "1c").on("n1").group("g"));
    assert_eq!(events(&mut cluster).len(), 1, "it is ready");
    cluster.apply(Delta::QueueDelete("q".to_owned()));
    let events = events(&mut cluster);
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].0 && events[0].1.starts_with("queue \"q\" of ns/g not found"));
    assert_eq!(cluster.phase("g"), GroupPhase::Running);
}

#[test]
fn a_group_that_is_not_admitted_says_why_before_it_has_pods() {
    let large = group("g", 2).waiting().min_resources("6c");
    let mut cluster = Cluster::new().with(node("n1", "4c 8Gi pods=9")).with(large);
    cluster.cycle();
    let told = cluster
        .condition("g", "Unschedulable")
        .expect("a condition");
    assert_eq!(
        (told.status.as_str(), told.reason.as_str()),
        ("True", "NotEnoughResources")
    );
    let expected = "queue \"default\" does not admit ns/g: resource in cluster is overused: overused \
                    cpu (asks 6, the cluster has 4 in all: it never fits)";
    assert_eq!(told.message, expected);
}

#[test]
fn refusals_of_the_queue_are_named() {
    let small = || queue("small").capability("1c");
    let in_small = |group: GroupObject| group.queue("small");
    // Not admitted.
    let large = group("g", 1).waiting().min_resources("2c");
    let cluster = Cluster::new().with(small()).with(in_small(large));
    let (_, message) = why(cluster.with(pod("p", "2c").group("g")));
    let expected = "queue \"small\" does not admit ns/g: queue resource quota insufficient: \
                    insufficient cpu (asks 2, more than its capability 1: it never fits)";
    assert_eq!(message, expected);
    // Admitted, but more than the queue deserves.
    let cluster = Cluster::new().with(small()).with(in_small(group("g", 1)));
    let (_, message) = why(cluster.with(pod("p", "2c").group("g")));
    let expected = "queue \"small\": queue resource quota insufficient: insufficient cpu (asks 2, \
                    more than its capability 1: it never fits)";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn a_bare_pod_refused_by_its_queue_reads_limit_used_and_asked_and_of_no_group() {
    let small = || queue("small").capability("3c");
    let of_small = |name: &str, request: &str| pod(name, request).queue("small");
    let capability = "queue \"small\": queue resource quota insufficient: insufficient cpu";
    for (request, numbers) in [
        ("2c", "(capability 3, used 2, asked 2)"),
        ("4c", "(asks 4, more than its capability 3: it never fits)"),
    ] {
        let cluster = Cluster::under(NO_ADMISSION).with(small());
        let cluster = cluster.with(of_small("running", "2c").on("n1"));
        let (reason, message) = why(cluster.with(of_small("p", request)));
        assert_eq!(reason, "QuotaExceeded");
        assert_eq!(message, format!("{capability} {numbers}"));
    }
    // The only queue, without a capability: nothing but the cluster is full.
    let running = pod("running", "3c").on("n1");
    let (_, message) = why(Cluster::under(NO_ADMISSION)
        .with(running)
        .with(pod("p", "2c")));
    let expected = "queue \"default\": the cluster is full: cpu (4 in all, 3 used, 2 asked)";
    assert_eq!(message, expected);
    // Two queues share it.
    let other = pod("q", "2c").queue("other");
    let cluster = Cluster::under(NO_ADMISSION)
        .with(queue("other"))
        .with(pod("running", "2c").on("n1"))
        .with(other);
    let (_, message) = why(cluster.with(pod("p", "1c")));
    assert!(
        message.contains("(deserved 2 of 4, used 2, asked 1)"),
        "{message}"
    );
}

#[test]
fn admission_beyond_the_cluster_tells_what_is_used_and_reserved() {
    let asks = |name: &str, least: &str| group(name, 1).waiting().min_resources(least);
    let cluster = Cluster::new()
        .with(pod("running", "1c").on("n1"))
        .with(asks("a", "3c"))
        .with(asks("g", "2c"));
    let (_, message) = why(cluster.with(pod("p", "2c").group("g")));
    let expected = "resource in cluster is overused: overused cpu (4 in all, 1 used, 3 reserved for \
                    admitted jobs, 2 asked, overcommit-factor 1.2)";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn a_pod_no_node_is_large_enough_for_says_so_whatever_its_queue_says() {
    let never =
        |rest: &str| format!("0/2 nodes are unavailable: the pod never fits: it asks {rest}.");
    for (request, expected) in [
        (
            "x.example/gpu=16",
            never("16 x.example/gpu, and the largest node, n0, has 8 in all"),
        ),
        (
            "x.example/gpu=9",
            never("9 x.example/gpu, and the largest node, n0, has 8 in all"),
        ),
        (
            "1000c",
            never("1000 cpu, and the largest node, n1, has 4 in all"),
        ),
        (
            "1c 9Gi",
            never("9Gi memory, and the largest node, n0, has 8Gi in all"),
        ),
        (
            "1000c y.example/z=1",
            never(
                "1000 cpu, and the largest node, n1, has 4 in all; it asks 1 y.example/z, and no node \
                   has any",
            ),
        ),
    ] {
        let shut = queue("shut").state(QueueState::Closed);
        let bare = pod("p", request).queue("shut");
        for cluster in [
            Cluster::new().with(pod("p", request)),
            Cluster::new().with(shut.clone()).with(bare),
            Cluster::new()
                .with(shut)
                .with(group("g", 1).queue("shut"))
                .with(pod("p", request).group("g")),
        ] {
            let cluster = cluster.with(node("n0", "1c 8Gi pods=9 x.example/gpu=8"));
            let (_, message) = why(cluster);
            let tried = message.contains("It never fits: it asks ");
            assert!(message == expected || tried, "{message}");
        }
    }
}

#[test]
fn what_no_device_plugin_has_told_yet_may_fit_later() {
    let plugin = "and no node has told any; is the device plugin running on the nodes?";
    for (request, asks) in [
        ("1c y.example/z=1", "1 y.example/z"),
        (
            "x.example/gpus=2",
            "2 x.example/gpus, did you mean \"x.example/gpu\"?",
        ),
    ] {
        let shut = queue("shut").state(QueueState::Closed);
        let bare = pod("p", request).queue("shut");
        let node = || node("n0", "1c 8Gi pods=9 x.example/gpu=8");
        let (_, message) = why(Cluster::new().with(shut).with(bare).with(node()));
        assert_eq!(
            message,
            format!(
                "0/2 nodes are unavailable: not known yet whether the pod ever fits: it asks {asks}, {plugin}"
            )
        );
        let cluster = Cluster::under(NO_QUEUE_PLUGIN).with(pod("p", request));
        let (_, message) = why(cluster.with(node()));
        let expected = format!(" Not known yet whether it ever fits: it asks {asks}, {plugin} ");
        assert!(message.contains(&expected), "{message}");
        assert!(!message.contains("It never fits"), "{message}");
    }
}

#[test]
fn what_no_node_has_together_never_fits_either() {
    let cluster = Cluster::under(NO_QUEUE_PLUGIN).with(node("n0", "1c 16Gi pods=9"));
    let (_, message) = why(cluster.with(pod("p", "4c 16Gi")));
    let expected = "It never fits: no node could serve it, even if it were idle. Nearest miss: node \
                    n1: memory short by 8Gi (16Gi asked, 8Gi in all).";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn the_nearest_miss_has_all_that_is_asked_and_could_have_enough() {
    let gpus = |name: &str, rest: &str| node(name, &format!("9c 8Gi pods=9 {rest}"));
    let busy = pod("busy", "x.example/gpu=6").on("big");
    for (request, expected) in [
        // cpu-1 lacks both, big one.
        (
            "x.example/gpu=1 x.example/memory=1",
            "node big: x.example/memory short by 1 (1 asked, 0 in all).",
        ),
        // small lacks less, but has less in all than is asked.
        (
            "x.example/gpu=6",
            "node big: x.example/gpu short by 4 (6 asked, 2 of 8 free).",
        ),
        (
            "x.example/gpu=9",
            "node small: x.example/gpu short by 4 (9 asked, 5 in all).",
        ),
    ] {
        let cluster = Cluster::under(NO_QUEUE_PLUGIN)
            .with(gpus("a-cpu", ""))
            .with(gpus("big", "x.example/gpu=8"))
            .with(gpus("small", "x.example/gpu=5"))
            .with(busy.clone());
        let (_, message) = why(cluster.with(pod("p", request)));
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn without_nodes_a_pod_is_told_so() {
    for conf in [NO_ADMISSION, NO_QUEUE_PLUGIN, DEFAULT_CONF] {
        let mut cluster = Cluster::under(conf).with(pod("p", "1c"));
        assert!(cluster.cycle().is_empty());
        let expected = "0/0 nodes are unavailable: there are no nodes.";
        assert_eq!(cluster.why("p").1, expected, "{conf}");
    }
}

#[test]
fn an_overused_queue_is_named_and_makes_nodes_only_below_its_capability() {
    for (capability, reason) in [
        ("1c pods=1", "QuotaExceeded"),
        // The whole of both pods.
        ("2c pods=2", "Unschedulable"),
        ("", "Unschedulable"),
    ] {
        let of = |name: &str, queue: &str| group(name, 1).queue(queue);
        let small = queue("small").capability(capability);
        // It has the better claim to the rest.
        let large = queue("large").weight(100);
        let mut cluster = Cluster::new()
            .with(small)
            .with(large)
            .with(of("g", "small"))
            .with(of("h", "large"))
            .with(pod("running", "1c").on("n1").group("g"))
            .with(pod("theirs", "3c").on("n1").group("h"));
        for at in 0..10 {
            cluster = cluster.with(pod(&format!("h{at}"), "3c").group("h"));
        }
        let cluster = cluster.with(pod("p", "1c").group("g"));
        let (told, message) = why(cluster);
        let expected =
            "queue \"small\" is overused: it has at least what it deserves (cpu: deserved ";
        assert!(message.starts_with(expected), "{capability}: {message}");
        assert_eq!(told, reason, "{capability}: {message}");
    }
}

#[test]
fn a_node_short_of_resources_has_no_further_reason() {
    let cordoned = pumice_model::object::NodeObject {
        unschedulable: true,
        ..node("n0", "1c 8Gi pods=9")
    };
    for (request, expected) in [
        ("5c", "0/2 nodes are unavailable: 2 Insufficient cpu."),
        (
            "1c 9Gi",
            "0/2 nodes are unavailable: 2 Insufficient memory.",
        ),
    ] {
        let cluster = Cluster::under(NO_QUEUE_PLUGIN).with(cordoned.clone());
        let (_, message) = why(cluster.with(pod("p", request)));
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("unschedulable"), "{message}");
    }
}

#[test]
fn a_gate_is_named() {
    let gated = pod("p", "1c").gates(Gates::Foreign);
    let (reason, message) = why(Cluster::new().with(gated));
    assert_eq!(reason, "SchedulingGated");
    assert_eq!(
        message,
        "Scheduling is blocked due to non-empty scheduling gates"
    );
}

#[test]
fn a_group_that_asks_for_no_tier_of_the_network_waits_and_is_told() {
    let wants = group("g", 1).topology(Some(TopologyRequest::Hard(HighestTier::Missing)));
    let (_, message) = why(Cluster::new().with(wants).with(pod("p", "1c").group("g")));
    let expected = "PodGroup ns/g asks for a hard network topology without a tier: set \
                    networkTopology.highestTierAllowed or highestTierName, or mode soft";
    assert_eq!(message, expected);
}

#[test]
fn of_several_missing_resources_the_first_by_name_is_told_and_the_nearest_node() {
    let cases = [
        (
            "5c z.example/x=1 a.example/x=1",
            "0/2 nodes are unavailable: 2 Insufficient cpu.",
        ),
        (
            "z.example/x=1 a.example/x=1",
            "0/2 nodes are unavailable: 2 Insufficient a.example/x.",
        ),
        (
            "5c",
            "Nearest miss: node n1: cpu short by 1 (5 asked, 4 in all).",
        ),
    ];
    for (request, expected) in cases {
        let cluster = Cluster::under(NO_QUEUE_PLUGIN).with(node("n0", "1c 8Gi pods=9"));
        let (_, message) = why(cluster.with(pod("p", request)));
        assert!(message.contains(expected), "{message}");
    }
}

/// What makes the cluster autoscaler act, and on which pods.
#[test]
fn unschedulable_is_what_more_nodes_help_against_and_all_of_a_gang_that_lacks_some() {
    let reasons = |cores: &str, conf: &str, min_member| {
        let queue = queue("q").capability(cores);
        let gang = group("g", min_member)
            .waiting()
            .queue("q")
            .min_resources("3c");
        let cluster = Cluster::under(conf).with(queue).with(gang);
        let mut cluster = cluster.with(node("n1", "2c 8Gi pods=9"));
        for name in ["p0", "p1", "p2"] {
            cluster = cluster.with(pod(name, "1c").group("g"));
        }
        assert_eq!(cluster.cycle(), Vec::<String>::new());
        ["p0", "p1", "p2"].map(|name| cluster.why(name).0)
    };
    // Two have room. The autoscaler sees three pods and that room, and adds one node.
    let lacks_nodes = ["Unschedulable"; 3];
    assert_eq!(reasons("8c", NO_QUEUE_PLUGIN, 3), lacks_nodes);
    // Nor is there room for the third if its queue has the whole cluster.
    assert_eq!(reasons("8c", NO_ADMISSION, 3), lacks_nodes);
    // No node helps against a quota.
    let quota = ["Schedulable", "Schedulable", "QuotaExceeded"];
    assert_eq!(reasons("2c", NO_ADMISSION, 3), quota);
    // Nor does the gang get one if it is not even admitted.
    assert_eq!(reasons("2c", ADMISSION_BY_QUOTA, 3), ["QuotaExceeded"; 3]);
}

#[test]
fn no_node_is_made_for_a_gang_that_a_quota_keeps_too_small() {
    let reasons = |min_member| {
        let queue = queue("q").capability("4c");
        let gang = group("g", min_member).queue("q");
        let mut cluster = Cluster::under(NO_ADMISSION).with(queue).with(gang);
        for name in ["n1", "n2", "n3"] {
            cluster = cluster.with(node(name, "1c 8Gi pods=9"));
        }
        for (name, request) in [("p0", "1c"), ("p1", "5c"), ("p2", "2c")] {
            cluster = cluster.with(pod(name, request).group("g"));
        }
        assert_eq!(cluster.cycle(), Vec::<String>::new());
        ["p0", "p1", "p2"].map(|name| cluster.why(name).0)
    };
    // The second is beyond the quota, the third has no node.
    let none = ["Schedulable", "QuotaExceeded", "QuotaExceeded"];
    assert_eq!(reasons(3), none);
    // Two suffice, and one more node makes them two.
    let one = ["Unschedulable", "QuotaExceeded", "Unschedulable"];
    assert_eq!(reasons(2), one);
}

#[test]
fn pods_beyond_a_quota_or_of_a_closed_queue_make_no_nodes_although_all_are_full() {
    for (state, cores, expected) in [
        (QueueState::Open, "1c", "QuotaExceeded"),
        (QueueState::Closed, "8c", "QueueClosed"),
        (QueueState::Open, "8c", "Unschedulable"),
    ] {
        let queue = queue("q").capability(cores).state(state);
        let gang = group("g", 1).waiting().queue("q").min_resources("2c");
        let mut cluster = Cluster::under(ADMISSION_BY_QUOTA)
            .with(queue)
            .with(gang)
            .with(node("n1", "4c 8Gi pods=9"))
            .with(pod("big", "3c").on("n1"))
            .with(pod("p", "2c").group("g"));
        assert_eq!(cluster.cycle(), Vec::<String>::new());
        let (reason, message) = cluster.why("p");
        assert_eq!(reason, expected, "{state:?} {cores}: {message}");
    }
}
