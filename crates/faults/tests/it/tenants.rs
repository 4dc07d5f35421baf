//! Whatever somebody writes who may edit one namespace, a plain pod of another is bound at once if its queue is
//! another one: counted in cycles, of which each takes a bounded share of work (some tenths of a second with the share
//! that the daemon has).

use pumice_claims::{ClaimRequest, ClaimSpec, DeviceCount, RequestedDevices};
use pumice_faults::objects::{group, pod, queue};
use pumice_faults::rng::Rng;
use pumice_model::object::{
    DeviceClassObject, GroupObject, GroupPhase, NodeOp, NodeRequirement, NodeTerm, PodObject,
    PodResourceClaim, PodTerm, Selector,
};
use pumice_model::resource::MAX_AMOUNT;

use crate::calm::CalmCluster;
use crate::claims::slice;

const SEEDS: u64 = 40;
const NODES: usize = 20;

/// Work a job may take of a cycle, in looks at one node: a thousand looks at each.
const SHARE: u64 = 20_000;

/// Cycles within which a plain pod is bound.
const CYCLES: usize = 3;

/// With devices on one of its nodes.
fn cluster() -> CalmCluster {
    let mut cluster = CalmCluster::new(pumice_faults::CONFIGURATION, NODES, 8000);
    let server = &mut cluster.0.server;
    server.put_queue(queue("other", 0));
    server.has_devices = true;
    server.put_class(DeviceClassObject {
        name: "gpu".to_owned(),
        ..DeviceClassObject::default()
    });
    server.put_slice(slice(64));
    cluster.pass(2);
    let leader = cluster.0.leader().expect("a leader");
    leader.decider.engine_mut().limit_work(Some(SHARE));
    cluster
}

/// One that writes takes a number that no other took, and how much it writes.
type Bomb = fn(&mut CalmCluster, u64, u64);

const BOMBS: &[Bomb] = &[
    strange_names,
    node_terms,
    pod_terms,
    forged_admissions,
    raised_minimum,
    hopeless_gang,
    many_that_fit_nowhere,
    costly_selectors,
    absurd_on_a_node,
];

fn put(cluster: &mut CalmCluster, name: &str, change: impl FnOnce(&mut PodObject)) {
    let mut object = pod(name, None, 1, 0);
    object.namespace = "attacker".to_owned();
    change(&mut object);
    cluster.0.server.make_pod(object);
}

fn strange_names(cluster: &mut CalmCluster, number: u64, size: u64) {
    for at in 0..size {
        put(cluster, &format!("names-{number}-{at}"), |pod| {
            let names = (0..100).map(|name| (format!("a.b/r{number}-{at}-{name}"), 1000));
            pod.request.extend(names);
            pod.request.sort();
        });
    }
}

fn node_terms(cluster: &mut CalmCluster, number: u64, size: u64) {
    for at in 0..size {
        put(cluster, &format!("nodes-{number}-{at}"), |pod| {
            let requirement = |which: u64| NodeRequirement {
                key: format!("key-{which}"),
                op: NodeOp::DoesNotExist,
            };
            let term = |which: u64| NodeTerm {
                expressions: (0..10).map(|one| requirement(which * 10 + one)).collect(),
                ..NodeTerm::default()
            };
            pod.node_affinity = Some((0..100).map(|one| term(at * 100 + one)).collect());
        });
    }
}

fn pod_terms(cluster: &mut CalmCluster, number: u64, size: u64) {
    for at in 0..size {
        put(cluster, &format!("pods-{number}-{at}"), |pod| {
            let term = |which: u64| PodTerm {
                namespaces: vec!["attacker".to_owned()],
                namespace_selector: None,
                selector: Some(Selector::default()),
                topology_key: format!("zone-{}", which % 3),
            };
            pod.anti_affinity = (0..100).map(term).collect();
            pod.preferred_affinity = (0..20).map(|one| (1, term(one))).collect();
        });
    }
}

fn of_attacker(name: &str, min_member: i32, cpu_milli: i64) -> GroupObject {
    GroupObject {
        namespace: "attacker".to_owned(),
        uid: format!("uid-{name}"),
        min_resources: Some(vec![("cpu".to_owned(), cpu_milli)]),
        ..group(name, min_member, "default")
    }
}

