//! Who is there: pods as tasks, the jobs they make up, the queues these belong to, and what is remembered of each.
//!
//! What changes here is written to the [`ChangeJournal`](super::ChangeJournal) that is handed in. Where pods stand on nodes and what
//! they hold there is not decided here.

mod accounts;
mod admissions;
mod classes;
mod evictions;
mod holds;
mod job_books;
mod jobs;
mod overdue;
mod queues;
mod sub_jobs;
mod sweep;
mod tasks;
mod trees;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::intern::{Interner, Sym};
use crate::ix::{JobIx, QueueIx, TaskIx};
use crate::job::Job;
use crate::shared::{SharedMap, SharedTable};
use crate::task::Task;

pub use admissions::Admissions;
pub use classes::PriorityClasses;
pub use evictions::Evictions;
pub use holds::{Hold, Holds};
pub use queues::QueueTable;

pub(super) use accounts::Accounts;
pub(super) use job_books::JobBooks;
use overdue::Endings;
pub(super) use trees::{GroupTrees, told_name};

/// Tasks, jobs and queues.
pub struct Population {
    /// Interned strings.
    names: Interner,
    tasks: SharedTable<Task>,
    task_by_uid: SharedMap<Box<str>, TaskIx>,
    /// Tasks on nodes that are not known.
    lost: FxHashSet<TaskIx>,
    holds: Holds,
    evictions: Evictions,
    /// How many of them, and of evictions that are only tried, nothing marks yet.
    in_doubt: u32,
    endings: Endings,
    jobs: SharedTable<Job>,
    job_by_key: FxHashMap<(Sym, Sym), JobIx>,
    trees: GroupTrees,
    /// Jobs to be divided anew.
    sub_jobs_stale: FxHashSet<JobIx>,
    classes: PriorityClasses,
    knows_admissions: bool,
    group_controller: Option<Box<str>>,
    queues: QueueTable,
    default_queue: Sym,
}

impl Population {
    /// Nobody. PodGroups and bare pods without a queue belong to `default_queue`.
    pub(super) fn new(default_queue: &str) -> Self {
        let mut names = Interner::default();
        let default_queue = names.intern(default_queue);
        Self {
            names,
            tasks: SharedTable::default(),
            task_by_uid: SharedMap::default(),
            lost: FxHashSet::default(),
            holds: Holds::default(),
            evictions: Evictions::default(),
            in_doubt: 0,
            endings: Endings::default(),
            jobs: SharedTable::default(),
            job_by_key: FxHashMap::default(),
            trees: GroupTrees::default(),
            sub_jobs_stale: FxHashSet::default(),
            classes: PriorityClasses::default(),
            knows_admissions: false,
            group_controller: None,
            queues: QueueTable::default(),
            default_queue,
        }
    }

    /// A copy. What there is most of, tasks and jobs, is shared until one side changes it.
    pub(super) fn fork(&mut self) -> Self {
        Self {
            names: self.names.share(),
            tasks: self.tasks.share(),
            task_by_uid: self.task_by_uid.share(),
            lost: self.lost.clone(),
            holds: self.holds.clone(),
            evictions: self.evictions.clone(),
            in_doubt: self.in_doubt,
            endings: self.endings.clone(),
            jobs: self.jobs.share(),
            job_by_key: self.job_by_key.clone(),
            trees: self.trees.clone(),
            sub_jobs_stale: self.sub_jobs_stale.clone(),
            classes: self.classes.clone(),
            knows_admissions: self.knows_admissions,
            group_controller: self.group_controller.clone(),
            queues: self.queues.clone(),
            default_queue: self.default_queue,
        }
    }

    /// How many tasks and jobs there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.tasks.len(), self.jobs.len())
    }

    /// Interned strings.
    #[inline]
    pub fn names(&self) -> &Interner {
        &self.names
    }

    #[inline]
    pub(super) fn names_mut(&mut self) -> &mut Interner {
        &mut self.names
    }

    /// Queues, and what all of them have reserved.
    #[inline]
    pub fn queues(&self) -> &QueueTable {
        &self.queues
    }

    #[inline]
    pub(super) fn queues_mut(&mut self) -> &mut QueueTable {
        &mut self.queues
    }

    /// Queue by name.
    pub fn queue_by_name(&self, name: &str) -> Option<QueueIx> {
        self.queues.named(self.names.get(name)?)
    }

    /// CompositePodGroups, and the PodGroups that name one.
    #[inline]
    pub(super) fn trees(&self) -> &GroupTrees {
        &self.trees
    }

    /// PriorityClasses, by which pods and jobs have their priorities.
    pub fn priority_classes(&self) -> &PriorityClasses {
        &self.classes
    }

    /// Tasks that nobody places, or nobody evicts, for a while.
    #[inline]
    pub fn holds(&self) -> &Holds {
        &self.holds
    }

    pub(super) fn holds_mut(&mut self) -> &mut Holds {
        &mut self.holds
    }

    /// Evictions that were decided and that pod objects do not show yet.
    #[inline]
    pub fn evictions(&self) -> &Evictions {
        &self.evictions
    }

    pub(super) fn evictions_mut(&mut self) -> &mut Evictions {
        &mut self.evictions
    }

    /// Whether some eviction was decided of a pod that nothing marks as being deleted yet, in a transaction too.
    pub fn is_eviction_in_doubt(&self) -> bool {
        self.in_doubt > 0
    }

    /// The controller that makes PodGroups for pods that name none, while it is at work.
    pub fn group_controller(&self) -> Option<&str> {
        self.group_controller.as_deref()
    }
}
