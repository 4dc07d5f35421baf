//! Jobs that come, move between queues and go, and what devices of resource claims count for these.

mod awaiting;
mod groups;

use super::Population;
use crate::claim::{ClaimCharge, ClaimCounts, DeviceHold, GroupKey, ResourceClaims};
use crate::intern::Sym;
use crate::ix::{JobId, JobIx, QueueIx, TaskIx};
use crate::job::{DirtyFlags, Job, MarkCounts, Origin, QueueShareOf};
use crate::object::GroupStatus;
use crate::resource::{ResVec, WideSum};
use crate::state::ChangeJournal;
use crate::task::{STATUSES, Task, TaskStatus};

/// Keeps jobs in their queues, and counts there what their pods have by resource claims.
pub(in crate::state) struct JobBooks<'a> {
    pub population: &'a mut Population,
    pub claims: &'a ResourceClaims,
    pub counts: &'a mut ClaimCounts,
    pub journal: &'a mut ChangeJournal,
}

/// As what the devices of a task's resource claims count for its queue, if they do.
fn device_hold(task: &Task) -> Option<DeviceHold> {
    match task.status {
        TaskStatus::Pipelined => Some(DeviceHold::Pipelined),
        TaskStatus::Releasing => (!task.deleting).then_some(DeviceHold::InDoubt),
        status => status.is_allocated().then_some(DeviceHold::Allocated),
    }
}

