//! One event as one line in klog's form.
//!
//! ```text
//! I1121 16:20:32.123456      42 pumice_cluster::watch] opened the watch kind="pods" again=true
//! ```
//!
//! Letter of the severity (I, W, E), date and time in UTC, process id, module, message, fields.
//! Text from outside (object names, errors of the API server) may hold anything: control
//! characters are escaped, and a line has a bound. Only line breaks of a message stay, so that
//! pictures of a place in a file can be read; what follows one is indented, as no head is.

use std::fmt::{self, Write as _};

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Bytes of a line; the rest of a longer one is left out, with a mark.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// Between the lines of a message.
const CONTINUED: &str = "\n    ";

/// Writes events as klog does.
#[derive(Clone, Copy, Debug)]
pub struct KlogLine {
    pid: u32,
}

impl Default for KlogLine {
    fn default() -> Self {
        Self {
            pid: std::process::id(),
        }
    }
}

impl<S, N> FormatEvent<S, N> for KlogLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let severity = match *metadata.level() {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            _ => 'I',
        };
        let time = Timestamp::now().strftime("%m%d %H:%M:%S%.6f");
        let mut text = LineText::default();
        event.record(&mut text);
        write!(
            writer,
            "{severity}{time} {:>7} {}] ",
            self.pid,
            metadata.target()
        )?;
        write_bounded(&mut writer, &text.message, &text.fields)
    }
}

/// Message and fields of one event, escaped but for the line breaks of the message.
#[derive(Default)]
struct LineText {
    message: String,
    fields: String,
}

impl Visit for LineText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            push_message(&mut self.message, value);
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let shown = format!("{value:?}");
        if field.name() == "message" {
            push_message(&mut self.message, &shown);
        } else if shown.contains([' ', '"', '=']) && !shown.starts_with('"') {
            let _ = write!(self.fields, " {}={shown:?}", field.name());
        } else {
            let _ = write!(self.fields, " {}=", field.name());
            push_escaped(&mut self.fields, &shown);
        }
    }
}

fn push_message(to: &mut String, text: &str) {
    for (at, line) in text.trim_end_matches('\n').split('\n').enumerate() {
        if at > 0 {
            to.push_str(CONTINUED);
        }
        push_escaped(to, line);
    }
}

fn push_escaped(to: &mut String, text: &str) {
    for character in text.chars() {
        if character.is_control() {
            to.extend(character.escape_default());
        } else {
            to.push(character);
        }
    }
}

fn write_bounded(writer: &mut Writer<'_>, message: &str, fields: &str) -> fmt::Result {
    if message.len() + fields.len() <= MAX_LINE_BYTES {
        return writeln!(writer, "{message}{fields}");
    }
    let message = &message[..message.floor_char_boundary(MAX_LINE_BYTES)];
    let fields = &fields[..fields.floor_char_boundary(MAX_LINE_BYTES - message.len())];
    writeln!(writer, "{message}{fields} … (cut)")
}
