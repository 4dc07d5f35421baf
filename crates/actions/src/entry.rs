//! What an action is in the list of actions, and the argument that two of them share.
//!
//! Actions import from here, so that the list (`registry.rs`) imports actions and no action imports the
//! list.

use pumice_conf::{ActionSpec, Arg, Arguments};
use pumice_framework::Session;

use crate::kernel::Kernel;

/// Runs an action once, with the arguments of its entry in `configurations`.
pub type RunAction = fn(&mut Session, &mut Kernel, &Arguments);

/// One action of the list [`crate::ACTIONS`].
#[derive(Clone, Copy)]
pub struct Action {
    /// Name, summary and arguments: what a configuration is checked against.
    pub spec: ActionSpec,
    /// What it does.
    pub run: RunAction,
}

/// Argument of the actions that evict across queues.
pub(crate) const HONOR_PREEMPTABLE: Arg<bool> = Arg::switch(
    "honorPreemptable",
    true,
    "Whether `volcano.sh/preemptable: \"false\"` keeps pods of queues that hold more than they deserve; one of `reclaim` and `gangreclaim` that says no speaks for both.",
);

/// Whether an action of this name, configured so, passes over what pods say of their eviction.
pub fn passes_marks(action: &str, arguments: &Arguments) -> bool {
    matches!(action, "reclaim" | "gangreclaim") && !HONOR_PREEMPTABLE.read(arguments)
}

/// Argument of `allocate`, which counts for all actions.
pub(crate) const KEEPS_LINE: Arg<bool> = Arg::switch(
    "honorDequeueStrategy",
    false,
    "Whether in queues with `dequeueStrategy: fifo` nobody passes the first job that waits: neither to be admitted nor to be placed, nor does anybody go for a later one.",
);

/// Whether an action of this name, configured so, keeps the order of queues that ask for it.
pub fn keeps_line(action: &str, arguments: &Arguments) -> bool {
    action == "allocate" && KEEPS_LINE.read(arguments)
}

/// Argument of the actions that evict for whole gangs.
pub(crate) const ALLOW_WHOLE_BUNDLE: Arg<bool> = Arg::switch(
    "allowWholeBundle",
    true,
    "Whether whole gangs may be evicted.",
);
