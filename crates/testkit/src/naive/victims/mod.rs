//! Who is evicted for whom, by the rules alone (spec/07): every set of victims is weighed, and every
//! question is asked of a copy of the world in which they are gone.
//!
//! ```text
//!  hold_promises ─► … ─► preempt │ reclaim: turn ─► candidates ─► answers ─► sets ─► plan
//!                        shuffle: offered ─► named ─► unprotected
//! ```

mod actions;
mod admission;
mod answers;
mod budgets;
mod candidates;
mod gangs;
mod minima;
mod plan;
mod promises;
mod sets;
mod shuffle;
#[cfg(test)]
mod tests;

pub use actions::{gang_preempt, gang_reclaim, preempt, reclaim};
pub use admission::might_go;
pub use promises::hold_promises;
pub use shuffle::{begin, end, shuffle};

/// What pods are evicted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Another job of the same queue.
    Preempt,
    /// Another pod of the same job.
    WithinJob,
    /// Another queue.
    Reclaim,
    /// Another job of the same queue, gangs as a whole.
    GangPreempt,
    /// Another queue, gangs as a whole.
    GangReclaim,
}

impl Purpose {
    /// What the pods are told.
    fn reason(self) -> &'static str {
        match self {
            Self::Preempt | Self::WithinJob => "preempt",
            Self::Reclaim => "reclaim",
            Self::GangPreempt => "gangpreempt",
            Self::GangReclaim => "gangreclaim",
        }
    }

    /// Name of the action.
    fn action(self) -> &'static str {
        self.reason()
    }

    /// Queues have others give up something.
    fn reclaims(self) -> bool {
        matches!(self, Self::Reclaim | Self::GangReclaim)
    }

    /// Gangs are taken as a whole.
    fn is_of_gangs(self) -> bool {
        matches!(self, Self::GangPreempt | Self::GangReclaim)
    }
}
