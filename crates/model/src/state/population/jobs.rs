//! Jobs, found by index, name and identity; how they come and go.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::Population;
use crate::ix::{JobId, JobIx, TaskIx};
use crate::job::{Job, NOWHERE};
use crate::object::GroupObject;
use crate::shared::SharedTable;
use crate::state::ChangeJournal;

impl Population {
    /// The job with this index.
    #[inline]
    pub fn job(&self, ix: JobIx) -> &Job {
        &self.jobs[ix.at()]
    }

    #[inline]
    pub(in crate::state) fn job_mut(&mut self, ix: JobIx) -> &mut Job {
        &mut self.jobs[ix.at()]
    }

    /// All jobs, each once, to be changed where that is told elsewhere.
    pub(in crate::state) fn jobs_mut(&mut self) -> &mut SharedTable<Job> {
        &mut self.jobs
    }

    /// All jobs.
    pub fn jobs(&self) -> impl Iterator<Item = (JobIx, &Job)> {
        self.jobs.iter().map(|(at, job)| (JobIx(at as u32), job))
    }

    /// Labels that PodGroups name, to be placed on nodes with one value of it.
    pub(in crate::state) fn labels_named_by_groups(&self) -> BTreeSet<&str> {
        let groups = self.jobs().filter_map(|(_, job)| job.group());
        groups.flat_map(GroupObject::named_labels).collect()
    }

    /// Whether there is a job with that index.
    #[inline]
    pub fn has_job(&self, ix: JobIx) -> bool {
        self.jobs.contains(ix.at())
    }

    /// `namespace/name` of a job.
    pub fn job_key(&self, ix: JobIx) -> String {
        let job = self.job(ix);
        format!("{}/{}", self.names.text(job.namespace), job.name)
    }

    /// The order of two jobs by the one string `namespace/name`, byte by byte, which is how Volcano
    /// names jobs and breaks ties. A pod without PodGroup has the name that Volcano's controller
    /// would give its group: `podgroup-` and the UID.
    pub fn job_key_order(&self, left: JobIx, right: JobIx) -> Ordering {
        let (left, right) = (self.job(left), self.job(right));
        if left.namespace == right.namespace {
            return left.group_name().cmp(right.group_name());
        }
        let namespace = |job: &Job| self.names.text(job.namespace).bytes().chain([b'/']);
        let left = namespace(left).chain(left.group_name().bytes());
        left.cmp(namespace(right).chain(right.group_name().bytes()))
    }

    /// Job by namespace and PodGroup name.
    pub fn job_by_key(&self, namespace: &str, name: &str) -> Option<JobIx> {
        let key = (self.names.get(namespace)?, self.names.get(name)?);
        self.job_by_key.get(&key).copied()
    }

    /// The identity of a job, for whoever remembers it while changes are applied.
    #[inline]
    pub fn job_id(&self, ix: JobIx) -> JobId {
        let serial = self.job(ix).serial;
        JobId { ix, serial }
    }

    /// The job that this identity was given to, unless it is gone.
    #[inline]
    pub fn known_job(&self, id: JobId) -> Option<JobIx> {
        let job = self.jobs.get(id.ix.at());
        job.is_some_and(|job| job.serial == id.serial)
            .then_some(id.ix)
    }

    /// Whether there is such a job and it has pending tasks or waits for admission.
    #[inline]
    pub fn is_waiting(&self, ix: JobIx) -> bool {
        let job = self.jobs.get(ix.at());
        job.is_some_and(|job| job.flags.waiting_slot != NOWHERE)
    }

    /// The pod or its PodGroup says that it is not to be evicted, or says something unreadable of it
    /// (spec/07 §2.3).
    pub fn is_protected_by_mark(&self, ix: TaskIx) -> bool {
        let task = self.task(ix);
        let group = task.job.and_then(|job| self.job(job).group());
        task.preemptable.protects() || group.is_some_and(|group| group.preemptable.protects())
    }

    /// A job has changed.
    #[inline]
    pub(in crate::state) fn touch_job(&mut self, ix: JobIx, journal: &mut ChangeJournal) {
        journal.touch_job(&mut self.jobs, ix);
    }

    /// The job of a task, if it has one, has changed.
    #[inline]
    pub(in crate::state) fn touch_job_of(&mut self, ix: TaskIx, journal: &mut ChangeJournal) {
        if let Some(job) = self.task(ix).job {
            self.touch_job(job, journal);
        }
    }
}
