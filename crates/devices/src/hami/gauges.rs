//! Gauges of cards (spec/04 §23.6).

use crate::gauge::CardMeasure::{Capacity, Pods, Used};
use crate::gauge::GaugeSpec;

/// The gauges of a card, and of a pod on it.
pub const GAUGES: &[GaugeSpec] = &[
    GaugeSpec::of_card(
        "volcano_hami_device_shared_number",
        Pods,
        "Pods sharing the card.",
    ),
    GaugeSpec::of_card(
        "volcano_hami_device_allocated_memory",
        Used(0),
        "Memory of the card in use in MiB.",
    ),
    GaugeSpec::of_card(
        "volcano_hami_device_allocated_cores",
        Used(2),
        "Cores of the card in use, in percent of a card or in units of its vendor.",
    ),
    GaugeSpec::of_card(
        "volcano_hami_device_memory_limit",
        Capacity(0),
        "Memory of the card in MiB.",
    ),
    GaugeSpec::of_pod(
        "volcano_hami_device_memory_allocation_for_a_certain_pod",
        Used(0),
        "Memory of the card in use by a pod in MiB.",
    ),
    GaugeSpec::of_pod(
        "volcano_hami_device_core_allocation_for_a_certain_pod",
        Used(2),
        "Cores of the card in use by a pod, in percent of a card or in units of its vendor.",
    ),
];
