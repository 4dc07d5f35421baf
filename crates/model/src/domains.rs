//! Topology domains: which nodes share the value of a label.

use rustc_hash::FxHashMap;

use crate::node::Nodes;
use crate::selector::pair;

/// Domain of every node under a topology key, and the nodes of every domain.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    /// Per node: dense domain number, or [`Domains::NONE`] when the node lacks the label.
    pub of_node: Vec<u32>,
    /// Number of domains.
    pub count: usize,
}

impl Domains {
    /// The node lacks the label.
    pub const NONE: u32 = u32::MAX;

    /// Domains of a key that no node has.
    pub fn none(nodes: usize) -> Self {
        Self {
            of_node: vec![Self::NONE; nodes],
            count: 0,
        }
    }

    /// Domains of a topology key over all nodes, numbered in order of first appearance.
    pub fn of(nodes: &Nodes, key: &str) -> Self {
        let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
        let of_node = nodes
            .indices()
            .map(|node| match pair(&nodes.object(node).labels, key) {
                Some(value) => {
                    let next = numbers.len() as u32;
                    *numbers.entry(value).or_insert(next)
                }
                None => Self::NONE,
            })
            .collect();
        Self {
            of_node,
            count: numbers.len(),
        }
    }
}
