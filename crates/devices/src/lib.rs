//! Shared devices: which card a pod gets, what that leaves for others, and how both are written in
//! annotations.
//!
//! ```text
//!  node annotations ──► Family::cards ──► NodeDevices (cards and who holds them)
//!                                              ▲    │
//!  pod limits, annotations ──► Family::want ──► Want: fit, choose ──► Picks ──► Marks (annotations)
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

pub mod cards;
pub mod demand;
pub mod facts;
pub mod family;
pub mod geometry;
pub mod gpushare;
mod indices;
pub mod marks;
pub mod product;
pub mod settings;
mod text;
pub mod type_list;
mod unbuilt;
pub mod vgpu;

pub use cards::{
    Brief, Card, Hold, NodeCards, NodeDevices, Pick, Picks, Tags, Unit, Used, View, Weight,
};
pub use demand::{Demand, Failure, Miss, Want};
pub use facts::{Amounts, ContainerFacts, ContainerKind, NodeFacts, Pairs, PodFacts};
pub use family::{Devices, FAMILIES, Family, FamilySpec, Held};
pub use marks::{Guard, Mark, MarkValue, Marks, Protocol};
pub use settings::{Policy, Settings};
pub use type_list::TypeLists;
