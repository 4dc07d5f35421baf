//! SenseTime's Helios and the Acme of the Shanghai AI Laboratory, which have columns alike: a row a job, over so many
//! nodes. `queue` is how long it waited, not where: the virtual cluster is its queue, or its user where there is none.

use crate::csv::{CsvColumn, CsvColumns, CsvRow};
use crate::intake::TraceIntake;
use crate::job::{TraceJob, TraceRole};
use crate::problem::{RowFault, TraceProblem};
use crate::times::{between_s, lasting_s, time_s};

const GB: f64 = 1e9;

struct HeliosColumns {
    name: CsvColumn,
    queue: [CsvColumn; 2],
    user: CsvColumn,
    nodes: CsvColumn,
    cards: CsvColumn,
    cpus: CsvColumn,
    memory: CsvColumn,
    submit: CsvColumn,
    start: CsvColumn,
    end: CsvColumn,
    duration: CsvColumn,
}

/// Reads all rows.
pub fn read(text: &str, intake: &mut TraceIntake<'_>) -> Result<(), TraceProblem> {
    let names = CsvColumns::read(intake.file, text);
    let columns = HeliosColumns {
        name: names.find("job_id"),
        queue: [names.find("vc"), names.find("user")],
        user: names.find("user"),
        nodes: names.find("node_num"),
        cards: names.need("gpu_num")?,
        cpus: names.find("cpu_num"),
        memory: names.find("mem_per_pod_GB"),
        submit: names.need("submit_time")?,
        start: names.find("start_time"),
        end: names.find("end_time"),
        duration: names.need("duration")?,
    };
    names.rows(text, |line, row| {
        intake.take(line, row.and_then(|row| job(row, &columns)))
    });
    Ok(())
}

fn job(row: &CsvRow<'_>, columns: &HeliosColumns) -> Result<TraceJob, RowFault> {
    let time = |column, name| row.text(column).map(|text| time_s(name, text)).transpose();
    let submit_s = time_s("submit_time", row.needed(columns.submit)?)?;
    let start_s = time(columns.start, "start_time")?;
    let end_s = time(columns.end, "end_time")?;
    if let Some(start_s) = start_s {
        between_s(("submit_time", submit_s), ("start_time", start_s))?;
    }
    let by_times = match (start_s, end_s) {
        (Some(start_s), Some(end_s)) => {
            Some(between_s(("start_time", start_s), ("end_time", end_s))?)
        }
        _ => None,
    };
    let nodes = u32::try_from(row.whole(columns.nodes)?.max(1)).unwrap_or(u32::MAX);
    let cpu_milli = (row.number(columns.cpus)?.unwrap_or(0.0) * 1000.0) as i64;
    let memory = (row.number(columns.memory)?.unwrap_or(0.0) * GB) as i64;
    let queue = columns.queue.iter().find_map(|column| row.text(*column));
    Ok(TraceJob {
        name: row
            .text(columns.name)
            .map_or_else(|| format!("line-{}", row.line), str::to_owned),
        submit_s,
        lasts_s: row.number(columns.duration)?.map(lasting_s).or(by_times),
        limit_s: None,
        roles: TraceRole::spread(nodes, cpu_milli, memory, row.whole(columns.cards)?),
        user: row.text(columns.user).unwrap_or_default().to_owned(),
        queue: queue.unwrap_or_default().to_owned(),
        priority: 0,
    })
}
