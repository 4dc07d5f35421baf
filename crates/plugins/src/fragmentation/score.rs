//! The score of a node: how little more would be wasted there.

use std::ops::Range;
use std::sync::Arc;

use pumice_devices::mix::WEIGHTS;
use pumice_devices::{AskedRoom, CardSummary, DeviceMix, DeviceRequest, LedgerTime, NodeRoom};
use pumice_framework::Class;
use pumice_framework::points::NodeScore;
use pumice_model::device::{MixAmounts, amounts_of, free_on};
use pumice_model::{NodeIx, Nodes, State};
use smallvec::SmallVec;

/// Nodes of different looks whose points are remembered.
const REMEMBERED: usize = 32;

/// What decides the points of a node.
#[derive(PartialEq)]
struct NodeLook {
    /// [`DeviceMix::kind`].
    kind: u32,
    free: MixAmounts,
    family: u8,
    cards: SmallVec<[CardSummary; 8]>,
}

/// Points for the waste that a task of a class would add.
pub(super) struct AddedWaste {
    mix: Arc<DeviceMix>,
    devices: Arc<DeviceRequest>,
    amounts: MixAmounts,
    weight: i64,
    /// Points of nodes by their looks, at a place that follows from these: many nodes are idle, and alike then.
    known: Vec<Option<(NodeLook, f64)>>,
}

impl AddedWaste {
    pub fn new(mix: &Arc<DeviceMix>, class: &Class, weight: i64) -> Self {
        Self {
            mix: Arc::clone(mix),
            devices: Arc::clone(&class.devices),
            amounts: amounts_of(mix, &class.shape.request),
            weight,
            known: Vec::new(),
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

    /// [`AddedWaste::points`] while nothing is on its way.
    fn points_by_look(&mut self, nodes: &Nodes, node: NodeIx, free: MixAmounts) -> f64 {
        let Some((family, cards)) = nodes.devices[node.at()].look() else {
            return self.points(nodes, node, &free);
        };
        let kind = self.mix.kind(node.at());
        let place = place(&free, cards);
        let known = self.known.get(place).and_then(Option::as_ref);
        if let Some((look, points)) = known
            && look.kind == kind
            && look.free == free
            && look.family == family
            && *look.cards == *cards
        {
            return *points;
        }
        let points = self.points(nodes, node, &free);
        if self.known.is_empty() {
            self.known.resize_with(REMEMBERED, || None);
        }
        let look = NodeLook {
            kind,
            free,
            family,
            cards: cards.into(),
        };
        self.known[place] = Some((look, points));
        points
    }
}

/// Where the points of a node are remembered: nodes that are not alike seldom share a place.
fn place(free: &[i64], cards: &[CardSummary]) -> usize {
    let used = cards.iter().map(|card| i64::from(card.used));
    let mut mixed = used.fold(0i64, |sum, used| sum.wrapping_mul(31).wrapping_add(used));
    for amount in free {
        mixed = (mixed.rotate_left(5) ^ amount).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    (mixed as u64 >> 59) as usize
}

impl NodeScore for AddedWaste {
    fn add_fraction(&mut self, state: &State, range: Range<usize>, out: &mut [f64]) {
        let nodes = state.nodes();
        for (at, out) in range.zip(out) {
            let node = NodeIx(at as u32);
            let free = free_on(&self.mix, nodes, node, LedgerTime::Now);
            *out += match nodes.in_transit {
                0 => self.points_by_look(nodes, node, free),
                _ => self.points(nodes, node, &free),
            };
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}
