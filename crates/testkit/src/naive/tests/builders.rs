//! Short forms of the objects the examples are made of.

use std::collections::BTreeMap;

use pumice_conf::{Arguments, Config, PluginConf, Tier, Value};
use pumice_model::delta::Delta;
use pumice_model::object::{
    GroupObject, GroupPhase, NodeObject, Pairs, PodObject, PodPhase, PodTerm, QueueObject,
    Requirement, Selector, SelectorOp, SpreadConstraint, Unsatisfiable,
};

use crate::naive::cycle::Cycle;
use crate::naive::devices::{On, View};
use crate::naive::state::World;

pub const GI: i64 = 1024 * 1024 * 1024;
pub const MI: i64 = 1024 * 1024;

pub fn pairs(text: &[(&str, &str)]) -> Pairs {
    let mut pairs: Pairs = text
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    pairs.sort();
    pairs
}

pub fn amounts(milli: i64, bytes: i64) -> Vec<(String, i64)> {
    vec![("cpu".to_owned(), milli), ("memory".to_owned(), bytes)]
}

/// A node with whole cores, GiB and pod slots; its hostname label is its name.
pub fn node(name: &str, cores: i64, gib: i64, slots: i64, labels: &[(&str, &str)]) -> NodeObject {
    let mut all = labels.to_vec();
    all.push(("kubernetes.io/hostname", name));
    let mut allocatable = amounts(cores * 1000, gib * GI);
    allocatable.push(("pods".to_owned(), slots));
    NodeObject {
        name: name.to_owned(),
        labels: pairs(&all),
        allocatable,
        ..NodeObject::default()
    }
}

/// A pending pod of ours in namespace `ns`; a request of 0 is an absent one.
pub fn pod(name: &str, milli: i64, bytes: i64) -> PodObject {
    let mut request = amounts(milli, bytes);
    request.retain(|(_, amount)| *amount > 0);
    request.push(("pods".to_owned(), 1));
    PodObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        ours: true,
        priority: 1,
        request,
        nonzero_cpu_milli: if milli > 0 { milli } else { 100 },
        nonzero_memory_bytes: if bytes > 0 { bytes } else { 200 * MI },
        container_count: 1,
        ..PodObject::default()
    }
}

/// The pod, running on the node.
pub fn on(node: &str, pod: PodObject) -> PodObject {
    PodObject {
        node: Some(node.to_owned()),
        phase: PodPhase::Running,
        ..pod
    }
}

/// The pod as a member of the group.
pub fn member(group: &str, pod: PodObject) -> PodObject {
    PodObject {
        group: Some(group.to_owned()),
        ..pod
    }
}

pub fn labelled(pod: PodObject, labels: &[(&str, &str)]) -> PodObject {
    PodObject {
        labels: pairs(labels),
        ..pod
    }
}

pub fn group(name: &str, queue: &str, min_member: i32, phase: GroupPhase) -> GroupObject {
    let mut group = GroupObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        queue: queue.to_owned(),
        min_member,
        ..GroupObject::default()
    };
    group.status.phase = phase;
    group
}

pub fn queue(name: &str, weight: i64) -> QueueObject {
    QueueObject {
        name: name.to_owned(),
        weight,
        reclaimable: true,
        ..QueueObject::default()
    }
}

/// The labels with these values.
pub fn selector(labels: &[(&str, &str)]) -> Selector {
    let requirement = |(key, value): &(&str, &str)| Requirement {
        key: (*key).to_owned(),
        op: SelectorOp::In(vec![(*value).to_owned()]),
    };
    Selector {
        requirements: labels.iter().map(requirement).collect(),
    }
}

/// Pods of namespace `ns` with that app, in one domain of the key.
pub fn term(key: &str, app: &str) -> PodTerm {
    PodTerm {
        namespaces: vec!["ns".to_owned()],
        namespace_selector: None,
        selector: Some(selector(&[("app", app)])),
        topology_key: key.to_owned(),
    }
}

pub fn constraint(key: &str, max_skew: i32, app: &str, when: Unsatisfiable) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: key.to_owned(),
        when,
        selector: Some(selector(&[("app", app)])),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    }
}

/// A plugin with arguments that are whole numbers or texts.
pub fn plugin(name: &str, arguments: &[(&str, Value)]) -> PluginConf {
    let arguments = arguments.iter().cloned();
    PluginConf {
        name: name.to_owned(),
        arguments: Arguments::from_iter(arguments.map(|(key, value)| (key.to_owned(), value))),
        ..PluginConf::default()
    }
}

/// One tier of plugins with their defaults.
pub fn config(actions: &[&str], plugins: Vec<PluginConf>) -> Config {
    Config {
        actions: actions.iter().map(|action| (*action).to_owned()).collect(),
        tiers: vec![Tier { plugins }],
        ..Config::default()
    }
}

pub fn named(actions: &[&str], names: &[&str]) -> Config {
    config(
        actions,
        names.iter().map(|name| plugin(name, &[])).collect(),
    )
}

#[derive(Default)]
pub struct Cluster(pub Vec<Delta>);

impl Cluster {
    pub fn nodes(mut self, nodes: impl IntoIterator<Item = NodeObject>) -> Self {
        let nodes = nodes.into_iter();
        self.0
            .extend(nodes.map(|node| Delta::NodeApply(Box::new(node))));
        self
    }

    pub fn pods(mut self, pods: impl IntoIterator<Item = PodObject>) -> Self {
        let pods = pods.into_iter();
        self.0
            .extend(pods.map(|pod| Delta::PodApply(Box::new(pod))));
        self
    }

    pub fn groups(mut self, groups: impl IntoIterator<Item = GroupObject>) -> Self {
        let groups = groups.into_iter();
        self.0
            .extend(groups.map(|group| Delta::GroupApply(Box::new(group))));
        self
    }

    pub fn queues(mut self, queues: impl IntoIterator<Item = QueueObject>) -> Self {
        let queues = queues.into_iter();
        self.0
            .extend(queues.map(|queue| Delta::QueueApply(Box::new(queue))));
        self
    }

    pub fn cycle<'a>(&self, config: &'a Config) -> Cycle<'a> {
        Cycle::new(config, World::new(&self.0, "default", On::of(config)))
    }
}

/// Names of the nodes the pending pod `name` may go to by the filters alone.
pub fn passing(cycle: &Cycle, name: &str) -> Vec<String> {
    let task = &cycle.world.tasks[name];
    let nodes = cycle.world.nodes.values();
    let filters = crate::naive::filters::Filters::new(cycle, task);
    let nodes = nodes.filter(|node| filters.pass(node));
    nodes.map(|node| node.name.clone()).collect()
}

/// Score of every node for the pending pod `name`.
pub fn scored(cycle: &Cycle, name: &str) -> BTreeMap<String, f64> {
    let nodes: Vec<&NodeObject> = cycle.world.nodes.values().map(|node| &**node).collect();
    let scores = crate::naive::scores::scores(cycle, &cycle.world.tasks[name], &nodes, View::Now);
    let names = nodes.iter().map(|node| node.name.clone());
    names.zip(scores).collect()
}
