//! A cluster over the time of a trace: jobs come, run as long as they ran, and go, in virtual time that jumps from event to event.
//!
//! ```text
//!  manifests, lists of nodes ─► ground ─► Delta ─┐
//!  TraceJob ─► objects ─► PodGroup, pods ─► Delta ┼─► Engine::cycle(now) ─► Decisions ─► drive ─► books ─► figures
//!                             ▲                  │                                      │
//!                             └─ starts over ◄───┴── ends, evictions ◄──────────────────┘
//! ```
//!
//! * [`ground`]: nodes, queues and pods that are there all the time.
//! * [`objects`]: what a job of a trace is to the engine.
//! * [`drive`]: the loop; the engine is the one of [`crate::run`], told the same deltas. `setup`: what comes before it,
//!   `carry_out`: how decisions come true, `closing`: what comes after it.
//! * [`books`]: who has how much, from event to event; [`curve`]: a quantity over time, in so many parts.
//! * `promises`: when jobs were told that they start, and when they did.
//! * [`figures`]: waits, utilisation, fairness: what is told in the end; [`summing`]: how they come about, `shares` those of queues and users.
//!
//! Pods run from the second in which they are bound. A job of which a pod is evicted starts over: all its pods end and come
//! anew a second later, and what they had done is lost. What has ended is removed, so memory follows what waits and runs.

pub mod books;
mod carry_out;
mod closing;
pub mod curve;
pub mod drive;
pub mod fairness;
pub mod figures;
pub mod ground;
pub mod objects;
mod promises;
mod setup;
mod shares;
pub mod summing;

pub use drive::{TraceRunSettings, run_trace};
pub use figures::TraceFigures;
pub use ground::TraceGround;

#[cfg(test)]
mod tests;
