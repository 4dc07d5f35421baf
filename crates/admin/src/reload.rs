//! What to do with a configuration that was read: use it, or keep the one before. Pure.

use std::fmt::Write as _;

use pumice_conf::{Config, Diagnostic, Registry, parse_bytes};

/// Digits of a hash, of the 64 that SHA-256 has.
const HASH_DIGITS: usize = 16;

/// What becomes of a configuration that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reload {
    /// It is the one in use.
    Unchanged,
    /// It is valid and differs: use it from the next cycle on.
    Use {
        /// The configuration.
        config: Box<Config>,
        /// The hash of its text, see [`hash`].
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

/// Decides on the bytes of a configuration file. `in_use` is the hash of the configuration in use;
/// `None` at the start, when there is none.
#[must_use]
pub fn decide(in_use: Option<&str>, bytes: &[u8], registry: &Registry) -> Reload {
    let hash = hash(bytes);
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

/// The first 16 hexadecimal digits of the SHA-256 of a configuration's text: what
/// `sha256sum volcano-scheduler.conf | cut -c1-16` prints.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let mut text = String::with_capacity(2 * digest.as_ref().len());
    for byte in digest.as_ref() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.truncate(HASH_DIGITS);
    text
}

/// The findings as one text, in the form rustc uses.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], file: &str) -> String {
    diagnostics
        .iter()
        .map(|finding| finding.render(file))
        .collect()
}
