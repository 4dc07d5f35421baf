//! The network as a tree of domains (spec/08 §2): what HyperNodes say, checked and resolved against the
//! nodes there are. Without HyperNodes labels of nodes may say the same.
//!
//! The tree is made anew when a HyperNode changes, and when a node comes, goes or gets other labels.

mod around;
mod build;
mod labelled;
mod labels;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use around::DomainList;
use labelled::LabelDomains;

use crate::ix::{DomainIx, NodeIx};
use crate::node::Nodes;
use crate::object::{HighestTier, HyperNodeObject, TopologyRequest};

/// How the cluster is called where domains are named.
pub const CLUSTER: &str = "<cluster-top-hypernode>";
/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

/// The pattern of a member, which may match anywhere in a name.
///
/// # Errors
/// What is wrong with it: its grammar, or its size once compiled (1 MiB).
pub fn name_pattern(text: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    let made = builder.size_limit(PATTERN_BYTES).build();
    made.map_err(|error| error.to_string().replace('\n', " "))
}

/// A set of nodes with a tier (spec/08 §1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkDomain {
    /// Name of its HyperNode, label and values, or [`CLUSTER`].
    pub name: Box<str>,
    /// Lower is faster.
    pub tier: i64,
    /// Nodes of the domain, in order.
    pub nodes: Arc<[NodeIx]>,
}

/// A member of a HyperNode that is left out, a name of a tier, or that there are no members (spec/08 §2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyperNodeFault {
    /// Name of the HyperNode that says so.
    pub hyper_node: Box<str>,
    /// What is wrong, and what to do.
    pub message: String,
}

/// HyperNodes, and the domains they make.
#[derive(Clone, Default)]
pub struct NetworkTree {
    objects: BTreeMap<String, HyperNodeObject>,
    /// Keys of labels that make domains while there are no HyperNodes, lowest tier first.
    labels: Vec<String>,
    /// By tier, then by name; the cluster is last.
    domains: Vec<NetworkDomain>,
    /// Domains that each node is in, in order.
    of_node: Vec<DomainList>,
    /// Domains that contain each domain, itself and the cluster among them.
    around: Vec<DomainList>,
    /// By name; those that stand for several tiers stand for none.
    tiers: BTreeMap<String, Option<i64>>,
    /// In order.
    faults: Vec<HyperNodeFault>,
    /// Domains of labels that PodGroups name themselves.
    labelled: LabelDomains,
    /// Labels that are named since.
    named: BTreeSet<String>,
    is_built: bool,
    epoch: u64,
}

impl NetworkTree {
    /// All domains, by tier and then by name; the cluster is last.
    pub fn domains(&self) -> &[NetworkDomain] {
        &self.domains
    }

    /// The domain with this index.
    pub fn domain(&self, ix: DomainIx) -> &NetworkDomain {
        let of_tree = self.domains.get(ix.at());
        of_tree.unwrap_or_else(|| self.labelled.get(ix))
    }

    /// The nodes of a domain, in order.
    pub fn nodes(&self, ix: DomainIx) -> &Arc<[NodeIx]> {
        &self.domain(ix).nodes
    }

    /// The domains a node is in, in order; the last one is the cluster.
    pub fn of_node(&self, node: NodeIx) -> &[DomainIx] {
        &self.of_node[node.at()]
    }

    /// The domains of labels a node is in that PodGroups name themselves, in order.
    pub fn labels_of_node(&self, node: NodeIx) -> &[DomainIx] {
        self.labelled.of_node(node)
    }

    /// The cluster as a domain.
    pub fn cluster(&self) -> DomainIx {
        DomainIx(self.domains.len() as u32 - 1)
    }

    /// Whether there are domains besides the cluster.
    pub fn has_domains(&self) -> bool {
        self.domains.len() > 1
    }

    /// Keys of labels that make domains while there are no HyperNodes, lowest tier first.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// HyperNodes as they were last seen, by name.
    pub fn objects(&self) -> impl Iterator<Item = &HyperNodeObject> {
        self.objects.values()
    }

    /// Names of tiers that can be asked for, in order.
    pub fn tier_names(&self) -> impl Iterator<Item = &str> {
        let known = self.tiers.iter().filter(|(_, tier)| tier.is_some());
        known.map(|(name, _)| name.as_str())
    }

    /// A HyperNode as it was last seen.
    pub fn object(&self, name: &str) -> Option<&HyperNodeObject> {
        self.objects.get(name)
    }

    /// What is left out of the tree, by HyperNode.
    pub fn faults(&self) -> &[HyperNodeFault] {
        &self.faults
    }

    /// What is left out of one HyperNode.
    pub fn faults_of(&self, hyper_node: &str) -> &[HyperNodeFault] {
        let start = self
            .faults
            .partition_point(|fault| *fault.hyper_node < *hyper_node);
        let own = &self.faults[start..];
        let count = own.partition_point(|fault| *fault.hyper_node == *hyper_node);
        &own[..count]
    }

    /// Moves when domains may have changed.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The highest tier a request allows.
    ///
    /// # Errors
    /// A hard request that names no tier, or one that nobody has.
    pub fn highest_tier(&self, request: &TopologyRequest) -> Result<i64, TierProblem> {
        match request {
            TopologyRequest::Soft => Ok(i64::MAX),
            TopologyRequest::Hard(HighestTier::Number(tier)) => Ok(*tier),
            TopologyRequest::Hard(HighestTier::Missing) => Err(TierProblem::Missing),
            TopologyRequest::Hard(HighestTier::Label(key)) => {
                match self.labelled.of_key(key).next() {
                    Some(_) => Ok(0),
                    None => Err(TierProblem::Unlabelled(key.clone())),
                }
            }
            TopologyRequest::Hard(HighestTier::Name(name)) => match self.tiers.get(name) {
                Some(Some(tier)) => Ok(*tier),
                Some(None) => Err(TierProblem::Ambiguous(name.clone())),
                None => Err(TierProblem::Unknown(name.clone())),
            },
        }
    }

