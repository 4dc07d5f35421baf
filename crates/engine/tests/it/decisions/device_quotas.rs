//! Devices that pods claim count for their queues under plugin `capacity` (spec/09 §7).

use pumice_claims::{DeviceCapacity, DeviceCount, DraDevice, Quantity};
use pumice_model::Delta;
use pumice_model::object::{
    GroupObject, NodeAccess, PodObject, PublishedDevice, ResourceClaimObject, SliceObject,
};

use super::claims::{claim, class, naming, on_node, owning, steps, told};
use super::claims_of_groups::{TRAIN, entry, native, reserved, sharing};
use super::cluster::*;
use super::group_trees::composite;
use super::victims::{Plans, class as rank, ranked};

const CAPACITY: &str = "actions: \"enqueue, allocate, backfill\"\n\
                        tiers: [{plugins: [{name: gang}, {name: predicates}, {name: capacity}]}]\n";

/// A node with four devices of class `gpu`, and queue `q`.
fn cluster_under(conf: &str, limits: &[(&str, i64)]) -> Cluster {
    Cluster::under(conf)
        .with(node("n1", "8c 16Gi pods=9"))
        .with(class("true"))
        .with(on_node("n1", &["g0", "g1", "g2", "g3"]))
        .with(queue("q").capability(limits))
}

fn cluster(limits: &[(&str, i64)]) -> Cluster {
    cluster_under(CAPACITY, limits)
}

/// A group of one in queue `q` with this pod.
fn in_queue(cluster: Cluster, pod: PodObject) -> Cluster {
    let mut group = group(&pod.name, 1);
    group.queue = "q".to_owned();
    let name = pod.name.clone();
    cluster.with(group).with(pod.group(&name))
}

/// A group of one in queue `q` whose pod has a claim of so many devices.
fn claims(cluster: Cluster, name: &str, count: u64) -> Cluster {
    let cluster = cluster.with(told(claim(name, name, count)));
    in_queue(cluster, owning(pod(name, "1c")))
}

fn changed(
    mut claim: ResourceClaimObject,
    change: impl Fn(&mut ResourceClaimObject),
) -> ResourceClaimObject {
    change(&mut claim);
    claim
}

fn refusal(cluster: &Cluster, pod: &str) -> String {
    cluster.why(pod).1
}

#[test]
fn a_queue_has_no_more_devices_than_its_capability_names() {
    let mut cluster = cluster(&[("deviceclass/gpu", 3)]);
    for (name, count) in [("a", 2), ("b", 2), ("c", 1)] {
        cluster = claims(cluster, name, count);
    }
    assert_eq!(cluster.cycle(), ["a n1", "c n1"]);
    let told = refusal(&cluster, "b");
    assert!(
        told.contains("insufficient deviceclass/gpu (capability 3, used 3, asked 2)")
            || told.contains("insufficient deviceclass/gpu (capability 3, used 2, asked 2)"),
        "{told}"
    );
}

#[test]
fn a_limit_of_0_means_none_and_more_than_the_limit_never_fits() {
    let mut cluster = claims(cluster(&[("deviceclass/gpu", 0)]), "a", 1);
    assert_eq!(cluster.cycle(), [""; 0]);
    let told = refusal(&cluster, "a");
    let expected = "deviceclass/gpu (asks 1, more than its capability 0: it never fits)";
    assert!(told.contains(expected), "{told}");
    // Another class is no business of this limit.
    let mut cluster = claims(self::cluster(&[("deviceclass/other", 0)]), "a", 1);
    assert_eq!(cluster.cycle(), ["a n1"]);
}

#[test]
fn what_is_on_nodes_says_nothing_of_devices_and_other_plugins_do_not_count_them() {
    for conf in [CAPACITY, &CAPACITY.replace("capacity", "proportion")] {
        let mut cluster = claims(cluster_under(conf, &[]), "a", 2);
        assert_eq!(cluster.cycle(), ["a n1"], "{conf}");
    }
}

