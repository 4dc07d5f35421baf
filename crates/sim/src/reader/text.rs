//! The readable part of a source.

use std::borrow::Cow;

use super::InputSource;
use crate::problem::{InputPlace, InputProblem};

/// The text of a source, with blanks in place of every document that holds a byte no YAML may hold,
/// and a problem for each of these. Lines, columns and offsets of the rest stay what they are.
pub(super) fn readable(source: &InputSource) -> (Cow<'_, str>, Vec<InputProblem>) {
    let bytes = &source.bytes;
    let clean = |text: &str| !text.bytes().any(is_forbidden);
    if let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| clean(text)) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut text = String::with_capacity(bytes.len());
    let mut problems = Vec::new();
    let mut line = 1;
    for document in split(bytes) {
        match first_fault(document) {
            None => text.push_str(&String::from_utf8_lossy(document)),
            Some(at) => {
                problems.push(problem(source, document, at, line));
                let blank = |byte: &u8| if *byte == b'\n' { '\n' } else { ' ' };
                text.extend(document.iter().map(blank));
            }
        }
        line += document.iter().filter(|byte| **byte == b'\n').count();
    }
    (Cow::Owned(text), problems)
}

/// Control characters other than tab and line breaks.
fn is_forbidden(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'))
}

/// Documents with the `---` line in front of each.
fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let next = rest.windows(4).position(|window| window == b"\n---");
        let (document, tail) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        rest = tail;
        Some(document)
    })
}

/// Offset of the first byte that is not text.
fn first_fault(document: &[u8]) -> Option<usize> {
    let control = document.iter().position(|byte| is_forbidden(*byte));
    let broken = std::str::from_utf8(document)
        .err()
        .map(|error| error.valid_up_to());
    match (control, broken) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn problem(source: &InputSource, document: &[u8], at: usize, first_line: usize) -> InputProblem {
    let good = &document[..at];
    let line = first_line + good.iter().filter(|byte| **byte == b'\n').count();
    let start = good
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let column = 1 + String::from_utf8_lossy(&good[start..]).chars().count();
    let byte = document[at];
    let (message, help) = if is_forbidden(byte) {
        (
            format!("the control character 0x{byte:02x} is not allowed in YAML"),
            "remove it",
        )
    } else {
        (
            format!("the byte 0x{byte:02x} is not valid UTF-8"),
            "save the file in the UTF-8 encoding",
        )
    };
    InputProblem {
        place: InputPlace {
            file: source.name.clone(),
            line: line as u32,
            column: column as u32,
        },
        object: String::new(),
        message: format!("{message}; the document is left out"),
        help: help.to_owned(),
        kept: false,
    }
}
