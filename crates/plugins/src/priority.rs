//! Plugin `priority`: higher priority first (spec/02 §1).
//!
//! Job priority is the value of the PodGroup's PriorityClass, task priority that of the pod. Victims of
//! preemption are pods of jobs of lower priority, within a job pods of lower priority.

use std::cmp::{Ordering, Reverse};

use pumice_conf::PluginSpec;
use pumice_framework::Plugin;
use pumice_framework::points;
use pumice_framework::points::victims::Purpose;
use pumice_framework::points::{JobOrder, JobStarving, SubJobOrder, TaskOrder, Victims};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_model::{JobIx, State, TaskIx};

use crate::entry::PluginEntry;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "priority",
    summary: "Orders jobs and tasks by priority.",
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |_, _| Box::new(Priority));

/// The plugin.
#[derive(Clone)]
pub struct Priority;

impl Plugin for Priority {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_job_order: JobOrder,
        as_task_order: TaskOrder,
        as_sub_job_order: SubJobOrder,
        as_job_starving: JobStarving,
        as_victims: Victims,
    );
}

impl Victims for Priority {
    // Between queues what they deserve decides.
    fn speaks(&self, purpose: Purpose) -> bool {
        purpose != Purpose::Reclaim
    }

    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        let of_job = |task: TaskIx| state.task(task).job.map(|job| state.job(job).priority);
        let of_pod = |task: TaskIx| state.task(task).priority;
        let is_lower = |victim: &TaskIx| of_job(*victim) < of_job(preemptor);
        let is_lower_pod = |victim: &TaskIx| of_pod(*victim) < of_pod(preemptor);
        let candidates = candidates.iter().copied();
        let lower = match purpose {
            Purpose::Preempt => candidates.filter(is_lower).collect(),
            Purpose::WithinJob => candidates.filter(is_lower_pod).collect(),
            Purpose::Reclaim => return VictimAnswer::abstains(),
        };
        VictimAnswer::ordering(Weight::Opinion, lower)
    }

    fn never(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidate: TaskIx,
    ) -> Option<Weight> {
        let of_job = |task: TaskIx| state.task(task).job.map(|job| state.job(job).priority);
        let is_lower = of_job(candidate) < of_job(preemptor);
        // Its tier decides, since it orders.
        (purpose == Purpose::Preempt && !is_lower).then_some(Weight::Protection)
    }
}

impl JobOrder for Priority {
    fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        Reverse(state.job(left).priority).cmp(&Reverse(state.job(right).priority))
    }

    fn is_steady(&self) -> bool {
        true
    }
}

impl TaskOrder for Priority {
    fn task_order(&self, state: &State, left: TaskIx, right: TaskIx) -> Ordering {
        Reverse(state.task(left).priority).cmp(&Reverse(state.task(right).priority))
    }
}

impl SubJobOrder for Priority {
    fn sub_job_order(&self, state: &State, job: JobIx, left: u16, right: u16) -> Ordering {
        let priority = |at| sub_job_priority(state, job, at);
        priority(right).cmp(&priority(left))
    }
}

impl JobStarving for Priority {
    fn job_starving(&self, state: &State, job: JobIx) -> bool {
        let job = state.job(job);
        ((job.ready() + job.waiting()) as usize) < job.tasks.len()
    }
}

/// The highest priority of its tasks, at least 0.
fn sub_job_priority(state: &State, job: JobIx, at: u16) -> i32 {
    let tasks = &state.job(job).sub_jobs[at as usize].tasks;
    tasks
        .iter()
        .map(|task| state.task(*task).priority)
        .fold(0, i32::max)
}

#[cfg(test)]
mod tests;
