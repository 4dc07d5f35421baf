//! Resource claims: who gets which devices, that nobody gets what others have, and why pods wait (spec/09).

use std::collections::BTreeMap;

use pumice_claims::{
    AllocatedDevice, Attribute, AttributeRule, CapacityPolicy, CapacityRange, ClaimConstraint,
    ClaimRequest, ClaimSpec, CounterSet, DeviceAllocation, DeviceCapacity, DeviceCount, DeviceKey,
    DraDevice, Quantity, RequestedDevices, UsedCounters,
};
use pumice_model::object::{
    ClaimAllocation, DeviceClassObject, NodeAccess, PodObject, PodResourceClaim, PublishedDevice,
    ResourceClaimObject, SliceObject, WrittenClaim,
};
use pumice_model::{ClaimStep, Delta};

use super::cluster::*;

const DRIVER: &str = "gpu.example.com";

pub fn class(selector: &str) -> Delta {
    DeviceClassObject {
        name: "gpu".to_owned(),
        selectors: vec![selector.to_owned()],
        ..DeviceClassObject::default()
    }
    .delta()
}

/// A pool with these devices.
fn slice(pool: &str, access: NodeAccess, devices: &[&str]) -> Delta {
    let device = |name: &&str| PublishedDevice {
        device: DraDevice {
            name: (*name).to_owned(),
            ..DraDevice::default()
        },
        access: NodeAccess::Nowhere,
    };
    SliceObject {
        name: format!("{pool}-slice"),
        driver: DRIVER.to_owned(),
        pool: pool.to_owned(),
        generation: 1,
        slice_count: 1,
        access,
        devices: devices.iter().map(device).collect(),
        counters: Vec::new(),
    }
    .delta()
}

pub fn on_node(node: &str, devices: &[&str]) -> Delta {
    slice(node, NodeAccess::Node(node.to_owned()), devices)
}

pub fn claim(name: &str, owner: &str, count: u64) -> ResourceClaimObject {
    ResourceClaimObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        owner_uid: owner.to_owned(),
        spec: ClaimSpec {
            requests: vec![ClaimRequest {
                name: "gpu".to_owned(),
                choices: vec![RequestedDevices {
                    name: String::new(),
                    class: "gpu".to_owned(),
                    selectors: Vec::new(),
                    count: DeviceCount::Exactly(count),
                    admin_access: false,
                    tolerations: Vec::new(),
                    capacity: Default::default(),
                }],
            }],
            ..ClaimSpec::default()
        },
        ..ResourceClaimObject::default()
    }
}

pub fn told(claim: ResourceClaimObject) -> Delta {
    claim.delta()
}

/// The pod with a claim of its own, called like it.
pub fn owning(pod: PodObject) -> PodObject {
    let name = pod.name.clone();
    naming(&name, Some("template"), pod)
}

/// The pod with a claim.
pub fn naming(claim: &str, template: Option<&str>, pod: PodObject) -> PodObject {
    pod.resource_claims([PodResourceClaim {
        entry: "gpu".to_owned(),
        claim: Some(claim.to_owned()),
        template: template.map(str::to_owned),
    }])
}

/// Two nodes, of which the first has devices.
pub fn cluster(devices: &[&str]) -> Cluster {
    Cluster::new()
        .with(node("n1", "8c 16Gi pods=9"))
        .with(node("n2", "8c 16Gi pods=9"))
        .with(class(&format!("device.driver == \"{DRIVER}\"")))
        .with(on_node("n1", devices))
}

pub fn steps(cluster: &mut Cluster) -> Vec<ClaimStep> {
    let decisions = cluster.decide();
    decisions
        .binds
        .into_iter()
        .flat_map(|bind| bind.claims)
        .collect()
}

/// Devices of steps: `claim device …`.
pub fn lines(steps: &[ClaimStep]) -> Vec<String> {
    let line = |step: &ClaimStep| {
        let given = step
            .allocation
            .iter()
            .flat_map(|given| &given.devices.devices);
        let devices = given.map(|device| format!(" {}", device.key.device));
        format!("{}{}", step.claim, devices.collect::<String>())
    };
    steps.iter().map(line).collect()
}

/// Why the pod `p` waits, without the count of nodes.
fn why(mut cluster: Cluster) -> String {
    let binds = cluster.cycle();
    assert!(
        !binds.iter().any(|line| line.starts_with("p ")),
        "{binds:?}"
    );
    let (_, message) = cluster.why("p");
    let prefix = "0/2 nodes are unavailable: ";
    message.strip_prefix(prefix).unwrap_or(&message).to_owned()
}

