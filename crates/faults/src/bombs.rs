//! What somebody who may edit one namespace can write so that deciding costs much.
//!
//! Each bomb is written into a cluster of [`cluster`], whose queue `other` is not the one that they are in.

use pumice_claims::{ClaimRequest, ClaimSpec, DeviceCount, RequestedDevices};
use pumice_conf::Config;
use pumice_model::object::{
    COMPOSITE_GROUP, CompositePolicy, DeviceClassObject, GroupObject, GroupPhase, GroupStatus,
    HighestTier, NATIVE_GROUP, NativeTraits, NodeOp, NodeRequirement, NodeTerm, PodObject,
    PodResourceClaim, PodTerm, Selector, TopologyRequest,
};
use pumice_model::resource::MAX_AMOUNT;

use super::objects::{group, node, pod, queue, slice};
use super::{BrokenInvariant, Simulation};

/// Where they are written.
pub const NAMESPACE: &str = "attacker";

/// What each node has.
const CPU_MILLI: i64 = 8000;

/// Label of nodes, of which each has a value of its own.
const RACK: &str = "example.com/rack";

/// And those with devices.
const DEVICES: usize = 8;

/// A bomb is written; time may have passed.
pub type Written = Result<(), Box<BrokenInvariant>>;

/// A bomb: a name for people, and what writes it, with a number that no other one of the same cluster has, and so much of it.
pub type Bomb = (&'static str, fn(&mut Simulation, u64, u64) -> Written);

/// All kinds.
pub const BOMBS: [Bomb; 12] = [
    ("strange names", strange_names),
    ("node terms", node_terms),
    ("pod terms", pod_terms),
    ("forged admissions", forged_admissions),
    ("raised minimum", raised_minimum),
    ("hopeless gang", hopeless_gang),
    ("many that fit nowhere", many_that_fit_nowhere),
    ("costly selectors", costly_selectors),
    ("absurd on a node", absurd_on_a_node),
    ("wide tree", wide_tree),
    ("chains and circles", chains_and_circles),
    ("trees in domains", trees_in_domains),
];

/// Nodes, of which the first so many have devices, and the queues `default` and `other`.
pub fn cluster(config: &Config, nodes: usize, with_devices: usize) -> Simulation {
    let mut world = Simulation::new(config, 1, 1);
    let server = &mut world.server;
    for name in ["root", "default", "other"] {
        server.put_queue(queue(name, 0));
    }
    for at in 0..nodes {
        let name = format!("n{at}");
        let mut node = node(&name, CPU_MILLI, 0);
        node.labels = vec![(RACK.to_owned(), name)];
        server.put_node(node);
    }
    server.has_devices = true;
    server.has_native_groups = true;
    server.put_class(DeviceClassObject {
        name: "gpu".to_owned(),
        ..DeviceClassObject::default()
    });
    for at in 0..with_devices {
        server.put_slice(slice(&format!("n{at}"), DEVICES));
    }
    world
}

/// A plain pod of another namespace, in the queue `other`; returns its UID.
pub fn plain(world: &mut Simulation, name: &str) -> String {
    let mut plain = pod(name, None, 1000, 0);
    (plain.namespace, plain.queue) = ("other".to_owned(), Some("other".to_owned()));
    world.server.make_pod(plain)
}

/// Deletes all that was written.
pub fn delete(world: &mut Simulation) {
    let server = &mut world.server;
    let of_attacker = |namespace: &str| namespace == NAMESPACE;
    let pods = server.pods.values();
    let pods = pods.filter(|pod| of_attacker(&pod.namespace));
    let uids: Vec<String> = pods.map(|pod| pod.uid.clone()).collect();
    uids.iter().for_each(|uid| server.delete_pod(uid));
    let groups = server.groups.iter();
    let groups = groups.filter(|(_, group)| of_attacker(&group.namespace));
    let keys: Vec<String> = groups.map(|(key, _)| key.clone()).collect();
    keys.iter().for_each(|key| server.remove_group(key));
    let templates = &mut server.devices.templates;
    templates.retain(|key, _| !key.starts_with(&format!("{NAMESPACE}/")));
}

fn put(world: &mut Simulation, name: &str, change: impl FnOnce(&mut PodObject)) {
    let mut object = pod(name, None, 1, 0);
    object.namespace = NAMESPACE.to_owned();
    change(&mut object);
    world.server.make_pod(object);
}

fn strange_names(world: &mut Simulation, number: u64, size: u64) -> Written {
    for at in 0..size {
        put(world, &format!("names-{number}-{at}"), |pod| {
            let names = (0..100).map(|name| (format!("a.b/r{number}-{at}-{name}"), 1000));
            pod.request.extend(names);
            pod.request.sort();
        });
    }
    Ok(())
}

fn node_terms(world: &mut Simulation, number: u64, size: u64) -> Written {
    for at in 0..size {
        put(world, &format!("nodes-{number}-{at}"), |pod| {
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
    Ok(())
}

fn pod_terms(world: &mut Simulation, number: u64, size: u64) -> Written {
    for at in 0..size {
        put(world, &format!("pods-{number}-{at}"), |pod| {
            let term = |which: u64| PodTerm {
                namespaces: vec![NAMESPACE.to_owned()],
                namespace_selector: None,
                selector: Some(Selector::default()),
                topology_key: format!("zone-{}", which % 3),
            };
            pod.anti_affinity = (0..100).map(term).collect();
            pod.preferred_affinity = (0..20).map(|one| (1, term(one))).collect();
        });
    }
    Ok(())
}

fn of_attacker(name: &str, min_member: i32, cpu_milli: i64) -> GroupObject {
    GroupObject {
        namespace: NAMESPACE.to_owned(),
        uid: format!("uid-{name}"),
        min_resources: Some(vec![("cpu".to_owned(), cpu_milli)]),
        ..group(name, min_member, "default")
    }
}

fn forged_admissions(world: &mut Simulation, number: u64, size: u64) -> Written {
    let nodes = i64::try_from(world.server.nodes.len()).unwrap_or(i64::MAX);
    let all_cpu_milli = nodes.saturating_mul(CPU_MILLI);
    for at in 0..size {
        let mut forged = of_attacker(&format!("forged-{number}-{at}"), 1, all_cpu_milli);
        forged.status.phase = match at % 2 {
            0 => GroupPhase::Inqueue,
            _ => GroupPhase::Running,
        };
        world.server.put_group(forged);
    }
    Ok(())
}

fn raised_minimum(world: &mut Simulation, number: u64, _size: u64) -> Written {
    let name = format!("raised-{number}");
    world.server.put_group(of_attacker(&name, 1, 10));
    world.run_for(1)?;
    let mut raised = of_attacker(&name, 1, MAX_AMOUNT);
    raised.status = world.server.groups[&format!("{NAMESPACE}/{name}")]
        .status
        .clone();
    world.server.put_group(raised);
    Ok(())
}

fn hopeless_gang(world: &mut Simulation, number: u64, size: u64) -> Written {
    let (name, pods) = (format!("gang-{number}"), 10 * size);
    let mut gang = of_attacker(&name, pods as i32, 0);
    gang.min_resources = None;
    world.server.put_group(gang);
    for at in 0..pods {
        put(world, &format!("{name}-{at}"), |pod| {
            pod.group = Some(name.clone());
            pod.request = vec![("cpu".to_owned(), 5000), ("pods".to_owned(), 1)];
        });
    }
    Ok(())
}

fn many_that_fit_nowhere(world: &mut Simulation, number: u64, size: u64) -> Written {
    for at in 0..20 * size {
        put(world, &format!("large-{number}-{at}"), |pod| {
            pod.request = vec![("cpu".to_owned(), 9000 + at as i64), ("pods".to_owned(), 1)];
        });
    }
    Ok(())
}

fn costly_selectors(world: &mut Simulation, number: u64, size: u64) -> Written {
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
        let template = format!("{NAMESPACE}/{name}");
        world.server.devices.templates.insert(template, spec);
        put(world, &name.clone(), |pod| {
            pod.resource_claims = vec![PodResourceClaim {
                entry: "gpu".to_owned(),
                claim: None,
                template: Some(name),
            }];
        });
    }
    Ok(())
}

fn of_tree(name: String, composite: Option<CompositePolicy>, parent: &str) -> GroupObject {
    GroupObject {
        is_native: true,
        status: GroupStatus::of_native(Vec::new()),
        native: NativeTraits {
            parent: parent.to_owned(),
            composite,
            ..NativeTraits::default()
        },
        min_resources: None,
        ..of_attacker(&name, 1, 0)
    }
}

/// A PodGroup of a tree, and a pod of it that asks so much.
fn put_leaf(world: &mut Simulation, name: &str, parent: &str, cpu_milli: i64) {
    let group = format!("{NATIVE_GROUP}{name}");
    world.server.put_group(of_tree(group.clone(), None, parent));
    put(world, name, |pod| {
        pod.group = Some(group);
        pod.request = vec![("cpu".to_owned(), cpu_milli), ("pods".to_owned(), 1)];
    });
}

/// Each other group fits nowhere, so that the tree as a whole does not.
fn wide_tree(world: &mut Simulation, number: u64, size: u64) -> Written {
    let (root, groups) = (format!("wide-{number}"), 40 * size);
    let policy = CompositePolicy::Gang(groups as i32);
    let whole = of_tree(format!("{COMPOSITE_GROUP}{root}"), Some(policy), "");
    world.server.put_group(whole);
    for at in 0..groups {
        let cpu_milli = if at % 2 == 0 { 1 } else { 9000 + at as i64 };
        put_leaf(world, &format!("{root}-{at}"), &root, cpu_milli);
    }
    Ok(())
}

/// Composites in a row, far more than there may be, and in a row that begins where it ends; none has the groups that it
/// needs.
fn chains_and_circles(world: &mut Simulation, number: u64, size: u64) -> Written {
    let links = 40 * size;
    for ring in [true, false] {
        let name = |at: u64| format!("{}-{number}-{at}", if ring { "ring" } else { "chain" });
        for at in 0..links {
            let parent = match (at + 1 == links, ring) {
                (true, true) => name(0),
                (true, false) => String::new(),
                (false, _) => name(at + 1),
            };
            let composite = format!("{COMPOSITE_GROUP}{}", name(at));
            let link = of_tree(composite, Some(CompositePolicy::Gang(9)), &parent);
            world.server.put_group(link);
            put_leaf(world, &format!("{}-leaf", name(at)), &name(at), 1);
        }
    }
    Ok(())
}

/// Each of so many groups on two levels wants to be in one domain, and has room in none.
fn trees_in_domains(world: &mut Simulation, number: u64, size: u64) -> Written {
    let root = format!("domains-{number}");
    let put_composite = |world: &mut Simulation, name: &str, needs: u64, parent: &str| {
        let policy = CompositePolicy::Gang(needs as i32);
        let mut composite = of_tree(format!("{COMPOSITE_GROUP}{name}"), Some(policy), parent);
        if !parent.is_empty() {
            let label = HighestTier::Label(RACK.to_owned());
            composite.topology = Some(TopologyRequest::Hard(label));
        }
        world.server.put_group(composite);
    };
    put_composite(world, &root, size, "");
    for at in 0..size {
        let (outer, inner) = (format!("{root}-{at}"), format!("{root}-{at}-in"));
        put_composite(world, &outer, 1, &root);
        put_composite(world, &inner, 2, &outer);
        for leaf in 0..2 {
            put_leaf(world, &format!("{inner}-{leaf}"), &inner, CPU_MILLI / 2 + 1);
        }
    }
    Ok(())
}

/// As whoever may write `spec.nodeName` can have it; its own node is full then, and its own queue.
fn absurd_on_a_node(world: &mut Simulation, number: u64, _size: u64) -> Written {
    put(world, &format!("absurd-{number}"), |pod| {
        pod.node = Some("n1".to_owned());
        pod.request = vec![("cpu".to_owned(), MAX_AMOUNT), ("pods".to_owned(), 1)];
    });
    Ok(())
}
