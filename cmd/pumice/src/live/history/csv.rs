//! CSV (RFC 4180), for spreadsheets: no text of others is taken for a formula.

use std::io::Write;

use super::sheet::{CellValue, HistorySheet};
use super::times;

/// What a spreadsheet takes for the begin of a formula.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The sheet, its columns in the first line.
pub(super) fn write(out: &mut dyn Write, sheet: &HistorySheet) -> anyhow::Result<()> {
    let names: Vec<&str> = sheet.columns.iter().map(|(name, _)| *name).collect();
    write!(out, "{}\r\n", names.join(","))?;
    for row in &sheet.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        write!(out, "{}\r\n", cells.join(","))?;
    }
    Ok(())
}

fn cell(value: &CellValue) -> String {
    match value {
        CellValue::Text(text) => quoted(text),
        CellValue::Whole(number) => number.to_string(),
        CellValue::Number(number) => format!("{number:.6}"),
        CellValue::Time(at_s) => at_s.map_or_else(String::new, times::written),
    }
}

/// A text that is no formula, in quotes where it needs them.
pub(super) fn quoted(text: &str) -> String {
    let text = match text.starts_with(FORMULAS) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}
