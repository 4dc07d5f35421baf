//! Why a queue or the cluster refuses a job or a task, as data: text is made where it is told.

use std::hash::{Hash, Hasher};

use pumice_model::object::QueueState;
use pumice_model::{QueueIx, ResIx, State};
use rustc_hash::FxHasher;
use smallvec::SmallVec;

/// Why a queue plugin says no.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The queue takes nothing new in this state.
    NotOpen(QueueState),
    /// The queue has no valid place in the tree of queues, or jobs have none in it.
    Held(QueueFault),
    /// The queue, or what it may have of the cluster, would not do.
    Quota(Overruns),
    /// More would be admitted than the cluster is taken to have: its size times this factor, in
    /// thousandths.
    Overcommit(Overruns, u32),
    /// A ResourceQuota of the namespace leaves no room for its pods.
    NamespaceQuota(Box<QuotaRefusal>),
    /// Somebody outside says no, or has not answered: in words.
    Told(Box<str>),
    /// The user of the job has as much as a user may have in its queue.
    OfUser(Box<UserRefusal>),
    /// The pod requests nothing that queues deserve.
    AsksNothing,
    /// The plugin does not say.
    Unsaid,
}

/// A limit of a user that leaves no room.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserRefusal {
    /// Name of the user, empty for jobs of whom no user is known; `None` for all who are not told apart.
    pub user: Option<String>,
    /// Which limit it is.
    pub limit: LimitOfUser,
}

/// What a user may have in a queue, and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitOfUser {
    /// Jobs at the same time.
    Jobs {
        /// How many he may have.
        limit: u32,
        /// How many he has.
        jobs: u32,
    },
    /// An amount of one resource; amounts in stored units.
    Amount {
        /// Which resource.
        resource: ResIx,
        /// What he may hold.
        limit: i64,
        /// What he holds.
        held: i64,
        /// What is asked.
        asked: i64,
    },
    /// Past use.
    Used {
        /// What he may have used, in billionths of a unit times seconds.
        most: u128,
    },
}

/// A ResourceQuota that leaves no room.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuotaRefusal {
    /// Name of the ResourceQuota.
    pub quota: String,
    /// Every name of it that would be overrun, by name.
    pub shortages: Vec<QuotaShortage>,
}

/// One name of a ResourceQuota that would be overrun; amounts in thousandths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuotaShortage {
    /// As the quota has it: `requests.cpu`, `pods`.
    pub name: String,
    /// Amount that the pod asks.
    pub asked: i64,
    /// In use.
    pub used: i64,
    /// What admitted PodGroups still make pods for.
    pub promised: i64,
    /// The limit.
    pub hard: i64,
}

/// What is wrong with the place of a queue in the tree of queues: nothing is placed in it, nor evicted
/// from it, until that is put right. Other queues go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueFault {
    /// There is no queue of the name that this one has in `spec.parent`.
    ParentMissing(QueueIx),
    /// This queue is its own ancestor.
    Circle(QueueIx),
    /// Jobs name this queue, and it has others below it.
    NotLeaf(QueueIx),
}

impl QueueFault {
    /// The queue whose fault it is: this one or an ancestor.
    pub fn queue(self) -> QueueIx {
        match self {
            Self::ParentMissing(queue) | Self::Circle(queue) | Self::NotLeaf(queue) => queue,
        }
    }

    /// What `spec.parent` of that queue names, empty where the queue is gone.
    pub fn parent(self, state: &State) -> &str {
        let queue = state.population().queues().find(self.queue());
        queue.map_or("", |queue| &queue.object.parent)
    }

    /// What is wrong, where, and what to do.
    pub fn text(self, state: &State) -> String {
        let Some(queue) = state.population().queues().find(self.queue()) else {
            return "a queue above is gone".to_owned();
        };
        let (name, parent) = (&queue.object.name, &queue.object.parent);
        match self {
            Self::ParentMissing(_) => format!(
                "queue {name} is held, with those below it: its spec.parent names queue \"{parent}\", which \
                 does not exist; create that queue or change spec.parent"
            ),
            Self::Circle(_) => format!(
                "queue {name} is held, with those below it: following spec.parent from {name} to \
                 {parent} and on leads back to {name}; change spec.parent of one of them"
            ),
            Self::NotLeaf(_) => format!(
                "queue {name} has other queues below it, so nothing is placed in it: let jobs name one of \
                 those in spec.queue"
            ),
        }
    }
}

