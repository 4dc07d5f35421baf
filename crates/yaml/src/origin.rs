//! From a place in a text to line, column and excerpt of the file the text stands in.
//!
//! A configuration inside a ConfigMap is a scalar of the outer file: its lines are indented
//! (block scalar) or escaped (`kubectl get -o json`). [`Origin`] knows for each byte of the inner
//! text where it stands outside.

use crate::node::{Data, Location, Style, YamlNode};
use crate::tree::locate;

/// Longest excerpt in characters.
const EXCERPT_CHARS: usize = 80;
/// Characters of it in front of the place.
const EXCERPT_LEAD: usize = 30;

/// Where the bytes of the text stand in the file.
enum Offsets {
    /// The text is the file.
    Whole,
    /// Outer offset of each inner byte.
    Mapped(Vec<u32>),
    /// Not known exactly (folded text): everything is reported at the scalar.
    Fixed(usize),
}

/// A part of a file as a message shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Where the part begins in the file.
    pub location: Location,
    /// First line of the part, or what stands around the column when the line is very long.
    pub text: String,
    /// Column of the part within `text`, counted from 1.
    pub column: u32,
    /// Characters of `text` that belong to the part, at least 1.
    pub width: u32,
}

/// A text and the file it stands in.
pub struct TextOrigin<'a> {
    file: &'a str,
    offsets: Offsets,
}

impl<'a> TextOrigin<'a> {
    /// A text that is a file.
    #[must_use]
    pub fn whole(file: &'a str) -> Self {
        Self {
            file,
            offsets: Offsets::Whole,
        }
    }

    /// The text of a scalar of `file`.
    #[must_use]
    pub fn inside(file: &'a str, scalar: &YamlNode<'_>) -> Self {
        let start = scalar.location.offset;
        let mapped = match &scalar.data {
            Data::Scalar {
                text,
                style: Style::Literal,
            } => map_literal(file, start, text),
            Data::Scalar {
                text,
                style: Style::DoubleQuoted,
            } => map_quoted(file, start, text, '"'),
            Data::Scalar {
                text,
                style: Style::SingleQuoted,
            } => map_quoted(file, start, text, '\''),
            _ => None,
        };
        Self {
            file,
            offsets: mapped.map_or(Offsets::Fixed(start), Offsets::Mapped),
        }
    }

    fn outer(&self, offset: usize) -> usize {
        match &self.offsets {
            Offsets::Whole => offset,
            Offsets::Fixed(start) => *start,
            Offsets::Mapped(map) => match map.get(offset).or(map.last()) {
                Some(outer) => *outer as usize,
                None => 0,
            },
        }
    }

    /// The place in the file of a byte offset of the text.
    #[must_use]
    pub fn locate(&self, offset: usize) -> Location {
        locate(self.file, self.outer(offset))
    }

    /// What the file shows of the bytes from `start` to `end` of the text.
    #[must_use]
    pub fn excerpt(&self, start: usize, end: usize) -> Excerpt {
        let at = self.locate(start);
        let end = self.locate(end.max(start));
        let line_start = self.file[..at.offset]
            .rfind(['\n', '\r'])
            .map_or(0, |place| place + 1);
        let rest = &self.file[line_start..];
        let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
        let line = if line_start == 0 {
            line.trim_start_matches('\u{feff}')
        } else {
            line
        };
        let length = line.chars().count();
        let column = at.column as usize;
        let end_column = if end.line == at.line {
            end.column as usize
        } else {
            length + 1
        };
        let skipped = if length <= EXCERPT_CHARS {
            0
        } else {
            column.saturating_sub(EXCERPT_LEAD + 1)
        };
        let visible = |letter: char| match letter {
            '\t' => ' ',
            letter if letter.is_control() => '\u{fffd}',
            letter => letter,
        };
        let excerpt: String = line
            .chars()
            .skip(skipped)
            .take(EXCERPT_CHARS)
            .map(visible)
            .collect();
        let excerpt_column = column - skipped.min(column);
        let room = (excerpt.chars().count() + 1)
            .saturating_sub(excerpt_column)
            .max(1);
        let width = end_column.saturating_sub(column).clamp(1, room);
        Excerpt {
            location: at,
            text: excerpt,
            column: u32::try_from(excerpt_column).unwrap_or(u32::MAX),
            width: u32::try_from(width).unwrap_or(1),
        }
    }
}

