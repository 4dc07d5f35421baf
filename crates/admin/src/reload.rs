//! What to do with a configuration that was read: use it, or keep the one before. Pure.

use std::fmt::Write as _;

use pumice_conf::{Config, Diagnostic, Registry, parse_bytes};

/// Digits of a hash, of the 64 that SHA-256 has.
const HASH_DIGITS: usize = 16;

/// What becomes of a configuration that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reload {
    /// It is the one in use. After a rejected one this is the good news that it is back.
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

#[cfg(test)]
mod tests {
    use pumice_conf::{ActionSpec, PluginSpec, Registry, Severity};

    use super::{Reload, decide, hash, render};

    const REGISTRY: Registry = Registry {
        plugins: &[PluginSpec {
            name: "gang",
            summary: "All or nothing.",
            ..PluginSpec::PLAIN
        }],
        actions: &[ActionSpec {
            name: "allocate",
            summary: "Places tasks.",
            args: &[],
            built: true,
        }],
    };

    const GOOD: &str = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gang\n";
    const MISSPELT: &str = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gagn\n";

    #[test]
    fn a_valid_configuration_is_used_with_the_hash_of_its_text() {
        let Reload::Use { config, hash, .. } = decide(None, GOOD.as_bytes(), &REGISTRY) else {
            panic!("rejected");
        };
        assert_eq!(config.actions, ["allocate"]);
        assert_eq!(hash, super::hash(GOOD.as_bytes()));
    }

    #[test]
    fn the_hash_is_the_start_of_the_sha256_sum() {
        assert_eq!(hash(b"abc"), "ba7816bf8f01cfea");
        assert_eq!(hash(b""), "e3b0c44298fc1c14");
    }

    #[test]
    fn the_configuration_in_use_is_not_used_again() {
        let in_use = hash(GOOD.as_bytes());
        let again = decide(Some(&in_use), GOOD.as_bytes(), &REGISTRY);
        assert_eq!(again, Reload::Unchanged);
        let other = format!("{GOOD}# a remark\n");
        let changed = decide(Some(&in_use), other.as_bytes(), &REGISTRY);
        assert!(matches!(changed, Reload::Use { .. }));
    }

    #[test]
    fn a_configuration_that_is_not_valid_is_rejected_with_its_errors() {
        for bytes in [MISSPELT.as_bytes(), b"\xff", b"tiers: [", &[b' '; 1 << 21]] {
            let Reload::Keep { diagnostics } = decide(Some("00"), bytes, &REGISTRY) else {
                panic!("accepted");
            };
            let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
            assert!(errors.count() > 0);
        }
    }

    #[test]
    fn findings_are_shown_with_file_and_line() {
        let Reload::Keep { diagnostics } = decide(None, MISSPELT.as_bytes(), &REGISTRY) else {
            panic!("accepted");
        };
        let text = render(&diagnostics, "/volcano.scheduler/conf");
        assert!(text.contains("--> /volcano.scheduler/conf:4:"), "{text}");
        assert!(text.contains("gagn"), "{text}");
    }
}
