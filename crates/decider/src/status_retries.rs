//! Statuses that could not be written, and when they are tried again.
//!
//! Writers have repeated each of these for a while already, so the pause is long: what is refused
//! for ever costs one request a minute.

use std::collections::VecDeque;

use pumice_model::write::PodRef;

/// Seconds before a status that was given up is made anew.
const PAUSE_S: i64 = 60;

/// Whose status.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StatusOwner {
    /// A PodGroup, by namespace and name.
    Group(String, String),
    /// A pod's condition, by UID.
    Pod(String),
    /// A pod that was to be nominated to a node, or not any more.
    Nominee(PodRef),
    /// A queue, by name.
    Queue(String),
}

/// Statuses that were given up, the first due first.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StatusRetries(VecDeque<(i64, StatusOwner)>);

impl StatusRetries {
    /// Given up at `now_s`.
    pub fn push(&mut self, now_s: i64, owner: StatusOwner) {
        self.0.push_back((now_s + PAUSE_S, owner));
    }

    /// All are due.
    pub fn hurry(&mut self) {
        self.0.iter_mut().for_each(|(due_s, _)| *due_s = 0);
    }

    /// When the first is due, seconds since the epoch.
    pub fn due_s(&self) -> Option<i64> {
        self.0.front().map(|(due_s, _)| *due_s)
    }

    /// One whose pause is over.
    pub fn pop(&mut self, now_s: i64) -> Option<StatusOwner> {
        let due = self.due_s().is_some_and(|due_s| due_s <= now_s);
        due.then(|| self.0.pop_front())
            .flatten()
            .map(|(_, owner)| owner)
    }
}