impl JobBooks<'_> {
    /// Counts the devices of a task for its queue, if it has a place and is not counted yet.
    pub fn count_claims(&mut self, ix: TaskIx) {
        let task = self.population.task(ix);
        if !task.has_resource_claims() {
            return;
        }
        let queue = task.job.and_then(|job| self.population.job(job).queue);
        let (hold, counted) = (device_hold(task), self.counts.counted_for(ix));
        let need = self.claims.resolved(ix);
        if let (Some(queue), Some(hold), Some(need), None) = (queue, hold, need, counted) {
            let queues = self.population.queues_mut();
            let sums = &mut queues.get_mut(queue).devices;
            self.counts.count(ix, queue, hold, need, sums);
            queues.touch(queue, self.journal);
        }
    }

    /// The inverse of [`JobBooks::count_claims`].
    pub fn uncount_claims(&mut self, ix: TaskIx) {
        if let Some(queue) = self.counts.counted_for(ix) {
            let queues = self.population.queues_mut();
            let sums = &mut queues.get_mut(queue).devices;
            self.counts.uncount(ix, sums);
            queues.touch(queue, self.journal);
        }
    }

    /// Counts what groups hold of claims for their queues, and nothing else of that.
    pub fn count_held(&mut self, all: &[(GroupKey, ClaimCharge)]) {
        self.uncount_held();
        for ((namespace, name), charge) in all {
            let job = self.population.trees().job_name(namespace, name);
            let Some(job) = self.population.job_by_key(namespace, job) else {
                continue;
            };
            if let Some(queue) = self.population.job(job).queue {
                let queues = self.population.queues_mut();
                let sums = &mut queues.get_mut(queue).devices;
                self.counts.count_held((job, queue), charge, sums);
                queues.touch(queue, self.journal);
                self.touch(job);
            }
        }
        self.counts.take_held_stale();
    }

    /// What groups hold of claims may count for other jobs than it did.
    pub fn held_is_stale(&mut self) {
        self.counts.held_is_stale();
    }

    /// The inverse of [`JobBooks::count_held`].
    fn uncount_held(&mut self) {
        while let Some((job, queue)) = self.counts.last_held() {
            let queues = self.population.queues_mut();
            let sums = &mut queues.get_mut(queue).devices;
            self.counts.uncount_last_held(sums);
            queues.touch(queue, self.journal);
            if self.population.has_job(job) {
                self.touch(job);
            }
        }
    }

    /// Queues are about to be others.
    fn uncount_all_claims(&mut self) {
        self.uncount_held();
        for ix in self.counts.counted() {
            self.uncount_claims(ix);
        }
    }

    /// Jobs look for their queues again, if some came or went.
    pub fn settle_queues(&mut self) {
        if !self.population.queues_mut().take_stale() {
            return;
        }
        self.uncount_all_claims();
        let Population { jobs, queues, .. } = self.population;
        queues.empty();
        for (_, job) in jobs.iter_mut() {
            job.queue = queues.of(job);
            if let Some(ix) = job.queue {
                queues.add_job(ix, job);
            }
        }
        for ix in self.claims.users() {
            self.count_claims(ix);
        }
        self.forget_books();
    }

    /// Queues are others, and jobs have theirs: sums begin anew.
    fn forget_books(&mut self) {
        let Population { jobs, queues, .. } = self.population;
        let all: Vec<QueueIx> = queues.iter().map(|(ix, _)| ix).collect();
        all.into_iter()
            .for_each(|ix| queues.touch(ix, self.journal));
        queues.forget_books();
        for (_, job) in jobs.iter_mut() {
            job.flags.share = QueueShareOf::default();
        }
        let all: Vec<JobIx> = self.population.jobs().map(|(ix, _)| ix).collect();
        all.into_iter().for_each(|ix| self.touch(ix));
    }

    fn touch(&mut self, ix: JobIx) {
        self.population.touch_job(ix, self.journal);
    }

    /// A queue is gone.
    pub fn delete_queue(&mut self, name: &str) {
        let Some(ix) = self.population.queue_by_name(name) else {
            return;
        };
        self.uncount_all_claims();
        for (_, job) in self.population.jobs.iter_mut() {
            job.queue = job.queue.filter(|queue| *queue != ix);
        }
        let name = self.population.names.intern(name);
        self.population.queues.remove(name, ix, self.journal);
    }

    /// Lets a job belong to the queue with a name. Without its PodGroup it belongs to none.
    fn move_job(&mut self, ix: JobIx, queue_name: Sym) {
        let Population { jobs, queues, .. } = &mut *self.population;
        let job = &mut jobs[ix.at()];
        self.journal.note(job.queue_name != queue_name);
        job.queue_name = queue_name;
        if job.queue == queues.of(job) {
            return;
        }
        let tasks = self.population.job(ix).tasks.iter().copied();
        let claiming = tasks.filter(|ix| self.population.task(*ix).has_resource_claims());
        let claiming: Vec<TaskIx> = claiming.collect();
        claiming.iter().for_each(|task| self.uncount_claims(*task));
        self.change_queue(ix);
        self.counts.held_is_stale();
        claiming.iter().for_each(|task| self.count_claims(*task));
        self.touch(ix);
    }

    /// What a job counts is counted for the queue that it names, and no more for the one it was of.
    fn change_queue(&mut self, ix: JobIx) {
        let Population { jobs, queues, .. } = &mut *self.population;
        let job = &mut jobs[ix.at()];
        let new = queues.of(job);
        let old = std::mem::replace(&mut job.queue, new);
        if let Some(old) = old {
            queues.remove_job(old, job);
            queues.touch(old, self.journal);
        }
        if let Some(new) = new {
            queues.add_job(new, job);
            queues.touch(new, self.journal);
        }
    }

    /// Makes a job that has no pods yet.
    fn new_job(&mut self, namespace: Sym, name: &str, uid: &str, origin: Origin) -> JobIx {
        let job = Job {
            serial: self.journal.next_serial(),
            namespace,
            name: name.into(),
            uid: uid.into(),
            created_s: 0,
            origin,
            queue_name: self.population.default_queue,
            queue: None,
            priority_class: "".into(),
            priority: 0,
            min_available: 1,
            role_min_total: 0,
            min_resources: None,
            admitted: None,
            tasks: Vec::new(),
            by_status: [0; STATUSES],
            pending_best_effort: 0,
            marks: MarkCounts::default(),
            roles: Vec::new(),
            sub_jobs: Vec::new(),
            allocated: ResVec::default(),
            pipelined: ResVec::default(),
            in_doubt: ResVec::default(),
            pending: WideSum::default(),
            total: ResVec::default(),
            gated: ResVec::default(),
            releasing_on_node: 0,
            status: GroupStatus::default(),
            flags: DirtyFlags::default(),
        };
        let ix = JobIx(self.population.jobs.insert(job) as u32);
        self.touch(ix);
        ix
    }

    /// Ends a job of which nothing is left; its identity if so.
    pub fn drop_if_empty(&mut self, ix: JobIx) -> Option<JobId> {
        let job = self.population.job(ix);
        if !job.tasks.is_empty() || matches!(job.origin, Origin::Group(_)) {
            return None;
        }
        let id = self.population.job_id(ix);
        let Population { jobs, queues, .. } = &mut *self.population;
        self.journal.retire_job(jobs, ix);
        queues.retire_share_of(&mut jobs[ix.at()]);
        let job = jobs.remove(ix.at())?;
        if let Some(queue) = job.queue {
            queues.get_mut(queue).jobs -= 1;
        }
        if job.origin == Origin::Missing
            && let Some(name) = self.population.names.get(&job.name)
        {
            self.population.job_by_key.remove(&(job.namespace, name));
        }
        self.population.sub_jobs_stale.remove(&ix);
        Some(id)
    }
}
