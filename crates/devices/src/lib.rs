//! Shared devices: which card a pod gets, what that leaves for others, and how both are written in
//! annotations.
//!
//! ```text
//!  node annotations ──► Family::cards ──► NodeDevices (cards and who holds them)
//!                                              ▲    │
//!  pod limits, annotations ──► Family::want ──► FamilyRequest: fit, choose ──► Allocations ──► BindingAnnotations (annotations)
//!                                              │                       ▲
//!  annotations of a placed pod ──► Family::held ───────────────────────┘
//! ```
//!
//! A *family* is one kind of device with its own resources and annotations: one module here and one
//! line in [`FAMILIES`]. Nobody else names one. The state of the cluster owns the ledgers
//! ([`NodeDevices`], one per node) and moves them with every step of a task, so that undo is the
//! same step backwards; this crate decides what a step means.
//!
//! Invariants: pure and deterministic; a pod is charged for everything its annotations say, once per
//! element; what cannot be read counts as used.

pub mod ascend;
pub mod binding;
pub mod config;
pub mod facts;
pub mod families;
pub mod family;
#[cfg(test)]
mod fixture;
pub mod gauge;
pub mod hami;
pub mod ledger;
pub mod mix;
pub mod node;
pub mod nvidia;
mod part;
pub mod request;
pub mod settings;
mod sha256;
mod text;
mod twins;

pub use binding::{
    Annotation, AnnotationValue, BindProtocol, BindingAnnotations, InFlightGuard, NodeLock,
    PluginProtocol, UntilStarted,
};
pub use facts::{
    ContainerFacts, ContainerKind, MilliAmounts, NodeFacts, NodeReport, Pairs, PodFacts,
};
pub use families::{Devices, FAMILIES};
pub use family::{Decoded, Family, FamilySpec, RepeatSpec, ReportMaps, ReportPlace, ReportSpec};
pub use gauge::{Gauge, GaugeSpec};
pub use ledger::{
    Allocation, Allocations, Card, CardSummary, Dimension, FamilyCode, LedgerEntry, LedgerTime,
    Load, NodeCards, Partition, PlainAsk, Portion, Tags, UNLIMITED,
};
pub use mix::{AskedRoom, DeviceMix, MixClass, NodeRoom, NodeSet};
pub use node::NodeDevices;
pub use request::{DevicePick, DeviceRequest, Failure, FamilyRequest, NearMiss, QueueAmounts};
pub use settings::{MindCluster, Policy, Settings};
