//! What a cycle found out about a job, for conditions and explanations.

use std::sync::Arc;

use pumice_model::{Job, NodeIx, Origin, ResIx, State, Sym, TaskIx, TaskStatus, TierProblem};
use rustc_hash::FxHashMap;

use crate::nobody_goes::NobodyGoes;
use crate::points::Invalid;
use crate::reason::FitError;
use crate::refusal::{Overrun, Overruns, Refusal};

/// Why a job was not looked at, or not to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The PodGroup of the job does not exist.
    NoGroup,
    /// The PodGroup of the job is about to be made.
    AwaitsGroup,
    /// The queue of the job does not exist.
    NoQueue,
    /// It asks for a tier of the network that there is not.
    Tier(TierProblem),
    /// What its waiting pods ask of devices can be served nowhere: a pod, and why.
    Unserved(String),
    /// Not admitted by `enqueue`.
    NotEnqueued(Refusal),
    /// It can never be ready as it is.
    Invalid(Invalid),
    /// The queue of the job has all it deserves: of each resource the waiting pods ask, how much.
    Overused(Overruns),
    /// The job, as `namespace/name`, that waits before it in a queue in which nobody passes another.
    Behind(Box<str>),
    /// Somebody outside keeps it from having turns.
    NoConsent(Refusal),
    /// The user of the job has as much as a user may have in its queue.
    NoRoomOfUser(Refusal),
    /// Somebody outside keeps its queue from having turns.
    QueueHeldBack(Refusal),
    /// The cycle ended before its turn, or its turn before it was placed: more than the limit of
    /// work was needed. It goes on in the next cycle.
    Postponed,
}

impl Skip {
    /// What it says besides amounts.
    fn says_the_same(&self, other: &Self) -> bool {
        let resources = |all: &Overruns| -> Overruns {
            let nothing = |overrun: &Overrun| Overrun {
                limit: 0,
                total: 0,
                used: 0,
                reserved: 0,
                asked: 0,
                ..*overrun
            };
            all.iter().map(nothing).collect()
        };
        match (self, other) {
            (Self::NotEnqueued(one), Self::NotEnqueued(other)) => one.gist() == other.gist(),
            (Self::Overused(one), Self::Overused(other)) => resources(one) == resources(other),
            _ => self == other,
        }
    }

    /// The queue, or the size of the cluster, is all that keeps the job from being tried.
    pub fn is_of_queue(&self) -> bool {
        matches!(
            self,
            Self::NotEnqueued(_) | Self::Overused(_) | Self::QueueHeldBack(_) | Self::Behind(_)
        )
    }

    /// Why a job is skipped that has no PodGroup where there has to be one, or one that asks what is not done.
    pub fn without_group(job: &Job) -> Option<Self> {
        match &job.origin {
            Origin::Missing => Some(Self::NoGroup),
            Origin::Awaited => Some(Self::AwaitsGroup),
            Origin::Group(group) if !group.native.unserved.is_empty() => {
                Some(Self::Unserved(group.native.unserved.clone()))
            }
            Origin::Group(_) | Origin::BarePod => None,
        }
    }

    /// Why a job is skipped that asks for a place in the network that there cannot be (spec/08 §3).
    pub fn without_tier(state: &State, job: &Job) -> Option<Self> {
        let group = job.group()?;
        let policies = group.sub_groups.iter().map(|policy| &policy.topology);
        let asked = std::iter::once(&group.topology).chain(policies).flatten();
        let mut problems = asked.filter_map(|one| state.ground().network().highest_tier(one).err());
        problems.next().map(Self::Tier)
    }
}

/// Why one task found no place.
#[derive(Clone, Debug, PartialEq)]
pub enum Unplaced {
    /// No node fits.
    NoNode(Arc<FitError>),
    /// A task of the same role found no node before.
    RoleFailed,
    /// No domain of the network holds its unit.
    NoDomain(Arc<NoDomain>),
    /// It would be in the way of another job.
    Kept(Arc<KeptForOther>),
}

/// Places that a task does not get because another job is to have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeptForOther {
    /// The other job, as `namespace/name`.
    pub job: Box<str>,
    /// When it is to start, seconds since the epoch.
    pub start_s: i64,
    /// Nodes on which the task was found to be in the way of some job; 0 where it is the queue that has no room for both.
    pub nodes: usize,
}

/// Why no domain holds what a unit of a job lacks (spec/08 §7).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoDomain {
    /// Sub-job, or CompositePodGroup of a tree, of which it is told; `None` for the job.
    pub part: Option<Box<str>>,
    /// It has pods on nodes, and may only be around those.
    pub has_placed: bool,
    /// Pods that the unit lacks.
    pub lacks: u32,
    /// The domain that comes nearest in each tier that has a candidate, in order.
    pub tiers: Vec<NearestDomain>,
    /// The first pod that found no place in the nearest domain of the last tier, and why; `None` where there
    /// was room for one of each class, and only too little.
    pub cause: Option<(TaskIx, Unplaced)>,
}

/// The domain of a tier that could take most of what a unit lacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NearestDomain {
    /// Tier of the domain.
    pub tier: i64,
    /// Name of its HyperNode.
    pub name: Box<str>,
    /// Pods it could take, at most as many as are lacking.
    pub holds: u32,
    /// It may be fewer: pods of several classes were counted each for itself.
    pub at_most: bool,
    /// Pods that were placed there when it was tried; `None` if it was not, for it holds too few.
    pub placed: Option<u32>,
}

/// What a cycle notes about a job, for conditions and explanations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobNote {
    /// Why it was skipped.
    pub skip: Option<Skip>,
    /// Why its queue refused tasks (the first refusal).
    pub refusal: Option<Refusal>,
    /// Tasks that found no place, in the order they were tried.
    pub unplaced: Vec<(TaskIx, Unplaced)>,
    /// Roles and sub-jobs of those that found no node, each once.
    pub failed_roles: Vec<(Sym, u16)>,
    /// Placements of transactions that were taken back: status and node they had.
    pub discarded: FxHashMap<TaskIx, (TaskStatus, NodeIx)>,
    /// Why nobody is evicted for it: of each action that tried, what was in its way.
    pub nobody_goes: Vec<NobodyGoes>,
    /// How much pods beyond the minimum of other jobs hold of what it lacks for its own.
    pub extras: Vec<(ResIx, i64)>,
}

impl JobNote {
    /// Why the job was not admitted, if that is why it was skipped.
    pub fn enqueue_refusal(&self) -> Option<&Refusal> {
        match &self.skip {
            Some(Skip::NotEnqueued(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Whether two notes differ in nothing but amounts: of refusals, which move with every pod that is
    /// placed in the queue, and of pods that may not be evicted.
    pub fn differs_in_amounts_only(&self, other: &Self) -> bool {
        let gist = |refusal: Option<&Refusal>| refusal.map(Refusal::gist);
        let gists = |all: &[NobodyGoes]| all.iter().map(NobodyGoes::gist).collect::<Vec<_>>();
        let resources = |all: &[(ResIx, i64)]| all.iter().map(|(ix, _)| *ix).collect::<Vec<_>>();
        let skips_alike = match (&self.skip, &other.skip) {
            (Some(one), Some(other)) => one.says_the_same(other),
            (one, other) => one.is_none() == other.is_none(),
        };
        skips_alike
            && gist(self.refusal.as_ref()) == gist(other.refusal.as_ref())
            && self.unplaced == other.unplaced
            && self.failed_roles == other.failed_roles
            && self.discarded == other.discarded
            && gists(&self.nobody_goes) == gists(&other.nobody_goes)
            && resources(&self.extras) == resources(&other.extras)
    }
}