fn forged_admissions(cluster: &mut CalmCluster, number: u64, size: u64) {
    for at in 0..size {
        let mut forged = of_attacker(&format!("forged-{number}-{at}"), 1, 8000 * NODES as i64);
        forged.status.phase = match at % 2 {
            0 => GroupPhase::Inqueue,
            _ => GroupPhase::Running,
        };
        cluster.0.server.put_group(forged);
    }
}

fn raised_minimum(cluster: &mut CalmCluster, number: u64, _size: u64) {
    let name = format!("raised-{number}");
    cluster.0.server.put_group(of_attacker(&name, 1, 10));
    cluster.pass(1);
    let mut raised = of_attacker(&name, 1, MAX_AMOUNT);
    raised.status = cluster.0.server.groups[&format!("attacker/{name}")]
        .status
        .clone();
    cluster.0.server.put_group(raised);
}

fn hopeless_gang(cluster: &mut CalmCluster, number: u64, size: u64) {
    let (name, pods) = (format!("gang-{number}"), 10 * size);
    let mut gang = of_attacker(&name, pods as i32, 0);
    gang.min_resources = None;
    cluster.0.server.put_group(gang);
    for at in 0..pods {
        put(cluster, &format!("{name}-{at}"), |pod| {
            pod.group = Some(name.clone());
            pod.request = vec![("cpu".to_owned(), 5000), ("pods".to_owned(), 1)];
        });
    }
}

fn many_that_fit_nowhere(cluster: &mut CalmCluster, number: u64, size: u64) {
    for at in 0..20 * size {
        put(cluster, &format!("large-{number}-{at}"), |pod| {
            pod.request = vec![("cpu".to_owned(), 9000 + at as i64), ("pods".to_owned(), 1)];
        });
    }
}

fn costly_selectors(cluster: &mut CalmCluster, number: u64, size: u64) {
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    let costly = |which: u64| {
        format!("{ten}.all(a, {ten}.all(b, a + b + {which} >= 0)) && device.driver == 'none'")
    };
    for at in 0..size {
        let name = format!("claim-{number}-{at}");
        let spec = ClaimSpec {
            requests: vec![ClaimRequest {
                name: "gpu".to_owned(),
                choices: vec![RequestedDevices {
                    name: String::new(),
                    class: "gpu".to_owned(),
                    selectors: (0..4).map(|one| costly(at * 4 + one)).collect(),
                    count: DeviceCount::Exactly(1),
                    admin_access: false,
                    tolerations: Vec::new(),
                    capacity: Default::default(),
                }],
            }],
            ..ClaimSpec::default()
        };
        let template = format!("attacker/{name}");
        cluster.0.server.devices.templates.insert(template, spec);
        put(cluster, &name.clone(), |pod| {
            pod.resource_claims = vec![PodResourceClaim {
                entry: "gpu".to_owned(),
                claim: None,
                template: Some(name),
            }];
        });
    }
}

/// As whoever may write `spec.nodeName` can have it; its own node is full then, and its own queue.
fn absurd_on_a_node(cluster: &mut CalmCluster, number: u64, _size: u64) {
    put(cluster, &format!("absurd-{number}"), |pod| {
        pod.node = Some("n1".to_owned());
        pod.request = vec![("cpu".to_owned(), MAX_AMOUNT), ("pods".to_owned(), 1)];
    });
}

#[test]
fn a_plain_pod_of_another_namespace_is_bound_whatever_one_writes() {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let mut cluster = cluster();
        for number in 0..rng.between(1, 6) {
            let bomb = rng.pick(BOMBS).expect("a bomb");
            bomb(&mut cluster, number, rng.between(1, 20));
            if rng.percent(30) {
                cluster.pass(rng.between(1, 3));
            }
        }
        let mut plain = pod("plain", None, 1000, 0);
        (plain.namespace, plain.queue) = ("other".to_owned(), Some("other".to_owned()));
        cluster.0.server.make_pod(plain);
        let mut cycles = 0;
        while cluster.bound("plain") == 0 {
            assert!(
                cycles < CYCLES,
                "seed {seed}: {}",
                cluster.condition("plain")
            );
            let done = cluster.0.step(100);
            done.unwrap_or_else(|failure| panic!("{failure}"));
            cycles += 1;
        }
    }
}
