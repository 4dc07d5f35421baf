//! One look at an object, type by type.

use serde_json::Value;

use super::amounts::{self, AmountsOf};
use super::format::NameFormat;
use super::place::FieldPlace;
use super::table::{self, FieldDemand, RuleCondition, RuleLine};
use super::{BrokenRule, RuleScope, is_given, relations, text_of};
use crate::fields::{self, FieldShape, TypeFields};

/// Where a line of the table holds: the object, and what makes it hold.
#[derive(Clone, Copy)]
struct LineSubject<'a> {
    object: &'a Value,
    when: Option<&'a RuleCondition>,
    scope: RuleScope,
}

/// An object and all below it.
pub(super) fn object(
    fields: &TypeFields,
    value: &Value,
    at: FieldPlace<'_>,
    scope: RuleScope,
    broken: &mut Vec<BrokenRule>,
) {
    let Some(map) = value.as_object() else {
        return;
    };
    let lines = table::of_type(fields.name());
    for line in lines {
        match line {
            RuleLine::Field { when, path, rules } => {
                let when = when.as_ref();
                let here = LineSubject {
                    object: value,
                    when,
                    scope,
                };
                if when.is_none_or(|when| holds(when, value)) {
                    field(here, (path, value, at), rules, broken);
                }
            }
            RuleLine::Unique(selectors) => relations::unique(selectors, value, at, broken),
            RuleLine::Within(of, within) => relations::within(of, within, value, at, broken),
            RuleLine::OneOf { fields, may_lack } => {
                relations::one_of(fields, *may_lack, value, at, broken)
            }
        }
    }
    for (name, value) in map {
        if let Some(shape) = fields.field(name)
            && !is_opaque(lines, name)
        {
            below(shape, value, at.field(name), scope, broken);
        }
    }
}

fn below(
    shape: &FieldShape,
    value: &Value,
    at: FieldPlace<'_>,
    scope: RuleScope,
    broken: &mut Vec<BrokenRule>,
) {
    match shape {
        FieldShape::Any => {}
        FieldShape::Fields(name) => {
            if let Some(fields) = fields::of_type(name) {
                object(fields, value, at, scope, broken);
            }
        }
        FieldShape::List(inner) => {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                below(inner, item, at.item(index), scope, broken);
            }
        }
        FieldShape::Map(inner) => {
            for (key, value) in value.as_object().into_iter().flatten() {
                below(inner, value, at.field(key), scope, broken);
            }
        }
    }
}

fn is_opaque(lines: &[RuleLine], name: &str) -> bool {
    lines.iter().any(|line| match line {
        RuleLine::Field { path, rules, .. } => {
            *path == [name] && matches!(rules.as_slice(), [FieldDemand::Opaque])
        }
        _ => false,
    })
}

fn at_path<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn holds(when: &RuleCondition, object: &Value) -> bool {
    let value = at_path(object, &when.path);
    let is_so = match when.words.as_slice() {
        [] => is_given(value),
        words => {
            let text = value.and_then(text_of);
            text.is_some_and(|text| words.contains(&&*text))
        }
    };
    is_so == when.is_so
}

/// ` where operator is Exists`, or nothing.
fn told(here: LineSubject<'_>) -> String {
    let Some(when) = here.when else {
        return String::new();
    };
    let name = when.path.join(".");
    let value = at_path(here.object, &when.path).and_then(text_of);
    match (when.words.is_empty(), when.is_so, value) {
        (true, true, _) => format!(" where {name} is given"),
        (true, false, _) => format!(" where there is no {name}"),
        (false, _, Some(value)) => format!(" where {name} is {value}"),
        (false, ..) => String::new(),
    }
}

/// The rules of one field.
fn field(
    here: LineSubject<'_>,
    (path, value, at): (&[&str], &Value, FieldPlace<'_>),
    rules: &[FieldDemand],
    broken: &mut Vec<BrokenRule>,
) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    let (value, at) = (value.get(name), at.field(name));
    if !rest.is_empty() {
        // What is missing further up is missing here.
        let value = value.unwrap_or(&Value::Null);
        field(here, (rest, value, at), rules, broken);
        return;
    }
    for rule in rules {
        if let Some((message, help)) = whether_given(here, rule, rules, value) {
            broken.push(BrokenRule::new(at, message + &told(here), help));
        }
        if let Some(value) = value.filter(|value| is_given(Some(value))) {
            of_value(rule, value, at, broken);
        }
    }
}

