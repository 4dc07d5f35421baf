//! YAML text to located nodes, one document at a time, within a budget.
//!
//! ```text
//! text ─► parser events ─► Builder (stack of open collections, anchors, budget) ─► Node
//! ```
//!
//! Nodes keep how they were written (style, tag) and where (line, column, byte offset); they are
//! not typed: see [`crate::scalar`]. Aliases are expanded and merge keys (`<<`) applied here, both
//! paid from the [`Budget`], so a small text cannot become a large tree. Text is borrowed from the
//! input wherever it stands there unchanged.

mod build;

use granit_parser::{ErrorKind, Event, Parser, StrInput, options};
use thiserror::Error;

use build::{BuildStep, Builder};

use crate::node::{Location, YamlNode};

/// How much one document may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Open collections inside each other; the parser allows at most 255 of one style.
    pub depth: usize,
    /// Nodes, aliases expanded.
    pub nodes: usize,
    /// Bytes of scalar text, aliases expanded.
    pub text_bytes: usize,
}

impl Budget {
    /// Enough for any scheduler configuration.
    pub const CONF: Self = Self {
        depth: 64,
        nodes: 100_000,
        text_bytes: 4 << 20,
    };
    /// Enough for any manifest in a text of this many bytes that does not multiply itself by
    /// aliases: a value takes a byte at least.
    #[must_use]
    pub const fn manifests(text_bytes: usize) -> Self {
        Self {
            depth: 128,
            nodes: text_bytes.saturating_add(10_000),
            text_bytes: text_bytes.saturating_mul(4).saturating_add(1 << 20),
        }
    }
}

/// Why a document has no tree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {}, column {}: {kind}", location.line, location.column)]
pub struct TreeError {
    /// Where.
    pub location: Location,
    /// Why.
    pub kind: TreeErrorKind,
}

/// The reasons of a [`TreeError`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeErrorKind {
    /// The text is not YAML.
    #[error("{0}")]
    Syntax(String),
    /// A control character that YAML forbids, NUL for example.
    #[error("the control character U+{:04X} is not allowed", u32::from(*.0))]
    ControlCharacter(char),
    /// More collections inside each other than the budget allows.
    #[error("more than {0} levels of nesting")]
    TooDeep(usize),
    /// More nodes than the budget allows.
    #[error("more than {0} values, aliases expanded")]
    TooManyNodes(usize),
    /// More text than the budget allows.
    #[error("more than {0} bytes of text, aliases expanded")]
    TooMuchText(usize),
    /// An alias inside the value it stands for.
    #[error("the alias stands inside its own anchor")]
    RecursiveAlias,
    /// A merge key whose value is not a map or a list of maps.
    #[error("the merge key `<<` needs a map or a list of maps")]
    BadMerge,
}

/// The documents of `text`, read one by one as the iterator advances.
///
/// A broken document yields an error and the iterator goes on behind the next `---`. A text with
/// no document (empty, comments only) yields nothing. A byte order mark at the start is skipped
/// (offsets count it, columns do not).
#[must_use]
pub fn documents(text: &str, budget: Budget) -> Documents<'_> {
    Documents::new(text, budget)
}

/// Iterator over documents; see [`documents`].
pub struct Documents<'a> {
    parser: Parser<'a, StrInput<'a>>,
    budget: Budget,
    forbidden: Option<TreeError>,
    shift: usize,
    total_nodes: usize,
    /// A failed document is left only when the next one is asked for.
    recover: bool,
    done: bool,
}

impl<'a> Documents<'a> {
    fn new(text: &'a str, budget: Budget) -> Self {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let options = options! {
            emit_comments: false,
            flow_nesting_limit: budget.depth.min(255),
            block_nesting_limit: budget.depth.min(255),
        };
        Self {
            parser: Parser::new_from_str_with_options(body, options),
            budget,
            forbidden: find_control_character(text),
            shift: text.len() - body.len(),
            total_nodes: 0,
            recover: false,
            done: false,
        }
    }

    /// Nodes of all documents read so far, aliases expanded, failed documents included.
    #[must_use]
    pub fn total_nodes(&self) -> usize {
        self.total_nodes
    }

    fn read_document(&mut self) -> Option<Result<YamlNode<'a>, TreeError>> {
        if self.recover {
            self.recover = false;
            // An error here would only repeat the one already reported.
            if !matches!(self.parser.proceed_next_document(), Ok(true)) {
                return None;
            }
        }
        let mut builder = Builder::new(self.budget, self.shift);
        let read = self.build(&mut builder);
        self.total_nodes = self.total_nodes.saturating_add(builder.nodes());
        read
    }

    fn build(&mut self, builder: &mut Builder<'a>) -> Option<Result<YamlNode<'a>, TreeError>> {
        loop {
            let step = match self.parser.next_event()? {
                Ok((Event::StreamEnd, _)) => return None,
                Ok((event, span)) => builder.take(event, span),
                Err(error) => Err(self.syntax_error(&error)),
            };
            match step {
                Ok(BuildStep::More) => {}
                Ok(BuildStep::Done(node)) => return Some(Ok(node)),
                Err(error) => {
                    self.recover = true;
                    return Some(Err(error));
                }
            }
        }
    }

    fn syntax_error(&self, error: &granit_parser::ScanError) -> TreeError {
        let location = build::location(error.marker(), self.shift);
        let kind = match error.kind() {
            ErrorKind::RecursionLimitExceeded => TreeErrorKind::TooDeep(self.budget.depth.min(255)),
            kind => TreeErrorKind::Syntax(kind.to_string()),
        };
        TreeError { location, kind }
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<YamlNode<'a>, TreeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        if let Some(error) = self.forbidden.take() {
            self.done = true;
            return Some(Err(error));
        }
        let next = self.read_document();
        self.done = next.is_none();
        next
    }
}

/// yaml.v2 refuses these characters; a parser that took NUL for the end would drop the rest.
fn find_control_character(text: &str) -> Option<TreeError> {
    let forbidden =
        |byte: u8| byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'));
    let offset = text.bytes().position(forbidden)?;
    let byte = *text.as_bytes().get(offset)?;
    let location = locate(text, offset);
    Some(TreeError {
        location,
        kind: TreeErrorKind::ControlCharacter(char::from(byte)),
    })
}

/// Line and column of a byte offset. Lines end at LF, CR LF or CR; a leading byte order mark has
/// no column. An offset inside a character counts as its start.
#[must_use]
pub fn locate(text: &str, offset: usize) -> Location {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let breaks = before.bytes().enumerate().filter(|(at, byte)| match byte {
        b'\n' => true,
        b'\r' => text.as_bytes().get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    let line = breaks.count() + 1;
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let prefix = &before[start..];
    let prefix = if start == 0 {
        prefix.trim_start_matches('\u{feff}')
    } else {
        prefix
    };
    Location {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(prefix.chars().count() + 1).unwrap_or(u32::MAX),
        offset: end,
    }
}
