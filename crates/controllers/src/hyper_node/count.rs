//! How many nodes are below a HyperNode.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use pumice_api::HyperNode;
use pumice_api::hyper_node::{HyperNodeMember, MemberSelector};
use regex::Regex;

type NodeNames<'a> = BTreeSet<&'a str>;

/// Nodes that there are below each HyperNode, by name. Names nobody has, and HyperNodes inside
/// themselves, count nothing.
pub fn node_counts<'a>(
    hyper_nodes: impl Iterator<Item = &'a HyperNode>,
    nodes: impl Iterator<Item = &'a ObjectMeta>,
) -> BTreeMap<&'a str, i64> {
    let name = |meta: &'a ObjectMeta| meta.name.as_deref().unwrap_or_default();
    let mut counting = NodeCounting {
        hyper_nodes: hyper_nodes.map(|one| (name(&one.metadata), one)).collect(),
        nodes: nodes.map(|node| (name(node), node)).collect(),
        below: BTreeMap::new(),
        open: BTreeSet::new(),
    };
    let names: Vec<&str> = counting.hyper_nodes.keys().copied().collect();
    for name in &names {
        counting.look(name);
    }
    let count = |name| {
        let below: Option<&NodeNames<'_>> = counting.below.get(name);
        i64::try_from(below.map_or(0, BTreeSet::len)).unwrap_or(i64::MAX)
    };
    names.into_iter().map(|name| (name, count(name))).collect()
}

struct NodeCounting<'a> {
    hyper_nodes: BTreeMap<&'a str, &'a HyperNode>,
    nodes: BTreeMap<&'a str, &'a ObjectMeta>,
    below: BTreeMap<&'a str, NodeNames<'a>>,
    /// Those being looked at.
    open: BTreeSet<&'a str>,
}

impl<'a> NodeCounting<'a> {
    fn look(&mut self, name: &'a str) {
        if self.below.contains_key(name) || !self.open.insert(name) {
            return;
        }
        let mut found = NodeNames::new();
        if let Some(hyper_node) = self.hyper_nodes.get(name).copied() {
            for member in &hyper_node.spec.members {
                match member.kind.as_str() {
                    "Node" => found.extend(self.nodes_of(member)),
                    "HyperNode" => {
                        for child in self.children_of(member) {
                            self.look(child);
                            found.extend(self.below.get(child).into_iter().flatten());
                        }
                    }
                    _ => {}
                }
            }
        }
        self.open.remove(name);
        self.below.insert(name, found);
    }

    fn nodes_of(&self, member: &HyperNodeMember) -> NodeNames<'a> {
        let selector = member.selector.clone().unwrap_or_default();
        let MemberSelector {
            exact_match,
            regex_match,
            label_match,
        } = selector;
        if let Some(exact) = exact_match {
            let found = self.nodes.get_key_value(exact.name.as_str());
            return found.map(|(name, _)| *name).into_iter().collect();
        }
        if let Some(pattern) = regex_match.and_then(|one| Regex::new(&one.pattern).ok()) {
            let names = self.nodes.keys().copied();
            return names.filter(|name| pattern.is_match(name)).collect();
        }
        let Some(wanted) = label_match else {
            return NodeNames::new();
        };
        let nodes = self.nodes.iter();
        let fits = nodes.filter(|(_, node)| has_labels(node, &wanted));
        fits.map(|(name, _)| *name).collect()
    }

    fn children_of(&self, member: &HyperNodeMember) -> Vec<&'a str> {
        let selector = member.selector.clone().unwrap_or_default();
        if let Some(exact) = selector.exact_match {
            let found = self.hyper_nodes.get_key_value(exact.name.as_str());
            return found.map(|(name, _)| *name).into_iter().collect();
        }
        let pattern = selector.regex_match;
        let Some(pattern) = pattern.and_then(|one| Regex::new(&one.pattern).ok()) else {
            return Vec::new();
        };
        let names = self.hyper_nodes.keys().copied();
        names.filter(|name| pattern.is_match(name)).collect()
    }
}

/// A selector that says nothing fits every node.
fn has_labels(node: &ObjectMeta, wanted: &LabelSelector) -> bool {
    let value = |key: &str| node.labels.as_ref()?.get(key);
    let mut labels = wanted.match_labels.iter().flatten();
    let mut expressions = wanted.match_expressions.iter().flatten();
    labels.all(|(key, wanted)| value(key) == Some(wanted))
        && expressions.all(|one| {
            let values = one.values.as_deref().unwrap_or_default();
            let found = value(&one.key);
            let is_in = found.is_some_and(|found| values.contains(found));
            match one.operator.as_str() {
                "In" => is_in,
                "NotIn" => !is_in,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}
