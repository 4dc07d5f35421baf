//! Dense indices: small numbers that stand for objects of the state. They are here together, for the
//! tables they point into point at each other.
//!
//! An index says nothing once its object is gone: those of tasks, jobs and queues are used again, those
//! of nodes move with their names. Whoever remembers a task or a job while changes are applied keeps its
//! [`TaskId`] or [`JobId`].

use crate::state::Population;

/// Dense index of a task; reused after the pod is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskIx(pub u32);

impl TaskIx {
    /// As an array index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Dense index of a job; reused after the job is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobIx(pub u32);

impl JobIx {
    /// As an array index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Identity of a task: its index, and which of all tasks that had this index it is. It never means another
/// task; [`Population::known_task`](crate::Population::known_task) tells whether it still means one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId {
    pub(crate) ix: TaskIx,
    pub(crate) serial: u64,
}

impl TaskId {
    /// A number that no task before it has: those that come later have larger ones.
    pub fn serial(self) -> u64 {
        self.serial
    }

    /// Identity of the pod with this UID, if it is there.
    pub fn by_uid(population: &Population, uid: &str) -> Option<Self> {
        population
            .task_by_uid(uid)
            .map(|task| population.task_id(task))
    }

    /// UID of the pod; nothing, where it is gone.
    pub fn uid(self, population: &Population) -> Option<&str> {
        let task = population.known_task(self)?;
        Some(&population.task(task).uid)
    }

    /// The index it has, or had as long as it was there: after that another task may have it.
    pub fn ix(self) -> TaskIx {
        self.ix
    }
}

/// Identity of a job: its index, and which of all jobs that had this index it is. It never means another
/// job; [`Population::known_job`](crate::Population::known_job) tells whether it still means one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId {
    pub(crate) ix: JobIx,
    pub(crate) serial: u64,
}

impl JobId {
    /// The index it has, or had as long as it was there: after that another job may have it.
    pub fn ix(self) -> JobIx {
        self.ix
    }
}

/// Dense index of a queue; reused after the queue is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueIx(pub u32);

impl QueueIx {
    /// As an array index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Dense index of a node, in name order once sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIx(pub u32);

impl NodeIx {
    /// As an array index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Dense index of a domain of the network (spec/08 §1), by tier and then by name; the cluster comes last.
/// All move when the tree changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainIx(pub u32);

impl DomainIx {
    /// As an array index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Dense index of a [`crate::Shape`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeIx(pub u32);

/// Dense index of [`crate::Rules`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RulesIx(pub u32);

/// Dense index of an `Appearance`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AppearanceIx(pub u32);

/// Dense index of a `Counter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterIx(pub u32);

/// Dense index of a [`crate::VolumeNeed`]; 0 belongs to pods without volumes that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NeedIx(pub u32);

impl NeedIx {
    /// The pod has no volumes that matter.
    pub const NONE: Self = Self(0);
}

/// Dense index of a [`crate::ResourceNeed`]; 0 belongs to pods without resource claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceNeedIx(pub u32);

impl ResourceNeedIx {
    /// The pod has no resource claims.
    pub const NONE: Self = Self(0);
}

/// Dense index of what a pod asks of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceRequestIx(pub u32);

impl DeviceRequestIx {
    /// Nothing.
    pub const NONE: Self = Self(0);
}
