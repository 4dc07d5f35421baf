//! Gauges of cards (spec/04 §16), from what is held for sure.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::gauge::{Gauge, GaugeSpec};
use crate::ledger::{LedgerTime, NodeCards};
use crate::nvidia::part::CardPart;

const SHARED: &str = "volcano_vgpu_device_shared_number";
const MEMORY: &str = "volcano_vgpu_device_allocated_memory";
const CORES: &str = "volcano_vgpu_device_allocated_cores";
const LIMIT: &str = "volcano_vgpu_device_memory_limit";
const POD_MEMORY: &str = "volcano_vgpu_device_memory_allocation_for_a_certain_pod";
const POD_CORES: &str = "volcano_vgpu_device_core_allocation_for_a_certain_pod";

const fn of(name: &'static str, help: &'static str, by_pod: bool) -> GaugeSpec {
    GaugeSpec { name, help, by_pod }
}

/// The gauges of a card, and of a pod on it.
pub const GAUGES: &[GaugeSpec] = &[
    of(SHARED, "Pods sharing the card.", false),
    of(
        MEMORY,
        "Memory of the card in use, in units of its registration.",
        false,
    ),
    of(
        CORES,
        "Cores of the card in use, in percent of a card.",
        false,
    ),
    of(
        LIMIT,
        "Memory of the card, in units of its registration.",
        false,
    ),
    of(
        POD_MEMORY,
        "Memory of the card in use by a pod, in units of its registration.",
        true,
    ),
    of(
        POD_CORES,
        "Cores of the card in use by a pod, in percent of a card.",
        true,
    ),
];

/// The gauges of a node.
pub fn gauges(cards: &NodeCards) -> Vec<Gauge> {
    let mut pods: BTreeMap<(u16, u32), CardPart> = BTreeMap::new();
    for entry in cards.entries(LedgerTime::Now).filter(|entry| entry.certain) {
        let used = pods.entry((entry.card, entry.pod)).or_default();
        let part = CardPart::of(&entry.held);
        used.memory += part.memory;
        used.cores += part.cores;
    }
    let mut gauges = Vec::new();
    for (at, card) in cards.cards.iter().enumerate() {
        let of_card = pods.range((at as u16, 0)..=(at as u16, u32::MAX));
        let mut gauge = |name, pod, value| {
            gauges.push(Gauge {
                name,
                card: Rc::clone(&card.id),
                pod,
                value,
            });
        };
        let (mut shared, mut memory, mut cores) = (0.0, 0.0, 0.0);
        for ((_, pod), used) in of_card {
            shared += 1.0;
            memory += used.memory as f64;
            cores += used.cores as f64;
            gauge(POD_MEMORY, Some(*pod), used.memory as f64);
            gauge(POD_CORES, Some(*pod), used.cores as f64);
        }
        gauge(SHARED, None, shared);
        gauge(MEMORY, None, memory);
        gauge(CORES, None, cores);
        gauge(LIMIT, None, CardPart::capacity(cards, at).memory as f64);
    }
    gauges
}