/// Every resource that would go beyond its limit: cpu, memory, then by name.
pub type Overruns = SmallVec<[Overrun; 1]>;

/// One resource that would go beyond its limit; amounts in stored units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Overrun {
    /// Resource that would go beyond its limit.
    pub resource: ResIx,
    /// The ancestor of the job's queue whose limit it is; none: the queue itself, or the cluster.
    pub above: Option<QueueIx>,
    /// What the limit is.
    pub bound: Bound,
    /// Amount that may be held at most.
    pub limit: i64,
    /// What the cluster has in all.
    pub total: i64,
    /// In use of the limit.
    pub used: i64,
    /// Promised to admitted jobs, besides.
    pub reserved: i64,
    /// Amount that the job or pod asks.
    pub asked: i64,
}

/// What limits a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The size of the cluster.
    Cluster,
    /// `spec.capability` of the queue.
    Capability,
    /// What guarantees of other queues leave.
    Guarantees,
    /// What the queue deserves beside the others at the moment.
    Deserved,
}

impl Overrun {
    /// Not even with everything else gone.
    pub fn is_for_ever(&self) -> bool {
        self.asked > self.total || (self.bound != Bound::Deserved && self.asked > self.limit)
    }

    /// The amounts that are told of it, which have one unit; those that are not are 0.
    pub fn told_amounts(&self) -> [i64; 5] {
        let Self {
            limit,
            total,
            used,
            reserved,
            asked,
            ..
        } = *self;
        match (self.is_for_ever(), self.bound) {
            (true, Bound::Capability) => [limit, 0, 0, 0, asked],
            (true, Bound::Guarantees) if asked > limit => [limit, 0, 0, 0, asked],
            (true, _) => [0, total, 0, 0, asked],
            (false, Bound::Cluster) => [0, total, used, reserved, asked],
            (false, Bound::Deserved) => [limit, total, used, reserved, asked],
            (false, _) => [limit, 0, used, reserved, asked],
        }
    }
}

impl Refusal {
    /// The queue takes nothing, whatever its quota.
    pub fn is_of_closed_queue(&self) -> bool {
        matches!(self, Self::NotOpen(_) | Self::Held(_))
    }

    /// The amounts that would be too large.
    pub fn overruns(&self) -> &[Overrun] {
        match self {
            Self::Quota(overruns) | Self::Overcommit(overruns, _) => overruns,
            Self::NotOpen(_)
            | Self::Held(_)
            | Self::NamespaceQuota(_)
            | Self::Told(_)
            | Self::OfUser(_)
            | Self::AsksNothing
            | Self::Unsaid => &[],
        }
    }

    /// What it says besides amounts: equal for refusals that differ in them only.
    pub fn gist(&self) -> u64 {
        let mut hasher = FxHasher::default();
        std::mem::discriminant(self).hash(&mut hasher);
        if let Self::NotOpen(state) = self {
            state.hash(&mut hasher);
        }
        if let Self::NamespaceQuota(refusal) = self {
            refusal.quota.hash(&mut hasher);
            for shortage in &refusal.shortages {
                (
                    &shortage.name,
                    shortage.hard,
                    shortage.asked > shortage.hard,
                )
                    .hash(&mut hasher);
            }
        }
        if let Self::Told(text) = self {
            text.hash(&mut hasher);
        }
        if let Self::OfUser(refusal) = self {
            let kind = std::mem::discriminant(&refusal.limit);
            (&refusal.user, kind).hash(&mut hasher);
            if let LimitOfUser::Amount { resource, .. } = refusal.limit {
                resource.hash(&mut hasher);
            }
        }
        if let Self::Held(fault) = self {
            fault.hash(&mut hasher);
        }
        for overrun in self.overruns() {
            (
                overrun.resource,
                overrun.above,
                overrun.bound,
                overrun.is_for_ever(),
            )
                .hash(&mut hasher);
        }
        hasher.finish()
    }
}
