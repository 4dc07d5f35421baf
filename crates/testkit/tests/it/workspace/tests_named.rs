//! The tests that `docs/compatibility.md` names exist.

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
    let text = read("docs/compatibility.md");
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
    assert!(names.len() > 150, "{} names", names.len());
}
