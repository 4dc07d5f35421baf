//! Words and styles that the commands about a cluster share, and how a view is printed.

use std::collections::BTreeMap;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use pumice_engine::view::Quantities;
use serde::Serialize;

use crate::output::OutputFormat;

/// Style of what is well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Style of what wants attention.
pub const BAD: Style = AnsiColor::Yellow.on_default();
/// Style of headings.
pub const HEAD: Style = Style::new().bold();

/// Characters of a reason in a list; all of it is told by `explain`.
pub const MAX_REASON: usize = 100;

/// Prints a view as JSON or YAML, or by `table`.
pub fn print<T: Serialize>(
    view: &T,
    format: OutputFormat,
    table: impl FnOnce(&mut dyn Write, &T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match format {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, view).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Yaml => write!(out, "{}", serde_yaml::to_string(view)?)?,
        OutputFormat::Table => table(&mut out, view)?,
    }
    Ok(())
}

/// `cpu 2, memory 4Gi`, or `-`.
pub fn amounts(amounts: &Quantities) -> String {
    let text: Vec<String> = amounts
        .iter()
        .map(|(name, amount)| format!("{name} {amount}"))
        .collect();
    match text.is_empty() {
        true => "-".to_owned(),
        false => text.join(", "),
    }
}

/// `3 Pending, 1 Running`, or `none`.
pub fn counts(counts: &BTreeMap<String, usize>) -> String {
    let text: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    match text.is_empty() {
        true => "none".to_owned(),
        false => text.join(", "),
    }
}

/// The beginning of a reason.
pub fn brief(text: &str) -> String {
    match text.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// `1st`, `2nd`, `3rd`, `11th`.
pub fn ordinal(number: usize) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}
