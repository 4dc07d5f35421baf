//! Inter-pod affinity and anti-affinity, as filter and as scorer (spec/02 §6.8, §8.5).

use std::collections::{BTreeMap, BTreeSet};

use pumice_model::object::{NodeObject, PodObject, PodTerm};

use super::state::{World, label, selects, selects_pod};

/// A node label and its value.
type Pair = (String, String);

/// The term selects the pod.
pub fn term_selects(world: &World, term: &PodTerm, pod: &PodObject) -> bool {
    let labels = world.namespaces.get(&pod.namespace);
    let find = |key: &str| labels.and_then(|labels| labels.get(key).map(String::as_str));
    let by_name = term.namespaces.contains(&pod.namespace);
    let by_labels = || {
        let selector = term.namespace_selector.as_ref();
        selector.is_some_and(|selector| selects(selector, find))
    };
    (by_name || by_labels()) && selects_pod(term.selector.as_ref(), pod)
}

/// The domain a node is in under that key.
fn pair(node: &NodeObject, key: &str) -> Option<Pair> {
    label(&node.labels, key).map(|value| (key.to_owned(), value.to_owned()))
}

/// All pods the known nodes show, with their nodes.
fn placed(world: &World) -> Vec<(&PodObject, &NodeObject)> {
    let of_node = |node: &NodeObject| world.tasks_on(&node.name);
    let nodes = world.nodes.values();
    nodes
        .flat_map(|node| {
            of_node(node)
                .into_iter()
                .map(move |task| (&*task.pod, &**node))
        })
        .collect()
}

/// Domains that matter to one pod, by what is placed there.
pub struct Company {
    /// A pod that its required affinity asks for is there.
    wanted: BTreeSet<Pair>,
    /// A pod that its required anti-affinity avoids is there.
    unwanted: BTreeSet<Pair>,
    /// A pod is there that avoids it.
    forbidden: BTreeSet<Pair>,
}

impl Company {
    /// Looks at all pods there are.
    pub fn of(world: &World, pod: &PodObject) -> Self {
        let mut wanted = BTreeSet::new();
        let mut unwanted = BTreeSet::new();
        let mut forbidden = BTreeSet::new();
        for (other, place) in placed(world) {
            let mut all = pod.affinity.iter();
            if all.all(|term| term_selects(world, term, other)) {
                let terms = pod.affinity.iter();
                wanted.extend(terms.filter_map(|term| pair(place, &term.topology_key)));
            }
            for term in &pod.anti_affinity {
                if term_selects(world, term, other) {
                    unwanted.extend(pair(place, &term.topology_key));
                }
            }
            for term in &other.anti_affinity {
                if term_selects(world, term, pod) {
                    forbidden.extend(pair(place, &term.topology_key));
                }
            }
        }
        Self {
            wanted,
            unwanted,
            forbidden,
        }
    }

    /// Required affinity, required anti-affinity, and that of the pods already there, let the pod
    /// onto the node.
    pub fn lets(&self, world: &World, pod: &PodObject, node: &NodeObject) -> bool {
        let is_in = |set: &BTreeSet<Pair>, term: &PodTerm| {
            pair(node, &term.topology_key).is_some_and(|pair| set.contains(&pair))
        };
        let mut affinity = pod.affinity.iter();
        let has_keys = affinity.all(|term| pair(node, &term.topology_key).is_some());
        let mut affinity = pod.affinity.iter();
        let is_first = self.wanted.is_empty() && affinity.all(|t| term_selects(world, t, pod));
        let mut affinity = pod.affinity.iter();
        let mut anti_affinity = pod.anti_affinity.iter();
        has_keys
            && (is_first || affinity.all(|term| is_in(&self.wanted, term)))
            && !anti_affinity.any(|term| is_in(&self.unwanted, term))
            && !node.labels.iter().any(|l| self.forbidden.contains(l))
    }
}

/// Scores 0..=100 of the nodes, in their order.
pub fn scores(world: &World, pod: &PodObject, nodes: &[&NodeObject]) -> Vec<i64> {
    let mut weights: BTreeMap<Pair, i64> = BTreeMap::new();
    let mut weigh = |term: &PodTerm, place: &NodeObject, weight: i64| {
        if let Some(pair) = pair(place, &term.topology_key) {
            *weights.entry(pair).or_insert(0) += weight;
        }
    };
    for (other, place) in placed(world) {
        for (owner, target) in [(pod, other), (other, pod)] {
            for (weight, term) in &owner.preferred_affinity {
                if term_selects(world, term, target) {
                    weigh(term, place, i64::from(*weight));
                }
            }
            for (weight, term) in &owner.preferred_anti_affinity {
                if term_selects(world, term, target) {
                    weigh(term, place, -i64::from(*weight));
                }
            }
        }
    }
    let raw: Vec<i64> = nodes
        .iter()
        .map(|node| {
            let labels = node.labels.iter();
            labels.filter_map(|label| weights.get(label)).sum()
        })
        .collect();
    let min = raw.iter().min().copied().unwrap_or(0);
    let max = raw.iter().max().copied().unwrap_or(0);
    let scale = |raw: i64| {
        if max == min {
            0
        } else {
            // Kubernetes divides in floating point here.
            (100.0 * ((raw - min) as f64 / (max - min) as f64)) as i64
        }
    };
    raw.into_iter().map(scale).collect()
}
