//! Gauges of cards (spec/04 §16).

use crate::gauge::CardMeasure::{Capacity, Pods, Used};
use crate::gauge::GaugeSpec;

/// The gauges of a card, and of a pod on it.
pub const GAUGES: &[GaugeSpec] = &[
    GaugeSpec::of_card(
        "volcano_vgpu_device_shared_number",
        Pods,
        "Pods sharing the card.",
    ),
    GaugeSpec::of_card(
        "volcano_vgpu_device_allocated_memory",
        Used(0),
        "Memory of the card in use, in units of its registration.",
    ),
    GaugeSpec::of_card(
        "volcano_vgpu_device_allocated_cores",
        Used(2),
        "Cores of the card in use, in percent of a card.",
    ),
    GaugeSpec::of_card(
        "volcano_vgpu_device_memory_limit",
        Capacity(0),
        "Memory of the card, in units of its registration.",
    ),
    GaugeSpec::of_pod(
        "volcano_vgpu_device_memory_allocation_for_a_certain_pod",
        Used(0),
        "Memory of the card in use by a pod, in units of its registration.",
    ),
    GaugeSpec::of_pod(
        "volcano_vgpu_device_core_allocation_for_a_certain_pod",
        Used(2),
        "Cores of the card in use by a pod, in percent of a card.",
    ),
];
