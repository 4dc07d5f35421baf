//! No type of the product knows how to do everything.

use std::collections::BTreeMap;

use super::{files, read};

/// Methods of its own that a type may have: with more of them nobody knows any more what touches its fields.
const MAX_METHODS: usize = 60;

/// The crate of a source file of the product.
fn crate_of(path: &str) -> Option<&str> {
    let (name, file) = path.split_once('/')?.1.split_once("/src/")?;
    let is_product = path.starts_with("crates/") && name != "testkit" || path.starts_with("cmd/");
    (is_product && !file.ends_with("tests.rs")).then_some(name)
}

/// Type whose own methods begin here: `impl<'a> Name<'a> {`.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let name = rest
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next();
    name.filter(|name| !name.is_empty() && !line.contains(" for "))
}

/// Whether a method begins here, in an `impl` at the top level of its file.
fn begins_method(line: &str) -> bool {
    let Some(line) = line.strip_prefix("    ").filter(|l| !l.starts_with(' ')) else {
        return false;
    };
    let before = line.split_once("fn ").map(|(before, _)| before);
    before.is_some_and(|before| {
        let scoped = before.strip_prefix("pub(");
        let scoped = scoped.and_then(|scope| scope.split_once(')'));
        let mut words = scoped.map_or(before, |(_, after)| after).split_whitespace();
        words.all(|word| word.starts_with("pub") || ["const", "async", "unsafe"].contains(&word))
    })
}

/// Adds the methods of each type of one file.
fn count<'a>(source: &'a str, mut add: impl FnMut(&'a str)) {
    let mut of = None;
    // Tests at the end of a file are no product.
    for line in source.lines().take_while(|line| *line != "#[cfg(test)]") {
        match line {
            "}" => of = None,
            _ if of.is_none() => of = implemented(line),
            _ => of
                .filter(|_| begins_method(line))
                .into_iter()
                .for_each(&mut add),
        }
    }
}

#[test]
fn methods_are_counted_where_they_begin() {
    let source = "\
struct Pot(u8);
impl<'a> Pot<'a> {
    pub(super) const fn new() -> Self {
        fn inner() {}
        Self(0)
    }

    pub(in crate::kitchen) fn stir(&mut self) {}
}
impl Lid for Pot {
    fn lift(&self) {}
}
#[cfg(test)]
impl Pot {
    fn taste(&self) {}
}
";
    let mut found = Vec::new();
    count(source, |name| found.push(name));
    assert_eq!(found, ["Pot", "Pot"]);
}

#[test]
fn no_type_has_more_methods_than_a_reader_can_know() {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for path in files(&["rs"]) {
        let Some(part) = crate_of(&path) else {
            continue;
        };
        count(&read(&path), |name| {
            *counts
                .entry((part.to_owned(), name.to_owned()))
                .or_default() += 1;
        });
    }
    assert!(counts.len() > 500, "only {} types were found", counts.len());
    counts.retain(|_, methods| *methods > MAX_METHODS);
    assert!(
        counts.is_empty(),
        "types with more than {MAX_METHODS} methods: give what grew a part of its own: {counts:?}"
    );
}
