//! No type name stands for two things.

use std::collections::BTreeMap;

use super::{files, read};

/// Names that two crates share because both mean the same object: on the wire, and as the model
/// keeps it.
const ON_THE_WIRE_AND_KEPT: &[&str] = &["Job", "NodeGroups", "Queue", "SubGroupPolicy"];

/// Whether a file is part of the product: no test, no tool for tests, no example.
fn is_product(path: &str) -> bool {
    let folders = [
        "/tests/",
        "/examples/",
        "crates/scripted/",
        "crates/testkit/",
        "e2e/",
    ];
    let files = ["/tests.rs", "/testing.rs", "/model_check.rs"];
    !folders.iter().any(|folder| path.contains(folder))
        && !files.iter().any(|file| path.ends_with(file))
}

/// Name of the type that a line of source begins to define at the top level of its file.
fn defined(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.trim_start_matches(|c| c != ' ').trim_start(),
        None => line,
    };
    let keywords = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = keywords
        .iter()
        .find_map(|keyword| line.strip_prefix(keyword))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

#[test]
fn no_type_name_stands_for_two_things() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files(&["rs"]).into_iter().filter(|path| is_product(path)) {
        for (at, line) in read(&path).lines().enumerate() {
            if let Some(name) = defined(line) {
                let place = format!("{path}:{}", at + 1);
                places.entry(name.to_owned()).or_default().push(place);
            }
        }
    }
    assert!(places.len() > 500, "only {} types were found", places.len());
    let shared: Vec<String> = places
        .iter()
        .filter(|(name, places)| {
            places.len() > usize::from(ON_THE_WIRE_AND_KEPT.contains(&name.as_str())) + 1
        })
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(
        shared.is_empty(),
        "types of the same name:\n{}",
        shared.join("\n")
    );
}
