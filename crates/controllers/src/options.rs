//! What every controller is made with, and the shape of what makes it.
//!
//! Controllers import from here, so that the list of them (`list.rs`) imports controllers and no
//! controller imports the list.

use pumice_wire::rules::RuleScope;

use crate::runtime::Controller;

/// What controllers are made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerOptions {
    /// `--scheduler-name`: pods with one of these names are cared for. The first is that of pods
    /// that name none.
    pub scheduler_names: Vec<String>,
    /// `--inherit-owner-annotations`: PodGroups of bare pods take over annotations of the owner.
    pub inherit_owner_annotations: bool,
    /// Gate `WorkLoadSupport`: PodGroups for pods of workloads are sized by their owner.
    pub workloads: bool,
    /// Gate `QueueCommandSync`: queues are opened and closed by Commands.
    pub queue_commands: bool,
    /// `--unguarded-queue-commands`: Commands for queues are obeyed although nobody asks whether who made
    /// them may update the queue.
    pub unguarded_queue_commands: bool,
    /// Gate `CronVolcanoJobSupport`.
    pub cron_jobs: bool,
    /// How much is asked of pods of Jobs before they are made.
    pub templates: RuleScope,
}

impl Default for ControllerOptions {
    fn default() -> Self {
        Self {
            scheduler_names: vec![pumice_api::keys::DEFAULT_SCHEDULER.to_owned()],
            inherit_owner_annotations: true,
            workloads: true,
            queue_commands: true,
            unguarded_queue_commands: false,
            cron_jobs: true,
            templates: RuleScope::Whole,
        }
    }
}

/// Makes a controller.
pub type MakeController = fn(&ControllerOptions) -> Box<dyn Controller>;
