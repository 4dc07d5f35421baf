//! What is wrong with the input: where, what, and what to do.

use std::fmt;

/// A place in an input; without a file none in particular.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputPlace {
    /// File name, or `stdin`.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1.
    pub column: u32,
}

impl fmt::Display for InputPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.is_empty() {
            return Ok(());
        }
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A finding about the input. The object concerned was set aside unless `kept`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    /// Where.
    pub place: InputPlace,
    /// The object: `Kind namespace/name`; empty when no object could be read.
    pub object: String,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
    /// The object takes part all the same.
    pub kept: bool,
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.kept { "warning" } else { "error" };
        write!(f, "{level}: ")?;
        if !self.place.file.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        if !self.object.is_empty() {
            write!(f, "{}: ", self.object)?;
        }
        write!(f, "{}", self.message)?;
        if !self.kept && !self.object.is_empty() {
            write!(f, " (the object is set aside)")?;
        }
        if !self.help.is_empty() {
            write!(f, "\n  = help: {}", self.help)?;
        }
        Ok(())
    }
}
