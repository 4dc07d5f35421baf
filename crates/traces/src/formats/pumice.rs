//! Pumice's own format: CSV with a line of names, of which `submit` and `duration` have to be there.
//!
//! | column | what |
//! |---|---|
//! | `submit` | seconds, or a time |
//! | `duration` | seconds; nothing: the job does not end |
//! | `limit` | seconds that its user allowed it |
//! | `members` | pods, which start together; 1 |
//! | `cpu`, `memory` | what each asks, as Kubernetes writes amounts |
//! | `cards` | whole ones, or a share of one such as 0.25 |
//! | `model` | models of cards that may do, with `\|` between them |
//! | `queue`, `priority`, `name` | |
//! | `user` | whose it is |

use pumice_units::quantity;

use crate::csv::{CsvColumn, CsvColumns, CsvRow};
use crate::intake::TraceIntake;
use crate::job::{TraceJob, TraceRole, WHOLE_CARD};
use crate::problem::{RowFault, TraceProblem};
use crate::times::{lasting_s, time_s};

/// Names of the columns, as they are written.
pub const COLUMNS: [&str; 12] = [
    "submit", "duration", "members", "cpu", "memory", "cards", "model", "queue", "priority",
    "name", "limit", "user",
];

/// Reads all rows.
pub fn read(text: &str, intake: &mut TraceIntake<'_>) -> Result<(), TraceProblem> {
    let columns = CsvColumns::read(intake.file, text);
    let submit = columns.need("submit")?;
    let duration = columns.need("duration")?;
    let [members, cpu, memory, cards] =
        ["members", "cpu", "memory", "cards"].map(|name| columns.find(name));
    let [model, queue, priority, name, limit] =
        ["model", "queue", "priority", "name", "limit"].map(|name| columns.find(name));
    let user = columns.find("user");
    columns.rows(text, |line, row| {
        let job = row.and_then(|row| {
            let count = row.text(members).map(|_| row.whole(members)).transpose()?;
            let role = TraceRole {
                members: u32::try_from(count.unwrap_or(1)).unwrap_or(u32::MAX),
                cpu_milli: amount(row, cpu, "cpu")?.map_or(0, quantity::Quantity::milli_ceil),
                memory_bytes: amount(row, memory, "memory")?
                    .map_or(0, quantity::Quantity::whole_ceil),
                cards_milli: cards_of(row, cards)?,
                models: models(row.text(model)),
                is_processors: false,
            };
            Ok(TraceJob {
                name: row
                    .text(name)
                    .map_or_else(|| format!("line-{line}"), str::to_owned),
                submit_s: time_s("submit", row.needed(submit)?)?,
                lasts_s: row.number(duration)?.map(lasting_s),
                limit_s: row
                    .number(limit)?
                    .filter(|limit| *limit > 0.0)
                    .map(lasting_s),
                roles: vec![role],
                user: row.text(user).unwrap_or_default().to_owned(),
                queue: row.text(queue).unwrap_or_default().to_owned(),
                priority: priority_of(row, priority)?,
            })
        });
        intake.take(line, job);
    });
    Ok(())
}

fn amount(
    row: &CsvRow<'_>,
    column: CsvColumn,
    name: &str,
) -> Result<Option<quantity::Quantity>, RowFault> {
    let Some(text) = row.text(column) else {
        return Ok(None);
    };
    let amount = quantity::parse(text)
        .ok()
        .filter(|amount| amount.milli_ceil() >= 0);
    amount.map(Some).ok_or_else(|| {
        let message = format!("{name} is {text:?}, which is no amount");
        RowFault::new(message, "write it as Kubernetes does: 4, 500m, 16Gi")
    })
}

fn cards_of(row: &CsvRow<'_>, column: CsvColumn) -> Result<i64, RowFault> {
    let cards = row.number(column)?.unwrap_or(0.0);
    if cards > 1.0 && cards.fract() != 0.0 {
        let message = format!("cards is {cards}: more than one card, and not whole ones");
        return Err(RowFault::new(
            message,
            "write a share below 1, or a whole number",
        ));
    }
    Ok((cards * WHOLE_CARD as f64).ceil() as i64)
}

/// Models with `|` between them.
pub fn models(text: Option<&str>) -> Vec<String> {
    let models = text.unwrap_or_default().split('|').map(str::trim);
    models
        .filter(|model| !model.is_empty())
        .map(str::to_owned)
        .collect()
}

fn priority_of(row: &CsvRow<'_>, column: CsvColumn) -> Result<i32, RowFault> {
    let text = row.text(column).unwrap_or("0");
    text.parse().map_err(|_| {
        let message = format!("priority is {text:?}, which is no whole number");
        RowFault::new(message, "correct the value, or remove the row")
    })
}
