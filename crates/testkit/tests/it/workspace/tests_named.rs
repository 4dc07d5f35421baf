//! The tests that the pages about differences from Volcano (`docs/compatibility.md` and those in
//! `docs/compatibility`), the fault scenarios of `docs/spec/06-faults.md` and the threat model
//! in `SECURITY.md` name exist.

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
    let mut pages = files(&["md"]);
    pages.retain(|page| page.starts_with("docs/compatibility"));
    assert!(pages.len() > 3, "{pages:?}");
    let named: usize = pages.iter().map(|page| missing_tests(page)).sum();
    assert!(named > 700, "{named} names");
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

#[test]
fn every_fault_scenario_names_tests_that_are_there() {
    const SCENARIOS: u32 = 57;
    let named = missing_tests("docs/spec/06-faults.md");
    assert!(named > 60, "{named} names");
    let text = read("docs/spec/06-faults.md");
    let rows: Vec<(u32, &str)> = text.lines().filter_map(scenario).collect();
    let numbers = rows.iter().map(|(number, _)| *number);
    assert!(numbers.eq(1..=SCENARIOS), "a row for each, in their order");
    for (_, row) in rows {
        let test = row.trim_end_matches([' ', '|']).rsplit('|').next();
        let is_held = names_in(test.unwrap_or_default()).next().is_some();
        assert!(is_held, "no test: {row}");
    }
}

/// The number of the fault scenario in a row, and the row.
fn scenario(row: &str) -> Option<(u32, &str)> {
    let (number, _) = row.strip_prefix("| F")?.split_once(' ')?;
    Some((number.parse().ok()?, row))
}

/// Names of tests in a row of a table.
fn names_in(row: &str) -> impl Iterator<Item = &str> {
    let plain = |name: &&str| {
        let path = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:/-".contains(c);
        name.contains("::") && name.chars().all(path)
    };
    row.split('`').skip(1).step_by(2).filter(plain)
}

/// Looks for the tests that the rows of a page name, and says how many they name.
fn missing_tests(page: &str) -> usize {
    let text = read(page);
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let names: BTreeSet<&str> = rows.flat_map(names_in).collect();
    let mut sources = std::collections::BTreeMap::new();
    let mut missing = Vec::new();
    for name in &names {
        let package = name.split(['/', ':']).next().unwrap_or_default();
        let folder = match package {
            "cmd" => "cmd/pumice/".to_owned(),
            "e2e" => "e2e/".to_owned(),
            "pumice-controllers" => "cmd/pumice-controllers/".to_owned(),
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