#[test]
fn a_claim_that_pods_of_a_queue_share_counts_once() {
    let shared =
        |cluster: Cluster, name: &str| in_queue(cluster, naming("shared", None, pod(name, "1c")));
    let mut cluster = cluster(&[("deviceclass/gpu", 2)]).with(told(claim("shared", "", 2)));
    for name in ["a", "b"] {
        cluster = shared(cluster, name);
    }
    assert_eq!(cluster.cycle(), ["a n1", "b n1"]);
    // As long as one of them is there, it counts.
    cluster.apply(Delta::PodDelete("a".to_owned()));
    let mut cluster = claims(cluster, "c", 1);
    assert_eq!(cluster.cycle(), [""; 0]);
    cluster.apply(Delta::PodDelete("b".to_owned()));
    assert_eq!(cluster.cycle(), ["c n1"]);
}

/// Group `train` in queue `q`, whose pods share a claim.
fn holding(cluster: Cluster) -> Cluster {
    let made = claim("train-gpu", &format!("uid-of-{TRAIN}"), 1);
    let group = GroupObject {
        queue: "q".to_owned(),
        ..native(TRAIN, 1, &[entry(None, Some("template"))])
    };
    cluster.with(told(made)).with(group).with(sharing("a"))
}

#[test]
fn what_a_group_has_counts_for_its_queue_until_it_is_taken_back_whatever_becomes_of_its_pods() {
    let limit = [("deviceclass/gpu", 1)];
    let mut cluster = holding(cluster(&limit));
    let decisions = cluster.decide();
    let written: Vec<_> = decisions
        .binds
        .iter()
        .flat_map(|bind| bind.claims.clone())
        .collect();
    assert_eq!(cluster.accept(&decisions), ["a n1"]);
    cluster.apply(told(reserved(&written, 7)));
    // Somebody who makes groups and ends their pods has no more than the queue may have.
    cluster.apply(Delta::PodDelete("a".to_owned()));
    let mut cluster = claims(cluster, "b", 1);
    assert_eq!(cluster.cycle(), [""; 0]);
    let text = refusal(&cluster, "b");
    assert!(
        text.contains("deviceclass/gpu (capability 1, used 1, asked 1)"),
        "{text}"
    );
    // The pods of the group itself ask for nothing more.
    cluster.apply(sharing("c"));
    assert_eq!(cluster.cycle(), ["c n1"]);
    cluster.apply(Delta::PodDelete("c".to_owned()));
    assert_eq!(cluster.cycle(), [""; 0]);
    // The queue comes back with another limit, and the group goes to another queue.
    cluster.apply(Delta::QueueDelete("q".to_owned()));
    cluster.apply(queue("q").capability(&limit[..]));
    assert_eq!(cluster.cycle(), [""; 0]);
    let elsewhere = native(TRAIN, 1, &[entry(None, Some("template"))]);
    cluster.apply(elsewhere);
    assert_eq!(cluster.cycle(), ["b n1"]);
}

#[test]
fn devices_of_a_group_that_is_gone_count_no_more_once_they_are_taken_back() {
    let mut cluster = holding(cluster(&[("deviceclass/gpu", 1)]));
    let written = steps(&mut cluster);
    let version = |claim| ResourceClaimObject {
        version: 8,
        ..claim
    };
    let taken_back = version(claim("train-gpu", &format!("uid-of-{TRAIN}"), 1));
    cluster.apply(told(reserved(&written, 7)));
    cluster.apply(Delta::PodDelete("a".to_owned()));
    let mut cluster = claims(cluster, "b", 1);
    assert_eq!(cluster.cycle(), [""; 0]);
    cluster.apply(told(taken_back));
    assert_eq!(cluster.cycle(), ["b n1"]);
}

#[test]
fn all_devices_count_as_one_until_it_is_known_how_many_they_are() {
    let all = |limit| {
        let all = changed(claim("a", "a", 1), |claim| {
            claim.spec.requests[0].choices[0].count = DeviceCount::All;
        });
        let cluster = cluster(&[("deviceclass/gpu", limit)]).with(told(all));
        let mut cluster = in_queue(cluster, owning(pod("a", "1c")));
        let bound = cluster.cycle();
        (bound.len(), cluster)
    };
    assert_eq!(all(4).0, 1);
    let (bound, cluster) = all(3);
    assert_eq!(bound, 0);
    let told = refusal(&cluster, "a");
    assert!(told.contains("capability 3"), "{told}");
    assert!(told.contains("asks 4"), "{told}");
}

#[test]
fn of_alternatives_counts_what_is_given() {
    let either = |limit| {
        let cluster = cluster(&[("deviceclass/gpu", limit)]).with(told(two_or_one()));
        in_queue(cluster, owning(pod("a", "1c"))).cycle().len()
    };
    assert_eq!([either(1), either(2)], [0, 1]);
}

