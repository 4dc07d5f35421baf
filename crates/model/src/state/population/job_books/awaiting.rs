//! Pods whose PodGroup somebody else is about to make.
//!
//! Volcano's PodGroup controller makes a PodGroup for every pod that names none, a moment after the
//! pod (spec/03 C1). That of a pod with a controller may be a gang: it takes its `minMember` from
//! the controller's annotations. So while the PodGroup controller is at work such a pod waits. A
//! pod without a controller gets a group of one, which changes nothing for it: it never waits.

use super::JobBooks;
use crate::ix::{JobIx, TaskIx};
use crate::job::Origin;
use crate::object::GroupPhase;
use crate::task::{Task, TaskStatus};

impl JobBooks<'_> {
    /// What the job of a pod of ours that names no PodGroup is. `known` is the same pod as it was
    /// before; `task` is not in the table yet, or that very one.
    pub(super) fn origin_without_group(&self, known: Option<TaskIx>, task: &Task) -> Origin {
        let is_binding = |ix| self.population.task(ix).status == TaskStatus::Binding;
        let unbound = task.status.is_undecided() && !known.is_some_and(is_binding);
        match self.population.group_controller.is_some() && task.controlled && unbound {
            true => Origin::Awaited,
            false => Origin::BarePod,
        }
    }

    /// Makes the job of one pod what it is to be. Only one that does not wait for its PodGroup has a
    /// queue.
    pub(super) fn set_origin(&mut self, ix: JobIx, origin: Origin) {
        let job = self.population.job_mut(ix);
        if job.origin == origin {
            return;
        }
        self.journal.changed();
        job.origin = origin;
        if job.status.phase == GroupPhase::Inqueue {
            // It reserves nothing while it waits, and is admitted anew afterwards.
            job.enter_phase(GroupPhase::Pending);
        }
        let queue = job.queue_name;
        self.move_job(ix, queue);
        self.touch(ix);
    }

    /// The status of a task, or the controller that makes PodGroups, has changed: so may have what the pod
    /// waits for.
    pub fn review_awaiting(&mut self, ix: TaskIx) {
        let task = self.population.task(ix);
        let Some(job) = task.job else { return };
        let origin = &self.population.job(job).origin;
        if matches!(origin, Origin::BarePod | Origin::Awaited) {
            let origin = self.origin_without_group(Some(ix), task);
            self.set_origin(job, origin);
        }
    }

    /// The controller that makes PodGroups came to life, or is at work no longer.
    pub fn set_group_controller(&mut self, name: Option<String>) {
        let name = name.map(String::into_boxed_str);
        if name == self.population.group_controller {
            return;
        }
        self.journal.changed();
        self.population.group_controller = name;
        let tasks = self.population.tasks().filter(|(_, task)| task.controlled);
        let controlled: Vec<TaskIx> = tasks.map(|(ix, _)| ix).collect();
        controlled
            .into_iter()
            .for_each(|ix| self.review_awaiting(ix));
    }
}
