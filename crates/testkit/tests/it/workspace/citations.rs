//! Every rule that a comment or a document cites (`spec/01 §4.4`, `spec/04 R22`) stands in `docs/spec`.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, read};

/// What a citation of a folder's file may be followed by, in the words it may be joined with.
const JOINTS: [&str; 8] = [", ", " and ", " to ", "–", "; ", " … ", " or ", " "];

/// The rules of each file of `docs/spec`, by the number it is cited with: the first word of
/// headings, of rows and of items in bold letters.
fn rules() -> BTreeMap<String, BTreeSet<String>> {
    let mut rules = BTreeMap::new();
    for file in files(&["md"]) {
        let Some(name) = file.strip_prefix("docs/spec/") else {
            continue;
        };
        let number = if name == "README.md" {
            "00"
        } else {
            &name[..2]
        };
        let text = read(&file);
        let anchors = text.lines().filter_map(anchor).collect();
        rules.insert(number.to_owned(), anchors);
    }
    rules
}

fn anchor(line: &str) -> Option<String> {
    let heading = line.trim_start_matches('#');
    let words = if heading.len() < line.len() {
        heading.trim()
    } else if let Some(row) = line.strip_prefix("| ") {
        row.split(" |").next()?
    } else {
        line.strip_prefix("* **")?.split("**").next()?
    };
    let words = words.replace("Part ", "part ");
    let mut parts = words.split(' ');
    let first = parts.next()?;
    let id = match first {
        "part" => format!("part {}", parts.next()?),
        first => first.to_owned(),
    };
    Some(id.trim_start_matches('§').trim_end_matches('.').to_owned())
}

/// The rule at the beginning of a text, and what follows it.
fn rule(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix("part ") {
        return Some((format!("part {}", rest.get(..1)?), rest.get(1..)?));
    }
    let body = text.strip_prefix('§').unwrap_or(text);
    let end = body
        .char_indices()
        .find(|&(at, letter)| {
            let dot = letter == '.' && body[at + 1..].starts_with(|c: char| c.is_ascii_digit());
            !(letter.is_ascii_alphanumeric() || letter == '-' || dot)
        })
        .map_or(body.len(), |(at, _)| at);
    let (id, rest) = body.split_at(end);
    let numbered = id.ends_with(|c: char| c.is_ascii_digit());
    let capital = id.starts_with(|c: char| c.is_ascii_uppercase());
    let digits = id.starts_with(|c: char| c.is_ascii_digit());
    let row =
        digits && id.len() <= 3 && id.trim_end_matches(['a', 'b', 'c', 'd']).len() + 1 == id.len();
    let found = (numbered && capital) || row || (text.starts_with('§') && !id.is_empty());
    found.then(|| (id.to_owned(), rest))
}

/// All citations of a text as (file, rule); a rule is empty where only the file is named.
fn citations(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("spec/0") {
        let rest = &text[at + "spec/0".len()..];
        let Some(digit) = rest.chars().next().filter(char::is_ascii_digit) else {
            continue;
        };
        let file = format!("0{digit}");
        let mut rest = &rest[1..];
        if rest.starts_with('-') {
            continue;
        }
        let before = found.len();
        while let Some((id, after)) = JOINTS
            .iter()
            .find_map(|joint| rule(rest.strip_prefix(joint)?))
        {
            found.push((file.clone(), id));
            rest = after;
        }
        if found.len() == before {
            found.push((file, String::new()));
        }
    }
    found
}

/// A text with comments that go over several lines put into one.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines() {
        let line = line.trim_start();
        let comment = ["//! ", "/// ", "// ", "# "];
        let more = comment.iter().find_map(|mark| line.strip_prefix(mark));
        joined.push(' ');
        joined.push_str(more.unwrap_or(line));
    }
    joined
}

#[test]
fn citations_are_read_with_all_their_rules() {
    for (text, expected) in [
        ("(spec/01 §1.7, §1.8, §9.4).", "01 1.7 1.8 9.4"),
        ("spec/04 §4–§13, R5–R29)", "04 4 13 R5 R29"),
        ("spec/04 §20, 17c and 17d)", "04 20 17c 17d"),
        ("spec/01 §3.4, §5; spec/02 §2.", "01 3.4 5 02 2"),
        ("spec/03 part B, shared shapes", "03 part B"),
        ("spec/03 C3.1: 1·1 + 2", "03 C3.1"),
        ("spec/06 INV-15", "06 INV-15"),
        ("decided in spec/00; the peer's", "00"),
        ("spec/02 §7.5, example 5: 3", "02 7.5"),
    ] {
        let mut flat = Vec::new();
        for (file, rule) in citations(text) {
            if flat
                .iter()
                .rfind(|word: &&String| word.len() == 2 && word.starts_with('0'))
                != Some(&file)
            {
                flat.push(file);
            }
            flat.push(rule);
        }
        assert_eq!(flat.join(" ").trim(), expected, "{text}");
    }
}

#[test]
fn every_rule_that_is_cited_stands_in_docs_spec() {
    let rules = rules();
    let mut dead = Vec::new();
    let mut seen = 0;
    for file in files(&["rs", "md", "yaml", "toml"]) {
        if file.ends_with("workspace/citations.rs") {
            continue;
        }
        for (number, rule) in citations(&joined(&read(&file))) {
            seen += 1;
            let known = rules
                .get(&number)
                .is_some_and(|known| rule.is_empty() || known.contains(&rule));
            if !known {
                dead.push(format!("{file}: spec/{number} {rule}"));
            }
        }
    }
    assert!(dead.is_empty(), "no such rule:\n{}", dead.join("\n"));
    assert!(seen > 100, "{seen} citations");
}

/// A rule's number alone says nothing to somebody who does not know which list is meant.
#[test]
fn no_comment_cites_a_rule_without_its_file() {
    let mut bare = Vec::new();
    for file in files(&["rs"]) {
        for line in read(&file).lines() {
            let Some((_, comment)) = line.split_once("//") else {
                continue;
            };
            let starts = comment
                .match_indices(['(', ' '])
                .map(|(at, _)| &comment[at + 1..]);
            let numbered = |text: &str| {
                let number = text.strip_prefix(['F', 'R', 'S']);
                number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
                    || text.starts_with("INV-")
                    || text.starts_with("quirk")
            };
            if starts.into_iter().any(numbered) && !comment.contains("spec/0") {
                bare.push(format!("{file}: {}", comment.trim()));
            }
        }
    }
    assert!(
        bare.is_empty(),
        "write `spec/<file> <rule>`:\n{}",
        bare.join("\n")
    );
}