    /// Domains in which a request may be kept around all of some nodes, in order; of those without nodes none.
    ///
    /// # Errors
    /// Why there cannot be any.
    pub fn allowed(
        &self,
        request: &TopologyRequest,
        nodes: &[NodeIx],
    ) -> Result<Vec<DomainIx>, TierProblem> {
        let highest = self.highest_tier(request)?;
        let TopologyRequest::Hard(HighestTier::Label(key)) = request else {
            return Ok(self.containing(nodes, highest));
        };
        let holds_all = |ix: &DomainIx| nodes.iter().all(|node| self.holds(*ix, *node));
        Ok(self.labelled.of_key(key).filter(holds_all).collect())
    }

    /// Domains of at most a tier that contain all of some nodes, in order; of those without nodes none.
    pub fn containing(&self, nodes: &[NodeIx], highest: i64) -> Vec<DomainIx> {
        let allowed = |ix: &DomainIx| {
            let domain = self.domain(*ix);
            domain.tier <= highest && !domain.nodes.is_empty()
        };
        let Some((first, others)) = nodes.split_first() else {
            let all = (0..self.domains.len() as u32).map(DomainIx);
            return all.filter(allowed).collect();
        };
        let holds_all = |ix: &DomainIx| others.iter().all(|node| self.holds(*ix, *node));
        let around = self.of_node(*first).iter().copied();
        around.filter(allowed).filter(holds_all).collect()
    }

    /// Whether a node is in a domain.
    pub fn holds(&self, domain: DomainIx, node: NodeIx) -> bool {
        let of_node = match domain.at() < self.domains.len() {
            true => self.of_node(node),
            false => self.labels_of_node(node),
        };
        of_node.binary_search(&domain).is_ok()
    }

    /// The domains that contain all nodes of one, itself and the cluster among them, in order.
    pub fn around(&self, inner: DomainIx) -> &[DomainIx] {
        let of_tree = self.around.get(inner.at());
        of_tree.map_or_else(|| self.labelled.around(inner), |list| list.as_slice())
    }

    /// Whether all nodes of a domain are in another.
    pub fn is_within(&self, inner: DomainIx, outer: DomainIx) -> bool {
        self.around(inner).binary_search(&outer).is_ok()
    }

    /// Whether a domain is that of a label which a PodGroup names itself.
    pub fn is_of_label(&self, domain: DomainIx) -> bool {
        domain.at() >= self.domains.len()
    }

    /// Whether a domain is within another, or is that of a label and has nodes there.
    pub fn has_part_within(&self, inner: DomainIx, outer: DomainIx) -> bool {
        let is_there = |node: &NodeIx| self.holds(outer, *node);
        self.is_within(inner, outer)
            || (self.is_of_label(inner) && self.nodes(inner).iter().any(is_there))
    }

    pub(crate) fn apply(&mut self, object: HyperNodeObject) -> bool {
        let old = self.objects.insert(object.name.clone(), object.clone());
        let changed = old != Some(object);
        self.is_built &= !changed;
        changed
    }

    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let changed = self.objects.remove(name).is_some();
        self.is_built &= !changed;
        changed
    }

    /// Takes the keys of labels that make domains while there are no HyperNodes, lowest tier first. Whether
    /// they are others.
    pub(crate) fn set_labels(&mut self, labels: &[String]) -> bool {
        let changed = self.labels != labels;
        self.labels = labels.to_vec();
        self.is_built &= !changed;
        changed
    }

    /// A node has come or gone, or has other labels.
    pub(crate) fn forget_nodes(&mut self) {
        self.is_built = false;
    }

    /// A PodGroup names a label.
    pub(crate) fn name_label(&mut self, key: &str) {
        if !self.named.contains(key) {
            self.named.insert(key.to_owned());
        }
    }

    /// Brings the tree in step with HyperNodes and nodes, and domains of labels with those that `named` tells all
    /// of.
    pub(crate) fn seal<'k>(&mut self, nodes: &Nodes, named: impl FnOnce() -> BTreeSet<&'k str>) {
        let new = std::mem::take(&mut self.named);
        if self.is_built && !self.labelled.is_full() {
            new.iter().for_each(|key| self.labelled.add(key, nodes));
            return;
        }
        if self.is_built && new.is_empty() {
            return;
        }
        let built = match self.objects.is_empty() {
            true => build::build(&labels::hyper_nodes(&self.labels, nodes), nodes),
            false => build::build(&self.objects, nodes),
        };
        self.domains = built.domains;
        self.tiers = built.tiers;
        self.faults = built.faults;
        self.of_node = vec![DomainList::new(); nodes.len()];
        for (at, domain) in self.domains.iter().enumerate() {
            for node in domain.nodes.iter() {
                self.of_node[node.at()].push(DomainIx(at as u32));
            }
        }
        self.around = around::around(&self.domains, &self.of_node);
        self.labelled.renew(&named(), nodes, self.domains.len());
        self.is_built = true;
        self.epoch += 1;
    }
}

/// Why a hard request cannot be kept (spec/08 §3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TierProblem {
    /// It names no tier.
    Missing,
    /// No HyperNode has a tier of this name.
    Unknown(String),
    /// HyperNodes of several tiers carry this name.
    Ambiguous(String),
    /// No node has this label.
    Unlabelled(String),
}
