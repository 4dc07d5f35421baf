//! The tests that `docs/compatibility.md` and the threat model in `SECURITY.md` name exist.

use std::collections::BTreeSet;

use super::{files, read};

/// Names of functions and modules of the sources below a folder.
fn known(folder: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for file in files(&["rs"])
        .iter()
        .filter(|file| file.starts_with(folder))
    {
        let stem = file
            .rsplit('/')
            .next()
            .and_then(|name| name.strip_suffix(".rs"));
        known.extend(stem.map(str::to_owned));
        let text = read(file);
        for mark in ["fn ", "mod "] {
            let names = text.split(mark).skip(1).map(|rest| {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                rest[..end.unwrap_or(rest.len())].to_owned()
            });
            known.extend(names);
        }
    }
    known
}

#[test]
fn every_test_that_a_row_names_is_there() {
    let named = missing_tests("docs/compatibility.md");
    assert!(named > 150, "{named} names");
}

#[test]
fn every_threat_names_tests_that_are_there() {
    let named = missing_tests("SECURITY.md");
    assert!(named >= 15, "{named} names");
    let text = read("SECURITY.md");
    let (_, table) = text
        .split_once("## What somebody can try")
        .expect("the table");
    let rows = table.lines().filter(|row| row.starts_with("| ")).skip(1);
    for row in rows {
        let test = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default();
        assert!(
            test.contains("::") || test.contains("/no_input_panics"),
            "no test holds: {row}"
        );
    }
}

/// Looks for the tests that the rows of a page name, and says how many they name.
fn missing_tests(page: &str) -> usize {
    let text = read(page);
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let plain = |name: &&str| {
        let path = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:/".contains(c);
        name.contains("::") && name.chars().all(path)
    };
    let names: BTreeSet<&str> = quoted.filter(plain).collect();
    let mut sources = std::collections::BTreeMap::new();
    let mut missing = Vec::new();
    for name in &names {
        let package = name.split(['/', ':']).next().unwrap_or_default();
        let folder = match package {
            "cmd" => "cmd/pumice/".to_owned(),
            "e2e" => "e2e/".to_owned(),
            package => format!("crates/{package}/"),
        };
        let known = sources
            .entry(folder.clone())
            .or_insert_with(|| known(&folder));
        let last = name.rsplit("::").next().unwrap_or_default();
        if !known.contains(last) {
            missing.push(*name);
        }
    }
    assert!(missing.is_empty(), "no such test:\n{}", missing.join("\n"));
    names.len()
}
