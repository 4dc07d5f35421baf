//! The figures of a run that stand side by side with those of others: a name and a text each.

use pumice_sim::trace_run::TraceFigures;
use pumice_sim::trace_run::figures::{PromiseFigures, QuantileLine, UsersFigures};

/// A figure with its name.
pub struct FigureRow {
    /// As people read it; two blanks before what belongs to the row above.
    pub name: &'static str,
    /// How a run has it, as text.
    pub of: Box<dyn Fn(&TraceFigures) -> String>,
}

/// A duration in two of its units.
pub fn lasting(seconds: f64) -> String {
    let whole = seconds.round() as i64;
    let units = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
    let large = units.iter().position(|(_, unit)| whole >= *unit);
    let Some(at) = large else {
        return format!("{}s", (seconds * 10.0).round() / 10.0);
    };
    let (name, unit) = units[at];
    match units.get(at + 1) {
        Some((small, part)) if whole % unit / part > 0 => {
            format!("{}{name}{}{small}", whole / unit, whole % unit / part)
        }
        _ => format!("{}{name}", whole / unit),
    }
}

fn row(name: &'static str, of: impl Fn(&TraceFigures) -> String + 'static) -> FigureRow {
    let of = Box::new(of);
    FigureRow { name, of }
}

fn percent(number: f64) -> String {
    format!("{number:.1} %")
}

fn maybe(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), percent)
}

/// Figures of a run, in this order.
pub fn figure_rows() -> Vec<FigureRow> {
    let all = [
        of_jobs(),
        of_waits(),
        of_promises(),
        of_use(),
        of_fairness(),
    ];
    let lost = [
        row("pods evicted", |run| run.evictions.to_string()),
        row("jobs ended by their limit", |run| {
            run.ended_by_limit.to_string()
        }),
        row("jobs started over", |run| run.restarts.to_string()),
        row("hours lost by that", |run| format!("{:.1}", run.lost_hours)),
    ];
    all.into_iter().flatten().chain(lost).collect()
}

fn of_jobs() -> Vec<FigureRow> {
    vec![
        row("jobs that came", |run| run.came.to_string()),
        row("  ended", |run| run.ended.to_string()),
        row("  run in the end", |run| run.running.to_string()),
        row("  wait in the end", |run| run.waiting.to_string()),
        row("makespan", |run| lasting(run.makespan_seconds as f64)),
    ]
}

fn of_waits() -> Vec<FigureRow> {
    fn wait(name: &'static str, of: fn(&QuantileLine) -> f64) -> FigureRow {
        row(name, move |run| lasting(of(&run.wait_seconds)))
    }
    fn largest(name: &'static str, of: fn(&QuantileLine) -> f64) -> FigureRow {
        row(name, move |run| {
            lasting(of(&run.largest_tenth.wait_seconds))
        })
    }
    vec![
        wait("wait, mean", |wait| wait.mean),
        wait("wait, median", |wait| wait.median),
        wait("wait, p90", |wait| wait.p90),
        wait("wait, p95", |wait| wait.p95),
        wait("wait, p99", |wait| wait.p99),
        largest("  of the largest tenth, mean", |wait| wait.mean),
        largest("  of the largest tenth, median", |wait| wait.median),
        largest("  of the largest tenth, p95", |wait| wait.p95),
        row("slowdown, mean", |run| format!("{:.1}", run.slowdown.mean)),
        row("slowdown, p99", |run| format!("{:.1}", run.slowdown.p99)),
    ]
}

fn of_promises() -> Vec<FigureRow> {
    fn told(name: &'static str, of: fn(&PromiseFigures) -> String) -> FigureRow {
        row(name, move |run| {
            run.promises.as_ref().map_or_else(|| "-".to_owned(), of)
        })
    }
    vec![
        told("told their start, of those that waited", |told| {
            percent(told.promised_percent)
        }),
        told("  error by the wait, median", |told| {
            percent(told.error_percent.median)
        }),
        told("  error by the wait, p90", |told| {
            percent(told.error_percent.p90)
        }),
        told("  started later", |told| told.later.to_string()),
    ]
}

fn of_use() -> Vec<FigureRow> {
    vec![
        row("cards in use", |run| {
            maybe(run.cards.map(|cards| cards.used_percent))
        }),
        row("cards free beside used ones", |run| {
            maybe(run.scattered_percent)
        }),
        row("cards free and of no use", |run| maybe(run.useless_percent)),
        row("cores in use", |run| percent(run.cpu.used_percent)),
    ]
}

fn of_fairness() -> Vec<FigureRow> {
    fn users(name: &'static str, of: fn(&UsersFigures) -> String) -> FigureRow {
        row(name, move |run| {
            run.users.as_ref().map_or_else(|| "-".to_owned(), of)
        })
    }
    vec![
        row("fairness (Jain)", |run| format!("{:.3}", run.fairness)),
        users("  of users", |users| format!("{:.3}", users.fairness)),
        users("  of users' slowdowns", |users| {
            format!("{:.3}", users.slowdown_fairness)
        }),
        users("slowdown, mean of users", |users| {
            format!("{:.1}", users.slowdown.mean)
        }),
        users("slowdown, p90 of users", |users| {
            format!("{:.1}", users.slowdown.p90)
        }),
    ]
}
