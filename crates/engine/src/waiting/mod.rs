//! Why a pod waits: one answer, as data.
//!
//! ```text
//!  state, outcomes of the last cycle ─► Engine::waiting(task) ─► Waiting { why } ─┬─ reason, text
//!                                                                                 ├─ fingerprint
//!                                                                                 └─ class
//! ```
//!
//! [`Why`] is found by one ladder, from what concerns the pod alone to what concerns its gang.
//! Condition, event, page, metric and the report of a simulation are methods of what it found, so
//! they never disagree. The cause of a gang that is not ready (`gang`) holds the same data.

mod fingerprint;
mod gang;
pub(crate) mod never;
mod no_domain;
mod nobody_goes;
mod not_tried;
mod refusal;
mod text;

use pumice_framework::Unplaced;
use pumice_framework::{FitError, JobNote, NoDomain, Refusal, Skip};
use pumice_model::job::SubJob;
use pumice_model::object::Gates;
use pumice_model::state::Hold;
use pumice_model::{JobIx, NodeIx, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

pub(crate) use fingerprint::{Fingerprint, hash_of, stable_words_hash};
pub(crate) use gang::NOT_ENOUGH;
pub use text::Subject;
pub(crate) use text::headline;

pub(crate) use never::{Serviceable, held_by_queue};

use crate::Engine;
use crate::bind_waits::BindWait;

/// Why a pod waits. The first of these that holds is the answer.
#[derive(Clone, Copy, Debug)]
pub enum Why<'a> {
    /// A node has room for it, which it does not get before the rest of its gang has some
    /// (Allocated), or before pods that are ending have left it (Pipelined).
    HasRoom {
        /// Allocated or Pipelined.
        status: TaskStatus,
        /// The node.
        node: NodeIx,
    },
    /// It has this node, chosen by nobody who looks at claims, and its claims get no devices there.
    ClaimsUnseen(NodeIx),
    /// Its sub-group has fewer pods than it needs.
    IncompleteSubGroup(&'a SubJob),
    /// It was promised its place on this node, where others are being evicted.
    Promised(NodeIx),
    /// Its node is decided, and its Binding waits to be sent.
    BindWaits {
        /// What for.
        wait: &'a BindWait,
        /// The node.
        node: NodeIx,
    },
    /// Its Binding failed, and is not tried again yet.
    BindFailed(&'a Hold),
    /// No node whatever can serve what it asks of devices; why.
    NoDevices(&'a str),
    /// It was not tried because of its queue, and no node could take it even if it were idle.
    NeverFits,
    /// Its job was not tried.
    NotTried(&'a Skip),
    /// It has scheduling gates.
    Gated,
    /// No node fits.
    NoNode(&'a FitError),
    /// A task of the same role found no node before.
    RoleFailed,
    /// No domain of the network holds its job or sub-job.
    NoDomain(&'a NoDomain),
    /// Its queue has no room for it.
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
        }
    }
}

impl Why<'_> {
    /// In one word of a bounded set, for metrics and programs.
    pub fn class(&self) -> &'static str {
        match self {
            Self::HasRoom { status, .. } => match status {
                TaskStatus::Pipelined => "releasing",
                _ => "gang",
            },
            Self::IncompleteSubGroup(_) => "gang-incomplete",
            Self::Promised(_) => "releasing",
            Self::BindWaits { .. } => "device-plugin",
            Self::BindFailed(_) => "bind-failed",
            Self::NoDevices(_)
            | Self::ClaimsUnseen(_)
            | Self::NeverFits
            | Self::NoNode(_)
            | Self::RoleFailed => "no-node",
            Self::NoDomain(_) => "topology",
            Self::NotTried(skip) => class_of_untried(skip),
            Self::Gated => "gated",
            Self::Refused(_) => "queue-quota",
            Self::Untried => "gang",
        }
    }
}

fn class_of_untried(skip: &Skip) -> &'static str {
    match skip {
        Skip::NoGroup => "no-podgroup",
        Skip::AwaitsGroup => "awaits-podgroup",
        Skip::NoQueue => "no-queue",
        Skip::Tier(_) => "topology",
        Skip::Unserved(_) => "no-node",
        Skip::NotEnqueued(_) => "not-admitted",
        Skip::Invalid(_) => "gang-incomplete",
        Skip::Overused(_) => "queue-overused",
        Skip::NoConsent(_) | Skip::QueueHeldBack(_) => "extender",
        Skip::Postponed => "postponed",
    }
}

/// The plugin that looks at resource claims when a node is chosen.
const CLAIMS_PLUGIN: &str = "predicates";

/// A pod that waits, and why.
#[derive(Clone, Copy)]
pub struct Waiting<'a> {
    engine: &'a Engine,
    task: TaskIx,
    job: JobIx,
    /// Why.
    pub why: Why<'a>,
}

/// The reason and message of a `PodScheduled` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodReason {
    /// `Unschedulable`, `Schedulable`, `QuotaExceeded`, `QueueClosed` or `SchedulingGated`.
    pub reason: &'static str,
    /// Message.
    pub message: String,
}

