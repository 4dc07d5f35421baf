//! One scheduling cycle: inputs in, decisions out.
//!
//! ```text
//!  Delta, Delta, … ──► Engine::apply ──► State ──► Applied ──► follow_up: who is remembered, and who is gone
//!                      Engine::cycle(now) ──► actions in order ──► PodGroup status
//!                             │
//!                             └──► Decisions: binds, changed PodGroups
//!  Engine::known ──► Knowledge, read only ──► waiting: why │ view: pages │ report: what is written on objects
//! ```
//!
//! The engine is pure and deterministic: time is an argument, the same inputs give the same
//! decisions. A cycle on an unchanged cluster costs nothing and decides nothing.
//!
//! [`Engine`] itself (`engine.rs`) runs cycles and hands out what they decided. What outlives a cycle is in
//! `follow_up`, a part each; whoever says something about the engine gets [`Knowledge`], which borrows and
//! cannot write.

mod closing;
mod configured;
mod decisions;
pub mod devices;
mod engine;
mod epochs;
mod extender;
mod follow_up;
mod fork;
mod give_up;
mod group_status;
pub mod history;
mod kept;
mod knowledge;
mod memory;
pub mod metrics_snapshot;
mod planned_condition;
pub mod report;
mod snapshot;
mod surroundings;
mod task_mix;
mod tidying;
mod trees;
pub mod view;
pub mod waiting;
mod wasted;

use pumice_conf::Registry;

pub use closing::let_numbers_stay;
pub use decisions::Decisions;
pub use engine::Engine;
pub use follow_up::bind_waits::BindWait;
pub use follow_up::suspects::Outdated;
pub use fork::Fork;
pub use give_up::GivenUp;
pub use kept::{kept_fault, kept_place};
pub use knowledge::Knowledge;
pub use memory::EngineMemory;
pub use metrics_snapshot::{JobSnapshot, MetricsSnapshot, QueueSnapshot};
pub use pumice_actions::{Action, TIME_OVER};
pub use pumice_framework::{Eviction, EvictionTally, Observer, Stage, Unobserved};
pub use pumice_plugins::{annotations_read, mix_place};
pub use report::{GroupEvent, HyperNodeEvent, PodReport, QueueEvent, Reports};
pub use snapshot::ViewSnapshot;
pub use task_mix::{MIX_KEY, kept_mix_fault, mix_text_faults};
pub use wasted::{FreeCardsView, MAX_CARD_ROWS};

/// Everything a configuration may name.
pub static REGISTRY: Registry = Registry {
    plugins: pumice_plugins::SPECS,
    actions: pumice_actions::SPECS,
};
