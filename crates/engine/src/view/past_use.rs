//! Who used how much lately (docs/spec/13-past-use.md).

use std::fmt;

use pumice_framework::points::{KeepsUse, PastUse, UserUse};
use pumice_framework::use_keeper;
use pumice_model::{JobIx, QueueIx};
use serde::{Deserialize, Serialize};

use super::MAX_ROWS;
use super::pages::Pages;
use crate::knowledge::Knowledge;

/// Parts of a unit, and seconds of an hour.
const PARTS_OF_HOUR: f64 = 1e9 * 3_600.0;

/// Who used how much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastUseView {
    /// What is measured, as the configuration has it.
    pub measure: String,
    /// What one unit is.
    pub unit: String,
    /// How long ago something was used that counts half, in seconds.
    pub half_life_seconds: i64,
    /// Queues, the first of them by name.
    pub queues: Vec<QueueUseView>,
    /// Users, those who used most.
    pub users: Vec<UserUseView>,
    /// Users that are not told.
    pub users_not_told: usize,
}

/// What a queue used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueUseView {
    /// Name of the queue.
    pub queue: String,
    /// `spec.weight`.
    pub weight: i64,
    /// Units times hours.
    pub used_hours: f64,
    /// Units that it uses now.
    pub now: f64,
}

/// What a user of a queue used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserUseView {
    /// Name of the queue.
    pub queue: String,
    /// Name of the user, empty for jobs of whom no user is known; absent for all who are not told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Units times hours.
    pub used_hours: f64,
    /// Units that he uses now.
    pub now: f64,
}

/// What the user of a job used, and how many users of its queue go first for having used less.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobUseView {
    /// Whom people know him as.
    pub user: String,
    /// Units times hours.
    pub used_hours: String,
    /// What one unit is.
    pub unit: String,
    /// Users of the queue who used less.
    pub before: usize,
    /// Users of the queue.
    pub users: usize,
}

impl UserUseView {
    fn of(known: &UserUse) -> Self {
        let (used_hours, now) = in_hours(&known.past);
        Self {
            queue: known.queue.clone(),
            user: known.user.clone(),
            used_hours,
            now,
        }
    }

    /// Whom people know him as.
    pub fn name(&self) -> &str {
        match self.user.as_deref() {
            None => "(others)",
            Some("") => "(nobody named)",
            Some(name) => name,
        }
    }
}

impl fmt::Display for JobUseView {
    /// As people are told it, in one line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, used_hours, unit) = (&self.user, &self.used_hours, &self.unit);
        write!(out, "user {user} used {used_hours} h {unit}, ")?;
        let (before, users) = (self.before, self.users);
        write!(out, "{before} of {users} users of the queue less")
    }
}

/// Units times hours, and units, both to a thousandth.
fn in_hours(past: &PastUse) -> (f64, f64) {
    let thousandths = |value: f64| (value * 1_000.0).round() / 1_000.0;
    let used_hours = past.used as f64 / PARTS_OF_HOUR;
    (thousandths(used_hours), thousandths(past.rate as f64 / 1e9))
}

/// What a queue used lately, in units times hours, where a plugin keeps that.
pub(crate) fn past_use_hours(known: Knowledge<'_>, queue: QueueIx) -> Option<f64> {
    let keeper = use_keeper(known.plugins)?;
    Some(in_hours(&keeper.of_queue(queue)).0)
}

/// What queues and users used, where a plugin keeps that.
pub(super) fn past_use_view(pages: &Pages<'_>) -> Option<PastUseView> {
    let keeper = use_keeper(pages.plugins)?;
    let queues = pages.state.population().queues().iter();
    let mut queues: Vec<QueueUseView> = queues
        .map(|(ix, queue)| {
            let (used_hours, now) = in_hours(&keeper.of_queue(ix));
            QueueUseView {
                queue: queue.object.name.clone(),
                weight: queue.object.weight,
                used_hours,
                now,
            }
        })
        .collect();
    queues.sort_unstable_by(|left, right| left.queue.cmp(&right.queue));
    queues.truncate(MAX_ROWS);
    let mut users = keeper.users();
    users.sort_by_key(|known| std::cmp::Reverse(known.past.used));
    let users_not_told = users.len().saturating_sub(MAX_ROWS);
    users.truncate(MAX_ROWS);
    Some(PastUseView {
        measure: keeper.measure(),
        unit: keeper.unit().to_owned(),
        half_life_seconds: keeper.half_life_s(),
        queues,
        users: users.iter().map(UserUseView::of).collect(),
        users_not_told,
    })
}

/// What the user of a job used, while it waits.
pub(super) fn past_use_of_waiting(pages: &Pages<'_>, job: JobIx) -> Option<JobUseView> {
    if !pages.state.population().is_waiting(job) {
        return None;
    }
    let keeper: &dyn KeepsUse = use_keeper(pages.plugins)?;
    let own = keeper.of_job(job)?;
    let users = keeper.users().into_iter();
    let users: Vec<UserUse> = users.filter(|known| known.queue == own.queue).collect();
    let is_before = |known: &&UserUse| known.past.ordered < own.past.ordered;
    let shown = UserUseView::of(&own);
    Some(JobUseView {
        user: shown.name().to_owned(),
        used_hours: format!("{:.2}", shown.used_hours),
        unit: keeper.unit().to_owned(),
        before: users.iter().filter(is_before).count(),
        users: users.len(),
    })
}
