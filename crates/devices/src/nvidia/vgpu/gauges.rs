//! Gauges of cards (spec/04 §16), from what is held for sure.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::family::Gauge;
use crate::ledger::{NodeCards, Used, View};

const SHARED: &str = "volcano_vgpu_device_shared_number";
const MEMORY: &str = "volcano_vgpu_device_allocated_memory";
const CORES: &str = "volcano_vgpu_device_allocated_cores";
const LIMIT: &str = "volcano_vgpu_device_memory_limit";
const POD_MEMORY: &str = "volcano_vgpu_device_memory_allocation_for_a_certain_pod";
const POD_CORES: &str = "volcano_vgpu_device_core_allocation_for_a_certain_pod";

/// Names and help texts; the last is true where there is one per pod.
pub const GAUGES: &[(&str, &str, bool)] = &[
    (SHARED, "Pods sharing the card.", false),
    (
        MEMORY,
        "Memory of the card in use, in units of its registration.",
        false,
    ),
    (
        CORES,
        "Cores of the card in use, in percent of a card.",
        false,
    ),
    (
        LIMIT,
        "Memory of the card, in units of its registration.",
        false,
    ),
    (
        POD_MEMORY,
        "Memory of the card in use by a pod, in units of its registration.",
        true,
    ),
    (
        POD_CORES,
        "Cores of the card in use by a pod, in percent of a card.",
        true,
    ),
];

/// The gauges of a node.
pub fn gauges(cards: &NodeCards) -> Vec<Gauge> {
    let mut pods: BTreeMap<(u16, u32), Used> = BTreeMap::new();
    for entry in cards.entries(View::Now).filter(|entry| entry.certain) {
        let used = pods.entry((entry.card, entry.pod)).or_default();
        used.add(entry.used);
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
            cores += f64::from(used.cores);
            gauge(POD_MEMORY, Some(*pod), used.memory as f64);
            gauge(POD_CORES, Some(*pod), f64::from(used.cores));
        }
        gauge(SHARED, None, shared);
        gauge(MEMORY, None, memory);
        gauge(CORES, None, cores);
        gauge(LIMIT, None, card.memory as f64);
    }
    gauges
}
