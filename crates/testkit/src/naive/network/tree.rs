//! What HyperNodes say, against the nodes there are (spec/08 §2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_model::delta::Delta;
use pumice_model::object::{
    HighestTier, HyperNodeMembers, HyperNodeObject, NodeObject, TopologyRequest,
};
use regex::Regex;

use crate::naive::state::{label, selects};

/// A part of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainNodes {
    /// Name of its HyperNode; none is the whole cluster.
    pub name: Option<String>,
    /// Tier; lower is faster.
    pub tier: i64,
    /// Names of its nodes, all of which exist.
    pub nodes: BTreeSet<String>,
}

impl DomainNodes {
    /// All of these nodes are in it.
    pub fn has_all(&self, nodes: &BTreeSet<String>) -> bool {
        nodes.is_subset(&self.nodes)
    }
}

/// All domains.
#[derive(Clone, Debug, Default)]
pub struct DomainTree {
    /// By name; the cluster is the last one.
    pub domains: Vec<DomainNodes>,
    /// Tiers that carry a name.
    named: BTreeMap<String, BTreeSet<i64>>,
}

impl DomainTree {
    /// The domains of these objects, of which only `…Apply` deltas count.
    #[must_use]
    pub fn of_objects(objects: &[Delta]) -> Self {
        let (mut hyper_nodes, mut nodes) = (BTreeMap::new(), BTreeMap::new());
        for object in objects {
            match object {
                Delta::HyperNodeApply(object) => {
                    hyper_nodes.insert(object.name.clone(), HyperNodeObject::clone(object));
                }
                Delta::NodeApply(node) => {
                    nodes.insert(node.name.clone(), Arc::new(NodeObject::clone(node)));
                }
                _ => {}
            }
        }
        Self::of(&hyper_nodes, &nodes)
    }

    /// The domains these HyperNodes make of these nodes.
    pub fn of(
        hyper_nodes: &BTreeMap<String, HyperNodeObject>,
        nodes: &BTreeMap<String, Arc<NodeObject>>,
    ) -> Self {
        let kept = kept_children(hyper_nodes);
        let mut domains: Vec<DomainNodes> = hyper_nodes
            .values()
            .map(|hyper_node| DomainNodes {
                name: Some(hyper_node.name.clone()),
                tier: hyper_node.tier,
                nodes: nodes_below(hyper_nodes, &kept, nodes, &hyper_node.name),
            })
            .collect();
        let highest = domains.iter().map(|domain| domain.tier).max();
        domains.push(DomainNodes {
            name: None,
            tier: highest.map_or(1, |tier| (tier + 1).max(1)),
            nodes: nodes.keys().cloned().collect(),
        });
        let mut named: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
        for hyper_node in hyper_nodes.values() {
            if !hyper_node.tier_name.is_empty() {
                let tiers = named.entry(hyper_node.tier_name.clone()).or_default();
                tiers.insert(hyper_node.tier);
            }
        }
        Self { domains, named }
    }

    /// The highest tier that will do; none where nobody can know which.
    #[must_use]
    pub fn highest_tier(&self, request: &TopologyRequest) -> Option<i64> {
        match request {
            TopologyRequest::Soft => Some(i64::MAX),
            TopologyRequest::Hard(HighestTier::Number(tier)) => Some(*tier),
            TopologyRequest::Hard(HighestTier::Missing | HighestTier::Label(_)) => None,
            TopologyRequest::Hard(HighestTier::Name(name)) => {
                let tiers = self.named.get(name).filter(|tiers| tiers.len() == 1);
                tiers.and_then(BTreeSet::first).copied()
            }
        }
    }

    /// Nodes with the same value of a label, in the order of values.
    #[must_use]
    pub fn of_label(nodes: &BTreeMap<String, Arc<NodeObject>>, key: &str) -> Vec<DomainNodes> {
        let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (name, node) in nodes {
            if let Some(value) = label(&node.labels, key) {
                values.entry(value).or_default().insert(name.clone());
            }
        }
        let domain = |(value, nodes): (&str, BTreeSet<String>)| DomainNodes {
            name: Some(format!("{key}={value}")),
            tier: 0,
            nodes,
        };
        values.into_iter().map(domain).collect()
    }

    /// Tier of the cluster.
    pub fn top(&self) -> i64 {
        self.cluster().tier
    }

    /// The lowest tier of all.
    pub fn bottom(&self) -> i64 {
        let tiers = self.domains.iter().map(|domain| domain.tier);
        tiers.min().unwrap_or(1)
    }

    /// All nodes.
    pub fn cluster(&self) -> &DomainNodes {
        &self.domains[self.domains.len() - 1]
    }

    /// The first domain of the lowest tier that contains these nodes: the cluster at the worst.
    pub fn smallest_around(&self, nodes: &BTreeSet<String>) -> &DomainNodes {
        let around = self.domains.iter().filter(|domain| domain.has_all(nodes));
        let smallest = around.min_by_key(|domain| domain.tier);
        smallest.unwrap_or_else(|| self.cluster())
    }
}

/// Children by parent, without what is left out: children of no lower tier, and those of two parents.
fn kept_children(
    hyper_nodes: &BTreeMap<String, HyperNodeObject>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut parents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for parent in hyper_nodes.values() {
        for child in hyper_nodes.values() {
            let claims = parent.members.iter().any(|member| match member {
                HyperNodeMembers::Child(name) => *name == child.name,
                HyperNodeMembers::ChildrenNamed(pattern) => has_pattern(pattern, &child.name),
                _ => false,
            });
            if claims && child.tier < parent.tier {
                parents.entry(&child.name).or_default().insert(&parent.name);
            }
        }
    }
    let mut kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (child, parents) in parents {
        if let (Some(parent), 1) = (parents.first(), parents.len()) {
            let children = kept.entry((*parent).to_owned()).or_default();
            children.insert(child.to_owned());
        }
    }
    kept
}

fn has_pattern(pattern: &str, name: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(name))
}

fn nodes_below(
    hyper_nodes: &BTreeMap<String, HyperNodeObject>,
    kept: &BTreeMap<String, BTreeSet<String>>,
    nodes: &BTreeMap<String, Arc<NodeObject>>,
    name: &str,
) -> BTreeSet<String> {
    let is_member = |node: &NodeObject| {
        let mut members = hyper_nodes[name].members.iter();
        members.any(|member| match member {
            HyperNodeMembers::Node(name) => *name == node.name,
            HyperNodeMembers::NodesNamed(pattern) => has_pattern(pattern, &node.name),
            HyperNodeMembers::NodesLabelled(selector) => {
                !selector.requirements.is_empty()
                    && selects(selector, |key| label(&node.labels, key))
            }
            _ => false,
        })
    };
    let own = nodes.values().filter(|node| is_member(node));
    let mut all: BTreeSet<String> = own.map(|node| node.name.clone()).collect();
    for child in kept.get(name).into_iter().flatten() {
        all.extend(nodes_below(hyper_nodes, kept, nodes, child));
    }
    all
}
