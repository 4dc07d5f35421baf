//! The actions: what a cycle does, in the order of the configuration, over one placement kernel.
//!
//! * [`enqueue`] admits jobs, [`allocate`] places them gang by gang, [`backfill`] adds pods that
//!   request nothing.
//! * [`kernel`] answers the one question they all ask: which node is best for this task?
//!
//! * [`preempt`] and [`reclaim`] evict pods for jobs that found no place, [`gangpreempt`] and
//!   [`gangreclaim`] whole gangs.
//! * [`shuffle`] evicts pods that plugins name, for nobody; before all actions go those whose time is over.
//!
//! [`ACTIONS`] is the only list to extend.

pub mod allocate;
mod asleep;
mod attempt;
pub mod backfill;
mod by_queue;
mod domains;
pub mod enqueue;
mod entry;
mod evict;
pub mod gangpreempt;
pub mod gangreclaim;
mod heap;
pub mod kernel;
mod line;
mod nominees;
mod pod_classes;
pub mod preempt;
pub mod reclaim;
mod registry;
mod reserve;
pub mod shuffle;
mod sub_jobs;
mod time_over;
mod tournament;
mod trees;
mod worksheet;

pub use asleep::put_to_bed;
pub use entry::{Action, RunAction, keeps_line, passes_marks};
pub use evict::CheapestByQueue;
pub use kernel::{Kernel, nodes_with_room};
pub use nominees::{JobNominees, place_nominees};
pub use registry::{ACTIONS, SPECS, find};
pub use time_over::{TIME_OVER, end_whose_time_is_over};
