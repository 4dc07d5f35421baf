//! Gauges of chips.

use crate::gauge::CardMeasure::{Capacity, Pods, Used};
use crate::gauge::GaugeSpec;

/// The gauges of a chip, and of a pod on it.
pub const GAUGES: &[GaugeSpec] = &[
    GaugeSpec::of_card(
        "volcano_hami_npu_shared_number",
        Pods,
        "Pods sharing the NPU.",
    ),
    GaugeSpec::of_card(
        "volcano_hami_npu_allocated_memory",
        Used(0),
        "Memory of the NPU in use in MiB.",
    ),
    GaugeSpec::of_card(
        "volcano_hami_npu_memory_limit",
        Capacity(0),
        "Memory of the NPU in MiB.",
    ),
    GaugeSpec::of_card(
        "volcano_hami_npu_allocated_ai_cores",
        Used(3),
        "AI cores of the NPU in use by templates.",
    ),
    GaugeSpec::of_card(
        "volcano_hami_npu_allocated_cores",
        Used(2),
        "Cores of the NPU in use by pods that hami-core limits, in percent of the NPU.",
    ),
    GaugeSpec::of_pod(
        "volcano_hami_npu_memory_allocation_for_a_certain_pod",
        Used(0),
        "Memory of the NPU in use by a pod in MiB.",
    ),
];
