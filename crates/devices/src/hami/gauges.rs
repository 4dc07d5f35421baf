//! Gauges of cards (spec/04 §23.6).

use crate::card_gauges::{CardGaugeNames, card_gauges};
use crate::gauge::{Gauge, GaugeSpec};
use crate::ledger::NodeCards;

const NAMES: CardGaugeNames = CardGaugeNames {
    shared: "volcano_hami_device_shared_number",
    memory: "volcano_hami_device_allocated_memory",
    cores: "volcano_hami_device_allocated_cores",
    limit: "volcano_hami_device_memory_limit",
    pod_memory: "volcano_hami_device_memory_allocation_for_a_certain_pod",
    pod_cores: "volcano_hami_device_core_allocation_for_a_certain_pod",
};

const fn of(name: &'static str, help: &'static str, by_pod: bool) -> GaugeSpec {
    GaugeSpec { name, help, by_pod }
}

/// The gauges of a card, and of a pod on it.
pub const GAUGES: &[GaugeSpec] = &[
    of(NAMES.shared, "Pods sharing the card.", false),
    of(NAMES.memory, "Memory of the card in use in MiB.", false),
    of(
        NAMES.cores,
        "Cores of the card in use, in percent of a card or in units of its vendor.",
        false,
    ),
    of(NAMES.limit, "Memory of the card in MiB.", false),
    of(
        NAMES.pod_memory,
        "Memory of the card in use by a pod in MiB.",
        true,
    ),
    of(
        NAMES.pod_cores,
        "Cores of the card in use by a pod, in percent of a card or in units of its vendor.",
        true,
    ),
];

/// The gauges of a node.
pub fn gauges(cards: &NodeCards) -> Vec<Gauge> {
    card_gauges(cards, &NAMES)
}
