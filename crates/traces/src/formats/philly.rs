//! Microsoft's Philly: `cluster_job_log`, a JSON list of jobs with their attempts. It tells cards alone, of the machines
//! that an attempt ran on; a job that was never tried is of unknown size, and left out.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::intake::TraceIntake;
use crate::job::{TraceJob, TraceRole, WHOLE_CARD};
use crate::problem::{RowFault, TraceProblem};
use crate::times::{between_s, time_s};

#[derive(Deserialize)]
struct PhillyJob {
    #[serde(default)]
    jobid: String,
    #[serde(default)]
    vc: String,
    #[serde(default)]
    user: String,
    #[serde(default)]
    submitted_time: Option<String>,
    #[serde(default)]
    attempts: Vec<PhillyAttempt>,
}

#[derive(Deserialize)]
struct PhillyAttempt {
    #[serde(default)]
    start_time: Option<String>,
    #[serde(default)]
    end_time: Option<String>,
    #[serde(default)]
    detail: Vec<PhillyMachine>,
}

#[derive(Deserialize)]
struct PhillyMachine {
    #[serde(default)]
    gpus: Vec<String>,
}

/// Reads all entries.
pub fn read(text: &str, intake: &mut TraceIntake<'_>) -> Result<(), TraceProblem> {
    let entries: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| TraceProblem {
        file: intake.file.to_owned(),
        line: error.line(),
        message: format!("this is no JSON list of jobs: {error}"),
        help: "give cluster_job_log as it was published, from its `[` to its `]`".to_owned(),
    })?;
    let (mut line, mut seen) = (1, 0);
    for entry in entries {
        // An entry is a part of the text, so where it lies tells its line.
        let at = entry.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[seen..at].matches('\n').count();
        seen = at;
        intake.take(line, job(line, entry.get()));
    }
    Ok(())
}

fn job(line: usize, entry: &str) -> Result<TraceJob, RowFault> {
    let entry: PhillyJob = serde_json::from_str(entry).map_err(|error| {
        let message = format!("no job can be read: {error}");
        RowFault::new(message, "correct the entry, or remove it")
    })?;
    let submitted = known(entry.submitted_time.as_ref()).ok_or_else(|| {
        let message = "submitted_time is missing".to_owned();
        RowFault::new(message, "fill it in, or remove the entry")
    })?;
    let submit_s = time_s("submitted_time", submitted)?;
    let last = entry
        .attempts
        .iter()
        .rfind(|attempt| !attempt.detail.is_empty());
    let Some(last) = last else {
        let message = "it was never tried, so its size is not known".to_owned();
        return Err(RowFault::new(
            message,
            "nothing: the trace does not tell more of it",
        ));
    };
    let mut lasts_s = Some(0);
    for (at, attempt) in entry.attempts.iter().enumerate() {
        let (start, end) = (
            known(attempt.start_time.as_ref()),
            known(attempt.end_time.as_ref()),
        );
        let start = start.map(|text| time_s("start_time", text)).transpose()?;
        let end = end.map(|text| time_s("end_time", text)).transpose()?;
        match (start, end) {
            (Some(start_s), Some(end_s)) => {
                let attempt_s = between_s(("start_time", start_s), ("end_time", end_s))?;
                lasts_s = lasts_s.map(|sum: i64| sum + attempt_s);
            }
            // It was running when the log was taken.
            (_, None) if at + 1 == entry.attempts.len() => lasts_s = None,
            // A gap in the log: the other attempts count.
            _ => {}
        }
    }
    let mut roles: Vec<TraceRole> = Vec::new();
    for machine in &last.detail {
        let cards_milli = machine.gpus.len() as i64 * WHOLE_CARD;
        match roles
            .iter_mut()
            .find(|role| role.cards_milli == cards_milli)
        {
            Some(role) => role.members += 1,
            None => roles.push(TraceRole {
                members: 1,
                cards_milli,
                ..TraceRole::default()
            }),
        }
    }
    Ok(TraceJob {
        name: match entry.jobid.is_empty() {
            true => format!("line-{line}"),
            false => entry.jobid,
        },
        submit_s,
        lasts_s: lasts_s.map(|sum| sum.max(1)),
        limit_s: None,
        roles,
        user: entry.user,
        queue: entry.vc,
        priority: 0,
    })
}

fn known(text: Option<&String>) -> Option<&str> {
    let text = text?.trim();
    (!text.is_empty() && text != "None").then_some(text)
}
