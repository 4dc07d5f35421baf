//! Whether the user of a job may have more: limits of users within a queue. No answer is kept; what users hold is followed step by step.

use pumice_model::{JobIx, State, TaskIx};

use crate::refusal::Refusal;

/// Whether users may have more; the first refusal counts. Who is refused is left out of the order: he is nobody's first, no places
/// are kept for him, and nobody is evicted for him.
pub trait UserRoom {
    /// A job may be admitted, while it is not, and have turns. Asked before each turn; a refusal stays one however much is placed.
    ///
    /// # Errors
    /// Why not.
    fn job_room(&self, state: &State, job: JobIx) -> Result<(), Refusal>;

    /// A task of a job that has its turn may be placed. Asked before, and once it is placed, since the devices it was given may
    /// count more than was known before.
    ///
    /// # Errors
    /// Why not.
    fn task_room(&self, state: &State, task: TaskIx) -> Result<(), Refusal>;

    /// What its user may have leaves room for a waiting task even if every eviction came to nothing that was decided and of
    /// which the pod's object shows nothing yet. Otherwise the task waits on its node.
    fn leaves_room_if_all_stay(&self, state: &State, task: TaskIx) -> bool;

    /// Jobs that may have turns again although they did not change, since the plugin was opened before this time: they are
    /// tried in this cycle.
    fn regained(&self, state: &State) -> Vec<JobIx>;
}
