//! What the build pulls in: only from the public registry, under licences that go with ours, once.
//!
//! A test rather than `cargo deny`, which costs minutes to build and says the same of licences,
//! sources, bans and duplicates. Advisories are not here: their database is on a git host alone
//! (`.ci/advisories`).

use std::collections::{BTreeMap, BTreeSet};

use super::metadata;

/// Crates that may not come in, each with what there is instead.
const BANNED: [(&str, &str); 6] = [
    ("native-tls", "rustls"),
    ("openssl", "rustls"),
    ("openssl-sys", "rustls"),
    ("aws-lc-rs", "ring"),
    ("aws-lc-sys", "ring"),
    ("chrono", "jiff"),
];

/// Crates that come in several versions, each with how many and who holds the others back.
const DUPLICATES: [(&str, usize, &str); 8] = [
    (
        "base64",
        2,
        "k8s-openapi and tower-http are behind kube-client",
    ),
    ("bit-vec", 2, "yasna (certificates) is behind proptest"),
    ("getrandom", 3, "ring and ahash are behind tempfile"),
    ("hashbrown", 2, "petgraph is behind indexmap"),
    ("linux-raw-sys", 2, "rustix"),
    ("rustix", 2, "procfs (process metrics) is behind our tests"),
    (
        "syn",
        2,
        "derive macros in the middle of a change; not in the binary",
    ),
    (
        "synstructure",
        2,
        "asn1-rs (certificates of tests) is behind; not in the binary",
    ),
];

/// Licences that may be combined with Apache-2.0 in a binary.
const LICENCES: [&str; 12] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
];

/// Whether an SPDX expression offers a choice of allowed licences. `AND` parts must all be allowed,
/// of `OR` (or the old `/`) parts one.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression
        .replace(['(', ')'], "")
        .split(" AND ")
        .all(|part| {
            part.split(" OR ")
                .any(|licence| LICENCES.contains(&licence.trim()))
        })
}

#[test]
fn every_dependency_is_from_the_registry_under_an_allowed_licence() {
    let metadata = metadata();
    let mut looked_at = 0;
    for package in &metadata.packages {
        let Some(source) = &package.source else {
            continue;
        };
        looked_at += 1;
        assert!(
            source.is_crates_io(),
            "{} comes from {source}",
            package.name
        );
        let licence = package.license.as_deref().unwrap_or("none");
        assert!(
            is_allowed(licence),
            "{} has licence {licence}",
            package.name
        );
    }
    assert!(looked_at > 30, "{looked_at} packages");
}

#[test]
fn nothing_is_built_that_we_have_something_better_for() {
    for package in &metadata().packages {
        for (banned, instead) in BANNED {
            let name = package.name.as_str();
            assert_ne!(
                name, banned,
                "use {instead}, or switch the feature off that brings it"
            );
        }
    }
}

#[test]
fn a_second_version_of_a_dependency_has_a_reason() {
    let metadata = metadata();
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in &metadata.packages {
        let known = versions.entry(package.name.as_str()).or_default();
        known.insert(package.version.to_string());
    }
    for (name, found) in versions.into_iter().filter(|(_, found)| found.len() > 1) {
        let allowed = DUPLICATES.iter().find(|(known, _, _)| *known == name);
        let allowed = allowed.map_or(1, |(_, count, _)| *count);
        assert!(
            found.len() <= allowed,
            "{name} comes in versions {found:?}: align them, or say here who holds one back \
             (cargo tree --invert {name})"
        );
    }
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    assert!(is_allowed("MIT OR GPL-3.0"));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_allowed("MIT/Apache-2.0"));
    assert!(!is_allowed("MIT AND GPL-3.0"));
    assert!(!is_allowed("none"));
}
