//! Links between documents lead somewhere, and the pages about the code name files that exist.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::{ROOT, files, read};

/// Heading → anchor, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let text = heading.trim().to_lowercase();
    let kept = text.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    kept.collect()
}

/// Lines outside fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let mut anchors = BTreeSet::new();
    for heading in headings {
        let name = anchor(heading.trim_start_matches('#'));
        // The second heading of a name is name-1, and so on.
        let mut numbered = (1..).map(|number| format!("{name}-{number}"));
        if anchors.contains(&name) {
            anchors.extend(numbered.find(|name| !anchors.contains(name)));
        } else {
            anchors.insert(name);
        }
    }
    for (at, mark) in text.match_indices("<a id=\"") {
        let name = text[at + mark.len()..]
            .split('"')
            .next()
            .unwrap_or_default();
        anchors.insert(name.to_owned());
    }
    anchors
}

/// Targets of the links of a document.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        for (at, mark) in line.match_indices("](") {
            let target = line[at + mark.len()..].split([')', ' ']).next();
            links.extend(target.map(str::to_owned));
        }
    }
    links
}

/// A path from the root without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn every_link_of_a_document_leads_to_a_file_and_a_heading() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for file in files(&["md"]) {
        let text = read(&file);
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (path, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let folder = Path::new(&file).parent().unwrap_or(Path::new(""));
            let target = match path {
                "" => PathBuf::from(&file),
                path => normal(&folder.join(path)),
            };
            let whole = Path::new(ROOT).join(&target);
            let found = match fragment {
                "" => whole.exists(),
                fragment => std::fs::read_to_string(&whole)
                    .is_ok_and(|text| anchors(&text).contains(fragment)),
            };
            if !found {
                dead.push(format!("{file}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(seen > 25, "{seen} links");
}

/// The pages that say how the code works: the map, one page for each part, and how to write a plugin.
fn documents_of_the_code() -> Vec<String> {
    let mut documents = files(&["md"]);
    documents.retain(|file| {
        let named = ["docs/ARCHITECTURE.md", "docs/plugin.md"];
        named.contains(&file.as_str()) || file.starts_with("docs/internals/")
    });
    assert!(documents.len() > 10, "{documents:?}");
    documents
}

/// What stands in code quotes and begins with a folder of the repository is there.
#[test]
fn every_file_that_the_pages_about_the_code_name_exists() {
    let mut missing = Vec::new();
    let mut seen = 0;
    let others = ["docs/glossary.md", "README.md"].map(str::to_owned);
    for file in documents_of_the_code().into_iter().chain(others) {
        let text = read(&file);
        let quoted = prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2));
        for name in quoted {
            let folders = [
                "crates/", "cmd/", "config/", "deploy/", "docs/", "e2e/", ".ci/", ".cargo/",
                ".github/",
            ];
            let path = name.trim_end_matches('/');
            let plain = !path.contains([' ', '*', '<', '{', '…']);
            if plain && folders.iter().any(|folder| path.starts_with(folder)) {
                seen += 1;
                if !Path::new(ROOT).join(path).exists() {
                    missing.push(format!("{file}: {path}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "not there:\n{}", missing.join("\n"));
    assert!(seen > 20, "{seen} names");
}

/// A type, function or module that a page about the code names in code quotes occurs in the sources.
#[test]
fn every_name_that_the_pages_about_the_code_quote_occurs_in_the_sources() {
    // Named because they are not there.
    let mut words: BTreeSet<String> = ["unsafe", "paste"].map(str::to_owned).into();
    for file in files(&["rs", "toml", "yaml"]) {
        words.extend(
            Path::new(&file)
                .file_stem()
                .map(|stem| stem.to_string_lossy().into()),
        );
        if !file.ends_with("workspace/links.rs") {
            let text = read(&file);
            let split = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
            words.extend(split.map(str::to_owned));
        }
    }
    let mut missing = BTreeSet::new();
    for document in documents_of_the_code() {
        let text = read(&document);
        let quoted = prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2));
        for name in quoted {
            let name = name.strip_suffix("()").unwrap_or(name);
            let identifier = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
            if name.chars().all(identifier) && !name.starts_with(':') {
                let unknown = name.split("::").filter(|part| !words.contains(*part));
                let told = |part| format!("{document}: {part} of {name}");
                missing.extend(unknown.map(told));
            }
        }
    }
    let missing: Vec<String> = missing.into_iter().collect();
    assert!(
        missing.is_empty(),
        "not in the sources:\n{}",
        missing.join("\n")
    );
}

#[test]
fn the_book_has_every_document() {
    let listed = links(&read("docs/SUMMARY.md"));
    let documents = files(&["md"]);
    let documents = documents
        .iter()
        .filter_map(|file| file.strip_prefix("docs/"));
    let left_out: Vec<&str> = documents
        .filter(|file| *file != "SUMMARY.md" && !listed.iter().any(|one| one == file))
        .collect();
    assert_eq!(left_out, [""; 0], "not in docs/SUMMARY.md");
}
