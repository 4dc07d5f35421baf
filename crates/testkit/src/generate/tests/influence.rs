//! Everything the generator varies decides something: without it other pods are bound.

use pumice_conf::{Config, Enabled, Value};
use pumice_model::delta::Delta;
use pumice_model::object::{
    ADMITTED, Gates, GroupLimits, GroupObject, NodeObject, PodObject, QueueObject, QueueState,
    WorkloadObject,
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

fn forget(group: &mut GroupObject, annotation: &str) {
    group.annotations.retain(|(key, _)| key != annotation);
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
    ("claims", Pod(|pod| pod.claims.clear())),
    ("strategies", Pod(|pod| pod.annotations.clear())),
    ("disks", Pod(|pod| pod.disks.clear())),
    ("gates", Pod(|pod| pod.gates = Gates::None)),
    ("controllers", Pod(|pod| pod.controlled = false)),
    ("starts", Pod(|pod| pod.scheduled_s = None)),
    (
        "limits",
        Pod(|pod| (pod.burst_cpu_milli, pod.burst_memory_bytes) = (0, 0)),
    ),
    ("roles", Pod(|pod| pod.role.clear())),
    ("task priorities", Pod(|pod| pod.priority = 1)),
    ("deletion", Pod(|pod| pod.deleting = false)),
    ("role minima", Group(|group| group.min_task_member.clear())),
    ("sub-groups", Group(|group| group.sub_groups.clear())),
    ("min resources", Group(|group| group.min_resources = None)),
    (
        "what was admitted",
        Group(|group| group.status.conditions.retain(|one| one.kind != ADMITTED)),
    ),
    (
        "job priorities",
        Group(|group| group.priority_class.clear()),
    ),
    ("min member", Group(|group| group.min_member = 1)),
    (
        "phases",
        Group(|group| group.status.phase = Default::default()),
    ),
    ("topology", Group(|group| group.topology = None)),
    ("waiting times", Group(|group| group.annotations.clear())),
    (
        "roles near each other",
        Group(|group| forget(group, "volcano.sh/task-topology-affinity")),
    ),
    (
        "roles apart",
        Group(|group| forget(group, "volcano.sh/task-topology-anti-affinity")),
    ),
    (
        "order of roles",
        Group(|group| forget(group, "volcano.sh/task-topology-task-order")),
    ),
    ("capability", Queue(|queue| queue.capability.clear())),
    (
        "limits of pods",
        Queue(|queue| queue.capability.retain(|(name, _)| name != "pods")),
    ),
    (
        "limits of cards",
        Queue(|queue| {
            queue
                .capability
                .retain(|(name, _)| name != "volcano.sh/vgpu-memory");
        }),
    ),
    ("guarantee", Queue(|queue| queue.guarantee.clear())),
    (
        "queue states",
        Queue(|queue| queue.state = QueueState::Open),
    ),
    ("queue weights", Queue(|queue| queue.weight = 1)),
    ("queue priorities", Queue(|queue| queue.priority = 0)),
    ("hierarchy", Queue(|queue| queue.hierarchy.clear())),
    ("parents", Queue(|queue| queue.parent.clear())),
    ("node groups", Queue(|queue| queue.affinity = None)),
    (
        "group limits",
        Queue(|queue| queue.group_limits = GroupLimits::None),
    ),
    (
        "default spread",
        Workload(|workload| workload.selector = None),
    ),
];

const PLUGINS: &[&str] = &[
    "priority",
    "gang",
    "overcommit",
    "drf",
    "predicates",
    "proportion",
    "nodeorder",
    "binpack",
    "nodegroup",
    "sla",
    "resource-strategy-fit",
    "task-topology",
    "usage",
];

const ARGUMENTS: &[(&str, &str, Value)] = &[
    ("overcommit", "overcommit-factor", Value::Int(100)),
    ("nodeorder", "leastrequested.weight", Value::Int(0)),
    ("nodeorder", "mostrequested.weight", Value::Int(0)),
    ("nodeorder", "balancedresource.weight", Value::Int(0)),
    ("nodeorder", "nodeaffinity.weight", Value::Int(0)),
    ("nodeorder", "podaffinity.weight", Value::Int(0)),
    ("nodeorder", "tainttoleration.weight", Value::Int(0)),
    ("nodeorder", "podtopologyspread.weight", Value::Int(0)),
    ("nodeorder", "imagelocality.weight", Value::Int(0)),
    ("binpack", "binpack.cpu", Value::Int(0)),
    ("nodegroup", "strict", Value::Bool(true)),
    ("nodegroup", "enablePreferredOrder", Value::Bool(false)),
    ("sla", "sla-waiting-time", Value::Null),
    (
        "resource-strategy-fit",
        "resourceStrategyFitWeight",
        Value::Int(0),
    ),
    ("resource-strategy-fit", "resources", Value::Null),
    ("resource-strategy-fit", "sra", Value::Null),
    ("resource-strategy-fit", "proportional", Value::Null),
    ("task-topology", "task-topology.weight", Value::Int(0)),
    ("usage", "usage.weight", Value::Int(0)),
    ("usage", "thresholds", Value::Null),
    ("usage", "estimator", Value::Null),
    ("binpack", "binpack.resources", Value::Str(String::new())),
    (
        "predicates",
        "predicate.NodeAffinityEnable",
        Value::Bool(false),
    ),
    (
        "predicates",
        "predicate.NodePortsEnable",
        Value::Bool(false),
    ),
    (
        "predicates",
        "predicate.TaintTolerationEnable",
        Value::Bool(false),
    ),
    (
        "predicates",
        "predicate.PodAffinityEnable",
        Value::Bool(false),
    ),
    (
        "predicates",
        "predicate.PodTopologySpreadEnable",
        Value::Bool(false),
    ),
    (
        "predicates",
        "predicate.NodeVolumeLimitsEnable",
        Value::Bool(false),
    ),
    (
        "predicates",
        "predicate.VolumeZoneEnable",
        Value::Bool(false),
    ),
    (
        "predicates",
        "predicate.VolumeBindingEnable",
        Value::Bool(false),
    ),
];

type Switch = fn(&mut Enabled);

// Overused is not among them: a queue at its share in every dimension, pods included, is refused by
// Allocatable as well, and seldom has anything left to place.
const SWITCHES: &[(&str, Switch)] = &[
    ("job order", |on| on.job_order = false),
    ("task order", |on| on.task_order = false),
    ("sub-job order", |on| on.sub_job_order = false),
    ("queue order", |on| on.queue_order = false),
    ("job ready", |on| on.job_ready = false),
    ("job pipelined", |on| on.job_pipelined = false),
    ("sub-job ready", |on| on.sub_job_ready = false),
    ("sub-job pipelined", |on| on.sub_job_pipelined = false),
    ("job enqueued", |on| on.job_enqueued = false),
    ("allocatable", |on| on.allocatable = false),
    ("predicate", |on| on.predicate = false),
    ("node order", |on| on.node_order = false),
    ("hierarchy", |on| on.hierarchy = false),
];

fn with_switch(config: &Config, switch: Switch) -> Config {
    let mut config = config.clone();
    for plugin in config.tiers.iter_mut().flat_map(|tier| &mut tier.plugins) {
        switch(&mut plugin.enabled);
    }
    config
}

fn without_plugin(config: &Config, name: &str) -> Config {
    let mut config = config.clone();
    for tier in &mut config.tiers {
        tier.plugins.retain(|plugin| plugin.name != name);
    }
    config
}

fn with_argument(config: &Config, plugin: &str, key: &str, value: &Value) -> Config {
    let mut config = config.clone();
    let plugins = config.tiers.iter_mut().flat_map(|tier| &mut tier.plugins);
    for plugin in plugins.filter(|known| known.name == plugin) {
        let old = plugin.arguments.iter();
        let mut pairs: Vec<_> = old.map(|(k, v)| (k.to_owned(), v.clone())).collect();
        pairs.push((key.to_owned(), value.clone()));
        plugin.arguments = pairs.into_iter().collect();
    }
    config
}

type Case = (Vec<Delta>, Config, Vec<(String, String)>);

fn binds(config: &Config, objects: &[Delta]) -> Vec<(String, String)> {
    schedule(config, objects, "default", 1).binds
}

fn cases() -> Vec<Case> {
    let case = |seed| {
        let (objects, config) = (cluster(seed), config(seed));
        let binds = binds(&config, &objects);
        (objects, config, binds)
    };
    (0..SEEDS).map(case).collect()
}

#[test]
fn every_feature_of_the_objects_decides_a_binding_somewhere() {
    let cases = cases();
    for (name, removal) in REMOVALS {
        let decides = |(objects, config, expected): &Case| {
            binds(config, &remove(objects, removal)) != *expected
        };
        assert!(cases.iter().any(decides), "{name}");
    }
}

#[test]
fn every_plugin_switch_and_argument_decides_a_binding_somewhere() {
    let cases = cases();
    let changes = |change: &dyn Fn(&Config) -> Config| {
        cases.iter().any(|(objects, config, expected)| {
            let changed = change(config);
            changed != *config && binds(&changed, objects) != *expected
        })
    };
    for name in PLUGINS {
        assert!(changes(&|config| without_plugin(config, name)), "{name}");
    }
    for (name, switch) in SWITCHES {
        assert!(changes(&|config| with_switch(config, *switch)), "{name}");
    }
    for (plugin, key, value) in ARGUMENTS {
        let change = |config: &Config| with_argument(config, plugin, key, value);
        assert!(changes(&change), "{key}");
    }
}
