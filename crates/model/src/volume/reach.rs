//! On which nodes a PersistentVolume or a storage capacity can be used, kept per set of rules:
//! local volumes and capacities are as many as nodes, so asking every node about each is too slow.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ix::NodeIx;
use crate::node::Nodes;
use crate::object::{NodeObject, NodeOp, NodeTerm, Selector, SelectorOp};
use crate::selector::{node_term_holds, pair, selects_pairs};

/// Nodes something can be used on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All.
    Everywhere,
    /// Not computed yet: none.
    Unknown,
    /// These, ascending.
    Nodes(Arc<[u32]>),
}

impl Reach {
    /// Whether a node is among them.
    pub fn contains(&self, node: NodeIx) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Unknown => false,
            Self::Nodes(nodes) => nodes.binary_search(&node.0).is_ok(),
        }
    }

    /// Calls `each` for every node.
    pub fn for_each(&self, nodes: &Nodes, mut each: impl FnMut(usize)) {
        match self {
            Self::Everywhere => (0..nodes.len()).for_each(each),
            Self::Unknown => {}
            Self::Nodes(nodes) => nodes.iter().for_each(|node| each(*node as usize)),
        }
    }
}

/// What limits the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReachLimits {
    /// Node affinity of a PersistentVolume; `None` limits nothing.
    Terms(Option<Vec<NodeTerm>>),
    /// Topology of a capacity; `None` allows nothing.
    Topology(Option<Selector>),
}

impl ReachLimits {
    fn hold(&self, node: &NodeObject) -> bool {
        match self {
            Self::Terms(None) => true,
            Self::Terms(Some(terms)) => terms.iter().any(|term| node_term_holds(term, node)),
            Self::Topology(None) => false,
            Self::Topology(Some(selector)) => selects_pairs(selector, &node.labels),
        }
    }

    /// A label and the values of which every node has one.
    fn narrowest(&self) -> Option<(&str, &[String])> {
        match self {
            Self::Terms(Some(terms)) => match terms.as_slice() {
                [term] => term.expressions.iter().find_map(|e| match &e.op {
                    NodeOp::In(values) => Some((e.key.as_str(), values.as_slice())),
                    _ => None,
                }),
                _ => None,
            },
            Self::Topology(Some(selector)) => {
                selector.requirements.iter().find_map(|r| match &r.op {
                    SelectorOp::In(values) => Some((r.key.as_str(), values.as_slice())),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

/// Dense index of a [`Reach`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReachIx(u32);

/// All reaches.
#[derive(Clone, Default)]
pub struct Reaches {
    limits: Vec<ReachLimits>,
    reach: Vec<Reach>,
    index: FxHashMap<ReachLimits, ReachIx>,
    /// How many are computed, and for which nodes.
    done: usize,
    node_epoch: u64,
}

/// Nodes by label value, for the labels that were asked for.
struct ByLabel<'a> {
    nodes: &'a Nodes,
    keys: FxHashMap<&'a str, FxHashMap<&'a str, Vec<u32>>>,
}

impl<'a> ByLabel<'a> {
    fn with(&mut self, key: &'a str, value: &str) -> &[u32] {
        let nodes = self.nodes;
        let values = self.keys.entry(key).or_insert_with(|| {
            let mut values: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
            for node in nodes.indices() {
                if let Some(value) = pair(&nodes.object(node).labels, key) {
                    values.entry(value).or_default().push(node.0);
                }
            }
            values
        });
        values.get(value).map_or(&[], Vec::as_slice)
    }
}

impl Reaches {
    /// The index of limits; [`Reaches::refresh`] must follow before it is read.
    pub fn intern(&mut self, limits: ReachLimits) -> ReachIx {
        if let Some(&ix) = self.index.get(&limits) {
            return ix;
        }
        let ix = ReachIx(self.limits.len() as u32);
        self.limits.push(limits.clone());
        self.index.insert(limits, ix);
        ix
    }

    /// The nodes.
    pub fn get(&self, ix: ReachIx) -> &Reach {
        self.reach.get(ix.0 as usize).unwrap_or(&Reach::Unknown)
    }

    /// How many there are, with those nobody uses any more.
    pub fn len(&self) -> usize {
        self.limits.len()
    }

    /// Computes what is new, or everything when nodes have changed.
    pub fn refresh(&mut self, nodes: &Nodes) {
        if self.node_epoch != nodes.static_epoch() {
            self.node_epoch = nodes.static_epoch();
            self.done = 0;
            self.reach.clear();
        }
        let keys = FxHashMap::default();
        let mut labels = ByLabel { nodes, keys };
        for limits in &self.limits[self.done..] {
            self.reach.push(reach_of(limits, &mut labels));
        }
        self.done = self.limits.len();
    }
}

fn reach_of<'a>(limits: &'a ReachLimits, labels: &mut ByLabel<'a>) -> Reach {
    if *limits == ReachLimits::Terms(None) {
        return Reach::Everywhere;
    }
    let nodes = labels.nodes;
    let mut found: Vec<u32> = match limits.narrowest() {
        Some((key, values)) => {
            let mut found = Vec::new();
            for value in values {
                found.extend_from_slice(labels.with(key, value));
            }
            found
        }
        None => nodes.indices().map(|node| node.0).collect(),
    };
    found.retain(|node| limits.hold(nodes.object(NodeIx(*node))));
    found.sort_unstable();
    found.dedup();
    Reach::Nodes(found.into())
}
