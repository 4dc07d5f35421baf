//! The ladder on which it is found why a pod waits.

use pumice_framework::{JobNote, Unplaced};
use pumice_model::object::Gates;
use pumice_model::{JobIx, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::fingerprint::Fingerprint;
use super::why::{PodReason, Waiting, Why};
use crate::follow_up::notes::held_by_queue;
use crate::knowledge::Knowledge;

impl<'a> Knowledge<'a> {
    /// Why a pod is not bound; `None` when it is, or when it is none of ours.
    pub fn waiting(&self, task: TaskIx) -> Option<Waiting<'a>> {
        let job = self.state.task(task).job?;
        let note = self.notes.get(&job);
        let noted = note.and_then(|note| note.unplaced.iter().find(|(other, _)| *other == task));
        self.waiting_in(job, task, note, noted.map(|(_, why)| why))
    }

    /// Why a pod waits, as reason and message.
    pub fn why_pending(&self, task: TaskIx) -> Option<PodReason> {
        self.waiting(task).map(|waiting| waiting.pod_reason())
    }

    /// For asking about many pods of one job.
    pub(crate) fn waiting_pods(&self, job: JobIx) -> WaitingPods<'a> {
        let note = self.notes.get(&job);
        let noted = note.iter().flat_map(|note| note.unplaced.iter().rev());
        WaitingPods {
            known: *self,
            job,
            note,
            // The first note on a task counts.
            unplaced: noted.map(|(task, why)| (*task, why)).collect(),
            untried: None,
        }
    }

    fn waiting_in(
        &self,
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
            known: *self,
            task: ix,
            job,
            why,
        })
    }

    /// A place was chosen without a look at the claims of the pod, which have no devices.
    fn claims_are_unseen(&self, ix: TaskIx) -> bool {
        let claims = self.state.supplies().resource_claims();
        !claims.are_served(ix) && !self.plugins.look_at_claims()
    }

    fn why_unplaced(
        &self,
        ix: TaskIx,
        note: Option<&'a JobNote>,
        unplaced: Option<&'a Unplaced>,
    ) -> Why<'a> {
        if let Some(hold) = self.state.population().holds().get(ix) {
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
    known: Knowledge<'a>,
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
        self.known.waiting_in(self.job, task, self.note, unplaced)
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
