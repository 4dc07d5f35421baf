//! What is wrong with a trace: where, what, and what to do.

use std::fmt;

/// A finding about a trace. What it is about was left out, or counts in the way that is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceProblem {
    /// File name.
    pub file: String,
    /// Line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for TraceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}\n  = help: {}", self.message, self.help)
    }
}

/// Why a row is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

impl RowFault {
    /// A fault with its remedy.
    pub fn new(message: String, help: &'static str) -> Self {
        Self { message, help }
    }
}
