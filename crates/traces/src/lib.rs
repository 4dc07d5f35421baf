//! Texts of cluster traces: which jobs came when, what each of their pods asked for and how long they ran.
//!
//! ```text
//!  text ─► TraceFormat (named, or by how the text begins) ─► formats: a row ─► TraceJob │ RowFault
//!                                                                                 │          │
//!                                                     in order of arrival ◄───────┘          └─► TraceProblem: file, line, remedy
//! ```
//!
//! A row that cannot be used is left out, counted and, if it is one of the first, told; the rest counts. Only a text of
//! no format, or one that lacks a column without which nothing can be read, is refused.
//!
//! * [`format`](mod@format): the formats and how each is recognised; [`formats`]: a file each.
//! * [`job`]: what is read of jobs, [`machine`]: of nodes.
//! * [`synthetic`]: a trace that is made up, by a seed.

pub mod csv;
pub mod format;
pub mod formats;
pub mod intake;
pub mod job;
pub mod machine;
pub mod problem;
pub mod reading;
pub mod synthetic;
mod times;

pub use format::TraceFormat;
pub use intake::TraceReading;
pub use job::{MAX_USER_BYTES, TraceJob, TraceRole, WHOLE_CARD};
pub use machine::{TraceMachine, read_machines};
pub use problem::TraceProblem;
pub use reading::read_trace;
pub use times::duration_s;

#[cfg(test)]
mod tests;
