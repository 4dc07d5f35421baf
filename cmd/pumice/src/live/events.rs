//! Events about an object on paper.

use std::io::Write;

use serde_json::Value;

use super::words::HEAD;
use crate::columns::columns;

/// A line an event, oldest first.
pub(super) fn show_events(out: &mut dyn Write, events: &[Value]) -> anyhow::Result<()> {
    writeln!(out, "\n{HEAD}Events{HEAD:#}")?;
    if events.is_empty() {
        writeln!(out, "none")?;
        return Ok(());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut rows: Vec<[String; 5]> = events
        .iter()
        .map(|event| {
            let times = ["lastTimestamp", "eventTime", "firstTimestamp"];
            let last = times.iter().map(|field| text(&event[*field]));
            let count = event["count"].as_i64().unwrap_or(1);
            [
                last.into_iter()
                    .find(|time| !time.is_empty())
                    .unwrap_or_default(),
                text(&event["type"]),
                text(&event["reason"]),
                count.to_string(),
                text(&event["message"]),
            ]
        })
        .collect();
    rows.sort();
    columns(out, ["LAST", "TYPE", "REASON", "COUNT", "MESSAGE"], rows)
}