/// A claim of two devices or, where these are not to be had, of one.
fn two_or_one() -> ResourceClaimObject {
    changed(claim("a", "a", 2), |claim| {
        let request = &mut claim.spec.requests[0];
        let mut other = request.choices[0].clone();
        other.count = DeviceCount::Exactly(1);
        other.name = "one".to_owned();
        request.choices[0].name = "two".to_owned();
        request.choices.push(other);
    })
}

/// Found by the fault simulation: what is chosen once others are gone was not asked about.
#[test]
fn nobody_goes_for_a_pod_whose_choice_would_bring_its_queue_above_a_limit() {
    let conf = "actions: \"enqueue, allocate, preempt\"\n\
                tiers: [{plugins: [{name: priority}, {name: predicates}, {name: capacity}]}]\n";
    let plan = |limit| {
        let mut cluster = cluster_under(conf, &[("deviceclass/gpu", limit)])
            .with(rank("low", 10))
            .with(rank("high", 100))
            .with(told(two_or_one()));
        let in_q = |name: &str, class: &str| ranked(class, group(name, 1)).queue("q");
        cluster = cluster.with(in_q("full", "low"));
        cluster = cluster.with(pod("full", "8c").group("full").on("n1"));
        let wants = owning(pod("a", "8c")).group("a");
        cluster.with(in_q("a", "high")).with(wants).plan()
    };
    assert_eq!(plan(1), [""; 0]);
    assert_eq!(plan(2), ["-full", "a (n1)"]);
}

/// A device elsewhere that has memory.
fn memory() -> Delta {
    let mut device = DraDevice {
        name: "m0".to_owned(),
        ..DraDevice::default()
    };
    let memory = DeviceCapacity {
        value: Quantity::whole(80 << 30),
        policy: None,
    };
    device.capacity.insert("memory".to_owned(), memory);
    SliceObject {
        name: "memory".to_owned(),
        driver: "gpu.example.com".to_owned(),
        pool: "memory".to_owned(),
        generation: 1,
        slice_count: 1,
        access: NodeAccess::Node("n2".to_owned()),
        devices: vec![PublishedDevice {
            device,
            access: NodeAccess::Nowhere,
        }],
        counters: Vec::new(),
    }
    .delta()
}

/// Otherwise whoever makes claims could make names without end.
#[test]
fn capacity_counts_once_a_device_has_it() {
    let asks = changed(claim("a", "a", 1), |claim| {
        let capacity = &mut claim.spec.requests[0].choices[0].capacity;
        for at in 0..100 {
            capacity.insert(format!("no-{at}"), Quantity::whole(1));
        }
        capacity.insert("memory".to_owned(), Quantity::whole(40 << 30));
    });
    let limits = [("memory.deviceclass/gpu", 39 << 30)];
    let cluster = cluster(&limits).with(told(asks));
    let mut cluster = in_queue(cluster, owning(pod("a", "1c")));
    cluster.cycle();
    let names = cluster.engine.state().resources().len();
    assert!(names < 20, "{names}");
    assert!(!refusal(&cluster, "a").contains("capability"));
    cluster.apply(memory());
    cluster.cycle();
    let told = refusal(&cluster, "a");
    assert!(told.contains("memory.deviceclass/gpu (asks 40Gi"), "{told}");
    cluster.apply(Delta::SliceDelete("memory".to_owned()));
    cluster.cycle();
    assert!(!refusal(&cluster, "a").contains("capability"));
}

#[test]
fn capacity_that_is_asked_counts_too_and_administration_does_not() {
    let asking = |limits: &[(&str, i64)], is_admin: bool| {
        let asks = changed(claim("a", "a", 1), |claim| {
            let choice = &mut claim.spec.requests[0].choices[0];
            choice.admin_access = is_admin;
            choice
                .capacity
                .insert("memory".to_owned(), Quantity::whole(40 << 30));
        });
        let cluster = cluster(limits).with(told(asks)).with(memory());
        let mut cluster = in_queue(cluster, owning(pod("a", "1c")));
        cluster.cycle();
        cluster
    };
    let cluster = asking(&[("memory.deviceclass/gpu", 39 << 30)], false);
    let told = refusal(&cluster, "a");
    let expected =
        "memory.deviceclass/gpu (asks 40Gi, more than its capability 39Gi: it never fits)";
    assert!(told.contains(expected), "{told}");
    let cluster = asking(&[("deviceclass/gpu", 0)], true);
    let told = refusal(&cluster, "a");
    assert!(!told.contains("deviceclass"), "{told}");
}

