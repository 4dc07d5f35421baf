//! What single changes cost, as a table.

use pumice_engine::Engine;
use serde::Serialize;

use super::arguments::Output;

/// What changes of one kind cost.
#[derive(Serialize)]
pub struct ChangeRow {
    change: &'static str,
    changes: usize,
    /// From the input to the decisions: microseconds, median and longest.
    us: f64,
    longest_us: f64,
    /// Jobs tried per change, on average.
    tried: f64,
    placed: usize,
}

impl ChangeRow {
    /// A row made of the time each change took, in microseconds, and of the jobs tried and the pods
    /// placed for all of them.
    pub fn new(change: &'static str, mut times: Vec<f64>, tried: usize, placed: usize) -> Self {
        times.sort_by(f64::total_cmp);
        Self {
            change,
            changes: times.len(),
            us: times.get(times.len() / 2).copied().unwrap_or(0.0),
            longest_us: times.last().copied().unwrap_or(0.0),
            tried: tried as f64 / times.len().max(1) as f64,
            placed,
        }
    }
}

/// Prints them.
pub fn print(rows: &[ChangeRow], output: Output) -> anyhow::Result<()> {
    if output == Output::Json {
        println!("{}", serde_json::to_string_pretty(rows)?);
        return Ok(());
    }
    println!(
        "{:<34}{:>9}{:>12}{:>12}{:>9}{:>9}",
        "change", "changes", "µs", "longest µs", "tried", "placed"
    );
    for row in rows {
        println!(
            "{:<34}{:>9}{:>12.0}{:>12.0}{:>9.1}{:>9}",
            row.change, row.changes, row.us, row.longest_us, row.tried, row.placed
        );
    }
    Ok(())
}

/// Pods that were placed run, and nothing is left to decide.
pub fn settle(engine: &mut Engine, now_s: i64) {
    while !engine.cycle(now_s).is_empty() {}
}
