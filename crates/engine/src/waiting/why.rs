//! The reasons for which pods wait, as data.

use pumice_framework::{FitError, KeptForOther, NoDomain, Refusal, Skip, Unplaced};
use pumice_model::job::SubJob;
use pumice_model::state::Hold;
use pumice_model::{JobIx, NodeIx, TaskIx, TaskStatus};

use crate::follow_up::bind_waits::BindWait;
use crate::knowledge::Knowledge;
use crate::waiting::WaitKind;

/// Why a pod waits. The first of these that holds is the answer.
#[derive(Clone, Copy, Debug)]
pub enum Why<'a> {
    /// A node has room for it, which it does not get before the rest of its gang has some
    /// (Allocated), or before pods that are ending have left it (Pipelined).
    HasRoom {
        /// Allocated or Pipelined.
        status: TaskStatus,
        /// Node that the pod waits for or is to have.
        node: NodeIx,
    },
    /// It has this node, chosen by nobody who looks at claims, and its claims get no devices there.
    ClaimsUnseen(NodeIx),
    /// The pod's sub-group has fewer pods than it needs.
    IncompleteSubGroup(&'a SubJob),
    /// It was promised its place on this node, where others are being evicted.
    Promised(NodeIx),
    /// The pod's node is decided, and its Binding waits to be sent.
    BindWaits {
        /// What for.
        wait: &'a BindWait,
        /// Node that was decided.
        node: NodeIx,
    },
    /// The pod's Binding failed, and is not tried again yet.
    BindFailed(&'a Hold),
    /// No node whatever can serve what it asks of devices; why.
    NoDevices(&'a str),
    /// It was not tried because of its queue, and no node could take it even if it were idle.
    NeverFits,
    /// The pod's job was not tried.
    NotTried(&'a Skip),
    /// It has scheduling gates.
    Gated,
    /// No node fits.
    NoNode(&'a FitError),
    /// A task of the same role found no node before.
    RoleFailed,
    /// No domain of the network holds its job or sub-job.
    NoDomain(&'a NoDomain),
    /// It would be in the way of another job.
    Kept(&'a KeptForOther),
    /// The pod's queue has no room for it.
    Refused(&'a Refusal),
    /// Nothing is in its own way: the rest of its gang has no place, or its turn has not come.
    Untried,
}

impl<'a> From<&'a Unplaced> for Why<'a> {
    fn from(unplaced: &'a Unplaced) -> Self {
        match unplaced {
            Unplaced::NoNode(error) => Self::NoNode(error),
            Unplaced::RoleFailed => Self::RoleFailed,
            Unplaced::NoDomain(none) => Self::NoDomain(none),
            Unplaced::Kept(kept) => Self::Kept(kept),
        }
    }
}

impl Why<'_> {
    /// Which kind of reason it is.
    pub fn kind(&self) -> WaitKind {
        match self {
            Self::HasRoom { status, .. } => match status {
                TaskStatus::Pipelined => WaitKind::Releasing,
                _ => WaitKind::Gang,
            },
            Self::IncompleteSubGroup(_) => WaitKind::GangIncomplete,
            Self::Promised(_) => WaitKind::Releasing,
            Self::BindWaits { .. } => WaitKind::DevicePlugin,
            Self::BindFailed(_) => WaitKind::BindFailed,
            Self::NoDevices(_)
            | Self::ClaimsUnseen(_)
            | Self::NeverFits
            | Self::NoNode(_)
            | Self::RoleFailed => WaitKind::NoNode,
            Self::NoDomain(_) => WaitKind::Topology,
            Self::Kept(_) => WaitKind::Reserved,
            Self::NotTried(skip) => kind_of_untried(skip),
            Self::Gated => WaitKind::Gated,
            Self::Refused(Refusal::OfUser(_)) => WaitKind::UserLimit,
            Self::Refused(_) => WaitKind::QueueQuota,
            Self::Untried => WaitKind::Gang,
        }
    }

    /// In one word of a bounded set, for metrics and programs.
    pub fn class(&self) -> &'static str {
        self.kind().name()
    }
}

fn kind_of_untried(skip: &Skip) -> WaitKind {
    match skip {
        Skip::NoGroup => WaitKind::NoPodGroup,
        Skip::AwaitsGroup => WaitKind::AwaitsPodGroup,
        Skip::NoQueue => WaitKind::NoQueue,
        Skip::Tier(_) => WaitKind::Topology,
        Skip::Unserved(_) => WaitKind::NoNode,
        Skip::NotEnqueued(_) => WaitKind::NotAdmitted,
        Skip::Invalid(_) => WaitKind::GangIncomplete,
        Skip::Overused(_) => WaitKind::QueueOverused,
        Skip::NoRoomOfUser(_) => WaitKind::UserLimit,
        Skip::NoConsent(_) | Skip::QueueHeldBack(_) => WaitKind::Extender,
        Skip::Behind(_) => WaitKind::Behind,
        Skip::Postponed => WaitKind::Postponed,
    }
}

/// A pod that waits, and why.
#[derive(Clone, Copy)]
pub struct Waiting<'a> {
    pub(super) known: Knowledge<'a>,
    pub(super) task: TaskIx,
    pub(super) job: JobIx,
    /// The first reason that holds.
    pub why: Why<'a>,
}

/// The reason and message of a `PodScheduled` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodReason {
    /// In one word: `Unschedulable` where more nodes may help (spec/01 §4.6).
    pub reason: &'static str,
    /// Text of the condition, for people.
    pub message: String,
}
