//! What nodes would be left with if a pod took cards there: how much of what is free would be of use to nobody
//! (docs/spec/10-fragmentation.md §5).

use pumice_actions::nodes_with_room;
use pumice_devices::mix::{WEIGHTS, WHOLE};
use pumice_devices::{AskedRoom, DeviceMix, LedgerTime, Load, NodeDevices, NodeRoom};
use pumice_model::device::{MixAmounts, amounts_of, free_on};
use pumice_model::{NodeIx, TaskIx};
use serde::{Deserialize, Serialize};

use crate::view::pages::Pages;

/// Nodes that are told of one pod.
const MAX_TOLD: usize = 3;

/// What a node would be left with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLeaves {
    /// Name of the node.
    pub node: String,
    /// The pod is there already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub here: bool,
    /// Cards that would be free and of no use there, with the pod: on average over the tasks of the mix.
    pub useless_cards: f64,
    /// How many more than without the pod; less than nothing where it takes what is of no use to others.
    pub added_cards: f64,
}

impl std::fmt::Display for NodeLeaves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let here = if self.here { ", where it is" } else { "" };
        write!(
            f,
            "{}{here}: {:.2} free cards of no use ({:+.2} by this pod)",
            self.node, self.useless_cards, self.added_cards
        )
    }
}

impl Pages<'_> {
    /// What a pod that asks for cards of one family leaves on its node, and would leave on the best others that have
    /// room as things stand.
    pub(super) fn leaves(&self, ix: TaskIx) -> Vec<NodeLeaves> {
        let devices = self.state.supplies().devices();
        let task = self.state.task(ix);
        let demand = devices.demand(task.demand);
        let (Some(mix), [(family, _)]) = (devices.mix(), demand.parts.as_slice()) else {
            return Vec::new();
        };
        let is_over = task.status.load().is_none() && !task.status.is_undecided();
        if is_over || mix.families().all(|known| known != *family) {
            return Vec::new();
        }
        let own = task
            .node
            .and_then(|node| self.left_here(mix, ix, (node, *family)));
        let mut told: Vec<NodeLeaves> = own.into_iter().collect();
        let others = nodes_with_room(self.state, self.plugins, ix);
        let others = others.into_iter().map(|(node, _)| node);
        let others = others.filter(|node| Some(*node) != task.node);
        let left = others.filter_map(|node| self.left_there(mix, ix, (node, *family)));
        told.extend(left.take(MAX_TOLD - told.len()));
        told
    }

    /// What a node would be left with if the pod went there.
    fn left_there(
        &self,
        mix: &DeviceMix,
        ix: TaskIx,
        (node, family): (NodeIx, u8),
    ) -> Option<NodeLeaves> {
        let nodes = self.state.nodes();
        let devices = self.state.supplies().devices();
        let free = free_on(mix, nodes, node, LedgerTime::Now);
        let room = NodeRoom {
            node: node.at(),
            devices: &nodes.devices[node.at()],
            free: &free,
            view: LedgerTime::Now,
        };
        let asked = AskedRoom {
            devices: devices.demand(self.state.task(ix).demand),
            amounts: &amounts_of(mix, &self.state.shape(ix).request),
        };
        let added = mix.added_waste(&room, &asked, None)?;
        let (before, _) = mix.waste(&room, family);
        Some(self.told(node, false, (before + added, added)))
    }

    /// What the node of a pod is left with, and what it would be without the pod.
    fn left_here(
        &self,
        mix: &DeviceMix,
        ix: TaskIx,
        (node, family): (NodeIx, u8),
    ) -> Option<NodeLeaves> {
        let nodes = self.state.nodes();
        let task = self.state.task(ix);
        let load = task.status.load().filter(|load| *load != Load::Pipelined)?;
        let holding = task.holding.as_ref()?;
        let waste = |devices: &NodeDevices, free: &MixAmounts| {
            let room = NodeRoom {
                node: node.at(),
                devices,
                free,
                view: LedgerTime::Now,
            };
            mix.waste(&room, family).0
        };
        let free = free_on(mix, nodes, node, LedgerTime::Now);
        let with = waste(&nodes.devices[node.at()], &free);
        let mut without = nodes.devices[node.at()].clone();
        for (family, allocations) in &holding.parts {
            without.discharge(*family, ix.0, load, allocations);
        }
        let taken = amounts_of(mix, &self.state.shape(ix).request);
        let free = free.iter().zip(taken).map(|(free, taken)| free + taken);
        let before = waste(&without, &free.collect());
        Some(self.told(node, true, (with, with - before)))
    }

    fn told(&self, node: NodeIx, here: bool, (waste, added): (i64, i64)) -> NodeLeaves {
        NodeLeaves {
            node: self.state.nodes().object(node).name.clone(),
            here,
            useless_cards: on_average(waste),
            added_cards: on_average(added),
        }
    }
}

/// A waste in cards, to hundredths. It is the sum of what one more task cannot use and of what remains when all have
/// come: the mean of both is told.
fn on_average(waste: i64) -> f64 {
    let cards = waste as f64 / (2 * WEIGHTS * WHOLE) as f64;
    (cards * 100.0).round() / 100.0
}
