//! The actions: what a cycle does, in the order of the configuration, over one placement kernel.
//!
//! * [`enqueue`] admits jobs, [`allocate`] places them gang by gang, [`backfill`] adds pods that
//!   request nothing.
//! * [`kernel`] answers the one question they all ask: which node is best for this task?
//!
//! Preempt, reclaim and the gang actions will be further modules beside these, over the same kernel
//! and the same transaction; [`ACTIONS`] is the only list to extend.

pub mod allocate;
pub mod backfill;
mod by_queue;
pub mod enqueue;
mod heap;
pub mod kernel;
mod sub_jobs;
mod worksheet;

use pumice_framework::Session;

pub use kernel::{Choice, Kernel};

/// An action: its name in the configuration and what it does.
pub struct Action {
    /// Name.
    pub name: &'static str,
    /// Runs it once.
    pub run: fn(&mut Session, &mut Kernel),
}

/// All actions of this version.
pub static ACTIONS: &[Action] = &[
    Action {
        name: "enqueue",
        run: |session, _| enqueue::run(session),
    },
    Action {
        name: "allocate",
        run: allocate::run,
    },
    Action {
        name: "backfill",
        run: backfill::run,
    },
];

/// The action with a name.
pub fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name)
}
