//! All nodes at once, each in so few words that thousands can be drawn.

use pumice_devices::LedgerTime;
use pumice_model::{NodeIx, State};
use serde::{Deserialize, Serialize};

use super::cards::{MEMORY, amount};
use super::top::percent;
use crate::view::pages::Pages;
use crate::wasted::free_of_node;

/// Nodes told of.
pub const MAX_CELLS: usize = 20_000;

/// A node of the map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCell {
    /// Name of the node.
    pub name: String,
    /// `Ready`, `Cordoned`, `NotReady` or `Tainted`.
    pub status: String,
    /// Pods that hold resources on it.
    pub pods: usize,
    /// The most used of its resources, in percent.
    pub percent: i64,
    /// Which resource that is; empty where nothing is used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// Shared cards it has.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cards: usize,
    /// Shared cards that somebody uses.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cards_in_use: usize,
    /// Shared cards that may not be given out.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cards_unhealthy: usize,
    /// Memory of its cards in use, in percent; 0 without cards.
    #[serde(default)]
    pub card_percent: i64,
    /// How much of the free memory of its cards is on cards that somebody uses, in percent: whoever asks for whole
    /// cards has none of that memory; 0 where none is free.
    #[serde(default)]
    pub card_pieces_percent: i64,
    /// How much of what is free of its cards is of use to no class of the mix of tasks, in percent; 0 where nothing is
    /// free, `None` where there is no mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_useless_percent: Option<i64>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
pub(super) fn is_none(count: &usize) -> bool {
    *count == 0
}

/// All nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeMapView {
    /// Nodes there are.
    pub total: usize,
    /// The first [`MAX_CELLS`] by name.
    pub nodes: Vec<NodeCell>,
    /// The last cycle.
    pub cycle: u64,
}

impl Pages<'_> {
    pub(super) fn node_map_view(&self) -> NodeMapView {
        let nodes = self.state.nodes();
        let mut all: Vec<NodeIx> = nodes.indices().collect();
        all.sort_unstable_by_key(|node| &nodes.object(*node).name);
        let total = all.len();
        all.truncate(MAX_CELLS);
        NodeMapView {
            total,
            nodes: all.into_iter().map(|node| self.node_cell(node)).collect(),
            cycle: self.cycle,
        }
    }

    fn node_cell(&self, node: NodeIx) -> NodeCell {
        let nodes = self.state.nodes();
        let resources = self.state.resources();
        let shares = resources.in_order().iter().filter_map(|ix| {
            let (used, all) = (nodes.used.get(*ix, node), nodes.allocatable.get(*ix, node));
            (all > 0 && used > 0).then(|| (percent(used, all), *ix))
        });
        // The first of several with the same share.
        let most = shares.reduce(|most, other| if other.0 > most.0 { other } else { most });
        let (mut used, mut memory, mut pieces) = (0, 0_i64, 0_i64);
        for (_, of) in nodes.devices[node.at()].families() {
            for at in 0..of.cards.len() {
                let held = amount(of, of.used(at, LedgerTime::Now), MEMORY);
                used = held.saturating_add(used);
                let capacity = amount(of, of.capacity(at), MEMORY);
                memory = memory.saturating_add(capacity);
                if of.is_in_use(at) {
                    pieces = pieces.saturating_add(capacity.saturating_sub(held).max(0));
                }
            }
        }
        let cards = self.card_counts(node);
        NodeCell {
            name: nodes.object(node).name.clone(),
            status: self.node_status(node).to_owned(),
            pods: self.pods_on(node),
            percent: most.map_or(0, |(percent, _)| percent),
            resource: most.map_or_else(String::new, |(_, ix)| resources.name(ix).to_owned()),
            cards: cards.all,
            cards_in_use: cards.in_use,
            cards_unhealthy: cards.unhealthy,
            card_percent: percent(used, memory),
            card_pieces_percent: percent(pieces, memory.saturating_sub(used).max(0)),
            card_useless_percent: useless_percent(self.state, node),
        }
    }
}

/// How much of what is free of the cards of a node is of use to no class of the mix; `None` where there is no mix.
fn useless_percent(state: &State, node: NodeIx) -> Option<i64> {
    let mix = state.supplies().devices().mix()?;
    let sums = free_of_node(state, mix, node);
    Some(percent(sums.useless, sums.free))
}
