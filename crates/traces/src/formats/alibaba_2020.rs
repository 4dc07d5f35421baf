//! Alibaba, cluster-trace-gpu-v2020: the table of tasks, a row a role of a job. It is published without a line of names.
//!
//! A job came when its first task did, and lasts until its last one ends: all of its pods start together. Which model a
//! task got is no wish of it, and does not count.

use std::collections::BTreeMap;

use crate::csv::{CsvColumn, CsvColumns, CsvRow, first_line};
use crate::format::TASK_TABLE;
use crate::intake::TraceIntake;
use crate::job::{TraceJob, TraceRole, WHOLE_CARD};
use crate::problem::{RowFault, TraceProblem};
use crate::times::{between_s, time_s};

const GIB: f64 = (1u64 << 30) as f64;

/// A task as it stands in the table.
struct TaskRow {
    job: String,
    role: TraceRole,
    start_s: i64,
    end_s: Option<i64>,
}

/// A job of which some tasks were read.
struct Gathered {
    line: usize,
    start_s: i64,
    /// `None`: one of its tasks has no end.
    end_s: Option<i64>,
    roles: Vec<TraceRole>,
}

/// Reads all rows.
pub fn read(text: &str, intake: &mut TraceIntake<'_>) -> Result<(), TraceProblem> {
    let has_names = first_line(text).is_some_and(|(_, line)| line.contains("job_name"));
    let columns = match has_names {
        true => CsvColumns::read(intake.file, text),
        false => CsvColumns::given(intake.file, &TASK_TABLE),
    };
    let of_job = columns.need("job_name")?;
    let members = columns.need("inst_num")?;
    let times = [columns.need("start_time")?, columns.need("end_time")?];
    let amounts = [
        columns.need("plan_cpu")?,
        columns.need("plan_mem")?,
        columns.need("plan_gpu")?,
    ];
    let mut jobs: BTreeMap<String, Gathered> = BTreeMap::new();
    columns.rows(text, |line, row| {
        let task = row.and_then(|row| task(row, (of_job, members), times, amounts));
        match task {
            Ok(task) => add(&mut jobs, line, task),
            Err(fault) => intake.take(line, Err(fault)),
        }
    });
    let mut jobs: Vec<(String, Gathered)> = jobs.into_iter().collect();
    jobs.sort_by_key(|(_, job)| job.line);
    for (name, job) in jobs {
        let lasts_s = job.end_s.map(|end_s| (end_s - job.start_s).max(1));
        let made = TraceJob {
            name,
            submit_s: job.start_s,
            lasts_s,
            roles: job.roles,
            ..TraceJob::default()
        };
        intake.take(job.line, Ok(made));
    }
    Ok(())
}

fn add(jobs: &mut BTreeMap<String, Gathered>, line: usize, task: TaskRow) {
    let job = jobs.entry(task.job).or_insert_with(|| Gathered {
        line,
        start_s: task.start_s,
        end_s: Some(i64::MIN),
        roles: Vec::new(),
    });
    job.start_s = job.start_s.min(task.start_s);
    job.end_s = job.end_s.zip(task.end_s).map(|(known, end)| known.max(end));
    job.roles.push(task.role);
}

fn task(
    row: &CsvRow<'_>,
    (of_job, members): (CsvColumn, CsvColumn),
    [start, end]: [CsvColumn; 2],
    [cpu, memory, cards]: [CsvColumn; 3],
) -> Result<TaskRow, RowFault> {
    let start_s = time_s("start_time", row.needed(start)?)?;
    let end_s = row
        .text(end)
        .map(|text| time_s("end_time", text))
        .transpose()?;
    if let Some(end_s) = end_s {
        between_s(("start_time", start_s), ("end_time", end_s))?;
    }
    // Percent of a core, and of a card.
    let percent = |column| Ok::<f64, RowFault>(row.number(column)?.unwrap_or(0.0) * 10.0);
    let card = percent(cards)?.ceil() as i64;
    let role = TraceRole {
        members: u32::try_from(row.whole(members)?).unwrap_or(u32::MAX),
        cpu_milli: percent(cpu)?.ceil() as i64,
        memory_bytes: (row.number(memory)?.unwrap_or(0.0) * GIB).ceil() as i64,
        cards_milli: match card > WHOLE_CARD {
            true => (card + WHOLE_CARD - 1) / WHOLE_CARD * WHOLE_CARD,
            false => card,
        },
        ..TraceRole::default()
    };
    Ok(TaskRow {
        job: row.needed(of_job)?.to_owned(),
        role,
        start_s,
        end_s,
    })
}
