//! The Standard Workload Format: 18 numbers a job with blanks between them, -1 where one is not known; comments begin
//! with `;`. A job asks for processors, of which a pod may have as many as a node holds.

use crate::format::SWF_FIELDS;
use crate::intake::TraceIntake;
use crate::job::{TraceJob, TraceRole};
use crate::problem::RowFault;
use crate::times::lasting_s;

const KIB: f64 = 1024.0;

/// Fields that are read, counted from 0.
const SUBMIT: usize = 1;
const RUN_TIME: usize = 3;
const GOT_PROCESSORS: usize = 4;
const USED_MEMORY: usize = 6;
const ASKED_PROCESSORS: usize = 7;
const ASKED_TIME: usize = 8;
const ASKED_MEMORY: usize = 9;
const USER: usize = 11;
const QUEUE: usize = 14;

/// Reads all rows.
pub fn read(text: &str, intake: &mut TraceIntake<'_>) {
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with(';') {
            intake.take(at + 1, job(line));
        }
    }
}

fn job(line: &str) -> Result<TraceJob, RowFault> {
    let mut fields = [-1.0; SWF_FIELDS];
    let mut count = 0;
    for word in line.split_whitespace() {
        let number: Option<f64> = word.parse().ok();
        let Some(number) = number.filter(|number| number.abs() < 1e15) else {
            let message = format!("{word:?} is no number");
            return Err(RowFault::new(message, "correct the row, or remove it"));
        };
        if let Some(field) = fields.get_mut(count) {
            *field = number;
        }
        count += 1;
    }
    if count != SWF_FIELDS {
        let message = format!("{count} numbers, and a row has {SWF_FIELDS}");
        return Err(RowFault::new(message, "correct the row, or remove it"));
    }
    let known = |field: usize| Some(fields[field]).filter(|number| *number >= 0.0);
    let first = |one, other| known(one).filter(|number| *number > 0.0).or(known(other));
    let missing = |what: &str| {
        let message = format!("its {what} is not known");
        RowFault::new(message, "fill it in, or remove the row")
    };
    let processors =
        first(ASKED_PROCESSORS, GOT_PROCESSORS).ok_or_else(|| missing("number of processors"))?;
    let memory = first(ASKED_MEMORY, USED_MEMORY).unwrap_or(0.0);
    let role = TraceRole {
        members: processors as u32,
        cpu_milli: 1000,
        memory_bytes: (memory * KIB) as i64,
        is_processors: true,
        ..TraceRole::default()
    };
    Ok(TraceJob {
        name: format!("job-{}", fields[0]),
        submit_s: known(SUBMIT).ok_or_else(|| missing("submit time"))? as i64,
        lasts_s: Some(lasting_s(
            known(RUN_TIME).ok_or_else(|| missing("run time"))?,
        )),
        limit_s: known(ASKED_TIME)
            .map(|limit| limit as i64)
            .filter(|limit_s| *limit_s > 0),
        roles: vec![role],
        user: known(USER).map_or_else(String::new, |user| format!("user-{user}")),
        queue: known(QUEUE).map_or_else(String::new, |queue| format!("queue-{queue}")),
        priority: 0,
    })
}
