//! HAMi's devices: cards of many makers, whole or in parts, handed out by device plugins that HAMi
//! knows (spec/04 §23, spec/05 §3).
//!
//! ```text
//!  vendors ──► kind::CardKind ─┬─► discover ──► cards     limits of containers ──► needs::needs ┐
//!  ascend  ──► (names from     │                  │       annotations ──► limits::CardLimits ───┤
//!              config)         │                  ▼                                             ▼
//!  fit, choose:      check (one card) ◄── place (best cards, in turn) ◄────── request::HamiRequest
//!                              │                                                                │
//!  held ◄── wire ◄── annotations of the pod ◄── wire, marks ◄────────────────────── annotations ┘
//! ```
//!
//! Two families, by one code: the cards of the vendors, of which an argument says which are on, and the chips
//! of Ascend. What each does in its own way stands in `own::HamiFamily`, and is in `cards` (`check`, `place`,
//! `order`, `share`, `queues`) and in `ascend`. A vendor is what it calls things and
//! the few rules that are its own (`kind::CardKind`), in a module of `vendors`.
//!
//! Invariants: what is written can be read back to exactly what was charged; no card gives more
//! memory, cores or slots than it has to pods placed here; without a vendor nothing is read, judged
//! or written.

pub(crate) mod ascend;
mod best_set;
mod card_check;
mod card_failures;
mod cards;
mod check;
mod config;
mod device_need;
mod devices;
mod discover;
mod explain;
mod failure;
mod gauges;
mod held;
mod holding;
mod json;
mod json_fields;
mod kind;
mod limits;
mod links;
mod mig;
mod needs;
mod neuron;
mod order;
mod own;
mod pairs;
mod place;
mod preference;
mod protocol;
mod queues;
mod ratings;
mod register;
mod registered_card;
mod request;
mod sgpu;
mod share;
mod slices;
mod terms;
mod uuid_lists;
mod variant;
mod vendor_cards;
mod vendors;
mod wings;
mod wire;

#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;

use crate::config::DeviceConfig;
use crate::family::FamilySpec;
use crate::part::DIMENSIONS;
use crate::settings::Settings;

pub use vendors::shared_names;

use devices::HamiDevices;
use kind::CardKind;
use vendor_cards::VendorCards;

/// The family of the vendors.
pub const SPEC: FamilySpec = FamilySpec {
    name: "hami",
    node_annotations: vendors::NODE_ANNOTATIONS,
    asks: vendors::ASKS,
    labels: &[],
    named: vendors::NAMED,
    records: &[
        "hami.io/*-devices-allocated",
        vendors::WHOLE_XPUS,
        vendors::INSTANCES,
    ],
    later: &[],
    protocols: vendors::PROTOCOLS,
    dimensions: DIMENSIONS,
    gauges: gauges::GAUGES,
    sections: vendors::SECTIONS,
    reports: None,
    make: |settings: &Settings, config: &DeviceConfig| {
        let kinds = kinds(settings, config);
        Box::new(HamiDevices::new(settings, kinds, VendorCards))
    },
};

/// Names of all vendors, as the argument has them.
pub fn vendor_names() -> impl Iterator<Item = &'static str> {
    vendors::VENDORS.iter().map(|vendor| vendor.name)
}

/// Whether NVIDIA's cards are handed out by HAMi's plugin.
pub fn shares_gpus(settings: &Settings) -> bool {
    let mut named = settings.hami_vendors.iter();
    named.any(|name| name.trim().eq_ignore_ascii_case(vendors::NVIDIA))
}

/// The kinds of cards of the vendors that are on.
fn kinds(settings: &Settings, config: &DeviceConfig) -> Vec<CardKind> {
    let on = settings.configured.then_some(&settings.hami_vendors);
    let named = on.into_iter().flatten();
    let mut known = FxHashSet::default();
    let vendors = named.filter_map(|name| vendors::vendor(name));
    let vendors = vendors.filter(|vendor| known.insert(vendor.name));
    vendors
        .flat_map(|vendor| (vendor.kinds)(settings, config))
        .collect()
}
