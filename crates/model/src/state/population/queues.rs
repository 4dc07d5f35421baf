//! Queues that come, change and go, and sums over all of them.

use rustc_hash::{FxHashMap, FxHashSet};
use slab::Slab;

use super::{JobBooks, Population};
use crate::claim::ClaimedDevices;
use crate::intern::Sym;
use crate::ix::{JobIx, QueueIx};
use crate::job::{Job, QueueShareOf};
use crate::object::QueueObject;
use crate::queue::Queue;
use crate::resource::{ResIx, ResVec, ResourceNames, WideSum};
use crate::state::ChangeJournal;

/// Queues, found by index and by name.
#[derive(Clone, Default)]
pub struct QueueTable {
    table: Slab<Queue>,
    pub(super) by_name: FxHashMap<Sym, QueueIx>,
    /// Reservations of admitted jobs that have a queue.
    reserved: WideSum,
    /// Queues came or went, and jobs do not know it yet.
    are_stale: bool,
    named: QueueResources,
}

/// The resources that queues name, be it to forbid them.
#[derive(Clone, Default)]
struct QueueResources {
    /// The epoch of the queues of which it is known, plus one.
    epoch: u64,
    resources: FxHashSet<ResIx>,
}

impl QueueTable {
    /// The queue with this index.
    #[inline]
    pub fn get(&self, ix: QueueIx) -> &Queue {
        &self.table[ix.at()]
    }

    #[inline]
    pub(in crate::state) fn get_mut(&mut self, ix: QueueIx) -> &mut Queue {
        &mut self.table[ix.at()]
    }

    /// A queue that may be gone by now.
    #[inline]
    pub fn find(&self, ix: QueueIx) -> Option<&Queue> {
        self.table.get(ix.at())
    }

    #[inline]
    pub(in crate::state) fn find_mut(&mut self, ix: QueueIx) -> Option<&mut Queue> {
        self.table.get_mut(ix.at())
    }

    /// All queues.
    pub fn iter(&self) -> impl Iterator<Item = (QueueIx, &Queue)> {
        self.table
            .iter()
            .map(|(at, queue)| (QueueIx(at as u32), queue))
    }

    /// Reservations of admitted jobs that have a queue, as of
    /// [`ChangeReader::settle_books`](crate::state::ChangeReader::settle_books).
    pub fn reserved(&self) -> &WideSum {
        &self.reserved
    }

    pub(super) fn named(&self, name: Sym) -> Option<QueueIx> {
        self.by_name.get(&name).copied()
    }

    /// The queue of a job: by the name it has, and none without its PodGroup.
    pub(super) fn of(&self, job: &Job) -> Option<QueueIx> {
        match job.origin.lacks_group() {
            true => None,
            false => self.named(job.queue_name),
        }
    }

    /// What a queue has allocated may have changed.
    #[inline]
    pub(in crate::state) fn touch(&mut self, ix: QueueIx, journal: &mut ChangeJournal) {
        journal.touch_queue(&mut self.table[ix.at()], ix);
    }

