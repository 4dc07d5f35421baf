//! Texts in ConfigMaps in which plugins keep what they know for whoever leads next: a line of JSON each, of which the first
//! says the format.

use serde::{Deserialize, Serialize};

/// Longest text that is kept outside of the process: less than a third of what a ConfigMap may have.
pub const MAX_KEPT_BYTES: usize = 256 << 10;

/// The first line of a text that says nothing else in it.
#[derive(Serialize, Deserialize)]
pub struct FormatLine {
    /// How the text is written.
    pub format: u32,
}

/// A value as a line; none of the types of this crate fails to be written.
pub fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}

/// Why a text whose first line is a [`FormatLine`] is not of a format, if it is not.
pub fn format_fault(text: &str, format: u32) -> Option<String> {
    let head: Result<FormatLine, _> = serde_json::from_str(text.lines().next().unwrap_or_default());
    match head {
        Err(error) => Some(format!("the first line does not say its format: {error}")),
        Ok(head) if head.format != format => Some(other_format(head.format, format)),
        Ok(_) => None,
    }
}

/// The text is of another format than the one that is read.
pub fn other_format(found: u32, read: u32) -> String {
    format!("it is of format {found}, and this program reads {read}")
}
