//! The score of a node: how little more would be wasted there.

use std::ops::Range;
use std::sync::Arc;

use pumice_devices::mix::WEIGHTS;
use pumice_devices::{AskedRoom, DeviceMix, DeviceRequest, LedgerTime, NodeRoom, PlainAsk};
use pumice_framework::points::NodeScore;
use pumice_framework::{Class, Verdict};
use pumice_model::device::{
    DeviceTable, KnownLook, MixAmounts, amounts_of, asks_one_card, free_on,
};
use pumice_model::{NodeIx, Nodes, State};

/// Looks of nodes of which the points are remembered.
const REMEMBERED: usize = 64;

/// A look that nobody has.
const NO_LOOK: u64 = u64::MAX;

/// Points for the waste that a task of a class would add.
pub(super) struct AddedWaste {
    mix: Arc<DeviceMix>,
    devices: Arc<DeviceRequest>,
    amounts: MixAmounts,
    weight: i64,
    /// What the task asks of cards does not depend on which they are, so that points are those of all nodes that look
    /// alike.
    is_by_look: bool,
    /// What it asks, where it is one card.
    one_card: Option<(u8, PlainAsk)>,
    /// Points by look of the node, at a place that follows from its number: many nodes are idle, and alike then.
    points: Box<[(u64, Option<f64>); REMEMBERED]>,
}

impl AddedWaste {
    pub fn new(mix: &Arc<DeviceMix>, class: &Class, weight: i64) -> Self {
        let mut parts = class.devices.parts.iter();
        Self {
            mix: Arc::clone(mix),
            devices: Arc::clone(&class.devices),
            amounts: amounts_of(mix, &class.shape.request),
            weight,
            one_card: asks_one_card(&class.devices),
            is_by_look: parts.all(|(_, request)| request.plain().is_some()),
            points: Box::new([(NO_LOOK, None); REMEMBERED]),
        }
    }

    /// Points of a node at a moment; none where the task does not fit.
    fn points(
        &self,
        (nodes, devices): (&Nodes, &DeviceTable),
        (node, view): (NodeIx, LedgerTime),
        look: Option<&KnownLook>,
    ) -> Option<f64> {
        let room = NodeRoom {
            node: node.at(),
            devices: &nodes.devices[node.at()],
            free: &free_on(&self.mix, nodes, node, view),
            view,
        };
        let asked = AskedRoom {
            devices: &self.devices,
            amounts: &self.amounts,
        };
        let quickly = look.and_then(|look| {
            let (family, ask) = self.one_card.as_ref()?;
            devices.added_by_look((&room, look), &asked, (*family, ask))
        });
        let added = match quickly {
            Some(added) => added,
            None => {
                let known = look.and_then(|look| look.cards.as_ref());
                self.mix.added_waste(&room, &asked, known)
            }
        };
        let added = added?.saturating_mul(self.weight);
        Some(-(added as f64) / WEIGHTS as f64)
    }

    /// Points of a node as it is now.
    fn points_now(&mut self, state: &State, node: NodeIx) -> Option<f64> {
        let (nodes, devices) = (state.nodes(), state.supplies().devices());
        let now = (node, LedgerTime::Now);
        let Some(look) = devices.look(&self.mix, nodes, node) else {
            return self.points((nodes, devices), now, None);
        };
        let place = look.number as usize % REMEMBERED;
        match self.points[place] {
            (known, points) if known == look.number && self.is_by_look => points,
            _ => {
                let points = self.points((nodes, devices), now, Some(&look));
                self.points[place] = (look.number, points);
                points
            }
        }
    }
}

impl NodeScore for AddedWaste {
    /// Where the task has to wait for room it is the moment at which it has that, also where cards and what the mix
    /// asks would do now.
    fn add_fraction_when(
        &mut self,
        state: &State,
        range: Range<usize>,
        verdicts: &[Verdict],
        out: &mut [f64],
    ) {
        let (nodes, devices) = (state.nodes(), state.supplies().devices());
        for ((at, verdict), out) in range.zip(verdicts).zip(out) {
            let node = NodeIx(at as u32);
            let points = match *verdict == Verdict::FUTURE {
                true => self.points((nodes, devices), (node, LedgerTime::Future), None),
                false => self.points_now(state, node),
            };
            *out += points.unwrap_or(0.0);
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}
