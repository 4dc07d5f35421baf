//! What tasks count for their jobs and queues: how many are in each status, and amounts.

use super::Population;
use crate::device::DeviceTable;
use crate::intern::Sym;
use crate::ix::{NodeIx, QueueIx, TaskIx};
use crate::job::Job;
use crate::object::Gates;
use crate::queue::Queue;
use crate::resource::{ResIx, ResVec, WideSum};
use crate::shape::Shapes;
use crate::state::ChangeJournal;
use crate::task::{Task, TaskStatus};

/// Which sums of its job and queue a task of a status is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SumsOf {
    Pending,
    Pipelined,
    Allocated,
    /// If its eviction may still come to nothing.
    Releasing,
    /// Tasks that end or have ended.
    Nobody,
}

impl SumsOf {
    fn status(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Pending => Self::Pending,
            TaskStatus::Pipelined => Self::Pipelined,
            TaskStatus::Releasing => Self::Releasing,
            _ if status.is_allocated() => Self::Allocated,
            _ => Self::Nobody,
        }
    }
}

/// A status, and the node on which a task has it.
type StatusOnNode = (TaskStatus, Option<NodeIx>);

/// Adds what tasks count to the sums of their jobs and queues.
pub(in crate::state) struct Accounts<'a> {
    pub population: &'a mut Population,
    pub shapes: &'a Shapes,
    pub devices: &'a DeviceTable,
    pub journal: &'a mut ChangeJournal,
}

impl Accounts<'_> {
    /// Adds (`by` = 1) or removes (`by` = −1) a task's share of its job and queue.
    pub fn account(&mut self, ix: TaskIx, status: TaskStatus, node: Option<NodeIx>, by: i32) {
        let Some(mut share) = self.share(ix, node) else {
            return;
        };
        let there = Some((status, node));
        match by > 0 {
            true => share.count(None, there),
            false => share.count(there, None),
        }
        share.add_total(by);
        share.add_amounts(status, by);
    }

    /// Moves a task's share to the status and node it has now. What stays the same is left alone: all
    /// amounts, when a placement becomes a decision. Not for tasks with devices that came from another
    /// place: their amounts depend on where they are.
    pub fn account_move(&mut self, ix: TaskIx, old_status: TaskStatus, old_node: Option<NodeIx>) {
        let Some(mut share) = self.share(ix, old_node) else {
            return;
        };
        let (status, node) = (share.task.status, share.task.node);
        share.count(Some((old_status, old_node)), Some((status, node)));
        if SumsOf::status(old_status) != SumsOf::status(status) {
            share.add_amounts(old_status, -1);
            share.add_amounts(status, 1);
        }
    }

    /// What a task on a node is a part of, looked up once for all its sums; nothing without a job.
    #[inline]
    fn share(&mut self, ix: TaskIx, node: Option<NodeIx>) -> Option<TaskShare<'_>> {
        let population = &mut *self.population;
        let task = &population.tasks[ix.at()];
        let job = &mut population.jobs[task.job?.at()];
        let queues = &mut population.queues;
        Some(TaskShare {
            task,
            charged: charged(self.shapes, self.devices, task, node),
            queue: job.queue.map(|ix| (ix, queues.get_mut(ix))),
            job,
            in_doubt: &mut population.in_doubt,
            journal: self.journal,
        })
    }
}

/// A task with the job and the queue it counts for.
struct TaskShare<'a> {
    task: &'a Task,
    charged: Charged<'a>,
    job: &'a mut Job,
    queue: Option<(QueueIx, &'a mut Queue)>,
    in_doubt: &'a mut u32,
    journal: &'a mut ChangeJournal,
}

