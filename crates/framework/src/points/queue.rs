//! What a queue may take. `enqueue` asks [`Admission`] once a waiting job, `allocate` asks
//! [`Overused`] before every turn of a queue and [`Allocatable`] before every task. No answer is kept:
//! amounts a queue holds are read live from the state, so undoing a transaction undoes them too.

use pumice_model::{JobIx, QueueIx, ResIx, State, TaskIx};

use crate::refusal::Refusal;
use crate::tiers::Vote;

/// Whether a job may leave phase Pending: a vote by tier. The plugin is told of every job that did by
/// [`crate::Step::Admitted`].
pub trait Admission {
    /// The vote, and what to tell when it is `Reject`.
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>);

    /// All it has against a job for which its vote is `Reject`: there may be more than what is told.
    fn refusals(&self, state: &State, job: JobIx) -> Vec<Refusal> {
        let (_, refusal) = self.job_enqueueable(state, job);
        vec![refusal.unwrap_or(Refusal::Unsaid)]
    }

    /// A `Reject` stays one however much is admitted or placed, and the vote depends on the job's queue
    /// and `minResources` alone.
    fn is_lasting(&self) -> bool {
        false
    }
}

/// Whether a queue is passed over; anybody suffices.
pub trait Overused {
    /// The queue has at least all it deserves.
    fn overused(&self, state: &State, queue: QueueIx) -> bool;

    /// Why, where that is not for what the queue holds.
    fn overused_refusal(&self, _state: &State, _queue: QueueIx) -> Option<Refusal> {
        None
    }

    /// A queue that is overused stays so however much is placed.
    fn is_lasting(&self) -> bool {
        false
    }
}

/// Whether a queue may take a task; all must agree.
pub trait Allocatable {
    /// The queue may take the task.
    ///
    /// # Errors
    /// Why not.
    fn allocatable(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal>;

    /// Whether limits of the queue that hold for every pod leave room for the task: asked by `backfill`
    /// before, and by `allocate` and `backfill` right after the task was placed, since the devices it
    /// was given may count more than was known before. What is refused then is taken back.
    ///
    /// # Errors
    /// Why not.
    fn within_limits(&self, _: &State, _: QueueIx, _: TaskIx) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether these limits leave room for a waiting task even if every eviction came to nothing that was
    /// decided and of which the pod's object shows nothing yet. Otherwise the task waits on its node.
    fn leaves_room_if_all_stay(&self, _: &State, _: QueueIx, _: TaskIx) -> bool {
        true
    }

    /// How much more of a resource the queue may hold by these limits and those of the queues above it, in stored units.
    fn room(&self, _: &State, _: QueueIx, _: ResIx) -> i64 {
        i64::MAX
    }

    /// A refusal of a task that waits stays one however much is placed or admitted, and depends on the
    /// queue, the class of the task and whether its job is ready alone.
    fn is_lasting(&self) -> bool {
        false
    }
}