    /// Whether queues came or went since the last call.
    pub(in crate::state) fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.are_stale)
    }

    /// Adds (`by` = 1) or removes (`by` = −1) a job's share of the books.
    pub(super) fn enter_share(&mut self, share: &QueueShareOf, by: i32) {
        self.reserved.shift(&share.reserved, by);
        let queue = share.queue.and_then(|ix| self.table.get_mut(ix.at()));
        if let Some(queue) = queue {
            queue.reserved.shift(&share.reserved, by);
            match by > 0 {
                true => queue.elastic.add(&share.elastic),
                false => queue.elastic.sub(&share.elastic),
            }
        }
    }

    /// A job that is about to go has no share of the books any more.
    pub(super) fn retire_share_of(&mut self, job: &mut Job) {
        let share = std::mem::take(&mut job.flags.share);
        if !self.are_stale {
            self.enter_share(&share, -1);
        }
    }

    /// The sums begin anew.
    pub(super) fn forget_books(&mut self) {
        self.reserved = WideSum::default();
        for (_, queue) in &mut self.table {
            (queue.reserved, queue.elastic) = (WideSum::default(), ResVec::default());
        }
    }

    /// No queue has jobs.
    pub(super) fn empty(&mut self) {
        for (_, queue) in &mut self.table {
            queue.allocated = Default::default();
            queue.pipelined = Default::default();
            queue.in_doubt = Default::default();
            queue.pending = Default::default();
            queue.jobs = 0;
        }
    }

    /// A job that was of no queue belongs to this one.
    pub(super) fn add_job(&mut self, ix: QueueIx, job: &Job) {
        let queue = self.get_mut(ix);
        queue.allocated.add(&job.allocated);
        queue.pipelined.add(&job.pipelined);
        queue.in_doubt.add(&job.in_doubt);
        queue.pending.shift_sum(&job.pending, 1);
        queue.jobs += 1;
    }

    /// The inverse of [`QueueTable::add_job`].
    pub(super) fn remove_job(&mut self, ix: QueueIx, job: &Job) {
        let queue = self.get_mut(ix);
        queue.allocated.sub(&job.allocated);
        queue.pipelined.sub(&job.pipelined);
        queue.in_doubt.sub(&job.in_doubt);
        queue.pending.shift_sum(&job.pending, -1);
        queue.jobs -= 1;
    }

    /// Looks again which resources queues name, if something else is written on them.
    pub(in crate::state) fn settle_named(
        &mut self,
        resources: &ResourceNames,
        journal: &ChangeJournal,
    ) {
        let epoch = journal.queues_epoch() + 1;
        if self.named.epoch == epoch {
            return;
        }
        let objects = self.table.iter().map(|(_, queue)| &queue.object);
        let lists =
            objects.flat_map(|queue| [&queue.capability, &queue.deserved, &queue.guarantee]);
        let names = lists.flatten().filter_map(|(name, _)| resources.get(name));
        self.named = QueueResources {
            epoch,
            resources: names.collect(),
        };
    }

    /// Whether some queue names a resource.
    pub(in crate::state) fn name(&self, resource: ResIx) -> bool {
        self.named.resources.contains(&resource)
    }

    fn insert(&mut self, name: Sym, queue: Queue) -> QueueIx {
        let ix = QueueIx(self.table.insert(queue) as u32);
        self.by_name.insert(name, ix);
        self.are_stale = true;
        ix
    }

    /// A queue is gone, and nothing of resource claims counts for it any more.
    pub(super) fn remove(&mut self, name: Sym, ix: QueueIx, journal: &mut ChangeJournal) {
        journal.changed();
        journal.queues_changed();
        journal.queue_tree_changed();
        self.table.remove(ix.at());
        self.by_name.remove(&name);
        self.are_stale = true;
        journal.forget_queue(ix);
    }
}

impl Population {
    /// Brings the share that a job has of the books in step with it.
    pub(in crate::state) fn settle_share(&mut self, ix: JobIx) {
        let Some(job) = self.jobs.get_mut(ix.at()) else {
            return;
        };
        job.flags.unsettled = false;
        let new = QueueShareOf::of(job);
        if new == job.flags.share {
            return;
        }
        let old = std::mem::replace(&mut job.flags.share, new.clone());
        self.queues.enter_share(&old, -1);
        self.queues.enter_share(&new, 1);
    }
}

impl JobBooks<'_> {
    /// Takes a queue in as its object tells.
    pub fn apply_queue(&mut self, object: QueueObject, resources: &mut ResourceNames) {
        let Population { names, queues, .. } = &mut *self.population;
        let name = names.intern(&object.name);
        let found = queues.named(name);
        if let Some(ix) = found {
            let known = &mut queues.get_mut(ix).object;
            // What its status says is allocated decides nothing; it is ours to write.
            if known.allocated != object.allocated {
                known.allocated.clone_from(&object.allocated);
                queues.touch(ix, self.journal);
            }
            if queues.get(ix).object == object {
                return;
            }
        }
        self.journal.changed();
        let capability = resources.vector(&object.capability);
        let deserved = resources.vector(&object.deserved);
        let guarantee = resources.vector(&object.guarantee);
        if let Some(ix) = found {
            let queue = queues.get_mut(ix);
            let before = &queue.object;
            let moves = before.parent != object.parent || before.created_s != object.created_s;
            (queue.object, queue.capability) = (object, capability);
            (queue.deserved, queue.guarantee) = (deserved, guarantee);
            self.journal.queue_is_rewritten(&mut queues.table, ix);
            if moves {
                self.journal.queue_tree_changed();
            }
            return;
        }
        let queue = Queue {
            object,
            capability,
            deserved,
            guarantee,
            allocated: ResVec::default(),
            pipelined: ResVec::default(),
            in_doubt: ResVec::default(),
            devices: ClaimedDevices::default(),
            pending: WideSum::default(),
            reserved: WideSum::default(),
            elastic: ResVec::default(),
            jobs: 0,
            changed: false,
            rewritten: false,
        };
        let ix = queues.insert(name, queue);
        queues.touch(ix, self.journal);
        self.journal.queue_is_rewritten(&mut queues.table, ix);
        self.journal.queue_tree_changed();
    }
}
