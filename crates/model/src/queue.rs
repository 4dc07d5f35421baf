//! Queues and what their jobs hold.

use crate::claim::ClaimedDevices;
use crate::object::{QueueObject, QueueState};
use crate::resource::{CPU, MEMORY, ResIx, ResVec, ResourceNames, WideSum};

/// One queue.
#[derive(Clone, Debug)]
pub struct Queue {
    /// What is read of the Queue object.
    pub object: QueueObject,
    /// `spec.capability`.
    pub capability: ResVec,
    /// `spec.deserved`.
    pub deserved: ResVec,
    /// `spec.guarantee.resource`.
    pub guarantee: ResVec,
    /// Requests of its jobs' tasks in an allocated status.
    pub allocated: ResVec,
    /// Requests of its jobs' pipelined tasks.
    pub pipelined: ResVec,
    /// Requests of its jobs' tasks whose eviction was decided and that nothing marks as being deleted yet: it
    /// may be refused.
    pub in_doubt: ResVec,
    /// What its pods have by resource claims.
    pub devices: ClaimedDevices,
    /// Requests of its jobs' pending tasks.
    pub pending: WideSum,
    /// Reservations of its admitted jobs, as of `ChangeReader::settle_books`.
    pub reserved: WideSum,
    /// What its jobs hold beyond `minResources`, as of `ChangeReader::settle_books`.
    pub elastic: ResVec,
    /// Number of jobs that name it.
    pub jobs: u32,
    pub(crate) changed: bool,
    pub(crate) rewritten: bool,
}

impl Queue {
    /// The limits that its `spec.capability` names. The vector does not tell a limit of 0 from none,
    /// the object does; for cpu and memory both mean no limit.
    pub fn limits<'a>(
        &'a self,
        resources: &'a ResourceNames,
    ) -> impl Iterator<Item = (ResIx, i64)> + 'a {
        let named = self.object.capability.iter();
        let known = named.filter_map(|(name, limit)| Some((resources.get(name)?, *limit)));
        known.filter(|(ix, limit)| *limit > 0 || !matches!(*ix, CPU | MEMORY))
    }

    /// Takes new jobs.
    pub fn is_open(&self) -> bool {
        self.object.state == QueueState::Open
    }

    /// What it has allocated, with the devices that its pods claim.
    pub fn allocated_with_devices(&self) -> ResVec {
        let mut allocated = self.allocated.clone();
        allocated.add(&self.devices.allocated);
        allocated
    }

    /// Allocated and pipelined: what the queue holds within a cycle.
    pub fn held(&self) -> ResVec {
        let mut held = self.allocated.clone();
        held.add(&self.pipelined);
        held
    }
}
