//! Names of objects that have `metadata.generateName` alone: an API server makes them by chance, here they are counted,
//! so that the same manifests always get the same.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pumice_yaml::node::{Data, MapEntry, Style, YamlNode};

/// Characters of which an API server makes the end of a name.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many of them it takes.
const MAX_LETTERS: usize = 5;

/// Characters that it leaves of what the name begins with, of 63.
const MAX_PREFIX: usize = 58;

/// How many objects of a kind have got a name with the same beginning.
#[derive(Debug, Default)]
pub(super) struct MadeNames(BTreeMap<(String, String), usize>);

impl MadeNames {
    /// The object with the name that is made for it; `None` where it has one, or wants none.
    pub fn named<'a>(&mut self, kind: &str, node: &YamlNode<'a>) -> Option<YamlNode<'a>> {
        let metadata = node.get("metadata")?;
        let has_name = metadata.get("name").is_some_and(|name| {
            let text = name.text();
            !name.is_null() && text != Some("")
        });
        let begins = metadata.get("generateName").filter(|_| !has_name)?;
        let prefix = begins.text().filter(|prefix| !prefix.is_empty())?;
        let prefix: String = prefix.chars().take(MAX_PREFIX).collect();
        let count = self.0.entry((kind.to_owned(), prefix.clone())).or_default();
        let name = format!("{prefix}{}", ending(*count));
        *count += 1;
        let mut named = node.clone();
        let metadata = value_of(&mut named, "metadata")?;
        let Data::Map(entries) = &mut metadata.data else {
            return None;
        };
        entries.retain(|entry| entry.key.text() != Some("name"));
        let text = |text: Cow<'a, str>| YamlNode {
            location: begins.location,
            end: begins.end,
            tag: None,
            data: Data::Scalar {
                text,
                style: Style::DoubleQuoted,
            },
        };
        entries.push(MapEntry {
            key: text(Cow::Borrowed("name")),
            value: text(Cow::Owned(name)),
            merged: false,
        });
        Some(named)
    }
}

fn value_of<'n, 'a>(node: &'n mut YamlNode<'a>, key: &str) -> Option<&'n mut YamlNode<'a>> {
    let Data::Map(entries) = &mut node.data else {
        return None;
    };
    let found = entries
        .iter_mut()
        .rfind(|entry| entry.key.text() == Some(key));
    found.map(|entry| &mut entry.value)
}

/// The number, written in the letters.
fn ending(number: usize) -> String {
    let mut rest = number;
    let digits = (0..MAX_LETTERS).map(|_| {
        let letter = LETTERS[rest % LETTERS.len()];
        rest /= LETTERS.len();
        char::from(letter)
    });
    let digits: Vec<char> = digits.collect();
    digits.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_differ() {
        let all: std::collections::BTreeSet<String> = (0..20_000).map(ending).collect();
        assert_eq!(all.len(), 20_000);
        assert_eq!(
            [ending(0), ending(1), ending(27)],
            ["bbbbb", "bbbbc", "bbbcb"]
        );
    }
}
