//! Gauges of chips.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gauge::{CardMeasure, Gauge, GaugeSpec};
use crate::ledger::{LedgerTime, NodeCards};

use super::mark::VnpuMark;
use super::template::Part;

const CORES: &str = "volcano_ascend_npu_allocated_cores";
const CORES_LIMIT: &str = "volcano_ascend_npu_cores_limit";
const AI_CPUS: &str = "volcano_ascend_npu_allocated_ai_cpus";
const VNPUS: &str = "volcano_ascend_npu_vnpus";
const POD_CORES: &str = "volcano_ascend_npu_core_allocation_for_a_certain_pod";

const fn of(name: &'static str, help: &'static str) -> GaugeSpec {
    GaugeSpec::of_card(name, CardMeasure::Own, help)
}

/// The gauges of a chip, and of a pod on it.
pub const GAUGES: &[GaugeSpec] = &[
    of(CORES, "AI cores of the NPU in use."),
    of(CORES_LIMIT, "AI cores of the NPU."),
    of(AI_CPUS, "AI CPUs of the NPU in use."),
    of(VNPUS, "vNPUs on the NPU."),
    GaugeSpec {
        by_pod: true,
        ..of(POD_CORES, "AI cores of the NPU in use by a pod.")
    },
];

/// The gauges of a node.
pub fn gauges(cards: &NodeCards) -> Vec<Gauge> {
    let mut pods: BTreeMap<(u16, u32), i64> = BTreeMap::new();
    for entry in cards.entries(LedgerTime::Now).filter(|entry| entry.certain) {
        *pods.entry((entry.card, entry.pod)).or_default() += Part::of(&entry.held).cores;
    }
    let mut gauges = Vec::new();
    for (at, card) in cards.cards.iter().enumerate() {
        let (all, used) = (
            Part::of(cards.capacity(at)),
            Part::of(cards.used(at, LedgerTime::Now)),
        );
        let marks = cards.partitions(at, LedgerTime::Now).map(Some);
        let vnpus = marks.filter_map(VnpuMark::of).count();
        let mut gauge = |name, pod, value: i64| {
            gauges.push(Gauge {
                name,
                card: Arc::clone(&card.id),
                pod,
                value: value as f64,
            });
        };
        for (name, value) in [
            (CORES, used.cores),
            (CORES_LIMIT, all.cores),
            (AI_CPUS, used.ai_cpus),
            (VNPUS, vnpus as i64),
        ] {
            gauge(name, None, value);
        }
        for ((_, pod), cores) in pods.range((at as u16, 0)..=(at as u16, u32::MAX)) {
            gauge(POD_CORES, Some(*pod), *cores);
        }
    }
    gauges
}
