//! Queues that come, change and go.

use super::State;
use crate::claim::ClaimedDevices;
use crate::ix::QueueIx;
use crate::object::QueueObject;
use crate::queue::Queue;
use crate::resource::{CPU, MEMORY, ResIx, ResVec, WideSum};

impl State {
    /// The limits that the `spec.capability` of a queue names. The vector does not tell a limit of 0 from none,
    /// the object does; for cpu and memory both mean no limit.
    pub fn limits<'a>(&'a self, queue: &'a Queue) -> impl Iterator<Item = (ResIx, i64)> + 'a {
        let named = queue.object.capability.iter();
        let known = named.filter_map(|(name, limit)| Some((self.resources.get(name)?, *limit)));
        known.filter(|(ix, limit)| *limit > 0 || !matches!(*ix, CPU | MEMORY))
    }

    pub(super) fn apply_queue(&mut self, object: QueueObject) {
        let name = self.names.intern(&object.name);
        if let Some(&ix) = self.queue_by_name.get(&name) {
            let known = &mut self.queues[ix.at()].object;
            // What its status says is allocated decides nothing; it is ours to write.
            if known.allocated != object.allocated {
                known.allocated.clone_from(&object.allocated);
                self.touch_queue(ix);
            }
            if self.queues[ix.at()].object == object {
                return;
            }
        }
        self.journal.changed();
        let capability = self.resources.vector(&object.capability);
        let deserved = self.resources.vector(&object.deserved);
        let guarantee = self.resources.vector(&object.guarantee);
        if let Some(&ix) = self.queue_by_name.get(&name) {
            let queue = &mut self.queues[ix.at()];
            let before = &queue.object;
            let moves = before.parent != object.parent || before.created_s != object.created_s;
            (queue.object, queue.capability) = (object, capability);
            (queue.deserved, queue.guarantee) = (deserved, guarantee);
            self.queue_is_rewritten(ix);
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
        let ix = QueueIx(self.queues.insert(queue) as u32);
        self.queue_by_name.insert(name, ix);
        self.touch_queue(ix);
        self.queue_is_rewritten(ix);
        self.journal.queue_tree_changed();
        self.queues_stale = true;
    }

    pub(super) fn delete_queue(&mut self, name: &str) {
        let Some(ix) = self.queue_by_name(name) else {
            return;
        };
        self.journal.changed();
        self.journal.queues_changed();
        self.journal.queue_tree_changed();
        self.uncount_all_claims();
        for (_, job) in self.jobs.iter_mut() {
            job.queue = job.queue.filter(|queue| *queue != ix);
        }
        self.queues.remove(ix.at());
        self.journal.forget_queue(ix);
        let name = self.names.intern(name);
        self.queue_by_name.remove(&name);
        self.queues_stale = true;
    }
}
