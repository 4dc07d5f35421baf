//! Rules about several fields of an object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::place::FieldPlace;
use super::table::FieldSelector;
use super::{BrokenRule, is_given, text_of};

/// A value that a selector leads to.
struct Selected<'v> {
    /// Which items of the lists on the way.
    items: Vec<usize>,
    text: Cow<'v, str>,
}

/// No two of the values are the same.
pub(super) fn unique(
    selectors: &[FieldSelector],
    object: &Value,
    at: FieldPlace<'_>,
    broken: &mut Vec<BrokenRule>,
) {
    let mut known: BTreeMap<Cow<'_, str>, (&FieldSelector, Vec<usize>)> = BTreeMap::new();
    for selector in selectors {
        for Selected { items, text } in selected(selector, object) {
            let Some((first, of_first)) = known.get(&text) else {
                known.insert(text, (selector, items));
                continue;
            };
            let message = format!(
                "{text:?} is given twice, first as {}",
                path_of(first, of_first, at)
            );
            broken.push(BrokenRule {
                path: path_of(selector, &items, at),
                message,
                help: "write another, or remove one of both".to_owned(),
            });
        }
    }
}

/// Every value of the first is one of the second.
pub(super) fn within(
    of: &FieldSelector,
    within: &FieldSelector,
    object: &Value,
    at: FieldPlace<'_>,
    broken: &mut Vec<BrokenRule>,
) {
    let named = selected(of, object);
    if named.is_empty() {
        return;
    }
    let there = selected(within, object);
    for Selected { items, text } in named {
        if there.iter().any(|one| one.text == text) {
            continue;
        }
        let list = within.steps.first().map_or("", |(name, _)| name);
        let names: Vec<&str> = there.iter().map(|one| &*one.text).collect();
        let help = match names.is_empty() {
            true => format!("add it to {}, or remove this", at.field(list)),
            false => format!("name one of {}, or add it there", names.join(", ")),
        };
        broken.push(BrokenRule {
            path: path_of(of, &items, at),
            message: format!("there is no {text:?} in {}", at.field(list)),
            help,
        });
    }
}

/// One of some fields, or none.
pub(super) fn one_of(
    fields: &[&str],
    may_lack: bool,
    object: &Value,
    at: FieldPlace<'_>,
    broken: &mut Vec<BrokenRule>,
) {
    let given = fields.iter().filter(|field| is_given(object.get(**field)));
    let given: Vec<&str> = given.copied().collect();
    match given.as_slice() {
        [] if !may_lack => {
            let message = "what it is to be is not given";
            let help = format!("write one of {}", fields.join(", "));
            broken.push(BrokenRule::new(at, message, help));
        }
        [] | [_] => {}
        [first, others @ ..] => {
            for other in others {
                let message = format!("{first} is there too, and both cannot hold");
                broken.push(BrokenRule::new(
                    at.field(other),
                    message,
                    "remove one of them",
                ));
            }
        }
    }
}

fn selected<'v>(selector: &FieldSelector, object: &'v Value) -> Vec<Selected<'v>> {
    let mut found = Vec::new();
    select(
        &selector.steps,
        object,
        &mut Vec::new(),
        &mut |items, value| {
            if let Some(text) = joined(selector, value) {
                let items = items.to_vec();
                found.push(Selected { items, text });
            }
        },
    );
    found
}

fn select<'v>(
    steps: &[(&str, bool)],
    value: &'v Value,
    items: &mut Vec<usize>,
    found: &mut impl FnMut(&[usize], &'v Value),
) {
    let Some(((name, is_list), rest)) = steps.split_first() else {
        found(items, value);
        return;
    };
    let Some(value) = value.get(name) else {
        return;
    };
    if !is_list {
        select(rest, value, items, found);
        return;
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        items.push(index);
        select(rest, item, items, found);
        items.pop();
    }
}

/// The parts of a value as one text; `None` where the first is absent.
fn joined<'v>(selector: &FieldSelector, value: &'v Value) -> Option<Cow<'v, str>> {
    let part = |name: &str| value.get(name).filter(|value| is_given(Some(value)));
    let ((first, _), others) = selector.parts.split_first()?;
    let first = part(first)
        .filter(|value| value.as_i64() != Some(0))
        .and_then(text_of)?;
    if others.is_empty() {
        return Some(first);
    }
    let mut text = first.into_owned();
    for (name, otherwise) in others {
        let other = part(name)
            .and_then(text_of)
            .unwrap_or(Cow::Borrowed(otherwise));
        if !other.is_empty() {
            text.push(' ');
            text.push_str(&other);
        }
    }
    Some(Cow::Owned(text))
}

fn path_of(selector: &FieldSelector, items: &[usize], at: FieldPlace<'_>) -> String {
    let mut path = at.to_string();
    let mut items = items.iter();
    let mut step = |name: &str, is_list: bool| {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        if let Some(index) = is_list.then(|| items.next()).flatten() {
            path.push_str(&format!("[{index}]"));
        }
    };
    selector
        .steps
        .iter()
        .for_each(|(name, is_list)| step(name, *is_list));
    if let Some((name, _)) = selector.parts.first() {
        step(name, false);
    }
    path
}
