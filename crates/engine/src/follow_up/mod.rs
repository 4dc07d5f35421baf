//! What follows a change of the cluster, and what is remembered from one cycle to the next.
//!
//! ```text
//!  Delta ─► FollowUp::expect ─► State::apply ─► Applied ─► FollowUp::follow ─► each part forgets who is gone
//! ```
//!
//! Each part is a type of its own and sees nothing of the others. Pods and jobs are remembered by their
//! identities ([`TaskId`](pumice_model::TaskId), [`JobId`](pumice_model::JobId)), never by an index that may
//! mean another one after the next change.

pub(crate) mod assumed_status;
pub(crate) mod backoffs;
pub(crate) mod beyond_nodes;
pub(crate) mod bind_waits;
pub(crate) mod nominations;
pub(crate) mod notes;
pub(crate) mod partial;
pub(crate) mod past_hour;
pub(crate) mod serviceable;
pub(crate) mod setbacks;
pub(crate) mod standing_places;
pub(crate) mod stretches;
pub(crate) mod suspects;
pub(crate) mod unread_reports;

use pumice_framework::Plan;
use pumice_framework::reserved::Reservations;
use pumice_model::{Applied, Delta, State, TaskStatus};

use assumed_status::AssumedStatuses;
use backoffs::Backoffs;
use beyond_nodes::BeyondNodes;
use bind_waits::BindWaits;
use nominations::Nominations;
use notes::Notes;
use partial::PartialGangs;
use past_hour::{DecidedCount, PastHour};
use serviceable::Serviceable;
use stretches::Stretches;
use suspects::Suspects;
use unread_reports::UnreadReports;

/// Everything that follows changes.
#[derive(Clone, Default)]
pub(crate) struct FollowUp {
    pub notes: Notes,
    pub beyond_nodes: BeyondNodes,
    pub partial: PartialGangs,
    pub suspects: Suspects,
    pub bind_waits: BindWaits,
    pub bind_backoffs: Backoffs,
    pub evict_backoffs: Backoffs,
    pub nominations: Nominations,
    pub assumed_statuses: AssumedStatuses,
    pub unread_reports: UnreadReports,
    pub serviceable: Serviceable,
    pub past_hour: PastHour,
    pub stretches: Stretches,
    pub reserved: Reservations,
}

impl FollowUp {
    /// A change is about to be applied; what it says that is older than what is known here is put right.
    pub fn expect(&mut self, state: &State, delta: &mut Delta) {
        self.assumed_statuses.correct(state, delta);
        self.suspects.note(state, delta);
    }

    /// What is to be applied after a change, which is not applied yet: a pod whose Binding or eviction failed
    /// is held back.
    pub fn hold_back(&mut self, state: &State, delta: &Delta) -> Option<Delta> {
        match delta {
            Delta::BindFailed { uid, message, at_s } => {
                let task = state.population().task_by_uid(uid)?;
                let is_awaited = state.task(task).status == TaskStatus::Binding;
                is_awaited.then(|| Delta::PodHeld {
                    uid: uid.clone(),
                    message: message.clone(),
                    until_s: self
                        .bind_backoffs
                        .next_try_s(state.population().task_id(task), *at_s),
                })
            }
            Delta::EvictFailed { uid, message, at_s } => {
                let task = state.population().task_by_uid(uid)?;
                state.population().evictions().before(task)?;
                Some(Delta::PodSpared {
                    uid: uid.clone(),
                    message: message.clone(),
                    until_s: self
                        .evict_backoffs
                        .next_try_s(state.population().task_id(task), *at_s),
                })
            }
            _ => None,
        }
    }

    /// A cycle decided this.
    pub fn take_in(&mut self, state: &State, plan: &Plan, now_s: i64) {
        self.nominations.take_in(state, plan, now_s);
        let decided = DecidedCount {
            binds: plan.binds.len() as u64,
            evictions: plan.evictions.len() as u64,
        };
        self.past_hour.note(now_s, decided);
    }

    /// A change was applied.
    pub fn follow(&mut self, applied: &Applied, state: &State) {
        self.notes.follow(applied);
        self.beyond_nodes.follow(applied);
        self.partial.follow(applied);
        self.stretches.follow(applied);
        self.bind_waits.follow(applied);
        self.nominations.follow(applied, state);
        self.assumed_statuses.follow(applied);
        self.bind_backoffs
            .follow(applied, state, backoffs::is_placed);
        self.evict_backoffs
            .follow(applied, state, |task| task.deleting);
    }
}
