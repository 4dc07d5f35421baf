//! `.gitattributes` marks what is made from other files, and only that.

use std::path::Path;

use super::{ROOT, files, read};

/// Patterns of the files that are marked, from the root.
fn marked() -> Vec<String> {
    let text = read(".gitattributes");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let patterns = lines.filter_map(|line| {
        let pattern = line.strip_suffix("linguist-generated")?.trim();
        Some(pattern.trim_start_matches('/').to_owned())
    });
    patterns.collect()
}

fn matches(pattern: &str, file: &str) -> bool {
    match pattern.split_once('*') {
        Some((folder, ending)) => file
            .strip_prefix(folder)
            .and_then(|rest| rest.strip_suffix(ending))
            .is_some_and(|name| !name.contains('/')),
        None => pattern == file,
    }
}

#[test]
fn files_that_say_they_are_made_are_marked() {
    let marked = marked();
    let mut seen = 0;
    for file in files(&["md", "yaml"]) {
        let text = read(&file);
        let mut first = text.lines().take(8);
        if first.any(|line| line.starts_with("*Made from") || line.starts_with("# Rendered from")) {
            seen += 1;
            let known = marked.iter().any(|pattern| matches(pattern, &file));
            assert!(known, "{file} says it is made; .gitattributes does not");
        }
    }
    assert!(seen > 5, "{seen} files");
}

#[test]
fn what_is_marked_is_there() {
    for pattern in marked() {
        let folder = pattern
            .split_once('*')
            .map_or(&*pattern, |(folder, _)| folder);
        assert!(Path::new(ROOT).join(folder).exists(), "{pattern}");
    }
    assert!(marked().len() > 4);
}
