//! Gauges of cards (spec/04 §16), from what is held for sure.

use crate::card_gauges::{CardGaugeNames, card_gauges};
use crate::gauge::{Gauge, GaugeSpec};
use crate::ledger::NodeCards;

const SHARED: &str = "volcano_vgpu_device_shared_number";
const MEMORY: &str = "volcano_vgpu_device_allocated_memory";
const CORES: &str = "volcano_vgpu_device_allocated_cores";
const LIMIT: &str = "volcano_vgpu_device_memory_limit";
const POD_MEMORY: &str = "volcano_vgpu_device_memory_allocation_for_a_certain_pod";
const POD_CORES: &str = "volcano_vgpu_device_core_allocation_for_a_certain_pod";

const NAMES: CardGaugeNames = CardGaugeNames {
    shared: SHARED,
    memory: MEMORY,
    cores: CORES,
    limit: LIMIT,
    pod_memory: POD_MEMORY,
    pod_cores: POD_CORES,
};

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
    card_gauges(cards, &NAMES)
}
