//! Tasks, found by index, UID and identity.

use super::Population;
use crate::intern::Sym;
use crate::ix::{NodeIx, TaskId, TaskIx};
use crate::state::ChangeJournal;
use crate::task::Task;
use crate::topology::Topology;

impl Population {
    /// The task with this index.
    #[inline]
    pub fn task(&self, ix: TaskIx) -> &Task {
        &self.tasks[ix.at()]
    }

    #[inline]
    pub(in crate::state) fn task_mut(&mut self, ix: TaskIx) -> &mut Task {
        &mut self.tasks[ix.at()]
    }

    /// A task that may be gone by now.
    #[inline]
    pub fn find_task(&self, ix: TaskIx) -> Option<&Task> {
        self.tasks.get(ix.at())
    }

    /// All tasks.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskIx, &Task)> {
        self.tasks
            .iter()
            .map(|(at, task)| (TaskIx(at as u32), task))
    }

    /// Nodes have other indices now.
    pub(in crate::state) fn renumber_nodes(&mut self, moved: &[u32]) {
        for (_, task) in self.tasks.iter_mut() {
            if let Some(node) = task.node {
                task.node = Some(NodeIx(moved[node.at()]));
            }
        }
    }

    /// What tasks look like to selectors is numbered anew.
    pub(in crate::state) fn renew_appearances(&mut self, topology: &mut Topology) {
        for (_, task) in self.tasks.iter_mut() {
            let (labels, owners) = (&task.labels, &task.owners);
            task.appearance = topology.appearance(&mut self.names, task.namespace, labels, owners);
        }
    }

    /// Task by pod UID.
    pub fn task_by_uid(&self, uid: &str) -> Option<TaskIx> {
        self.task_by_uid.get(uid).copied()
    }

    /// `namespace/name` of a task.
    pub fn task_key(&self, ix: TaskIx) -> String {
        let task = self.task(ix);
        format!("{}/{}", self.names.text(task.namespace), task.name)
    }

    /// The identity of a task, for whoever remembers it while changes are applied.
    #[inline]
    pub fn task_id(&self, ix: TaskIx) -> TaskId {
        let serial = self.task(ix).serial;
        TaskId { ix, serial }
    }

    /// The task that this identity was given to, unless it is gone.
    #[inline]
    pub fn known_task(&self, id: TaskId) -> Option<TaskIx> {
        let task = self.find_task(id.ix);
        task.is_some_and(|task| task.serial == id.serial)
            .then_some(id.ix)
    }

    /// Takes a new task into the table. It is not part of its job yet.
    pub(in crate::state) fn add_task(&mut self, task: Task) -> TaskIx {
        let uid = task.uid.clone();
        let ix = TaskIx(self.tasks.insert(task) as u32);
        self.task_by_uid.insert(uid, ix);
        ix
    }

    /// Forgets a task that has left its job.
    pub(in crate::state) fn remove_task(&mut self, ix: TaskIx) -> Option<Task> {
        self.holds.forget(ix);
        self.evictions.take(ix);
        self.endings.forget(ix);
        let task = self.tasks.remove(ix.at())?;
        self.task_by_uid.remove(&task.uid);
        Some(task)
    }

    /// A task that is new in the table becomes part of its job.
    pub(in crate::state) fn join(&mut self, ix: TaskIx) {
        let task = &mut self.tasks[ix.at()];
        if task.lost_node != Sym::default() {
            self.lost.insert(ix);
        }
        self.endings.enter(ix, task);
        let Some(job_ix) = task.job else { return };
        let job = &mut self.jobs[job_ix.at()];
        job.role_entry(task.role);
        task.job_slot = job.tasks.len() as u32;
        job.tasks.push(ix);
        job.marks.count(task.preemptable, 1);
        let group = job.group();
        if group.is_some_and(|group| !group.sub_groups.is_empty()) {
            self.sub_jobs_stale.insert(job_ix);
        }
    }

    /// The inverse of [`Population::join`]. The job stays, even when empty.
    pub(in crate::state) fn leave(&mut self, ix: TaskIx, journal: &mut ChangeJournal) {
        self.lost.remove(&ix);
        let task = &self.tasks[ix.at()];
        self.endings.leave(ix, task);
        let Some(job_ix) = task.job else { return };
        let slot = task.job_slot;
        let job = &mut self.jobs[job_ix.at()];
        job.marks.count(task.preemptable, -1);
        job.tasks.swap_remove(slot as usize);
        if let Some(&moved) = job.tasks.get(slot as usize) {
            self.tasks[moved.at()].job_slot = slot;
        }
        if !job.sub_jobs.is_empty() {
            self.sub_jobs_stale.insert(job_ix);
        }
        self.touch_job(job_ix, journal);
    }

    /// Tasks on nodes that were not known when they were placed there, with the names of these.
    pub(in crate::state) fn lost_tasks(&self) -> impl Iterator<Item = (TaskIx, &str)> {
        let name = |ix: &TaskIx| (*ix, self.names.text(self.task(*ix).lost_node));
        self.lost.iter().map(name)
    }

    /// A task is on a node that is not known.
    pub(in crate::state) fn lose_task(&mut self, ix: TaskIx, node: &str) {
        self.tasks[ix.at()].lost_node = self.names.intern(node);
        self.lost.insert(ix);
    }

    /// A task is on no node, or on one that is known.
    pub(in crate::state) fn find_lost_task(&mut self, ix: TaskIx) {
        self.tasks[ix.at()].lost_node = Sym::default();
        self.lost.remove(&ix);
    }
}
