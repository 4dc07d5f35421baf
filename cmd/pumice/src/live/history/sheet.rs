//! History as columns of values, for formats that have such.

use pumice_history::{HistoryRow, SummaryKey, SummaryRow};

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Whole,
    Number,
    /// Seconds since the epoch; may be missing.
    Time,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CellValue {
    Text(String),
    Whole(i64),
    Number(f64),
    Time(Option<i64>),
}

/// Columns, and rows with a value for each.
pub(super) struct HistorySheet {
    pub columns: Vec<(&'static str, ColumnKind)>,
    pub rows: Vec<Vec<CellValue>>,
}

use CellValue::{Number, Time, Whole};

fn text(text: &str) -> CellValue {
    CellValue::Text(text.to_owned())
}

fn whole(number: u64) -> CellValue {
    Whole(i64::try_from(number).unwrap_or(i64::MAX))
}

impl HistorySheet {
    /// A row a job.
    pub fn of_rows(rows: &[HistoryRow]) -> Self {
        let columns = vec![
            ("namespace", ColumnKind::Text),
            ("job", ColumnKind::Text),
            ("uid", ColumnKind::Text),
            ("part", ColumnKind::Whole),
            ("queue", ColumnKind::Text),
            ("user", ColumnKind::Text),
            ("state", ColumnKind::Text),
            ("submit", ColumnKind::Time),
            ("start", ColumnKind::Time),
            ("end", ColumnKind::Time),
            ("waited_seconds", ColumnKind::Whole),
            ("waited_for", ColumnKind::Text),
            ("held_seconds", ColumnKind::Whole),
            ("pods", ColumnKind::Whole),
            ("evicted", ColumnKind::Whole),
            ("nodes_at_once", ColumnKind::Whole),
            ("nodes", ColumnKind::Text),
            ("card_hours", ColumnKind::Number),
            ("cpu_core_hours", ColumnKind::Number),
            ("memory_gib_hours", ColumnKind::Number),
            ("other_hours", ColumnKind::Text),
        ];
        let cells = |row: &HistoryRow| {
            let waits = row.waits.iter();
            let waits = waits.map(|wait| format!("{}={}", wait.reason, wait.seconds));
            vec![
                text(&row.namespace),
                text(&row.name),
                text(&row.uid),
                Whole(i64::from(row.part)),
                text(&row.queue),
                text(&row.user),
                text(row.state.name()),
                Time(Some(row.submit_s)),
                Time(row.start_s),
                Time(row.end_s),
                Whole(row.waited_s),
                text(&waits.collect::<Vec<_>>().join(";")),
                Whole(row.held_s),
                Whole(i64::from(row.pods)),
                Whole(i64::from(row.evicted)),
                Whole(i64::from(row.nodes_at_once)),
                text(&row.nodes.join(";")),
                Number(row.card_hours),
                Number(hours(&row.hours, "cpu")),
                Number(hours(&row.hours, "memory")),
                text(&others(&row.hours)),
            ]
        };
        let rows = rows.iter().map(cells).collect();
        Self { columns, rows }
    }

    /// A row a sum.
    pub fn of_sums(by: &[SummaryKey], sums: &[SummaryRow]) -> Self {
        let keys = by.iter().map(|key| (key.name(), ColumnKind::Text));
        let columns = keys.chain([
            ("jobs", ColumnKind::Whole),
            ("waited_seconds", ColumnKind::Whole),
            ("card_hours", ColumnKind::Number),
            ("cpu_core_hours", ColumnKind::Number),
            ("memory_gib_hours", ColumnKind::Number),
            ("other_hours", ColumnKind::Text),
        ]);
        let cells = |sum: &SummaryRow| {
            let keys = sum.keys.iter().map(|key| text(key));
            let values = [
                whole(sum.jobs),
                Whole(sum.waited_s),
                Number(sum.card_hours),
                Number(hours(&sum.hours, "cpu")),
                Number(hours(&sum.hours, "memory")),
                text(&others(&sum.hours)),
            ];
            keys.chain(values).collect()
        };
        let columns = columns.collect();
        let rows = sums.iter().map(cells).collect();
        Self { columns, rows }
    }
}

type Hours = std::collections::BTreeMap<String, f64>;

/// Hours of one resource.
pub(super) fn hours(hours: &Hours, name: &str) -> f64 {
    hours.get(name).copied().unwrap_or(0.0)
}

/// Hours of all that has no column of its own.
fn others(hours: &Hours) -> String {
    let own = ["cpu", "memory", "pods"];
    let others = hours
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()));
    let others = others.map(|(name, hours)| format!("{name}={hours:.6}"));
    others.collect::<Vec<_>>().join(";")
}