impl TaskShare<'_> {
    /// Counts the task no longer where it was, and counts it where it is.
    fn count(&mut self, from: Option<StatusOnNode>, to: Option<StatusOnNode>) {
        let (task, job) = (self.task, &mut *self.job);
        let mut role = job.roles.iter_mut().find(|role| role.role == task.role);
        // A count below 0 would be a task that was counted nowhere.
        let mut step = |(status, node): StatusOnNode, by: i32| {
            let step = |count: &mut u32| *count = count.strict_add_signed(by);
            let counted = task.gang_status_if(status, node) as usize;
            step(&mut job.by_status[counted]);
            if let Some(role) = &mut role {
                step(&mut role.by_status[counted]);
            }
            if status == TaskStatus::Pending && task.best_effort {
                step(&mut job.pending_best_effort);
            }
            let is_on_node = node.is_some() || task.lost_node != Sym::default();
            if status == TaskStatus::Releasing && is_on_node {
                step(&mut job.releasing_on_node);
            }
            status.is_allocated()
        };
        let had = from.is_some_and(|from| step(from, -1));
        let has = to.is_some_and(|to| step(to, 1));
        if let Some((ix, queue)) = &mut self.queue
            && (had || has)
        {
            self.journal.touch_queue(queue, *ix);
        }
    }

    /// Sums that do not depend on the status.
    fn add_total(&mut self, by: i32) {
        if self.task.gates == Gates::Foreign {
            self.charged.shift(&mut self.job.gated, by);
        }
        self.charged.shift(&mut self.job.total, by);
    }

    /// Sums by status.
    fn add_amounts(&mut self, status: TaskStatus, by: i32) {
        let (charged, job) = (&self.charged, &mut *self.job);
        let queue = self.queue.as_mut().map(|(_, queue)| &mut **queue);
        match SumsOf::status(status) {
            SumsOf::Allocated => {
                charged.shift(&mut job.allocated, by);
                if let Some(queue) = queue {
                    charged.shift(&mut queue.allocated, by);
                }
            }
            SumsOf::Pipelined => {
                charged.shift(&mut job.pipelined, by);
                if let Some(queue) = queue {
                    charged.shift(&mut queue.pipelined, by);
                }
            }
            SumsOf::Pending => {
                charged.shift_wide(&mut job.pending, by);
                if let Some(queue) = queue {
                    charged.shift_wide(&mut queue.pending, by);
                }
            }
            // What is marked as being deleted goes for certain.
            SumsOf::Releasing if self.task.deleting => {}
            SumsOf::Releasing => {
                charged.shift(&mut job.in_doubt, by);
                if let Some(queue) = queue {
                    charged.shift(&mut queue.in_doubt, by);
                }
                *self.in_doubt = self.in_doubt.strict_add_signed(by);
            }
            SumsOf::Nobody => {}
        }
    }
}

/// What a task counts for its job and queue.
struct Charged<'a> {
    request: &'a ResVec,
    /// Amounts that count instead.
    instead: &'a [(ResIx, i64)],
}

fn charged<'a>(
    shapes: &'a Shapes,
    devices: &'a DeviceTable,
    task: &'a Task,
    node: Option<NodeIx>,
) -> Charged<'a> {
    let instead = match &task.holding {
        Some(holding) if node.is_some() => &holding.charge,
        _ => devices.charge(task.demand),
    };
    Charged {
        request: &shapes.get(task.shape).request,
        instead,
    }
}

impl Charged<'_> {
    fn shift_wide(&self, sums: &mut WideSum, by: i32) {
        sums.shift(self.request, by);
        for (resource, amount) in self.instead {
            let more = i128::from(*amount) - i128::from(self.request.get(*resource));
            sums.shift_one(*resource, more * i128::from(by));
        }
    }

    #[inline]
    fn shift(&self, amounts: &mut ResVec, by: i32) {
        if by > 0 {
            amounts.add(self.request);
        } else {
            amounts.sub(self.request);
        }
        for (resource, amount) in self.instead {
            let more = amount.wrapping_sub(self.request.get(*resource));
            amounts.shift(*resource, more.wrapping_mul(i64::from(by)));
        }
    }
}