#[test]
fn a_device_is_given_once_and_who_has_it_is_told() {
    let mut cluster = cluster(&["g0"])
        .with(told(claim("a", "a", 1)))
        .with(told(claim("p", "p", 1)))
        .with(owning(pod("a", "1c")))
        .with(owning(pod("p", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
    let (_, message) = cluster.why("p");
    assert_eq!(
        message,
        "0/2 nodes are unavailable: 2 cannot allocate all claims. Claim ns/p, request gpu (1 of class \
         gpu): n1/g0 allocated to claim ns/a."
    );
}

#[test]
fn constraints_and_counters_that_rule_free_devices_out_are_told() {
    let rule = |rule| ClaimConstraint {
        requests: Vec::new(),
        rule,
    };
    let zone = format!("{DRIVER}/zone");
    let why_with = |constraint: AttributeRule| {
        let mut asked = claim("p", "p", 2);
        asked.spec.constraints = vec![rule(constraint)];
        let mut slice = zoned(&[("g0", Some("a")), ("g1", Some("b")), ("g2", None)]);
        slice.counters = Vec::new();
        let cluster = cluster(&[])
            .with(slice)
            .with(told(asked))
            .with(owning(pod("p", "1c")));
        why(cluster)
    };
    let start = "2 cannot allocate all claims. Claim ns/p, request gpu (2 of class gpu): ";
    assert_eq!(
        why_with(AttributeRule::Same(zone.clone())),
        format!(
            "{start}n1/g0 free with {zone} a, n1/g1 free with {zone} b, n1/g2 without attribute {zone}; all \
             devices must have the same {zone}."
        )
    );
    assert_eq!(
        why_with(AttributeRule::Unknown),
        format!("{start}n1/g0 n1/g1 n1/g2 free; it has a constraint of a kind that is not known.")
    );
    // Of two parts of a card that share its slices one is left, and it is too large.
    let mut cluster = cluster(&[])
        .with(parts_of_a_card())
        .with(told(claim("a", "a", 1)))
        .with(told(claim("p", "p", 1)))
        .with(owning(pod("a", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
    let told = why(cluster.with(owning(pod("p", "1c"))));
    let expected = "n1/g0 allocated to claim ns/a, n1/g1 needs 3 of counter card/slices, 1 left.";
    assert!(told.ends_with(expected), "{told}");
}

/// Two parts of a card, each of which takes three of its four slices.
fn parts_of_a_card() -> SliceObject {
    let mut slice = zoned(&[("g0", None), ("g1", None)]);
    let counters = |slices| BTreeMap::from([("slices".to_owned(), Quantity::whole(slices))]);
    slice.counters = vec![CounterSet {
        name: "card".to_owned(),
        counters: counters(4),
    }];
    for device in &mut slice.devices {
        device.device.uses = vec![UsedCounters {
            set: "card".to_owned(),
            counters: counters(3),
        }];
    }
    slice
}

#[test]
fn a_gang_is_told_what_its_own_pods_left_of_counters() {
    let mut cluster = cluster(&[])
        .with(parts_of_a_card())
        .with(told(claim("a", "a", 1)))
        .with(told(claim("b", "b", 1)))
        .with(group("gang", 2))
        .with(owning(pod("a", "1c")).group("gang"))
        .with(owning(pod("b", "1c")).group("gang"));
    assert_eq!(cluster.cycle(), Vec::<String>::new());
    let (_, text) = cluster.why("b");
    let expected = "n1/g0 allocated to claim ns/a, n1/g1 needs 3 of counter card/slices, 1 left.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn an_absurd_number_of_devices_is_refused_and_counts_for_no_more_than_a_claim_gets() {
    let mut absurd = claim("p", "p", i64::MAX as u64);
    let request = absurd.spec.requests[0].clone();
    for name in ["second", "third"] {
        let name = name.to_owned();
        absurd.spec.requests.push(ClaimRequest {
            name,
            ..request.clone()
        });
    }
    let mut cluster = cluster(&["g0"])
        .with(told(absurd))
        .with(told(claim("q", "q", 1)))
        .with(owning(pod("p", "1c")))
        .with(owning(pod("q", "1c")));
    assert_eq!(cluster.cycle(), ["q n1"]);
    let (_, text) = cluster.why("p");
    let expected = format!(
        "claim ns/p: number of requested devices {} exceeds the claim limit of 32",
        u64::MAX
    );
    assert!(text.contains(&expected), "{text}");
}

/// A shared device of the first node: 80Gi of memory by 5Gi up to 40Gi, cores by 10 or 50, 10 of bw.
fn in_parts() -> Delta {
    let gi = |amount: i64| Quantity::whole(amount << 30);
    let memory = CapacityPolicy {
        default: Some(gi(10)),
        values: Vec::new(),
        range: Some(CapacityRange {
            min: gi(5),
            max: Some(gi(40)),
            step: Some(gi(5)),
        }),
    };
    let cores = CapacityPolicy {
        default: Some(Quantity::whole(10)),
        values: vec![Quantity::whole(10), Quantity::whole(50)],
        range: None,
    };
    let mut slice = zoned(&[("g0", None)]);
    slice.devices[0].device.shared = true;
    slice.devices[0].device.capacity = [
        ("memory", gi(80), Some(memory)),
        ("cores", Quantity::whole(100), Some(cores)),
        ("bw", Quantity::whole(10), None),
    ]
    .map(|(name, value, policy)| (name.to_owned(), DeviceCapacity { value, policy }))
    .into();
    slice.delta()
}

#[test]
fn which_capacity_a_device_cannot_give_is_told() {
    let asking = |name: &str, amounts: &[(&str, i64)]| {
        let mut asked = claim(name, name, 1);
        let amounts = amounts.iter();
        asked.spec.requests[0].choices[0].capacity = amounts
            .map(|(name, amount)| ((*name).to_owned(), Quantity::whole(*amount)))
            .collect();
        told(asked)
    };
    let table: [(&[(&str, i64)], &str); 8] = [
        (&[("nope", 1)], "has no capacity nope"),
        (&[("bw", -1)], "capacity bw: -1 is no amount"),
        (&[("memory", -1)], "capacity memory: -1 is no amount"),
        (
            &[("memory", 41 << 30)],
            "capacity memory: needs 45Gi, a request may have 40Gi at most",
        ),
        (
            &[("cores", 51)],
            "capacity cores: needs 51, a request may have 50 at most",
        ),
        (
            &[("bw", 11)],
            "capacity bw: needs 11, a request may have 10 at most",
        ),
        (&[("bw", 7)], "too little of capacity bw is left"),
        (&[("memory", 1)], "not all of capacity bw is left"),
    ];
    for (amounts, expected) in table {
        let mut cluster = cluster(&[])
            .with(in_parts())
            .with(asking("a", &[("bw", 4)]))
            .with(asking("p", amounts))
            .with(owning(pod("a", "1c")));
        assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
        let told = why(cluster.with(owning(pod("p", "1c"))));
        let expected = format!("(1 of class gpu): n1/g0 {expected}.");
        assert!(told.ends_with(&expected), "{told}");
    }
}

/// A pool of the first node whose devices tell a zone.
fn zoned(devices: &[(&str, Option<&str>)]) -> SliceObject {
    let names: Vec<&str> = devices.iter().map(|(name, _)| *name).collect();
    let Delta::SliceApply(slice) = on_node("n1", &names) else {
        unreachable!("a slice")
    };
    let mut slice = *slice;
    for (published, (_, zone)) in slice.devices.iter_mut().zip(devices) {
        let zone = zone.map(|zone| ("zone".to_owned(), Attribute::Text(zone.to_owned())));
        published.device.attributes = zone.into_iter().collect();
    }
    slice
}

#[test]
fn a_binding_that_failed_gives_its_devices_back() {
    let mut cluster = cluster(&["g0"])
        .with(told(claim("a", "a", 1)))
        .with(owning(pod("a", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
    cluster.apply(Delta::BindTakenBack {
        uid: "a".to_owned(),
    });
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
}

#[test]
fn devices_that_may_have_been_written_stay_taken_when_the_pod_goes() {
    let mut cluster = cluster(&["g0"])
        .with(told(claim("a", "a", 1)))
        .with(owning(pod("a", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
    cluster.apply(Delta::PodDelete("a".to_owned()));
    cluster.apply(told(claim("b", "b", 1)));
    cluster.apply(owning(pod("b", "1c")));
    assert_eq!(steps(&mut cluster), []);
    // Until its claim is gone.
    cluster.apply(Delta::ResourceClaimDelete("ns".to_owned(), "a".to_owned()));
    assert_eq!(lines(&steps(&mut cluster)), ["b g0"]);
}

/// The first two wait for a device, and share it.
fn sharing() -> (Cluster, ResourceClaimObject) {
    let shared = claim("shared", "", 1);
    let mut cluster = cluster(&["g0"])
        .with(told(shared.clone()))
        .with(naming("shared", None, pod("a", "1c")))
        .with(naming("shared", None, pod("b", "1c")));
    let given = steps(&mut cluster);
    assert_eq!(lines(&given), ["shared g0", "shared g0"]);
    let written = ResourceClaimObject {
        allocation: given[0].allocation.as_deref().cloned(),
        reserved_for: vec!["a".to_owned(), "b".to_owned()],
        ..shared
    };
    (cluster, written)
}

fn is_bound(cluster: &mut Cluster, name: &str) {
    let pod = naming("shared", None, pod(name, "1c")).on("n1");
    cluster.apply(pod);
}

fn wait_for_the_device(cluster: &mut Cluster) {
    cluster.apply(told(claim("c", "c", 1)));
    cluster.apply(owning(pod("c", "1c")));
    assert_eq!(steps(cluster), []);
}

/// Not before, and not while it is told with it.
fn the_device_is_free_when_its_claim_is_told_without_it(
    mut cluster: Cluster,
    written: ResourceClaimObject,
) {
    wait_for_the_device(&mut cluster);
    cluster.apply(told(written));
    assert_eq!(steps(&mut cluster), []);
    cluster.apply(told(claim("shared", "", 1)));
    assert_eq!(lines(&steps(&mut cluster)), ["c g0"]);
}

#[test]
fn devices_are_free_when_all_who_shared_them_have_come_and_gone() {
    let (mut cluster, written) = sharing();
    is_bound(&mut cluster, "a");
    cluster.apply(Delta::PodDelete("a".to_owned()));
    cluster.apply(told(written.clone()));
    is_bound(&mut cluster, "b");
    cluster.apply(Delta::PodDelete("b".to_owned()));
    wait_for_the_device(&mut cluster);
    cluster.apply(told(claim("shared", "", 1)));
    assert_eq!(lines(&steps(&mut cluster)), ["c g0"]);
}

#[test]
fn devices_are_kept_until_a_claim_is_told_that_pods_were_bound_with_and_left() {
    let (mut cluster, written) = sharing();
    for name in ["a", "b"] {
        is_bound(&mut cluster, name);
        cluster.apply(Delta::PodDelete(name.to_owned()));
    }
    // An older word on the claim.
    cluster.apply(told(ResourceClaimObject {
        is_protected: true,
        ..claim("shared", "", 1)
    }));
    the_device_is_free_when_its_claim_is_told_without_it(cluster, written);
}

#[test]
fn devices_are_free_when_a_claim_is_told_as_it_is_after_they_were_taken_back() {
    let at = |version: u64| {
        told(ResourceClaimObject {
            version,
            ..claim("shared", "", 1)
        })
    };
    let ends = |is_first_told: bool, cluster: &mut Cluster| {
        let bound = |name: &str, version: u64| Delta::PodBound {
            uid: name.to_owned(),
            claims: vec![WrittenClaim {
                namespace: "ns".to_owned(),
                claim: "shared".to_owned(),
                version,
            }],
        };
        for (name, version) in [("a", 7), ("b", 8)] {
            if is_first_told {
                is_bound(cluster, name);
            }
            cluster.apply(bound(name, version));
            cluster.apply(Delta::PodDelete(name.to_owned()));
        }
    };
    for is_first_told in [true, false] {
        let (mut cluster, _) = sharing();
        ends(is_first_told, &mut cluster);
        wait_for_the_device(&mut cluster);
        // What was written was never seen: the watch was broken.
        for version in [5, 7] {
            cluster.apply(at(version));
            assert_eq!(steps(&mut cluster), [], "{version}");
        }
        cluster.apply(at(9));
        assert_eq!(lines(&steps(&mut cluster)), ["c g0"]);
    }
}

#[test]
fn a_pod_that_left_before_it_was_told_on_its_node_leaves_its_devices_when_its_claim_is_told() {
    let (mut cluster, written) = sharing();
    is_bound(&mut cluster, "b");
    cluster.apply(Delta::PodDelete("b".to_owned()));
    cluster.apply(Delta::PodDelete("a".to_owned()));
    cluster.apply(Delta::PodBound {
        uid: "a".to_owned(),
        claims: Vec::new(),
    });
    the_device_is_free_when_its_claim_is_told_without_it(cluster, written);
}

#[test]
fn who_waits_for_a_device_is_tried_when_the_binding_of_a_pod_that_is_gone_has_failed() {
    let mut cluster =
        cluster(&["g0"])
            .with(told(claim("a", "", 1)))
            .with(naming("a", None, pod("a", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
    cluster.apply(Delta::PodDelete("a".to_owned()));
    wait_for_the_device(&mut cluster);
    assert!(cluster.decide().settled);
    cluster.apply(Delta::BindFailed {
        uid: "a".to_owned(),
        message: "the pod is gone".to_owned(),
        at_s: 0,
    });
    assert_eq!(lines(&steps(&mut cluster)), ["c g0"]);
}

#[test]
fn a_gang_that_is_not_placed_leaves_its_devices_to_others() {
    let mut cluster = cluster(&["g0", "g1"]).with(group("gang", 3));
    for name in ["m0", "m1", "m2"] {
        cluster.apply(told(claim(name, name, 1)));
        let pod = owning(pod(name, "1c")).group("gang");
        cluster.apply(pod);
    }
    cluster.apply(told(claim("single", "single", 2)));
    cluster.apply(owning(pod("single", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["single g0 g1"]);
}

#[test]
fn a_claim_that_pods_share_gets_its_devices_once_and_keeps_its_pods_to_their_node() {
    let mut cluster = cluster(&["g0", "g1"])
        .with(told(claim("shared", "", 1)))
        .with(naming("shared", None, pod("a", "1c")))
        .with(naming("shared", None, pod("b", "1c")));
    let decisions = cluster.decide();
    let given: Vec<_> = decisions
        .binds
        .iter()
        .flat_map(|bind| bind.claims.clone())
        .collect();
    assert_eq!(lines(&given), ["shared g0", "shared g0"]);
    assert_eq!(cluster.accept(&decisions), ["a n1", "b n1"]);
}

#[test]
fn a_claim_is_looked_at_before_the_binding_of_a_pod_that_it_is_reserved_for() {
    // A bind that failed may have taken that back, and it is not told yet.
    let allocation = ClaimAllocation {
        devices: DeviceAllocation {
            devices: vec![AllocatedDevice {
                request: "gpu".to_owned(),
                key: DeviceKey {
                    driver: DRIVER.to_owned(),
                    pool: "n1".to_owned(),
                    device: "g0".to_owned(),
                },
                ..AllocatedDevice::default()
            }],
            ..DeviceAllocation::default()
        },
        nodes: None,
    };
    let mut cluster = cluster(&["g0"])
        .with(told(ResourceClaimObject {
            allocation: Some(allocation),
            reserved_for: vec!["a".to_owned()],
            is_protected: true,
            ..claim("a", "a", 1)
        }))
        .with(owning(pod("a", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a"]);
}

#[test]
fn a_device_that_several_nodes_reach_is_given_once() {
    let mut cluster = cluster(&[]).with(slice("net", NodeAccess::Everywhere, &["x0"]));
    for name in ["a", "b"] {
        cluster.apply(told(claim(name, name, 1)));
        cluster.apply(owning(pod(name, "1c")));
    }
    assert_eq!(lines(&steps(&mut cluster)), ["a x0"]);
}

#[test]
fn what_keeps_a_pod_from_every_node_is_told() {
    let waiting = || owning(pod("p", "1c"));
    let base = || claim("p", "p", 1);
    let dra = |text: &str| format!("plugin DynamicResources pre-predicates failed {text}");
    let cases = [
        (
            cluster(&["g0"]).with(waiting()),
            dra("resourceclaim \"p\" not found"),
        ),
        (
            cluster(&["g0"])
                .with(waiting())
                .with(told(ResourceClaimObject {
                    deleting: true,
                    ..base()
                })),
            dra("resourceclaim \"p\" is being deleted"),
        ),
        (
            cluster(&["g0"])
                .with(waiting())
                .with(told(claim("p", "other", 1))),
            dra("resourceclaim \"p\" was not made for this pod: it belongs to another owner"),
        ),
        (
            cluster(&["g0"])
                .with(waiting())
                .with(told(base()))
                .with(Delta::DeviceClassDelete("gpu".to_owned())),
            dra("claim ns/p, request gpu: device class gpu does not exist"),
        ),
    ];
    for (cluster, expected) in cases {
        let told = why(cluster);
        assert!(told.contains(&expected), "{told}, not {expected}");
    }
}

#[test]
fn an_expression_that_fails_is_told_where_it_stands_and_holds_up_nobody_else() {
    let mut cluster = cluster(&["g0"])
        .with(class("device.attributes[\"x.org\"].model == \"a\""))
        .with(told(claim("p", "p", 1)))
        .with(owning(pod("p", "1c")))
        .with(pod("plain", "1c"));
    assert_eq!(cluster.cycle(), ["plain n1"]);
    let (_, message) = cluster.why("p");
    for part in [
        "a device selector of the claims fails",
        "class gpu: selector #0",
        "model",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn nobody_is_bound_whose_claims_nobody_looks_at() {
    for conf in [
        "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n",
        "actions: allocate\ntiers:\n- plugins:\n  - name: predicates\n    arguments:\n      \
         predicate.DynamicResourceAllocationEnable: false\n",
    ] {
        let mut cluster = Cluster::under(conf)
            .with(node("n1", "8c 16Gi pods=9"))
            .with(class("true"))
            .with(on_node("n1", &["g0"]))
            .with(told(claim("p", "p", 2)))
            .with(owning(pod("p", "1c")));
        assert_eq!(cluster.cycle(), Vec::<String>::new());
        let (word, expected) = match conf.contains("gang") {
            true => (
                "NeverServed",
                "the resource claims of the pod get no devices on node n1, which was chosen without a look \
                 at them: nobody looks at claims, since plugin predicates is not configured; add it to a \
                 tier of the configuration",
            ),
            false => (
                "Unschedulable",
                "switched off by predicate.DynamicResourceAllocationEnable",
            ),
        };
        let (reason, text) = cluster.why("p");
        assert_eq!(reason, word);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn claims_that_are_switched_off_keep_pods_waiting_even_with_devices() {
    let conf = "actions: allocate\ntiers:\n- plugins:\n  - name: predicates\n    arguments:\n      \
                predicate.DynamicResourceAllocationEnable: ";
    let bound = |on: &str| {
        let mut cluster = Cluster::under(&format!("{conf}{on}\n"))
            .with(node("n1", "8c 16Gi pods=9"))
            .with(told(ResourceClaimObject {
                allocation: Some(ClaimAllocation::default()),
                ..claim("p", "p", 1)
            }))
            .with(owning(pod("p", "1c")));
        cluster.cycle()
    };
    assert_eq!(bound("true"), ["p n1"]);
    assert_eq!(bound("false"), Vec::<String>::new());
}

#[test]
fn a_claim_is_used_by_256_pods_those_of_this_cycle_included() {
    let mut cluster = cluster(&["g0"])
        .with(told(ResourceClaimObject {
            allocation: Some(ClaimAllocation::default()),
            reserved_for: (0..255).map(|at| format!("user-{at}")).collect(),
            ..claim("shared", "", 1)
        }))
        .with(naming("shared", None, pod("a", "1c")))
        .with(naming("shared", None, pod("b", "1c")));
    assert_eq!(cluster.cycle().len(), 1);
    assert!(cluster.why("b").1.contains("in use"));
}

/// A Binding on its way.
struct OnTheWay {
    pod: PodObject,
    node: String,
    step: ClaimStep,
}

/// What the API server has, and what is on its way to it.
struct Server {
    cluster: Cluster,
    claims: Vec<ResourceClaimObject>,
    ways: Vec<OnTheWay>,
    made: usize,
}

impl Server {
    fn new() -> Self {
        let cluster =
            cluster(&["g0", "g1", "g2"]).with(slice("net", NodeAccess::Everywhere, &["x0"]));
        Self {
            cluster,
            claims: Vec::new(),
            ways: Vec::new(),
            made: 0,
        }
    }

    fn add(&mut self, count: u64) {
        let name = format!("p{}", self.made);
        self.made += 1;
        let made = claim(&name, &name, count);
        self.claims.push(made.clone());
        self.cluster.apply(told(made));
        let pod = owning(pod(&name, "1c"));
        self.cluster.apply(pod);
    }

    fn decide(&mut self) {
        let decisions = self.cluster.decide();
        for bind in decisions.binds {
            let state = self.cluster.engine.state();
            let (key, node) = (
                state.population().task_key(bind.task),
                state.nodes().object(bind.node).name.clone(),
            );
            let pod = self.cluster.pods[&key].clone();
            let step = bind.claims.first().expect("a step for its claim").clone();
            self.ways.push(OnTheWay { pod, node, step });
        }
    }

    /// A Binding ends: nothing was written, or all was, of which the claim is told first, last or never.
    fn end(&mut self, at: usize, how: u64) {
        let OnTheWay { pod, node, step } = self.ways.remove(at);
        if how == 0 {
            self.cluster.apply(Delta::BindTakenBack { uid: pod.uid });
            return;
        }
        let found = self
            .claims
            .iter_mut()
            .find(|claim| claim.name == step.claim);
        let claim = found.expect("the claim of the pod");
        if let Some(given) = step.allocation {
            claim.allocation = Some(*given);
        }
        claim.is_protected = true;
        claim.reserved_for = vec![pod.uid.clone()];
        let news = told(claim.clone());
        let bound = pod.on(&node).delta();
        match how {
            1 => [news, bound].map(|delta| self.cluster.apply(delta)).len(),
            2 => [bound, news].map(|delta| self.cluster.apply(delta)).len(),
            _ => [bound].map(|delta| self.cluster.apply(delta)).len(),
        };
    }

    /// A pod that is bound goes, and later its claim.
    fn remove(&mut self, at: usize) {
        let claim = self.claims[at].clone();
        if claim.allocation.is_none() {
            return;
        }
        self.cluster.apply(Delta::PodDelete(claim.owner_uid));
        self.decide();
        self.check();
        self.claims.remove(at);
        self.cluster
            .apply(Delta::ResourceClaimDelete(claim.namespace, claim.name));
    }

    /// No device is in two claims, those that are on their way included.
    fn check(&self) {
        let written = self
            .claims
            .iter()
            .filter_map(|claim| Some((claim.name.as_str(), claim.allocation.as_ref()?)));
        let on_their_way = self
            .ways
            .iter()
            .filter_map(|way| Some((way.step.claim.as_str(), way.step.allocation.as_deref()?)));
        let mut owners = BTreeMap::new();
        for (claim, given) in written.chain(on_their_way) {
            for device in &given.devices.devices {
                let owner = owners.insert(device.key.clone(), claim);
                assert!(
                    owner.is_none_or(|owner| owner == claim),
                    "{} twice",
                    device.key
                );
            }
        }
    }
}

#[test]
fn no_device_is_given_twice_whatever_becomes_of_bindings_and_pods() {
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let mut server = Server::new();
        for _ in 0..40 {
            match dice.below(4) {
                0 => server.add(1 + dice.below(2)),
                1 => server.decide(),
                2 if !server.ways.is_empty() => {
                    let at = dice.below(server.ways.len() as u64) as usize;
                    server.end(at, dice.below(4));
                }
                3 if !server.claims.is_empty() => {
                    let at = dice.below(server.claims.len() as u64) as usize;
                    server.remove(at);
                }
                _ => {}
            }
            server.check();
        }
    }
}

#[test]
fn a_pod_that_waits_for_room_has_its_devices_already() {
    let leaving = pod("leaving", "1c").on("n1").deleting(true);
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "1c 16Gi pods=9"))
        .with(class("true"))
        .with(on_node("n1", &["g0"]))
        .with(leaving)
        .with(told(claim("p", "p", 1)))
        .with(told(claim("q", "q", 1)))
        .with(owning(pod("p", "1c")))
        .with(owning(pod("q", "0c")).created_s(1_000));
    assert_eq!(steps(&mut cluster), []);
    let (_, message) = cluster.why("q");
    assert!(
        message.ends_with("n1/g0 allocated to claim ns/p."),
        "{message}"
    );
    cluster.apply(Delta::PodDelete("leaving".to_owned()));
    assert_eq!(lines(&steps(&mut cluster)), ["p g0"]);
}

#[test]
fn what_a_watch_tells_late_frees_no_device_that_may_be_written() {
    let mut cluster = cluster(&["g0"])
        .with(told(claim("a", "a", 1)))
        .with(owning(pod("a", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
    cluster.apply(Delta::PodDelete("a".to_owned()));
    // A change of the claim from before its finalizer was written.
    let mut older = claim("a", "a", 1);
    older.spec.requests[0].name = "device".to_owned();
    cluster.apply(told(older));
    cluster.apply(told(claim("b", "b", 1)));
    cluster.apply(owning(pod("b", "1c")));
    assert_eq!(steps(&mut cluster), []);
    // Nothing was written, or it was taken back.
    cluster.apply(Delta::BindFailed {
        uid: "a".to_owned(),
        message: "pod gone".to_owned(),
        at_s: 0,
    });
    assert_eq!(lines(&steps(&mut cluster)), ["b g0"]);
}

#[test]
fn what_stands_against_a_device_is_told_anew_when_it_is_something_else() {
    let taken_by = |holder: &str| {
        let mut given = claim(holder, holder, 1);
        given.allocation = Some(ClaimAllocation {
            devices: DeviceAllocation {
                devices: vec![AllocatedDevice {
                    request: "gpu".to_owned(),
                    key: DeviceKey {
                        driver: DRIVER.to_owned(),
                        pool: "n1".to_owned(),
                        device: "g0".to_owned(),
                    },
                    ..AllocatedDevice::default()
                }],
                config: Vec::new(),
            },
            nodes: None,
        });
        given.reserved_for = vec!["somebody".to_owned()];
        told(given)
    };
    let mut cluster = cluster(&["g0"])
        .with(taken_by("first"))
        .with(told(claim("p", "p", 1)))
        .with(owning(pod("p", "1c")));
    let mut messages = Vec::new();
    let mut look = |cluster: &mut Cluster, now_s: i64| {
        cluster.engine.cycle(now_s);
        let told = cluster.engine.reports(now_s).pods.into_iter();
        messages.extend(told.map(|report| report.message));
    };
    look(&mut cluster, 0);
    look(&mut cluster, 5);
    cluster.apply(Delta::ResourceClaimDelete(
        "ns".to_owned(),
        "first".to_owned(),
    ));
    cluster.apply(taken_by("second"));
    look(&mut cluster, 6);
    look(&mut cluster, 80);
    let told: Vec<bool> = messages
        .iter()
        .map(|text| text.contains("allocated to claim ns/second"))
        .collect();
    assert_eq!(told, [false, true], "{messages:?}");
}

#[test]
fn administration_of_a_device_needs_none_of_the_counters_that_others_have() {
    let counters = [("slices".to_owned(), Quantity::whole(1))];
    let Delta::SliceApply(mut slice) = on_node("n1", &["g0"]) else {
        return;
    };
    slice.counters = vec![CounterSet {
        name: "card".to_owned(),
        counters: counters.clone().into(),
    }];
    slice.devices[0].device.uses = vec![UsedCounters {
        set: "card".to_owned(),
        counters: counters.into(),
    }];
    let mut looks = claim("looks", "looks", 1);
    looks.spec.requests[0].choices[0].admin_access = true;
    let mut cluster = cluster(&[])
        .with(Delta::SliceApply(slice))
        .with(told(claim("a", "a", 1)))
        .with(owning(pod("a", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["a g0"]);
    let mut cluster = cluster.with(told(looks)).with(owning(pod("looks", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["looks g0"]);
}

#[test]
fn a_resource_that_a_class_serves_through_claims_is_told_so_and_is_not_said_never_to_fit() {
    let class = |name: &str, resource: Option<&str>| {
        DeviceClassObject {
            name: name.to_owned(),
            extended_resource: resource.map(str::to_owned),
            ..DeviceClassObject::default()
        }
        .delta()
    };
    let asks = |resource: &str| {
        let mut asks = pod("p", "1c");
        asks.request.push((resource.to_owned(), 1));
        asks.request.sort();
        asks
    };
    let cases = [
        ("example.com/gpu", "gpu", true),
        ("deviceclass.resource.kubernetes.io/plain", "plain", true),
        ("example.com/other", "", false),
    ];
    for (resource, named, told) in cases {
        let mut cluster = Cluster::new()
            .with(node("n1", "4c 8Gi pods=9"))
            .with(class("gpu", Some("example.com/gpu")))
            .with(class("plain", None))
            .with(asks(resource));
        assert!(cluster.cycle().is_empty());
        let (_, text) = cluster.why("p");
        let says = format!("DeviceClass {named} serves it through resource claims");
        assert_eq!(text.contains(&says), told, "{text}");
        assert!(!text.contains("never fits"), "{text}");
        let unknown = text.contains("not known yet whether the pod ever fits");
        assert_eq!(unknown, !told, "{text}");
    }
}
