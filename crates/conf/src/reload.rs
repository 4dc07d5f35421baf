//! What to do with a configuration that was read: use it, or keep the one before. Pure.

use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::file::parse_bytes;
use crate::registry::Registry;

/// What becomes of a configuration that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reload {
    /// It is the one in use. After a rejected one this is the good news that it is back.
    Unchanged,
    /// It is valid and differs: use it from the next cycle on.
    Use {
        /// The configuration.
        config: Box<Config>,
        /// The hash of its text.
        hash: String,
        /// Warnings; none of them is an error.
        diagnostics: Vec<Diagnostic>,
    },
    /// It is not valid: keep the one in use.
    Keep {
        /// Warnings and errors, at least one error.
        diagnostics: Vec<Diagnostic>,
    },
}

/// Decides on the bytes of a configuration file, of which `hash` is a hash. `in_use` is that of the
/// configuration in use; `None` at the start, when there is none.
#[must_use]
pub fn decide(in_use: Option<&str>, bytes: &[u8], hash: String, registry: &Registry) -> Reload {
    if in_use == Some(hash.as_str()) {
        return Reload::Unchanged;
    }
    let outcome = parse_bytes(bytes, registry);
    match outcome.config {
        Some(config) => Reload::Use {
            config: Box::new(config),
            hash,
            diagnostics: outcome.diagnostics,
        },
        None => Reload::Keep {
            diagnostics: outcome.diagnostics,
        },
    }
}

/// The findings as one text, in the form rustc uses.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], file: &str) -> String {
    diagnostics
        .iter()
        .map(|finding| finding.render(file))
        .collect()
}
