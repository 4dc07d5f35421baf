//! How many places there are for pods of a class that jobs wait with.

use pumice_model::{NodeIx, Nodes, ResIx};
use smallvec::SmallVec;

use crate::points::{ClassKey, Signature};

/// Number of a group while it has members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SleepGroupIx(pub(super) u32);

/// `minResources`: resource and amount in stored units, without zeros.
pub type Minimum = SmallVec<[(ResIx, i64); 4]>;

/// What pods of a class have in common.
pub type PodClass = (ClassKey, Signature);

/// A class of pods that some group waits with; of none when nobody does any more.
#[derive(Debug)]
pub(super) struct WaitingClass {
    pub(super) is: PodClass,
    pub(super) request: Minimum,
    /// There are at most so many places; `None`: not known.
    pub(super) most: Option<u64>,
    /// End of the touch log when they were counted.
    pub(super) counted_at: u64,
    /// A pod that leaves one node may make room on others.
    pub(super) spans_nodes: bool,
    /// Groups that wait for places anywhere.
    pub(super) groups: Vec<SleepGroupIx>,
    /// Groups that wait for places in some domains of the network.
    pub(super) in_domains: Vec<SleepGroupIx>,
}

impl WaitingClass {
    pub(super) fn groups(&mut self, keeps_to_domains: bool) -> &mut Vec<SleepGroupIx> {
        match keeps_to_domains {
            true => &mut self.in_domains,
            false => &mut self.groups,
        }
    }

    pub(super) fn is_unused(&self) -> bool {
        self.groups.is_empty() && self.in_domains.is_empty()
    }

    /// Places on a node, as far as resources go.
    pub(super) fn on_node(&self, nodes: &Nodes, node: NodeIx) -> u64 {
        let each = self.request.iter().map(|(ix, amount)| {
            let idle = nodes.future_idle(*ix, node).max(0);
            (idle / amount).unsigned_abs()
        });
        each.min().unwrap_or(u64::from(u32::MAX))
    }

    /// Takes touched nodes into account: whether there may be more places.
    pub(super) fn look_at(&mut self, nodes: &Nodes, touched: &TouchedNodes) -> bool {
        let touched = match touched {
            touched if touched.is_none() => return false,
            TouchedNodes::Some(touched) if !self.spans_nodes => touched,
            _ => {
                self.most = None;
                return true;
            }
        };
        let more: u64 = touched
            .iter()
            .map(|node| self.on_node(nodes, *node))
            .fold(0, u64::saturating_add);
        self.most = self.most.map(|most| most.saturating_add(more));
        more > 0
    }
}

/// Nodes that were touched.
pub(super) enum TouchedNodes {
    /// These.
    Some(Vec<NodeIx>),
    /// More than are worth listing.
    Any,
}

impl TouchedNodes {
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Some(nodes) if nodes.is_empty())
    }
}
