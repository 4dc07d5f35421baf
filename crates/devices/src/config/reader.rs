//! Reading of values with their places: each problem names line, column, path, and what to do.

use pumice_yaml::node::{Data, Location, MapEntry, YamlNode};
use pumice_yaml::scalar::{Scalar, resolve};

use crate::text::shorten;

/// Path of the whole text.
pub(super) const DOCUMENT: &str = "the document";

/// Most entries of a list.
const MAX_ENTRIES: usize = 1024;

/// Reads values, and keeps what is wrong with them.
#[derive(Default)]
pub struct Reader {
    pub(super) problems: Vec<String>,
}

impl Reader {
    /// The value as a map whose keys are different ones.
    pub fn map<'v, 'a>(&mut self, value: &'v YamlNode<'a>, path: &str) -> Option<&'v YamlNode<'a>> {
        let Data::Map(entries) = &value.data else {
            if path != DOCUMENT || !value.is_null() {
                let what = format!("must be a map, not {}", describe(value));
                self.problem(value, path, &what, "write `key: value` lines below it");
            }
            return None;
        };
        let own = || entries.iter().filter(|entry| !entry.merged);
        for (at, entry) in own().enumerate() {
            let same = |earlier: &&MapEntry<'_>| earlier.key.text() == entry.key.text();
            if let Some(earlier) = own().take(at).find(same) {
                let name = shorten(entry.key.text().unwrap_or_default());
                let line = earlier.key.location.line;
                let what = format!("the key `{name}` stands in line {line} already");
                self.problem(&entry.key, path, &what, "keep one of them");
            }
        }
        Some(value)
    }

    /// The entries of a list; none of a value that is no list, or too long.
    pub fn list<'v, 'a>(&mut self, value: &'v YamlNode<'a>, path: &str) -> &'v [YamlNode<'a>] {
        match &value.data {
            Data::List(list) if list.len() > MAX_ENTRIES => {
                let what = format!("has {} entries", list.len());
                self.problem(value, path, &what, &format!("keep at most {MAX_ENTRIES}"));
                &[]
            }
            Data::List(list) => list,
            _ => {
                let what = format!("must be a list, not {}", describe(value));
                self.problem(
                    value,
                    path,
                    &what,
                    "write lines that begin with `-` below it",
                );
                &[]
            }
        }
    }

    /// The entries of a list that must be there and have some.
    pub fn required_list<'v, 'a>(
        &mut self,
        map: &'v YamlNode<'a>,
        key: &str,
        path: &str,
    ) -> &'v [YamlNode<'a>] {
        let Some(value) = field(map, key) else {
            self.problem(
                map,
                path,
                "is missing",
                "add a list with at least one entry",
            );
            return &[];
        };
        if value.items().is_some_and(<[_]>::is_empty) {
            self.problem(value, path, "is empty", "add at least one entry");
        }
        self.list(value, path)
    }

    /// The value as a text.
    pub fn text<'v>(&mut self, value: &'v YamlNode<'_>, path: &str) -> Option<&'v str> {
        if let Some(Ok(Scalar::Str(text))) = resolve(value) {
            return Some(text);
        }
        let what = format!("must be a text, not {}", describe(value));
        self.problem(value, path, &what, "put it into quotes");
        None
    }

    /// A text that must be there and not be empty.
    pub fn required_text<'v>(
        &mut self,
        map: &'v YamlNode<'_>,
        key: &str,
        path: &str,
    ) -> Option<&'v str> {
        let value = field(map, key);
        let text = match value {
            Some(value) => self.text(value, path)?,
            None => "",
        };
        if text.is_empty() {
            self.problem(
                value.unwrap_or(map),
                path,
                "is missing or empty",
                "give a name",
            );
            return None;
        }
        Some(text)
    }

    /// A whole number, quoted or not.
    pub fn whole(
        &mut self,
        value: &YamlNode<'_>,
        path: &str,
        least: i64,
        most: i64,
    ) -> Option<i64> {
        let number = match resolve(value) {
            Some(Ok(Scalar::Int(number))) => Some(number),
            // Beyond this, whole numbers and floats are no longer one to one.
            Some(Ok(Scalar::Float(float))) if float.fract() == 0.0 && float.abs() < 9e15 => {
                Some(float as i64)
            }
            Some(Ok(Scalar::Str(text))) => text.trim().parse().ok(),
            _ => None,
        };
        let help = format!("write a whole number from {least} to {most}");
        let Some(number) = number else {
            let what = format!("must be a whole number, not {}", describe(value));
            self.problem(value, path, &what, &help);
            return None;
        };
        if !(least..=most).contains(&number) {
            self.problem(value, path, &format!("{number} cannot be used"), &help);
            return None;
        }
        Some(number)
    }

    /// A whole number from 1 on that must be there.
    pub fn required_whole(
        &mut self,
        map: &YamlNode<'_>,
        key: &str,
        path: &str,
        most: i64,
    ) -> Option<i64> {
        let path = format!("{path}.{key}");
        let Some(value) = field(map, key) else {
            let help = format!("write a whole number from 1 to {most}");
            self.problem(map, &path, "is missing", &help);
            return None;
        };
        self.whole(value, &path, 1, most)
    }

    /// True or false, quoted or not.
    pub fn truth(&mut self, value: &YamlNode<'_>, path: &str) -> Option<bool> {
        let truth = match resolve(value) {
            Some(Ok(Scalar::Bool(truth))) => Some(truth),
            Some(Ok(Scalar::Str("true"))) => Some(true),
            Some(Ok(Scalar::Str("false"))) => Some(false),
            _ => None,
        };
        if truth.is_none() {
            self.problem(
                value,
                path,
                "is neither true nor false",
                "write true or false",
            );
        }
        truth
    }

    /// A factor above 0.
    pub fn scaling(&mut self, value: &YamlNode<'_>, path: &str) -> Option<f64> {
        const MAX: f64 = 1000.0;
        let number = match resolve(value) {
            Some(Ok(Scalar::Int(number))) => Some(number as f64),
            Some(Ok(Scalar::Float(number))) => Some(number),
            Some(Ok(Scalar::Str(text))) => text.trim().parse().ok(),
            _ => None,
        };
        let fits = |number: &f64| *number > 0.0 && *number <= MAX;
        let number = number.filter(fits);
        if number.is_none() {
            let what = format!("{} cannot be used", describe(value));
            let help = format!("write a number above 0 and up to {MAX}; 1 means no scaling");
            self.problem(value, path, &what, &help);
        }
        number
    }

    /// Notes what is wrong with a value, and what to do.
    pub fn problem(&mut self, at: &YamlNode<'_>, path: &str, what: &str, help: &str) {
        let Location { line, column, .. } = at.location;
        let problem = format!("line {line}, column {column}: {path}: {what}; {help}");
        self.problems.push(problem);
    }
}

/// The value of a key; a key without a value counts as absent.
pub fn field<'v, 'a>(map: &'v YamlNode<'a>, key: &str) -> Option<&'v YamlNode<'a>> {
    map.get(key).filter(|value| !value.is_null())
}

fn describe(value: &YamlNode<'_>) -> String {
    let text = || shorten(value.text().unwrap_or_default());
    match resolve(value) {
        None if value.items().is_some() => "a list".to_owned(),
        None => "a map".to_owned(),
        Some(Ok(Scalar::Null)) => "nothing".to_owned(),
        Some(Ok(Scalar::Bool(_))) => format!("the truth value {}", text()),
        Some(Ok(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_))) => {
            format!("the number {}", text())
        }
        Some(Ok(Scalar::Str(_)) | Err(_)) => format!("the text `{}`", text()),
    }
}
