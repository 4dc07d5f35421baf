//! The score of a node: how little more would be wasted there.

use std::ops::Range;
use std::sync::Arc;

use pumice_devices::mix::WEIGHTS;
use pumice_devices::{AskedRoom, DeviceMix, DeviceRequest, LedgerTime, NodeRoom};
use pumice_framework::Class;
use pumice_framework::points::NodeScore;
use pumice_model::device::{MixAmounts, amounts_of, free_on};
use pumice_model::{NodeIx, Nodes, State};
use smallvec::SmallVec;

/// Nodes just scored that others are compared with.
const REMEMBERED: usize = 4;

/// Points for the waste that a task of a class would add.
pub(super) struct AddedWaste {
    mix: Arc<DeviceMix>,
    devices: Arc<DeviceRequest>,
    amounts: MixAmounts,
    weight: i64,
}

/// A node and its points.
type Scored = (NodeIx, MixAmounts, f64);

impl AddedWaste {
    pub fn new(mix: &Arc<DeviceMix>, class: &Class, weight: i64) -> Self {
        Self {
            mix: Arc::clone(mix),
            devices: Arc::clone(&class.devices),
            amounts: amounts_of(mix, &class.shape.request),
            weight,
        }
    }

    fn added(&self, nodes: &Nodes, node: NodeIx, view: LedgerTime, free: &[i64]) -> Option<i64> {
        let room = NodeRoom {
            node: node.at(),
            devices: &nodes.devices[node.at()],
            free,
            view,
        };
        let asked = AskedRoom {
            devices: &self.devices,
            amounts: &self.amounts,
        };
        self.mix.added_waste(&room, &asked)
    }

    /// Points of a node; none where the task does not fit.
    fn points(&self, nodes: &Nodes, node: NodeIx, free: &[i64]) -> f64 {
        let mut added = self.added(nodes, node, LedgerTime::Now, free);
        if added.is_none() && nodes.in_transit > 0 {
            let free = free_on(&self.mix, nodes, node, LedgerTime::Future);
            added = self.added(nodes, node, LedgerTime::Future, &free);
        }
        let added = added.unwrap_or(0).saturating_mul(self.weight);
        -(added as f64) / WEIGHTS as f64
    }
}

impl NodeScore for AddedWaste {
    fn add_fraction(&self, state: &State, range: Range<usize>, out: &mut [f64]) {
        let nodes = state.nodes();
        let mut scored: SmallVec<[Scored; REMEMBERED]> = SmallVec::new();
        for (at, out) in range.zip(out) {
            let node = NodeIx(at as u32);
            let free = free_on(&self.mix, nodes, node, LedgerTime::Now);
            // Many nodes are idle, and alike then.
            let is_alike = |(other, other_free, _): &&Scored| {
                *other_free == free
                    && nodes.in_transit == 0
                    && self.mix.admits_alike(other.at(), at)
                    && nodes.devices[other.at()].looks_like(&nodes.devices[at])
            };
            if let Some((_, _, points)) = scored.iter().find(is_alike) {
                *out += points;
                continue;
            }
            let points = self.points(nodes, node, &free);
            *out += points;
            if scored.len() == REMEMBERED {
                scored.remove(0);
            }
            scored.push((node, free, points));
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}
