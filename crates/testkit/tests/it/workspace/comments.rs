//! A doc comment is understood by a stranger who reads it alone: it does not begin with a word that means
//! the sentence before, and says more than the name of what it stands at. Limits are named `MAX_…`.

use super::{files, read};

/// Words that mean what stands before: whose, that what, the same as which, what of it?
const POINTS_BACK: [&str; 5] = ["Its", "That", "The same", "Likewise", "Of"];

/// Words that say nothing beside a single other one.
const EMPTY: [&str; 8] = ["the", "a", "an", "it", "is", "are", "this", "its"];

/// A doc comment: its first line, its words, and the code it stands at.
struct DocBlock {
    line: usize,
    text: String,
    item: String,
}

/// The rest of a line that is part of a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line
        .strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))?;
    (!rest.starts_with('/')).then_some(rest.trim())
}

/// How many brackets a line opens more than it closes.
fn depth(line: &str) -> i32 {
    let side = |letter| match letter {
        '(' | '[' => 1,
        ')' | ']' => -1,
        _ => 0,
    };
    line.chars().map(side).sum()
}

/// The doc comments of a file.
fn blocks(text: &str) -> Vec<DocBlock> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let begin = at;
        let mut words = Vec::new();
        while let Some(more) = lines.get(at).and_then(|line| doc(line)) {
            words.push(more);
            at += 1;
        }
        if begin == at {
            at += 1;
            continue;
        }
        // Attributes, which may go over several lines, stand between the comment and its item.
        let mut item = at;
        while lines
            .get(item)
            .is_some_and(|line| line.trim_start().starts_with("#["))
        {
            let mut open = 0;
            while let Some(line) = lines.get(item) {
                open += depth(line);
                item += 1;
                if open <= 0 {
                    break;
                }
            }
        }
        blocks.push(DocBlock {
            line: begin + 1,
            text: words.join(" "),
            item: lines.get(item).unwrap_or(&"").trim().to_owned(),
        });
    }
    blocks
}

/// The name that a line of code defines.
fn name(item: &str) -> &str {
    const KEYWORDS: [&str; 10] = [
        "const ", "static ", "fn ", "struct ", "enum ", "trait ", "type ", "mod ", "async ", "mut ",
    ];
    let mut rest = item;
    if let Some(after) = rest.strip_prefix("pub") {
        let after = after.trim_start();
        rest = match after.starts_with('(') {
            true => after.split_once(')').map_or(after, |(_, rest)| rest),
            false => after,
        };
    }
    rest = rest.trim_start();
    while let Some(after) = KEYWORDS
        .iter()
        .find_map(|keyword| rest.strip_prefix(keyword))
    {
        rest = after.trim_start();
    }
    let end = rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    &rest[..end.unwrap_or(rest.len())]
}

/// The words that a name consists of, and the whole of it, in small letters.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter == '_' || (letter.is_uppercase() && !before.is_uppercase());
        if begins {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.push(words.concat());
    words
}

/// Whether a comment is a single word that the name of its item has already.
fn repeats_the_name(block: &DocBlock) -> bool {
    let plain = |word: &str| -> String {
        let letters = word.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let mut words = block.text.split_whitespace().map(plain);
    let mut told = words
        .by_ref()
        .filter(|word| !EMPTY.contains(&word.as_str()));
    let (Some(word), None) = (told.next(), told.next()) else {
        return false;
    };
    let known = words_of(name(&block.item));
    let is_known = |word: &str| known.iter().any(|known| known == word);
    !block.text.contains('`')
        && (is_known(&word)
            || is_known(word.trim_end_matches('s'))
            || is_known(&(word.clone() + "s")))
}

fn points_back(text: &str) -> bool {
    POINTS_BACK.iter().any(|begin| {
        text.strip_prefix(begin)
            .is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric()))
    })
}

/// What is wrong with the doc comments of a file, by line.
fn complaints(text: &str) -> Vec<(usize, String)> {
    let mut complaints = Vec::new();
    for block in blocks(text) {
        if points_back(&block.text) || repeats_the_name(&block) {
            complaints.push((block.line, block.text));
        }
    }
    complaints
}

#[test]
fn comments_that_point_back_or_repeat_a_name_are_found() {
    let lines =
        |text: &str| -> Vec<usize> { complaints(text).into_iter().map(|(line, _)| line).collect() };
    let points_back =
        "/// Its name.\npub a: u8,\n/// That it ends.\n/// More.\nfn b() {}\n//! The same\n";
    assert_eq!(lines(points_back), [1, 3, 6]);
    let later = "/// A name.\n/// Its length is 3.\npub letters: u8,\n// Its name.\nlet a = 1;\n";
    assert_eq!(lines(later), [0; 0]);
    let repeats =
        "/// The node.\n#[serde(\n    default\n)]\npub(super) node: u8,\n/// Queues.\nQueue,\n";
    assert_eq!(lines(repeats), [1, 6]);
    let tells = "/// `node`.\npub node: u8,\n/// Seconds.\npub node: u8,\n/// The node it is on.\nnode: u8,\n";
    assert_eq!(lines(tells), [0; 0]);
    assert_eq!(lines("/// Thatch.\nroof: u8,\n"), [0; 0]);
}

#[test]
fn no_doc_comment_points_back_or_only_repeats_a_name() {
    let mut found = Vec::new();
    let mut seen = 0;
    for file in files(&["rs"]) {
        let text = read(&file);
        seen += blocks(&text).len();
        let of_file = complaints(&text).into_iter();
        found.extend(of_file.map(|(line, text)| format!("{file}:{line}: {text}")));
    }
    assert!(
        found.is_empty(),
        "say whose, which or what, so that who reads this alone understands it:\n{}",
        found.join("\n")
    );
    assert!(seen > 5_000, "{seen} comments");
}

/// `MOST` may be a word of a name (`MostAllocated`), but no limit is called so.
#[test]
fn limits_are_named_max() {
    let mut found = Vec::new();
    let mut seen = 0;
    for file in files(&["rs"]) {
        for (at, line) in read(&file).lines().enumerate() {
            let line = line.trim_start();
            let Some((before, rest)) = line.split_once("const ") else {
                continue;
            };
            let defines = before.is_empty() || before.starts_with("pub");
            let name = name(rest);
            seen += usize::from(defines && name.starts_with("MAX_"));
            let is_number = rest[name.len()..]
                .strip_prefix(": ")
                .is_some_and(|kind| kind.starts_with(['u', 'i', 'f']));
            if defines && (name.starts_with("MOST_") || (name == "MOST" && is_number)) {
                found.push(format!("{file}:{}: {name}", at + 1));
            }
        }
    }
    assert!(found.is_empty(), "write MAX_…:\n{}", found.join("\n"));
    assert!(seen > 150, "{seen} limits");
}
