//! The loop that decides, as a pure state machine around the engine: inputs and time in, effects
//! out. The daemon drives it with watches, a clock and writers, the fault simulation with virtual
//! ones.
//!
//! ```text
//!  changes, outcomes, configuration, ─► Decider ─► Decider::step(clock) ─► Decisions, for numbers
//!  leader or not, followed or not         │  a cycle, a report: when they are due
//!                                         └► Decider::take_effects ─► writes, recalls, log lines
//! ```
//!
//! Nothing is decided before all first lists are complete, without a valid configuration, by a
//! replica that is not the leader, or while what happens in the cluster is not followed. A change is
//! acted on at once; while cycles take long, the pause between two is as long as the last one took,
//! so that changes are taken in bundles. A standby takes changes in and decides nothing; so does a
//! decider that rests, which still takes in how its last writes ended.
//!
//! Deliberately absent: threads, channels, sockets, and any clock but [`Clock`].

pub mod beside;
mod clock;
mod config_maps;
mod decider;
mod dry_decisions;
mod effect;
mod effect_list;
mod evictions;
mod expectations;
mod inputs;
mod kept_texts;
mod memory;
mod node_reports;
mod node_sharing;
mod notes;
mod object_refs;
mod options;
mod outcomes;
mod pending_cleanups;
mod reason_looks;
mod report;
mod silent_nodes;
mod status_retries;
mod step;
mod task_mix;
mod told_usage;
mod tree_statuses;
mod unanswered;

pub use clock::Clock;
pub use config_maps::{DeviceConfigPlace, device_config_place, report_places};
pub use decider::Decider;
pub use effect::{Effect, LogLevel, LogLine};
pub use memory::DeciderMemory;
pub use node_reports::{ReportData, ReportNews};
pub use object_refs::group_ref;
pub use options::{DeciderOptions, Sharding};
pub use step::StepResult;
pub use task_mix::{MixPlace, mix_place};

#[cfg(test)]
mod tests;
