//! Regular expressions: `matches`, `find` and `findAll`.
//!
//! The syntax is that of the `regex` crate, which is nearly Go's. `\w`, `\d`, `\s` and `\b` are about ASCII, as in
//! Go. Each call compiles its pattern: how large that may become is bounded.

use cel::common::types::{CelBool, CelInt, CelList, CelString};
use cel::common::value::Val;
use cel::{DeclarationError, Env, ExecutionError};
use regex::{Regex, RegexBuilder};

use super::failure::failed;

/// Largest compiled pattern.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// Declares the functions.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>,
        name = "matches", id = "matches")?;
    cel::add_member_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>,
        name = "matches", id = "matches_string")?;
    cel::add_member_overload!(env, fn find: (CelString, CelString) -> Result<CelString>,
        name = "find", id = "string_find_string")?;
    cel::add_member_overload!(env, fn find_all: (CelString, CelString) -> Result<CelList>,
        name = "findAll", id = "string_find_all_string")?;
    cel::add_member_overload!(env, fn find_some: (CelString, CelString, CelInt) -> Result<CelList>,
        name = "findAll", id = "string_find_all_string_int")
}

fn pattern(function: &str, text: &CelString<'_>) -> Result<Regex, ExecutionError> {
    let text = text.inner();
    let mut pattern = RegexBuilder::new(&as_in_go(text));
    let compiled = pattern.size_limit(MAX_PATTERN_BYTES).build();
    compiled.map_err(|error| {
        let what = match error {
            regex::Error::CompiledTooBig(_) => "too large a regex".to_owned(),
            error => format!("not a valid regex:\n{error}"),
        };
        failed(function, format!("'{text}' {what}"))
    })
}

/// A pattern in which classes of characters are ASCII.
fn as_in_go(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) => match ascii(escaped, in_class) {
                    Some(class) => written.push_str(class),
                    None => written.extend(['\\', escaped]),
                },
                None => written.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                written.push('[');
                // A bracket that comes first is a character.
                written.extend(chars.next_if_eq(&'^'));
                written.extend(chars.next_if_eq(&']'));
            }
            '[' if chars.peek() == Some(&':') => {
                // The name of a class ends with a bracket, too.
                written.push('[');
                for c in chars.by_ref() {
                    written.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            ']' => {
                in_class = false;
                written.push(']');
            }
            other => written.push(other),
        }
    }
    written
}

/// What stands for an escaped letter outside of brackets, or within.
fn ascii(escaped: char, in_class: bool) -> Option<&'static str> {
    Some(match (escaped, in_class) {
        ('w', false) => "[[:word:]]",
        ('w', true) => "[:word:]",
        ('W', false) => "[[:^word:]]",
        ('W', true) => "[:^word:]",
        ('d', false) => "[[:digit:]]",
        ('d', true) => "[:digit:]",
        ('D', false) => "[[:^digit:]]",
        ('D', true) => "[:^digit:]",
        ('s', false) => r"[\t\n\f\r ]",
        ('s', true) => r"\t\n\f\r ",
        ('S', _) => r"[^\t\n\f\r ]",
        ('b', false) => r"(?-u:\b)",
        _ => return None,
    })
}

fn matches(text: &CelString<'_>, of: &CelString<'_>) -> Result<CelBool, ExecutionError> {
    let pattern = pattern("matches", of)?;
    Ok(pattern.is_match(text.inner()).into())
}

/// The first match, or an empty text.
fn find(text: &CelString<'_>, of: &CelString<'_>) -> Result<CelString<'static>, ExecutionError> {
    let pattern = pattern("find", of)?;
    let found = pattern.find(text.inner()).map(|one| one.as_str());
    Ok(CelString::from(found.unwrap_or_default().to_owned()))
}

fn find_all(text: &CelString<'_>, of: &CelString<'_>) -> Result<CelList<'static>, ExecutionError> {
    find_some(text, of, &CelInt::from(-1))
}

/// At most so many matches; all of them if it is negative.
fn find_some(
    text: &CelString<'_>,
    of: &CelString<'_>,
    most: &CelInt,
) -> Result<CelList<'static>, ExecutionError> {
    let most = usize::try_from(*most.inner()).unwrap_or(usize::MAX);
    let pattern = pattern("findAll", of)?;
    let all = pattern.find_iter(text.inner()).take(most);
    let all = all.map(|one| Box::new(CelString::from(one.as_str().to_owned())) as Box<dyn Val>);
    Ok(CelList::from(all.collect::<Vec<_>>()))
}
