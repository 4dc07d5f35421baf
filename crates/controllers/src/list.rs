//! The controllers there are, by the names users give them in `--controllers` (spec/03 C0).
//!
//! Nothing that is listed here imports from here: what controllers are made with is in `options.rs`.

use crate::cron_job::CronJobController;
use crate::finished_jobs::FinishedJobs;
use crate::hyper_node::HyperNodeController;
use crate::job::JobController;
use crate::job_flow::JobFlowController;
use crate::job_template::JobTemplateController;
use crate::pod_group::PodGroupController;
use crate::provisioning::ProvisioningController;
use crate::queue::QueueController;
use crate::queue_gate::QueueGateController;

pub use crate::options::{ControllerOptions, MakeController};

/// A controller that can be named in `--controllers`.
#[derive(Clone, Copy, Debug)]
pub struct ListedController {
    /// Name of the controller in `--controllers`.
    pub name: &'static str,
    /// What makes it; `None` if there is none of ours by that name.
    pub make: Option<MakeController>,
}

/// What makes a controller of ours; its name is one of [`NAMES`].
const MADE: &[(&str, MakeController)] = &[
    (CronJobController::NAME, CronJobController::make),
    (HyperNodeController::NAME, HyperNodeController::make),
    (JobFlowController::NAME, JobFlowController::make),
    (JobTemplateController::NAME, JobTemplateController::make),
    (FinishedJobs::NAME, FinishedJobs::make),
    (JobController::NAME, JobController::make),
    (PodGroupController::NAME, PodGroupController::make),
    (ProvisioningController::NAME, ProvisioningController::make),
    (QueueController::NAME, QueueController::make),
    (QueueGateController::NAME, QueueGateController::make),
];

/// Every name that may be given.
pub const NAMES: [&str; 12] = [
    "colocation-config-controller",
    "cronjob-controller",
    "gc-controller",
    "hyperNode-controller",
    "job-controller",
    "jobflow-controller",
    "jobtemplate-controller",
    "pg-controller",
    "provisioning-controller",
    "queue-controller",
    "queue-gate-controller",
    "sharding-controller",
];

/// `--controllers` without the flag.
pub const DEFAULT_SELECTION: &str = "*,-sharding-controller";

/// Every controller, in the order of [`NAMES`].
pub fn controllers() -> impl Iterator<Item = ListedController> {
    NAMES.into_iter().map(|name| {
        let made = MADE.iter().find(|(made, _)| *made == name);
        ListedController {
            name,
            make: made.map(|(_, make)| *make),
        }
    })
}

/// Controllers that `--controllers` selects: `name` or `+name` for, `-name` against one, `*` for all
/// that are not named; the first entry that fits a controller decides. A list that only says what is
/// not wanted leaves the others on.
///
/// # Errors
/// An entry that names no controller, with the names there are.
pub fn select(entries: &[String]) -> Result<Vec<ListedController>, String> {
    let entries: Vec<&str> = entries.iter().map(|entry| entry.trim()).collect();
    let entries: Vec<&str> = entries.into_iter().filter(|e| !e.is_empty()).collect();
    let bare = |entry: &str| entry.trim_start_matches(['+', '-']).to_owned();
    for entry in &entries {
        if *entry != "*" && !NAMES.contains(&bare(entry).as_str()) {
            return Err(format!(
                "--controllers: there is no controller {entry:?}; write * for all, NAME for one or \
                 -NAME for all but one, of {}",
                NAMES.join(", ")
            ));
        }
    }
    // Volcano switches everything off for a list of nothing but `-name`: nobody wants that.
    let rest = entries.contains(&"*") || entries.iter().all(|entry| entry.starts_with('-'));
    let is_on = |name: &str| {
        let named = entries.iter().find(|entry| bare(entry) == name);
        named.map_or(rest, |entry| !entry.starts_with('-'))
    };
    Ok(controllers().filter(|one| is_on(one.name)).collect())
}
