//! What a job plugin is, and what it is told: an entry of the list in the folder's `mod.rs`.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use pumice_api::Job;
use pumice_api::job::TaskSpec;

use super::super::problem::{JobDoubt, JobProblem, JobProblems};
use super::super::task_name;
use super::flags::{FlagSpec, PluginFlags};
use crate::runtime::ApiWrite;

/// One plugin. What it does follows from the Job alone.
pub(super) trait JobPlugin: Sync {
    /// Key in `spec.plugins`.
    fn name(&self) -> &'static str;

    /// PluginFlags it knows.
    fn flags(&self) -> &'static [FlagSpec] {
        &[]
    }

    /// What is wrong with the Job beyond the flags themselves.
    fn problems(&self, _asked: &Asked<'_>, _problems: &mut JobProblems) {}

    /// What is odd about the Job, which runs all the same.
    fn doubts(&self, _asked: &Asked<'_>, _doubts: &mut Vec<JobDoubt>) {}

    /// Whether `status.controlledResources` tells that its objects were made.
    fn is_recorded(&self) -> bool {
        true
    }

    /// Whether [`Self::refresh`] says anything.
    fn follows_replicas(&self) -> bool {
        false
    }

    /// Objects made once a Job.
    fn objects(&self, _asked: &Asked<'_>) -> Vec<ApiWrite> {
        Vec::new()
    }

    /// Patches of its objects that make them fit the Job as it is now.
    fn refresh(&self, _asked: &Asked<'_>) -> Vec<ApiWrite> {
        Vec::new()
    }

    /// Prepares a pod that carries its name and what [`crate::job::pods`] gives it.
    fn prepare(
        &self,
        asked: &Asked<'_>,
        place: PodPlace<'_>,
        pod: &mut Pod,
    ) -> Result<(), JobProblem>;
}

/// A Job that asks for a plugin.
pub(super) struct Asked<'a> {
    pub(super) job: &'a Job,
    pub(super) flags: PluginFlags,
    /// Field of the plugin.
    pub(super) path: String,
}

impl Asked<'_> {
    /// The task that a flag names.
    pub(super) fn task(&self, flag: &str) -> Option<&TaskSpec> {
        let wanted = self.flags.text(flag);
        let mut tasks = self.job.spec.tasks.iter();
        tasks.find(|task| task_name(task) == wanted)
    }

    /// Replicas of the task that a flag names; 0 without such a task.
    pub(super) fn replicas(&self, flag: &str) -> i32 {
        self.task(flag).map_or(0, |task| task.replicas)
    }

    /// Says that a task is missing without which the plugin cannot work.
    pub(super) fn needs_task(&self, flag: &str, role: &str) -> Result<&TaskSpec, JobProblem> {
        self.task(flag).ok_or_else(|| JobProblem {
            path: self.path.clone(),
            message: format!(
                "there is no task {:?} to be the {role}; name one with \"--{flag}=<task>\"{}",
                self.flags.text(flag),
                one_of(self.job)
            ),
        })
    }
}

/// Which pod of a Job.
#[derive(Clone, Copy)]
pub(super) struct PodPlace<'a> {
    pub(super) task: &'a TaskSpec,
    pub(super) index: i32,
}

impl PodPlace<'_> {
    /// Whether it is of the task that a flag names.
    pub(super) fn is(&self, asked: &Asked<'_>, flag: &str) -> bool {
        task_name(self.task) == asked.flags.text(flag)
    }
}

/// `; the tasks are a, b`.
pub(super) fn one_of(job: &Job) -> String {
    let names: Vec<&str> = job.spec.tasks.iter().map(task_name).collect();
    format!("; the tasks are {}", names.join(", "))
}

/// The spec of a pod, which is made where there is none.
pub(super) fn spec(pod: &mut Pod) -> &mut PodSpec {
    pod.spec.get_or_insert_default()
}
