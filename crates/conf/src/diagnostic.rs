//! Findings of a check and how they are shown.

use std::fmt::Write as _;

use pumice_yaml::TextOrigin;
use pumice_yaml::node::{Location, YamlNode};
use serde::Serialize;

use crate::config::Config;

/// Findings kept per severity; a file with more of them has one cause behind most.
const MAX_FINDINGS: usize = 100;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is rejected.
    Error,
    /// The file is used; something in it has no effect or a surprising one.
    Warning,
}

/// One finding with its place in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable code, such as `E0101-unknown-plugin`.
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// Line in the given file, counted from 1; also for a configuration inside a ConfigMap.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// The source line, or the part around the column when the line is very long.
    pub excerpt: String,
    /// Column of the place inside the excerpt, counted from 1.
    pub excerpt_column: u32,
    /// Characters of the excerpt that the finding is about, at least 1.
    pub width: u32,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The finding in one line, for places that show no pictures.
    #[must_use]
    pub fn brief(&self) -> String {
        let help = self.help.as_ref().map(|help| format!(" ({help})"));
        let severity = match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        format!(
            "line {}, column {}: {severity}{}{}",
            self.line,
            self.column,
            self.message,
            help.unwrap_or_default()
        )
    }

    /// The finding as text in the form rustc uses, without colour, ending in a line break.
    #[must_use]
    pub fn render(&self, file: &str) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let indent = " ".repeat(self.excerpt_column.saturating_sub(1) as usize);
        let caret = "^".repeat(self.width.max(1) as usize);
        let mut text = format!("{severity}[{}]: {}\n", self.code, self.message);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{margin}--> {file}:{}:{}", self.line, self.column);
        let _ = writeln!(text, "{margin} |");
        let _ = writeln!(
            text,
            "{}",
            format!("{number} | {}", self.excerpt).trim_end()
        );
        let _ = writeln!(text, "{margin} | {indent}{caret}");
        if let Some(help) = &self.help {
            let _ = writeln!(text, "{margin} = help: {help}");
        }
        text
    }
}

/// A finding before its place is known in the outer file: offsets are those of the checked text.
#[derive(Clone, Debug)]
pub(crate) struct DiagnosticDraft {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Byte range the finding is about.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) help: Option<String>,
    /// A second place, told as `<text> line <n>` in front of the help.
    pub(crate) see: Option<(&'static str, usize)>,
}

impl DiagnosticDraft {
    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn see(&mut self, text: &'static str, offset: usize) -> &mut Self {
        self.see = Some((text, offset));
        self
    }

    /// The finding as people see it, in the file that the checked text stands in.
    pub(crate) fn diagnostic(self, origin: &TextOrigin<'_>) -> Diagnostic {
        let excerpt = origin.excerpt(self.start, self.end);
        let see = self
            .see
            .map(|(text, offset)| format!("{text} line {}", origin.locate(offset).line));
        let help = match (see, self.help) {
            (Some(see), Some(help)) => Some(format!("{see}; {help}")),
            (see, help) => see.or(help),
        };
        Diagnostic {
            severity: self.severity,
            code: self.code,
            message: self.message,
            line: excerpt.location.line,
            column: excerpt.location.column,
            excerpt: excerpt.text,
            excerpt_column: excerpt.column,
            width: excerpt.width,
            help,
        }
    }
}

/// Where a finding is: a byte range of the checked text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl From<&YamlNode<'_>> for TextRange {
    fn from(node: &YamlNode<'_>) -> Self {
        Self {
            start: node.location.offset,
            end: node.end,
        }
    }
}

impl From<Location> for TextRange {
    fn from(location: Location) -> Self {
        Self {
            start: location.offset,
            end: location.offset,
        }
    }
}

/// A bounded list of findings.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    errors: Vec<DiagnosticDraft>,
    warnings: Vec<DiagnosticDraft>,
    /// Takes what exceeds the bound, so that the caller may go on describing it.
    overflow: Option<DiagnosticDraft>,
}

impl Findings {
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        place: impl Into<TextRange>,
        message: impl Into<String>,
    ) -> &mut DiagnosticDraft {
        self.add(Severity::Error, code, place.into(), message.into())
    }

    pub(crate) fn warn(
        &mut self,
        code: &'static str,
        place: impl Into<TextRange>,
        message: impl Into<String>,
    ) -> &mut DiagnosticDraft {
        self.add(Severity::Warning, code, place.into(), message.into())
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: TextRange,
        message: String,
    ) -> &mut DiagnosticDraft {
        let TextRange { start, end } = place;
        let finding = DiagnosticDraft {
            severity,
            code,
            message,
            start,
            end,
            help: None,
            see: None,
        };
        let list = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        if list.len() >= MAX_FINDINGS {
            return self.overflow.insert(finding);
        }
        let place = list.len();
        list.push(finding);
        &mut list[place]
    }

    /// The findings in the order of the text.
    pub(crate) fn into_sorted(self) -> Vec<DiagnosticDraft> {
        let mut all = self.errors;
        all.extend(self.warnings);
        all.sort_by_key(|finding| (finding.start, finding.severity));
        all
    }
}

/// What a check of one file found.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOutcome {
    /// The configuration; `None` if and only if a diagnostic is an error.
    pub config: Option<Config>,
    /// All findings, ordered by place in the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckOutcome {
    /// True when at least one finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|found| found.severity == Severity::Error)
    }
}
