//! Short forms of what the examples are made of, beside the objects of `pumice-fixtures`.

use std::collections::BTreeMap;

use pumice_conf::{Arguments, Config, PluginConf, Tier, Value};
use pumice_model::delta::Delta;
use pumice_model::object::{
    GroupObject, NodeObject, PodObject, QueueObject, SpreadConstraint, Unsatisfiable,
};

pub use pumice_fixtures::*;

use crate::naive::cycle::Cycle;
use crate::naive::devices::{On, View};
use crate::naive::state::World;

pub const GI: i64 = 1024 * 1024 * 1024;
pub const MI: i64 = 1024 * 1024;

/// A node with these labels beside its host name.
pub fn labelled(name: &str, labels: &[(&str, &str)]) -> NodeObject {
    let mut node = node(name, "8c 16Gi pods=110");
    node.labels.extend(pairs(labels));
    node.labels.sort();
    node
}

pub fn constraint(key: &str, max_skew: i32, app: &str, when: Unsatisfiable) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: key.to_owned(),
        when,
        selector: pods_of(app, key).selector,
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