impl Engine {
    /// Why a pod is not bound; `None` when it is, or when it is none of ours.
    pub fn waiting(&self, task: TaskIx) -> Option<Waiting<'_>> {
        let job = self.state.task(task).job?;
        let note = self.notes.get(&job);
        let noted = note.and_then(|note| note.unplaced.iter().find(|(other, _)| *other == task));
        self.waiting_in(job, task, note, noted.map(|(_, why)| why))
    }

    /// Likewise, as reason and message.
    pub fn why_pending(&self, task: TaskIx) -> Option<PodReason> {
        self.waiting(task).map(|waiting| waiting.pod_reason())
    }

    /// For asking about many pods of one job.
    pub(crate) fn waiting_pods(&self, job: JobIx) -> WaitingPods<'_> {
        let note = self.notes.get(&job);
        let noted = note.iter().flat_map(|note| note.unplaced.iter().rev());
        WaitingPods {
            engine: self,
            job,
            note,
            // The first note on a task counts.
            unplaced: noted.map(|(task, why)| (*task, why)).collect(),
            untried: None,
        }
    }

    fn waiting_in<'a>(
        &'a self,
        job: JobIx,
        ix: TaskIx,
        note: Option<&'a JobNote>,
        unplaced: Option<&'a Unplaced>,
    ) -> Option<Waiting<'a>> {
        let task = self.state.task(ix);
        let why = match task.status {
            _ if !task.ours => return None,
            TaskStatus::Allocated if self.claims_are_unseen(ix) => Why::ClaimsUnseen(task.node?),
            TaskStatus::Allocated | TaskStatus::Pipelined => {
                let (status, node) = (task.status, task.node?);
                match self.waits_on(ix).is_empty() {
                    true => Why::HasRoom { status, node },
                    false => Why::Promised(node),
                }
            }
            TaskStatus::Binding => Why::BindWaits {
                wait: self.bind_wait(ix)?,
                node: task.node?,
            },
            TaskStatus::Pending => self.why_unplaced(ix, note, unplaced),
            _ => return None,
        };
        Some(Waiting {
            engine: self,
            task: ix,
            job,
            why,
        })
    }

    /// A place was chosen without a look at the claims of the pod, which have no devices.
    fn claims_are_unseen(&self, ix: TaskIx) -> bool {
        let claims = self.state.resource_claims();
        !claims.are_served(ix) && !self.plugins.has(CLAIMS_PLUGIN)
    }

    fn why_unplaced<'a>(
        &'a self,
        ix: TaskIx,
        note: Option<&'a JobNote>,
        unplaced: Option<&'a Unplaced>,
    ) -> Why<'a> {
        if let Some(hold) = self.state.hold(ix) {
            return Why::BindFailed(hold);
        }
        let is_gated = self.state.task(ix).gates != Gates::None;
        // What nodes said of it is more exact.
        if unplaced.is_none() {
            if let Some(why) = self.unserved(ix) {
                return Why::NoDevices(why);
            }
            if !is_gated && note.is_some_and(held_by_queue) && self.never_fits(ix) {
                return Why::NeverFits;
            }
        }
        if let Some(skip) = note.and_then(|note| note.skip.as_ref()) {
            return Why::NotTried(skip);
        }
        if is_gated {
            return Why::Gated;
        }
        if unplaced.is_none()
            && let Some(sub) = self.incomplete_sub_group(ix)
        {
            return Why::IncompleteSubGroup(sub);
        }
        if let Some((status, node)) = note.and_then(|note| note.discarded.get(&ix)) {
            let (status, node) = (*status, *node);
            return Why::HasRoom { status, node };
        }
        match (unplaced, note.and_then(|note| note.refusal.as_ref())) {
            (Some(unplaced), _) => unplaced.into(),
            (None, Some(refusal)) => Why::Refused(refusal),
            (None, None) => Why::Untried,
        }
    }
}

/// The pods of one job, to be asked one after the other.
pub(crate) struct WaitingPods<'a> {
    engine: &'a Engine,
    job: JobIx,
    note: Option<&'a JobNote>,
    unplaced: FxHashMap<TaskIx, &'a Unplaced>,
    /// What all pods say that nobody tried.
    untried: Option<Fingerprint>,
}

impl<'a> WaitingPods<'a> {
    /// Why one of them waits.
    pub fn waiting(&self, task: TaskIx) -> Option<Waiting<'a>> {
        let unplaced = self.unplaced.get(&task).copied();
        self.engine.waiting_in(self.job, task, self.note, unplaced)
    }

    /// The fingerprint of what that pod is told.
    pub fn fingerprint(&mut self, waiting: &Waiting<'_>) -> Fingerprint {
        match waiting.why {
            Why::Refused(_) | Why::Untried => {
                let untried = &mut self.untried;
                *untried.get_or_insert_with(|| waiting.fingerprint())
            }
            _ => waiting.fingerprint(),
        }
    }
}
