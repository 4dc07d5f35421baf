//! Whether users may have more, beside what queues may take.

use pumice_model::{JobIx, QueueIx, State, TaskIx};

use super::Plugins;
use crate::refusal::Refusal;
use crate::tiers;

/// Whether the user of a job may have more: the first refusal.
///
/// # Errors
/// Why not.
pub fn job_room(plugins: &Plugins, state: &State, job: JobIx) -> Result<(), Refusal> {
    let asked = plugins.ask(&plugins.points.user_room, |x| x.as_user_room());
    tiers::first_error(asked.map(|p| p.job_room(state, job)))
}

/// Whether a task may be placed: its queue takes it, and its user may have more.
///
/// # Errors
/// The first refusal.
pub fn may_take(
    plugins: &Plugins,
    state: &State,
    queue: QueueIx,
    task: TaskIx,
) -> Result<(), Refusal> {
    plugins.allocatable(state, queue, task)?;
    task_room(plugins, state, task)
}

/// Whether a task stays within the limits of its queue that hold for every pod, and of its user.
///
/// # Errors
/// The first refusal.
pub fn stays_within(
    plugins: &Plugins,
    state: &State,
    queue: QueueIx,
    task: TaskIx,
) -> Result<(), Refusal> {
    plugins.within_limits(state, queue, task)?;
    task_room(plugins, state, task)
}

fn task_room(plugins: &Plugins, state: &State, task: TaskIx) -> Result<(), Refusal> {
    let asked = plugins.ask(&plugins.points.user_room, |x| x.as_user_room());
    tiers::first_error(asked.map(|p| p.task_room(state, task)))
}

/// Whether what its user may have leaves room for a waiting task even if pods stay whose eviction was decided.
pub(super) fn leaves_room_if_all_stay(plugins: &Plugins, state: &State, task: TaskIx) -> bool {
    let mut asked = plugins.ask(&plugins.points.user_room, |x| x.as_user_room());
    asked.all(|p| p.leaves_room_if_all_stay(state, task))
}

/// Jobs whose users may have more again; some more than once.
pub(crate) fn regained_room(plugins: &Plugins, state: &State) -> Vec<JobIx> {
    let asked = plugins.ask(&plugins.points.user_room, |x| x.as_user_room());
    asked.flat_map(|p| p.regained(state)).collect()
}
