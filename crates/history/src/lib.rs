//! History of jobs: when they were submitted, why they waited, when they held what, where, and what that sums up to
//! (docs/spec/14-history.md).
//!
//! ```text
//!  a job as it is now ─► HistoryBook::look ─► JobRecord, one a job ─┬─ it is gone ─► ended records
//!                                                                  └─ it goes on ─► records as they stand
//!  records ─► HistoryQuery ─┬─► HistoryRow: a job with what it held in the time that is asked for
//!                           └─► UseSummary: sums by queue, user, namespace, day
//! ```
//!
//! A record is bounded whatever its job does: seconds are added up by reason, and what was held is kept as spans of time,
//! of which neighbours become one where there are too many. The sum of what was held is exact all the same.
//!
//! Deliberately absent: clocks, files and threads. Times are seconds since the epoch, and who keeps records is somebody
//! else's concern.

mod book;
mod hours;
mod query;
mod record;
mod row;
mod spans;
mod summary;
mod words;

pub use book::{BookNews, HistoryBook, JobDoing, JobSight, PodArrival};
pub use hours::{counts_cards, unit_hours};
pub use query::{HistoryQuery, ShownJobs};
pub use record::{JobOutcome, JobRecord, WaitSum};
pub use row::{HistoryRow, WaitRow};
pub use spans::{HeldAmounts, UseSpan, UseSpans};
pub use summary::{DaySum, SummaryKey, SummaryRow, UseSummary, day_of};
pub use words::reasons;

#[cfg(test)]
mod tests;
