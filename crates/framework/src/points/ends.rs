//! Who is ended because he has run for longer than he may.

use pumice_model::{State, TaskIx};

/// Names pods that are to be ended since their time is over (spec/11 §3). Asked once a cycle, before the actions; nobody
/// protects whom it names.
pub trait TimeLimits {
    /// Pods on nodes whose time is over, each once.
    fn whose_time_is_over(&self, state: &State) -> Vec<TaskIx>;
}
