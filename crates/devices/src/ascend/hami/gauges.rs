//! Gauges of chips, from what is held for sure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gauge::{Gauge, GaugeSpec};
use crate::ledger::{LedgerTime, NodeCards};

use super::part::ChipPart;

const SHARED: &str = "volcano_hami_npu_shared_number";
const MEMORY: &str = "volcano_hami_npu_allocated_memory";
const LIMIT: &str = "volcano_hami_npu_memory_limit";
const AI_CORES: &str = "volcano_hami_npu_allocated_ai_cores";
const CORES: &str = "volcano_hami_npu_allocated_cores";
const POD_MEMORY: &str = "volcano_hami_npu_memory_allocation_for_a_certain_pod";

const fn of(name: &'static str, help: &'static str, by_pod: bool) -> GaugeSpec {
    GaugeSpec { name, help, by_pod }
}

/// The gauges of a chip, and of a pod on it.
pub const GAUGES: &[GaugeSpec] = &[
    of(SHARED, "Pods sharing the NPU.", false),
    of(MEMORY, "Memory of the NPU in use in MiB.", false),
    of(LIMIT, "Memory of the NPU in MiB.", false),
    of(AI_CORES, "AI cores of the NPU in use by templates.", false),
    of(
        CORES,
        "Cores of the NPU in use by pods that hami-core limits, in percent of the NPU.",
        false,
    ),
    of(
        POD_MEMORY,
        "Memory of the NPU in use by a pod in MiB.",
        true,
    ),
];

/// The gauges of a node.
pub fn gauges(cards: &NodeCards) -> Vec<Gauge> {
    let mut pods: BTreeMap<(u16, u32), ChipPart> = BTreeMap::new();
    for entry in cards.entries(LedgerTime::Now).filter(|entry| entry.certain) {
        let used = pods.entry((entry.card, entry.pod)).or_default();
        let part = ChipPart::of(&entry.held);
        used.memory += part.memory;
        used.ai_cores += part.ai_cores;
        used.cores += part.cores;
    }
    let mut gauges = Vec::new();
    for (at, card) in cards.cards.iter().enumerate() {
        let mut gauge = |name, pod, value: i64| {
            gauges.push(Gauge {
                name,
                card: Arc::clone(&card.id),
                pod,
                value: value as f64,
            });
        };
        let (mut shared, mut all) = (0, ChipPart::default());
        for ((_, pod), used) in pods.range((at as u16, 0)..=(at as u16, u32::MAX)) {
            shared += 1;
            all.memory += used.memory;
            all.ai_cores += used.ai_cores;
            all.cores += used.cores;
            gauge(POD_MEMORY, Some(*pod), used.memory);
        }
        let limit = ChipPart::capacity(cards, at).memory;
        for (name, value) in [
            (SHARED, shared),
            (MEMORY, all.memory),
            (LIMIT, limit),
            (AI_CORES, all.ai_cores),
            (CORES, all.cores),
        ] {
            gauge(name, None, value);
        }
    }
    gauges
}
