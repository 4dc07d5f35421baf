//! How many pods of a class could be placed at once, at most.

use pumice_framework::PluginChain;
use pumice_model::{NeedIx, NodeIx, Nodes, ResVec, State, TaskIx};

use super::index::ClassIndex;
use super::{Kernel, Met};

/// Places for pods of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceCount {
    /// There are not more.
    pub most: u64,
    /// Filters over several nodes took part: what leaves one node may make places on others.
    pub spans_nodes: bool,
}

impl Kernel {
    /// Counts the places for pods like this one, what is being released included. Never too few: filters
    /// whose refusals do not last are left out, and so is what the pods would do to each other beyond the
    /// resources they ask.
    pub fn places(&mut self, state: &mut State, chain: &PluginChain, task: TaskIx) -> PlaceCount {
        self.forget_if_stale(state);
        let (id, class) = self.class_of(state, chain, task);
        if class.key.volumes != NeedIx::NONE {
            // What a placement does to its volumes may help another.
            let class = class.make(state);
            let fixed = self.fixed_part(state, chain, &class);
            self.effort += state.nodes.len() as u64;
            let barred = |node: NodeIx| fixed.verdict[node.at()].is_some();
            return PlaceCount {
                most: count(&state.nodes, &class.shape.request, |node| !barred(node)),
                spans_nodes: false,
            };
        }
        if self.refusal(state, chain, id, &class).is_some() {
            return PlaceCount {
                most: 0,
                spans_nodes: false,
            };
        }
        let known = self.indexes.remove(&id);
        self.bytes -= known.as_ref().map_or(0, |index| index.bytes());
        let volumes_epoch = state.volumes.epoch(class.key.volumes);
        let known = known.filter(|index| index.volumes_epoch == volumes_epoch);
        let index = match known {
            Some(index) => Some(index),
            None => {
                let class = class.clone().make(state);
                match self.meet(state, chain, class, false) {
                    Met::Index(index) => Some(index),
                    Met::Found(_) => None,
                }
            }
        };
        let Some(mut index) = index else {
            return PlaceCount {
                most: u64::MAX,
                spans_nodes: true,
            };
        };
        index.volumes_epoch = volumes_epoch;
        self.questions += 1;
        index.last_used = self.questions;
        index.catch_up(state, &mut self.reasons, &mut self.scratch);
        let found = index.places(&state.nodes, &class.make(state).shape.request);
        self.effort += std::mem::take(&mut index.effort);
        self.bytes += index.bytes();
        self.indexes.insert(id, index);
        self.stay_within_budget();
        found
    }
}

impl ClassIndex {
    /// See [`Kernel::places`]. [`ClassIndex::catch_up`] must have been called.
    fn places(&self, nodes: &Nodes, request: &ResVec) -> PlaceCount {
        if !self.is_lasting() {
            return PlaceCount {
                most: count(nodes, request, |node| self.is_allowed(node)),
                spans_nodes: false,
            };
        }
        let spans_nodes = self.lasting_cells().is_some();
        let most = match self.fitting() {
            0 => 0,
            _ => count(nodes, request, |node| self.fits(node)),
        };
        PlaceCount { most, spans_nodes }
    }
}

/// Pods with a request that the nodes of a kind have room for, once resources are released.
fn count(nodes: &Nodes, request: &ResVec, counts: impl Fn(NodeIx) -> bool) -> u64 {
    let asked: Vec<_> = request.iter().filter(|(_, amount)| *amount > 0).collect();
    let on_node = |node: NodeIx| -> u64 {
        let each = asked.iter().map(|(ix, amount)| {
            let idle = nodes.future_idle(*ix, node).max(0);
            (idle / amount).unsigned_abs()
        });
        each.min().unwrap_or(u64::from(u32::MAX))
    };
    let fitting = nodes.indices().filter(|node| counts(*node));
    fitting.map(on_node).fold(0, u64::saturating_add)
}
