//! Gauges of chips.

use std::rc::Rc;

use crate::gauge::{Gauge, GaugeSpec};
use crate::ledger::{LedgerTime, NodeCards};

use super::mark::VnpuMark;
use super::template::Part;

const CORES: &str = "volcano_ascend_npu_allocated_cores";
const CORES_LIMIT: &str = "volcano_ascend_npu_cores_limit";
const AI_CPUS: &str = "volcano_ascend_npu_allocated_ai_cpus";
const VNPUS: &str = "volcano_ascend_npu_vnpus";

const fn of(name: &'static str, help: &'static str) -> GaugeSpec {
    GaugeSpec {
        name,
        help,
        by_pod: false,
    }
}

/// The gauges of a chip.
pub const GAUGES: &[GaugeSpec] = &[
    of(CORES, "AI cores of the NPU in use."),
    of(CORES_LIMIT, "AI cores of the NPU."),
    of(AI_CPUS, "AI CPUs of the NPU in use."),
    of(VNPUS, "vNPUs on the NPU."),
];

/// The gauges of a node.
pub fn gauges(cards: &NodeCards) -> Vec<Gauge> {
    let mut gauges = Vec::new();
    for (at, card) in cards.cards.iter().enumerate() {
        let (all, used) = (
            Part::of(cards.capacity(at)),
            Part::of(cards.used(at, LedgerTime::Now)),
        );
        let marks = cards.partitions(at, LedgerTime::Now).map(Some);
        let vnpus = marks.filter_map(VnpuMark::of).count();
        for (name, value) in [
            (CORES, used.cores),
            (CORES_LIMIT, all.cores),
            (AI_CPUS, used.ai_cpus),
            (VNPUS, vnpus as i64),
        ] {
            gauges.push(Gauge {
                name,
                card: Rc::clone(&card.id),
                pod: None,
                value: value as f64,
            });
        }
    }
    gauges
}