#[test]
fn switched_off_devices_do_not_count() {
    let conf = CAPACITY.replace(
        "{name: capacity}",
        "{name: capacity, arguments: {capacity.DynamicResourceAllocationEnable: false}}",
    );
    let cluster = cluster_under(&conf, &[("deviceclass/gpu", 0)]);
    assert_eq!(claims(cluster, "a", 1).cycle(), ["a n1"]);
}

#[test]
fn in_a_tree_what_is_below_counts_above() {
    let conf = CAPACITY.replace(
        "{name: capacity}",
        "{name: capacity, enableHierarchy: true}",
    );
    let mut q = queue("q");
    q.parent = "team".to_owned();
    let mut cluster = cluster_under(&conf, &[])
        .with(queue("team").capability([("deviceclass/gpu", 1)].as_slice()))
        .with(q);
    for name in ["a", "b"] {
        cluster = claims(cluster, name, 1);
    }
    assert_eq!(cluster.cycle(), ["a n1"]);
    let told = refusal(&cluster, "b");
    assert!(
        told.contains("queue team above it: capability 1, used 1, asked 1"),
        "{told}"
    );
}

#[test]
fn the_status_of_a_queue_shows_its_devices() {
    let mut cluster = claims(cluster(&[]), "a", 2);
    assert_eq!(cluster.cycle(), ["a n1"]);
    let of_q = |cluster: &mut Cluster, now_s| {
        cluster.engine.cycle(now_s);
        let told = cluster.engine.reports(now_s).queues;
        let state = cluster.engine.state();
        let q = state.population().queue_by_name("q").expect("the queue");
        told.into_iter()
            .find(|(ix, _)| *ix == q)
            .map(|(_, all)| all)
    };
    let of_class = |amounts: Vec<(String, i64)>| {
        let mut amounts = amounts.into_iter();
        amounts.find(|(name, _)| name == "deviceclass/gpu")
    };
    let there = of_q(&mut cluster, 1).and_then(of_class);
    assert_eq!(there, Some(("deviceclass/gpu".to_owned(), 2)));
    cluster.apply(Delta::PodDelete("a".to_owned()));
    let gone = of_q(&mut cluster, 9).and_then(of_class);
    assert!(gone.is_none_or(|(_, amount)| amount == 0));
}

#[test]
fn a_queue_with_amounts_of_a_class_that_does_not_exist_is_told() {
    let mut cluster = cluster(&[("deviceclass/gpu", 1), ("memory.deviceclass/gqu", 1)]);
    cluster.engine.cycle(0);
    let events = cluster.engine.reports(0).queue_events;
    let told: Vec<&str> = events.iter().map(|event| event.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "amounts of a DeviceClass that does not exist: memory.deviceclass/gqu; correct the name, or \
             make the class"
        ]
    );
}

#[test]
fn what_a_group_within_a_tree_has_counts_for_the_queue_of_the_tree() {
    let made = claim("train-gpu", &format!("uid-of-{TRAIN}"), 1);
    let root = |name: &str, queue: &str| GroupObject {
        queue: queue.to_owned(),
        ..composite(name, 1, "")
    };
    let within = |root: &str| {
        let mut group = native(TRAIN, 1, &[entry(None, Some("template"))]);
        group.native.parent = root.to_owned();
        group
    };
    let mut cluster = cluster(&[("deviceclass/gpu", 1)])
        .with(told(made))
        .with(root("all", "q"))
        .with(root("others", "default"))
        .with(within("all"))
        .with(sharing("a"));
    let written = steps(&mut cluster);
    assert!(written[0].group.is_some(), "{written:?}");
    cluster.apply(told(reserved(&written, 7)));
    cluster.apply(Delta::PodDelete("a".to_owned()));
    let mut cluster = claims(cluster, "b", 1);
    assert_eq!(cluster.cycle(), [""; 0]);
    cluster.apply(within("others"));
    assert_eq!(cluster.cycle(), ["b n1"]);
}
