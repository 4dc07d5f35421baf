//! Who is evicted for whom, by the rules alone (spec/07): every set of victims is weighed, and every
//! question is asked of a copy of the world in which they are gone.
//!
//! ```text
//!  hold_promises ─► … ─► preempt │ reclaim: turn ─► candidates ─► answers ─► sets ─► plan
//! ```

mod actions;
mod admission;
mod answers;
mod candidates;
mod promises;
mod sets;
#[cfg(test)]
mod tests;

pub use actions::{preempt, reclaim};
pub use admission::might_go;
pub use promises::hold_promises;
pub use sets::with_world;

/// What pods are evicted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Another job of the same queue.
    Preempt,
    /// Another pod of the same job.
    WithinJob,
    /// Another queue.
    Reclaim,
}

impl Purpose {
    /// What the pods are told.
    fn reason(self) -> &'static str {
        match self {
            Self::Preempt | Self::WithinJob => "preempt",
            Self::Reclaim => "reclaim",
        }
    }
}
