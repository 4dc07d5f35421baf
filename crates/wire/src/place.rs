//! Which field of a JSON text a position is in.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The position of a line and column as serde_json counts them: lines from 1, columns in bytes, a
/// column being the bytes of the line that had been read.
pub(crate) fn offset_of(text: &[u8], line: usize, column: usize) -> usize {
    let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1));
    starts.take(line.max(1)).last().unwrap_or(0) + column
}

/// Path of the innermost value that a position is in or behind; `.` for the whole.
///
/// serde_json tells of a scalar of the wrong type the position behind it, as of a map that lacks a
/// field; of a list or map where something else is wanted the position where it begins, or behind
/// its bracket. `bracket` is the one that what is wrong begins with, if it does.
pub(crate) fn path_at(json: &str, offset: usize, bracket: Option<char>) -> String {
    let mut path = String::new();
    let mut value = json.trim_ascii_start();
    while let Some((step, inner)) = child_at(json, value, (offset, bracket)) {
        match step {
            PathStep::Key(key) if path.is_empty() => path.push_str(&key),
            PathStep::Key(key) => path.extend([".", &*key]),
            PathStep::Index(at) => path.push_str(&format!("[{at}]")),
        }
        value = inner;
    }
    if path.is_empty() {
        return ".".to_owned();
    }
    path
}

enum PathStep<'j> {
    Key(Cow<'j, str>),
    Index(usize),
}

/// The entry or item of a value that a position of the whole text is in.
fn child_at<'j>(
    json: &'j str,
    value: &'j str,
    (offset, bracket): (usize, Option<char>),
) -> Option<(PathStep<'j>, &'j str)> {
    let is_at = |raw: &&'j RawValue| {
        let begins = raw.get().as_ptr().addr() - json.as_ptr().addr();
        let is_inside = begins < offset && offset <= begins + raw.get().len();
        is_inside || begins == offset && bracket.is_some_and(|with| raw.get().starts_with(with))
    };
    if value.starts_with('{') {
        let Entries(entries) = serde_json::from_str(value).ok()?;
        let found = entries.into_iter().find(|(_, raw)| is_at(raw))?;
        return Some((PathStep::Key(found.0), found.1.get()));
    }
    if value.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value).ok()?;
        let (at, raw) = items.into_iter().enumerate().find(|(_, raw)| is_at(raw))?;
        return Some((PathStep::Index(at), raw.get()));
    }
    None
}

/// The entries of a map as they stand in the text.
struct Entries<'j>(Vec<(Cow<'j, str>, &'j RawValue)>);

impl<'j> Deserialize<'j> for Entries<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'j> Visitor<'j> for EntriesVisitor {
            type Value = Entries<'j>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_bytes() {
        let text = "ab\ncdé\n\nf".as_bytes();
        let cases = [((1, 0), 0), ((1, 2), 2), ((2, 4), 7), ((4, 1), 10)];
        for ((line, column), offset) in cases {
            assert_eq!(offset_of(text, line, column), offset, "{line}:{column}");
        }
    }

    #[test]
    fn a_position_is_in_the_innermost_value() {
        let json = r#" {"a": {"b": [1, {"c": "x"}], "d\n": 2}, "e": {}}"#;
        let at = |part: &str| json.find(part).unwrap();
        let cases = [
            (at("1") + 1, None, "a.b[0]"),
            // Behind the bracket of a list where a map is wanted.
            (at("1"), Some('['), "a.b"),
            (at("\"x\"") + 3, None, "a.b[1].c"),
            (at("{\"c\""), Some('{'), "a.b[1]"),
            (at("[1"), Some('['), "a.b"),
            (at("2") + 1, None, "a.d\n"),
            (at("{}"), Some('{'), "e"),
            (json.len(), None, "."),
            (0, Some('{'), "."),
        ];
        for (offset, bracket, path) in cases {
            assert_eq!(path_at(json, offset, bracket), path, "{offset}");
        }
    }
}
