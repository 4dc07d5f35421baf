//! Takes in the rows of a trace one by one, and tells at the end what is odd about the whole.

use crate::format::TraceFormat;
use crate::job::{MAX_MEMBERS, MAX_USER_BYTES, TraceJob};
use crate::problem::{RowFault, TraceProblem};

/// Most rows that are left out and told of one by one.
pub const MAX_TOLD: usize = 10;

/// A gap is told if nothing was submitted for at least so long …
const GAP_S: i64 = 6 * 3600;

/// … and for so much of the whole trace.
const GAP_SHARE: i64 = 10;

/// What was read.
#[derive(Clone, Debug)]
pub struct TraceReading {
    /// In which format.
    pub format: TraceFormat,
    /// Jobs by arrival; those that came together as they stand in the file.
    pub jobs: Vec<TraceJob>,
    /// Rows that were left out.
    pub left_out: usize,
    /// The first of them, then what is odd about the trace.
    pub problems: Vec<TraceProblem>,
}

/// Takes jobs in, and faults of rows.
pub struct TraceIntake<'a> {
    /// File name.
    pub file: &'a str,
    jobs: Vec<TraceJob>,
    left_out: usize,
    problems: Vec<TraceProblem>,
    /// Rows that stand behind one that came later.
    backwards: usize,
    /// The first of them.
    first_backwards: usize,
    newest_s: i64,
}

impl<'a> TraceIntake<'a> {
    /// Nothing yet of this file.
    pub fn new(file: &'a str) -> Self {
        Self {
            file,
            jobs: Vec::new(),
            left_out: 0,
            problems: Vec::new(),
            backwards: 0,
            first_backwards: 0,
            newest_s: i64::MIN,
        }
    }

    /// A row, or why it is left out.
    pub fn take(&mut self, line: usize, row: Result<TraceJob, RowFault>) {
        match row.and_then(checked) {
            Ok(job) => {
                if job.submit_s < self.newest_s {
                    self.backwards += 1;
                    if self.backwards == 1 {
                        self.first_backwards = line;
                    }
                }
                self.newest_s = self.newest_s.max(job.submit_s);
                self.jobs.push(job);
            }
            Err(fault) => {
                self.left_out += 1;
                if self.left_out <= MAX_TOLD {
                    let message = format!("the row is left out: {}", fault.message);
                    self.remark(line, message, fault.help);
                }
            }
        }
    }

    /// Something that is odd and counts all the same.
    pub fn remark(&mut self, line: usize, message: String, help: &str) {
        self.problems.push(TraceProblem {
            file: self.file.to_owned(),
            line,
            message,
            help: help.to_owned(),
        });
    }

    /// What was read in all.
    ///
    /// # Errors
    /// There is no job.
    pub fn finish(mut self, format: TraceFormat) -> Result<TraceReading, TraceProblem> {
        if self.left_out > MAX_TOLD {
            let more = self.left_out - MAX_TOLD;
            let message = format!("{more} more rows are left out");
            self.remark(
                0,
                message,
                "correct the rows above: their faults are most likely the same",
            );
        }
        if self.jobs.is_empty() {
            let first = self.problems.into_iter().next();
            let first = first.map(|problem| {
                format!(
                    "; the first one, line {}: {}",
                    problem.line, problem.message
                )
            });
            return Err(TraceProblem {
                file: self.file.to_owned(),
                line: 0,
                message: format!(
                    "no job can be read of {} rows{}",
                    self.left_out,
                    first.unwrap_or_default()
                ),
                help: "give the file as it was published, or name its format with --trace-format"
                    .to_owned(),
            });
        }
        if self.backwards > 0 {
            let message = format!(
                "{} rows are earlier than one before them, this is the first: jobs come by their time",
                self.backwards
            );
            self.remark(self.first_backwards, message, "nothing, if the file is sorted by something else; else look at the clocks of who wrote it");
        }
        // Jobs that came together keep their order.
        self.jobs.sort_by_key(|job| job.submit_s);
        self.endless();
        self.gap();
        Ok(TraceReading {
            format,
            jobs: self.jobs,
            left_out: self.left_out,
            problems: self.problems,
        })
    }

    fn endless(&mut self) {
        let endless = self.jobs.iter().filter(|job| job.lasts_s.is_none()).count();
        if endless > 0 {
            let jobs = if endless == 1 { "job has" } else { "jobs have" };
            let what = "such keep what they have got until the end of the run";
            let message = format!("{endless} {jobs} no end: {what}");
            self.remark(
                0,
                message,
                "give them an end, or remove them if they should not count",
            );
        }
    }

    /// The longest time without a job, if it is so long that the trace may have a hole.
    fn gap(&mut self) {
        let (Some(first), Some(last)) = (self.jobs.first(), self.jobs.last()) else {
            return;
        };
        let whole_s = last.submit_s - first.submit_s;
        let pairs = self.jobs.windows(2);
        let gaps = pairs.map(|pair| (pair[1].submit_s - pair[0].submit_s, pair[0].submit_s));
        let Some((gap_s, from_s)) = gaps.max_by_key(|(gap_s, from_s)| (*gap_s, -from_s)) else {
            return;
        };
        if gap_s >= GAP_S && gap_s * GAP_SHARE >= whole_s {
            let after_s = from_s - first.submit_s;
            let message = format!(
                "a gap: nothing was submitted for {:.1} h, from {:.1} h after the first job on",
                hours(gap_s),
                hours(after_s)
            );
            self.remark(
                0,
                message,
                "if rows are missing there, waits after it are shorter than they were",
            );
        }
    }
}

fn hours(seconds: i64) -> f64 {
    seconds as f64 / 3600.0
}

/// A job that can be run.
fn checked(job: TraceJob) -> Result<TraceJob, RowFault> {
    let members = job
        .roles
        .iter()
        .map(|role| u64::from(role.members))
        .sum::<u64>();
    if members == 0 {
        let message = "the job has no pods".to_owned();
        return Err(RowFault::new(
            message,
            "give it at least one, or remove the row",
        ));
    }
    if members > u64::from(MAX_MEMBERS) {
        let message = format!("the job has {members} pods, more than {MAX_MEMBERS}");
        return Err(RowFault::new(
            message,
            "correct the number, or split the job",
        ));
    }
    if job.user.len() > MAX_USER_BYTES {
        let message = format!(
            "the name of its user has {} bytes, more than {MAX_USER_BYTES}",
            job.user.len()
        );
        return Err(RowFault::new(message, "shorten it, or remove the row"));
    }
    let asks = job
        .roles
        .iter()
        .any(|role| role.cpu_milli > 0 || role.memory_bytes > 0 || role.cards_milli > 0);
    if !asks {
        let message = "the job asks for nothing".to_owned();
        return Err(RowFault::new(
            message,
            "give it cpu, memory or cards, or remove the row",
        ));
    }
    Ok(job)
}
