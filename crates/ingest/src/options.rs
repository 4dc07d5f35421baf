//! What reading depends on besides the objects.

use pumice_api::keys;

/// What reading pods and PodGroups depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Pods with one of these scheduler names are ours (`--scheduler-name`).
    pub scheduler_names: Vec<String>,
    /// Annotations of pods and PodGroups that some plugin reads.
    pub annotations: Vec<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scheduler_names: vec![keys::DEFAULT_SCHEDULER.to_owned()],
            annotations: Vec::new(),
        }
    }
}
