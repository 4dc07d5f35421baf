//! Pods whose PodGroup somebody else is about to make.
//!
//! Volcano's PodGroup controller makes a PodGroup for every pod that names none, a moment after the
//! pod (spec/03 C1). That of a pod with a controller may be a gang: it takes its `minMember` from
//! the controller's annotations. So while the PodGroup controller is at work such a pod waits. A
//! pod without a controller gets a group of one, which changes nothing for it: it never waits.

use super::State;
use crate::ix::{JobIx, TaskIx};
use crate::job::Origin;
use crate::object::GroupPhase;
use crate::task::{Task, TaskStatus};

impl State {
    /// The controller that makes PodGroups for pods that name none, while it is at work.
    pub fn group_controller(&self) -> Option<&str> {
        self.group_controller.as_deref()
    }

    /// It came to life, or is at work no longer.
    pub(super) fn set_group_controller(&mut self, name: Option<String>) {
        let name = name.map(String::into_boxed_str);
        if name == self.group_controller {
            return;
        }
        self.journal.changed();
        self.group_controller = name;
        let of_one = |(ix, task): (TaskIx, &Task)| task.controlled.then_some(ix);
        let controlled: Vec<TaskIx> = self.tasks().filter_map(of_one).collect();
        controlled
            .into_iter()
            .for_each(|ix| self.review_awaiting(ix));
    }

    /// What the job of a pod of ours that names no PodGroup is. `known` is the same pod as it was
    /// before; `task` is not in the table yet, or that very one.
    pub(super) fn origin_without_group(&self, known: Option<TaskIx>, task: &Task) -> Origin {
        let binding = known.is_some_and(|ix| self.task(ix).status == TaskStatus::Binding);
        let unbound = task.status.is_undecided() && !binding;
        match self.group_controller.is_some() && task.controlled && unbound {
            true => Origin::Awaited,
            false => Origin::BarePod,
        }
    }

    /// The status of a task, or the controller, has changed: so may have what the pod waits for.
    pub(super) fn review_awaiting(&mut self, ix: TaskIx) {
        let Some(job) = self.task(ix).job else { return };
        if matches!(self.job(job).origin, Origin::BarePod | Origin::Awaited) {
            let origin = self.origin_without_group(Some(ix), self.task(ix));
            self.set_origin(job, origin);
        }
    }

    /// Makes the job of one pod what it is to be. Only one that does not wait for its PodGroup has a
    /// queue.
    pub(super) fn set_origin(&mut self, ix: JobIx, origin: Origin) {
        if self.job(ix).origin == origin {
            return;
        }
        self.journal.changed();
        self.jobs[ix.at()].origin = origin;
        if self.job(ix).status.phase == GroupPhase::Inqueue {
            // It reserves nothing while it waits, and is admitted anew afterwards.
            self.jobs[ix.at()].enter_phase(GroupPhase::Pending);
        }
        let queue = self.job(ix).queue_name;
        self.move_job(ix, queue);
        self.touch_job(ix);
    }
}
