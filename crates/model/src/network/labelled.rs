//! Domains of labels that PodGroups name themselves: nodes with the same value of one label (spec/08 §3.1).
//!
//! They stand behind those of the tree: no tier has them, no HyperNode is around them, and only who names the label
//! is placed in them. A label that no node has costs a key and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::NetworkDomain;
use super::around::DomainList;
use crate::ix::{DomainIx, NodeIx};
use crate::node::Nodes;
use crate::selector::pair;

/// Labels kept before those are looked for that nobody names any more.
const SPARE_LABELS: usize = 256;

/// Domains of labels.
#[derive(Clone, Default)]
pub(super) struct LabelDomains {
    /// Domains of the tree, which come first.
    base: u32,
    /// Which of the domains each label makes.
    by_key: BTreeMap<String, Range<u32>>,
    /// Label by label, in the order of values.
    domains: Vec<NetworkDomain>,
    /// The cluster and the domain itself, of each domain.
    around: Vec<[DomainIx; 2]>,
    /// Domains that each node is in, in order.
    of_node: Vec<DomainList>,
    /// Labels that somebody named when all were made anew.
    kept: usize,
}

impl LabelDomains {
    /// Where a domain is, if it is none of the tree.
    fn at(&self, ix: DomainIx) -> usize {
        (ix.0 - self.base) as usize
    }

    /// A domain that is none of the tree.
    pub(super) fn get(&self, ix: DomainIx) -> &NetworkDomain {
        &self.domains[self.at(ix)]
    }

    /// The cluster, and the domain itself, which is none of the tree.
    pub(super) fn around(&self, ix: DomainIx) -> &[DomainIx] {
        &self.around[self.at(ix)]
    }

    /// The domains of a label.
    pub(super) fn of_key(&self, key: &str) -> impl Iterator<Item = DomainIx> + use<> {
        let known = self.by_key.get(key).cloned();
        known.unwrap_or_default().map(DomainIx)
    }

    /// The domains that a node is in, in order.
    pub(super) fn of_node(&self, node: NodeIx) -> &[DomainIx] {
        self.of_node
            .get(node.at())
            .map_or(&[], |list| list.as_slice())
    }

    /// Whether there may be many labels that nobody names any more.
    pub(super) fn is_full(&self) -> bool {
        self.by_key.len() > 2 * self.kept + SPARE_LABELS
    }

    /// Makes the domains of labels anew, behind as many of the tree.
    pub(super) fn renew(&mut self, keys: &BTreeSet<&str>, nodes: &Nodes, base: usize) {
        *self = Self {
            base: base as u32,
            kept: keys.len(),
            of_node: match keys.is_empty() {
                true => Vec::new(),
                false => vec![DomainList::new(); nodes.len()],
            },
            ..Self::default()
        };
        keys.iter().for_each(|key| self.add(key, nodes));
    }

    /// Makes the domains of another label; the others keep their places.
    pub(super) fn add(&mut self, key: &str, nodes: &Nodes) {
        if self.by_key.contains_key(key) {
            return;
        }
        let mut values: BTreeMap<&str, Vec<NodeIx>> = BTreeMap::new();
        for node in nodes.indices() {
            if let Some(value) = pair(&nodes.object(node).labels, key) {
                values.entry(value).or_default().push(node);
            }
        }
        self.of_node.resize(nodes.len(), DomainList::new());
        let from = self.base + self.domains.len() as u32;
        let cluster = DomainIx(self.base - 1);
        for (ix, (value, members)) in (from..).map(DomainIx).zip(values) {
            let lists = members.iter();
            lists.for_each(|node| self.of_node[node.at()].push(ix));
            self.around.push([cluster, ix]);
            self.domains.push(NetworkDomain {
                name: format!("{key}={value}").into(),
                tier: 0,
                nodes: members.into(),
            });
        }
        let to = self.base + self.domains.len() as u32;
        self.by_key.insert(key.to_owned(), from..to);
    }
}
