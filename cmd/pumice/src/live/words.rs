//! Words and styles that the commands about a cluster share.

use std::collections::BTreeMap;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use pumice_engine::view::Quantities;
pub use pumice_engine::view::short_group;
use serde_json::Value;

pub use crate::output::print;

/// Style of what is well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Style of what wants attention.
pub const BAD: Style = AnsiColor::Yellow.on_default();
/// Style of headings.
pub const HEAD: Style = Style::new().bold();

/// Width of the words before the text.
const WORD: usize = 9;

/// Characters of a reason in a list; all of it is told by `explain`.
pub const MAX_REASON: usize = 100;

/// The items of a list; `None`, and a line that says so, when there are none.
pub fn some<'a>(out: &mut dyn Write, list: &'a Value) -> anyhow::Result<Option<&'a [Value]>> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    if items.is_empty() {
        writeln!(out, "No resources found")?;
    }
    Ok(Some(items).filter(|items| !items.is_empty()))
}

/// A word and its text below a headline; nothing for an empty text.
pub fn line(out: &mut dyn Write, word: &str, text: &str) -> anyhow::Result<()> {
    for (at, text) in text.lines().enumerate() {
        let word = if at == 0 { word } else { "" };
        writeln!(out, "  {word:<WORD$} {text}")?;
    }
    Ok(())
}

/// A word and several texts.
pub fn lines(out: &mut dyn Write, word: &str, texts: &[String]) -> anyhow::Result<()> {
    for (at, text) in texts.iter().enumerate() {
        line(out, if at == 0 { word } else { "" }, text)?;
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

/// The beginning of a reason, cut between two words where it has any.
pub fn brief(text: &str) -> String {
    let Some((at, _)) = text.char_indices().nth(MAX_REASON) else {
        return text.to_owned();
    };
    let beginning = &text[..at];
    let words = beginning.rsplit_once(' ').map(|(words, _)| words);
    format!("{}…", words.unwrap_or(beginning))
}

/// A text, or what stands for an empty one.
pub fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    match text {
        "" => otherwise,
        text => text,
    }
}

/// How long, as kubectl says it: `12s`, `5m`, `3h20m`, `4d`.
pub fn age(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7_199 => format!("{minutes}m"),
        7_200..=172_799 if minutes % 60 == 0 => format!("{hours}h"),
        7_200..=172_799 => format!("{hours}h{}m", minutes % 60),
        _ => format!("{days}d"),
    }
}

/// The age of an object that was made at this time.
pub fn age_of(created: &str, now: jiff::Timestamp) -> String {
    match created.parse::<jiff::Timestamp>() {
        Ok(time) => age(now.as_second() - time.as_second()),
        Err(_) => "-".to_owned(),
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
