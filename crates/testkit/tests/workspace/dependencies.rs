//! What the build pulls in: only from the public registry, and only under licences that go with ours.

use super::metadata;

/// Licences that may be combined with Apache-2.0 in a binary.
const LICENCES: [&str; 11] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
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
fn expressions_are_read_as_spdx_means_them() {
    assert!(is_allowed("MIT OR GPL-3.0"));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_allowed("MIT/Apache-2.0"));
    assert!(!is_allowed("MIT AND GPL-3.0"));
    assert!(!is_allowed("none"));
}
