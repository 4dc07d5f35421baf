//! Alibaba, cluster-trace-gpu-v2023: a row a pod, each a job of its own. The trace knows neither users nor queues.

use crate::csv::{CsvColumn, CsvColumns, CsvRow};
use crate::intake::TraceIntake;
use crate::job::{TraceJob, TraceRole, WHOLE_CARD};
use crate::problem::{RowFault, TraceProblem};
use crate::times::{between_s, time_s};

use super::pumice::models;

const MIB: i64 = 1 << 20;

struct OpenbColumns {
    name: CsvColumn,
    cpu: CsvColumn,
    memory: CsvColumn,
    cards: CsvColumn,
    share: CsvColumn,
    models: CsvColumn,
    created: CsvColumn,
    scheduled: CsvColumn,
    deleted: CsvColumn,
}

/// Reads all rows.
pub fn read(text: &str, intake: &mut TraceIntake<'_>) -> Result<(), TraceProblem> {
    let names = CsvColumns::read(intake.file, text);
    let columns = OpenbColumns {
        name: names.find("name"),
        cpu: names.need("cpu_milli")?,
        memory: names.need("memory_mib")?,
        cards: names.need("num_gpu")?,
        share: names.find("gpu_milli"),
        models: names.find("gpu_spec"),
        created: names.need("creation_time")?,
        scheduled: names.find("scheduled_time"),
        deleted: names.need("deletion_time")?,
    };
    names.rows(text, |line, row| {
        intake.take(line, row.and_then(|row| job(row, &columns)))
    });
    Ok(())
}

fn job(row: &CsvRow<'_>, columns: &OpenbColumns) -> Result<TraceJob, RowFault> {
    let cards = row.whole(columns.cards)?;
    let share = row
        .text(columns.share)
        .map(|_| row.whole(columns.share))
        .transpose()?;
    let share = share.unwrap_or(WHOLE_CARD);
    if share > WHOLE_CARD {
        let message = format!("gpu_milli {share} is more than a GPU");
        return Err(RowFault::new(
            message,
            "correct the value, or remove the row",
        ));
    }
    let submit_s = time_s("creation_time", row.needed(columns.created)?)?;
    let started = row
        .text(columns.scheduled)
        .map(|text| time_s("scheduled_time", text));
    let from = match started.transpose()? {
        Some(start_s) => {
            between_s(("creation_time", submit_s), ("scheduled_time", start_s))?;
            ("scheduled_time", start_s)
        }
        None => ("creation_time", submit_s),
    };
    let ended = row
        .text(columns.deleted)
        .map(|text| time_s("deletion_time", text));
    let lasts = ended
        .transpose()?
        .map(|end_s| between_s(from, ("deletion_time", end_s)));
    let role = TraceRole {
        members: 1,
        cpu_milli: row.whole(columns.cpu)?,
        memory_bytes: row.whole(columns.memory)?.saturating_mul(MIB),
        cards_milli: match cards {
            1 => share,
            cards => cards.saturating_mul(WHOLE_CARD),
        },
        models: models(row.text(columns.models)),
        is_processors: false,
    };
    Ok(TraceJob {
        name: row
            .text(columns.name)
            .map_or_else(|| format!("line-{}", row.line), str::to_owned),
        submit_s,
        lasts_s: lasts.transpose()?,
        roles: vec![role],
        ..TraceJob::default()
    })
}
