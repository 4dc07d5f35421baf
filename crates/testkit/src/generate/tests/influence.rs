//! Everything the generator varies decides something: without it other pods are bound.

use pumice_model::delta::Delta;
use pumice_model::object::{
    Gates, GroupObject, NodeObject, PodObject, QueueObject, QueueState, WorkloadObject,
};

use super::{SEEDS, cluster, config};
use crate::naive::schedule;

enum Removal {
    Node(fn(&mut NodeObject)),
    Pod(fn(&mut PodObject)),
    Group(fn(&mut GroupObject)),
    Queue(fn(&mut QueueObject)),
    Workload(fn(&mut WorkloadObject)),
}

use Removal::{Group, Node, Pod, Queue, Workload};

fn remove(objects: &[Delta], removal: &Removal) -> Vec<Delta> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        match (object, removal) {
            (Delta::NodeApply(node), Node(f)) => f(node),
            (Delta::PodApply(pod), Pod(f)) => f(pod),
            (Delta::GroupApply(group), Group(f)) => f(group),
            (Delta::QueueApply(queue), Queue(f)) => f(queue),
            (Delta::WorkloadApply(workload), Workload(f)) => f(workload),
            _ => {}
        }
    }
    objects
}

const REMOVALS: &[(&str, Removal)] = &[
    ("taints", Node(|node| node.taints.clear())),
    ("cordons", Node(|node| node.unschedulable = false)),
    (
        "oversubscription",
        Node(|node| node.oversubscription.clear()),
    ),
    ("images of nodes", Node(|node| node.images.clear())),
    ("host ports", Pod(|pod| pod.host_ports.clear())),
    ("affinity", Pod(|pod| pod.affinity.clear())),
    ("anti-affinity", Pod(|pod| pod.anti_affinity.clear())),
    (
        "preferred affinity",
        Pod(|pod| pod.preferred_affinity.clear()),
    ),
    (
        "preferred anti-affinity",
        Pod(|pod| pod.preferred_anti_affinity.clear()),
    ),
    ("spread", Pod(|pod| pod.spread.clear())),
    (
        "min domains",
        Pod(|pod| pod.spread.iter_mut().for_each(|one| one.min_domains = 1)),
    ),
    ("tolerations", Pod(|pod| pod.tolerations.clear())),
    ("node selector", Pod(|pod| pod.node_selector.clear())),
    ("node affinity", Pod(|pod| pod.node_affinity = None)),
    (
        "preferred node affinity",
        Pod(|pod| pod.preferred_node_affinity.clear()),
    ),
    ("gates", Pod(|pod| pod.gates = Gates::None)),
    ("roles", Pod(|pod| pod.role.clear())),
    ("task priorities", Pod(|pod| pod.priority = 1)),
    ("deletion", Pod(|pod| pod.deleting = false)),
    ("role minima", Group(|group| group.min_task_member.clear())),
    ("sub-groups", Group(|group| group.sub_groups.clear())),
    ("min resources", Group(|group| group.min_resources = None)),
    (
        "job priorities",
        Group(|group| group.priority_class.clear()),
    ),
    ("min member", Group(|group| group.min_member = 1)),
    (
        "phases",
        Group(|group| group.status.phase = Default::default()),
    ),
    ("topology", Group(|group| group.wants_topology = false)),
    ("capability", Queue(|queue| queue.capability.clear())),
    ("guarantee", Queue(|queue| queue.guarantee.clear())),
    (
        "queue states",
        Queue(|queue| queue.state = QueueState::Open),
    ),
    ("queue weights", Queue(|queue| queue.weight = 1)),
    ("queue priorities", Queue(|queue| queue.priority = 0)),
    ("hierarchy", Queue(|queue| queue.hierarchy.clear())),
    (
        "default spread",
        Workload(|workload| workload.selector = None),
    ),
];

#[test]
fn every_feature_decides_a_binding_somewhere() {
    let mut idle = Vec::new();
    for (name, removal) in REMOVALS {
        let decides = |seed: &u64| {
            let (objects, config) = (cluster(*seed), config(*seed));
            let without = remove(&objects, removal);
            let binds = |objects: &[Delta]| schedule(&config, objects, "default", 1).binds;
            binds(&objects) != binds(&without)
        };
        let n = (0..SEEDS).filter(decides).count(); println!("{n:4} {name}"); if n < 2 {
            idle.push(*name);
        }
    }
    assert_eq!(idle, [""; 0]);
}