/// What is wrong about a field being there or not.
fn whether_given(
    here: LineSubject<'_>,
    rule: &FieldDemand,
    rules: &[FieldDemand],
    value: Option<&Value>,
) -> Option<(String, String)> {
    let is_empty_map = value
        .and_then(Value::as_object)
        .is_some_and(|map| map.is_empty());
    let is_there = is_given(value) && !is_empty_map;
    match rule {
        FieldDemand::Required if !is_there => {}
        FieldDemand::ToRun if !is_there && here.scope == RuleScope::Whole => {}
        FieldDemand::Absent if is_given(value) => {
            let shown = value.and_then(text_of);
            let shown = shown.map_or_else(|| "it".to_owned(), |text| format!("{text:?}"));
            return Some((format!("{shown} must not be given"), "remove it".to_owned()));
        }
        FieldDemand::Count(count) => {
            let given = value.and_then(Value::as_array).map_or(0, Vec::len);
            let (message, help) = (
                format!("there are {given} of them"),
                format!("write {count}"),
            );
            return (given != *count).then_some((message, help));
        }
        _ => return None,
    }
    let words = rules.iter().find_map(|rule| match rule {
        FieldDemand::Words(words) => Some(words),
        _ => None,
    });
    let (message, help) = match (value, words) {
        (Some(Value::Array(_)), _) => ("there is none", "write at least one".to_owned()),
        (_, Some(words)) => ("it is missing", format!("write {}", or(words))),
        (_, None) => ("it is missing", "give it".to_owned()),
    };
    Some((message.to_owned(), help))
}

/// `A, B or C`.
fn or(words: &[&str]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        words => words.join(", "),
    }
}

/// What is wrong with a value that is given.
fn of_value(rule: &FieldDemand, value: &Value, at: FieldPlace<'_>, broken: &mut Vec<BrokenRule>) {
    match rule {
        FieldDemand::Words(words) => word(words, value, at, broken),
        FieldDemand::Written(format) => written(*format, value, at, broken),
        FieldDemand::EachWord(words) => {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                word(words, item, at.item(index), broken);
            }
        }
        FieldDemand::Each(format) => {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                written(*format, item, at.item(index), broken);
            }
        }
        FieldDemand::Keys(format) => {
            for key in value
                .as_object()
                .into_iter()
                .flat_map(serde_json::Map::keys)
            {
                if !format.fits(key) {
                    let message = format!("{key:?} {}", format.what());
                    broken.push(BrokenRule::new(at.field(key), message, format.help()));
                }
            }
        }
        FieldDemand::Values(format) => {
            for (key, value) in value.as_object().into_iter().flatten() {
                written(*format, value, at.field(key), broken);
            }
        }
        FieldDemand::Min(_) | FieldDemand::Max(_) | FieldDemand::MaxLength(_) => {
            bounds(rule, value, at, broken)
        }
        FieldDemand::Amounts => amounts::amounts(AmountsOf::Any, value, at, broken),
        FieldDemand::NodeAmounts => amounts::amounts(AmountsOf::Node, value, at, broken),
        FieldDemand::QuotaAmounts => amounts::amounts(AmountsOf::Quota, value, at, broken),
        FieldDemand::Requests => amounts::requests(AmountsOf::Container, value, at, broken),
        FieldDemand::PodRequests => amounts::requests(AmountsOf::Pod, value, at, broken),
        FieldDemand::Required
        | FieldDemand::ToRun
        | FieldDemand::Absent
        | FieldDemand::Count(_)
        | FieldDemand::Opaque => {}
    }
}

fn word(words: &[&str], value: &Value, at: FieldPlace<'_>, broken: &mut Vec<BrokenRule>) {
    let Some(text) = text_of(value).filter(|text| !words.contains(&&**text)) else {
        return;
    };
    let meant = words.iter().find(|word| word.eq_ignore_ascii_case(&text));
    let help = meant.map_or_else(
        || format!("write {}", or(words)),
        |word| format!("write {word}"),
    );
    broken.push(BrokenRule::new(
        at,
        format!("{text:?} is not possible"),
        help,
    ));
}

fn written(format: NameFormat, value: &Value, at: FieldPlace<'_>, broken: &mut Vec<BrokenRule>) {
    if let Some(text) = text_of(value).filter(|text| !format.fits(text)) {
        let message = format!("{text:?} {}", format.what());
        broken.push(BrokenRule::new(at, message, format.help()));
    }
}

fn bounds(rule: &FieldDemand, value: &Value, at: FieldPlace<'_>, broken: &mut Vec<BrokenRule>) {
    let (message, help) = match (rule, value.as_i64(), value.as_str()) {
        (FieldDemand::Min(least), Some(number), _) if number < *least => (
            format!("{number} is too small"),
            format!("write {least} or more"),
        ),
        (FieldDemand::Max(most), Some(number), _) if number > *most => (
            format!("{number} is too large"),
            format!("write {most} or less"),
        ),
        (FieldDemand::MaxLength(most), _, Some(text)) if text.len() > *most => (
            format!("{text:?} is too long"),
            format!("write at most {most} characters"),
        ),
        _ => return,
    };
    broken.push(BrokenRule::new(at, message, help));
}
