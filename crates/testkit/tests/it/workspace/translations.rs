//! Pages in two languages say the same: they have the same blocks, links, names and headings, and lead to
//! each other.

use super::{files, read};

const LANGUAGE: &str = ".zh-CN.md";

/// Whether a line opens or closes a block.
fn is_fence(line: &str) -> bool {
    line.starts_with("```")
}

/// Fenced blocks with their languages.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match open.as_mut() {
            None if is_fence(line) => open = Some(format!("{line}\n")),
            None => {}
            Some(_) if is_fence(line) => blocks.extend(open.take()),
            Some(block) => *block += &format!("{line}\n"),
        }
    }
    blocks
}

/// The page without its blocks.
fn prose(text: &str) -> String {
    let mut is_open = false;
    let lines = text.lines().filter(|line| {
        is_open ^= is_fence(line);
        !is_open && !is_fence(line)
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Targets of links and pictures, whatever their order: sentences differ. A page stands for its
/// translation, and headings are named in their language.
fn targets(prose: &str) -> Vec<String> {
    let parts = prose.split("](").skip(1);
    let targets = parts.filter_map(|part| part.split(')').next());
    let mut targets: Vec<String> = targets
        .map(|target| {
            let path = target.split('#').next().unwrap_or_default();
            path.replace(LANGUAGE, ".md")
        })
        .collect();
    targets.sort();
    targets
}

/// What stands in code quotes, whatever the order.
fn names(prose: &str) -> Vec<&str> {
    let mut names: Vec<&str> = prose.split('`').skip(1).step_by(2).collect();
    names.sort_unstable();
    names
}

/// How deep each heading is.
fn headings(prose: &str) -> Vec<usize> {
    let lines = prose.lines().filter(|line| line.starts_with('#'));
    lines
        .map(|line| line.chars().take_while(|letter| *letter == '#').count())
        .collect()
}

fn assert_same<T: PartialEq + std::fmt::Debug>(file: &str, what: &str, one: &[T], other: &[T]) {
    let differs = one.iter().zip(other).find(|(one, other)| one != other);
    assert!(
        one == other,
        "{what} of {file} are not those of its translation ({} and {}), first {differs:?}",
        one.len(),
        other.len()
    );
}

#[test]
fn a_page_and_its_translation_have_the_same_blocks_links_names_and_headings() {
    let pages = files(&["md"]);
    let translations = pages.iter().filter(|file| file.ends_with(LANGUAGE));
    let mut seen = 0;
    for translation in translations {
        seen += 1;
        let file = translation.replace(LANGUAGE, ".md");
        let (one, other) = (read(&file), read(translation));
        assert_same(&file, "blocks", &blocks(&one), &blocks(&other));
        let (one, other) = (prose(&one), prose(&other));
        assert_same(&file, "links", &targets(&one), &targets(&other));
        assert_same(&file, "names", &names(&one), &names(&other));
        assert_same(&file, "headings", &headings(&one), &headings(&other));
        for (page, to) in [(&one, translation), (&other, &file)] {
            let to = to.rsplit('/').next().unwrap_or_default();
            let begins = page
                .lines()
                .take(4)
                .any(|line| line.contains(&format!("]({to})")));
            assert!(
                begins,
                "{file} and its translation do not both begin with a link to the other"
            );
        }
    }
    assert!(seen >= 3, "{seen} pages in a second language");
}