/// Byte offsets as stored in a map; files are limited to far less than 4 GiB.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// Lines of a literal block: each inner line is the tail of an outer one.
fn map_literal(file: &str, start: usize, text: &str) -> Option<Vec<u32>> {
    let blank = text.bytes().take_while(|byte| *byte == b'\n').count();
    let line_start = file
        .get(..start)?
        .rfind(['\n', '\r'])
        .map_or(0, |place| place + 1);
    // Blank lines in front of the content are reported at its first line.
    let mut map = vec![narrow(line_start); blank];
    let mut at = line_start;
    for inner in text[blank..].split_inclusive('\n') {
        let content = inner.strip_suffix('\n').unwrap_or(inner);
        let rest = file.get(at..)?;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let outer = &rest[..length];
        if !outer.ends_with(content) {
            return None;
        }
        let from = at + length - content.len();
        map.extend((from..at + length).map(narrow));
        if content.len() < inner.len() {
            map.push(narrow(at + length));
        }
        let tail = &rest[length..];
        at += length
            + if tail.starts_with("\r\n") {
                2
            } else {
                usize::from(!tail.is_empty())
            };
    }
    map.push(narrow(at.min(file.len())));
    Some(map)
}

/// Characters of a quoted scalar, escapes and folded line breaks undone.
fn map_quoted(file: &str, start: usize, text: &str, quote: char) -> Option<Vec<u32>> {
    let body_start = start + 1;
    let body = file.get(start..)?.strip_prefix(quote)?;
    let mut letters: Vec<(char, usize)> = Vec::new();
    // Blanks written as they are vanish in front of a line break; escaped ones stay.
    let mut trailing = 0usize;
    let mut place = 0usize;
    while let Some(letter) = body[place..].chars().next() {
        let at = body_start + place;
        place += letter.len_utf8();
        let rest = &body[place..];
        match letter {
            '\'' if quote == '\'' && rest.starts_with('\'') => {
                letters.push(('\'', at));
                place += 1;
            }
            letter if letter == quote => break,
            '\\' if quote == '"' => place += unescape(rest, at, &mut letters)?,
            '\n' | '\r' => {
                letters.truncate(letters.len() - trailing);
                place += fold(letter, rest, at, &mut letters);
            }
            ' ' | '\t' => {
                letters.push((letter, at));
                trailing += 1;
                continue;
            }
            letter => letters.push((letter, at)),
        }
        trailing = 0;
    }
    let decoded: String = letters.iter().map(|(letter, _)| letter).collect();
    if decoded != text {
        return None;
    }
    let spread = |(letter, at): &(char, usize)| [narrow(*at)].repeat(letter.len_utf8());
    let mut map: Vec<u32> = letters.iter().flat_map(spread).collect();
    // Behind the last character stands the closing quote.
    map.push(narrow(body_start + place.saturating_sub(1)));
    Some(map)
}

/// Takes the escape behind a backslash; the length of what it used up.
fn unescape(rest: &str, at: usize, letters: &mut Vec<(char, usize)>) -> Option<usize> {
    let kind = rest.chars().next()?;
    let digits = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        '\n' | '\r' => {
            let tail = rest.strip_prefix("\r\n").unwrap_or(&rest[1..]);
            return Some(rest.len() - tail.trim_start_matches([' ', '\t']).len());
        }
        _ => 0,
    };
    if digits > 0 {
        let code = u32::from_str_radix(rest.get(1..=digits)?, 16).ok()?;
        letters.push((char::from_u32(code)?, at));
        return Some(1 + digits);
    }
    let letter = match kind {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        other => other,
    };
    letters.push((letter, at));
    Some(kind.len_utf8())
}

/// Folds a line break and the blank lines behind it; the length of what it used up.
fn fold(first: char, rest: &str, at: usize, letters: &mut Vec<(char, usize)>) -> usize {
    let mut tail = rest;
    if first == '\r' {
        tail = tail.strip_prefix('\n').unwrap_or(tail);
    }
    let mut breaks = 1;
    loop {
        tail = tail.trim_start_matches([' ', '\t']);
        let next = tail
            .strip_prefix("\r\n")
            .or_else(|| tail.strip_prefix(['\n', '\r']));
        match next {
            Some(next) => {
                tail = next;
                breaks += 1;
            }
            None => break,
        }
    }
    match breaks {
        1 => letters.push((' ', at)),
        more => letters.extend(std::iter::repeat_n(('\n', at), more - 1)),
    }
    rest.len() - tail.len()
}
