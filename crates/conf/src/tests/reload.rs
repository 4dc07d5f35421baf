//! What becomes of a configuration that is read again.

use super::{REGISTRY, parse};
use crate::MAX_BYTES;
use crate::diagnostic::Severity;
use crate::reload::{Reload, decide, render};

const GOOD: &str = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gang\n";
const MISSPELT: &str = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gagn\n";

fn read(in_use: Option<&str>, bytes: &[u8], hash: &str) -> Reload {
    decide(in_use, bytes, hash.to_owned(), &REGISTRY)
}

#[test]
fn a_valid_configuration_is_used_with_the_hash_of_its_text() {
    let expected = Reload::Use {
        config: Box::new(parse(GOOD, &REGISTRY).config.expect("valid")),
        hash: "ab".to_owned(),
        diagnostics: Vec::new(),
    };
    assert_eq!(read(None, GOOD.as_bytes(), "ab"), expected);
}

#[test]
fn the_configuration_in_use_is_not_used_again() {
    assert_eq!(read(Some("ab"), GOOD.as_bytes(), "ab"), Reload::Unchanged);
    let changed = read(Some("ab"), GOOD.as_bytes(), "cd");
    assert!(matches!(changed, Reload::Use { .. }));
}

#[test]
fn a_configuration_that_is_not_valid_is_rejected_with_its_errors() {
    for bytes in [
        MISSPELT.as_bytes(),
        b"\xff",
        b"tiers: [",
        &[b' '; MAX_BYTES + 1],
    ] {
        let Reload::Keep { diagnostics } = read(Some("00"), bytes, "ab") else {
            panic!("accepted");
        };
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
        assert!(errors.count() > 0);
    }
}

#[test]
fn findings_are_shown_with_file_and_line() {
    let Reload::Keep { diagnostics } = read(None, MISSPELT.as_bytes(), "ab") else {
        panic!("accepted");
    };
    let text = render(&diagnostics, "/volcano.scheduler/conf");
    assert!(text.contains("--> /volcano.scheduler/conf:4:"), "{text}");
    assert!(text.contains("gagn"), "{text}");
}
