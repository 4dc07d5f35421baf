//! `arguments`: values checked against the specs of a plugin or action.

use crate::arg::in_range;
use crate::arguments::{Arguments, Value, last_wins};
use crate::diagnostic::Findings;
use crate::nearest::nearest;
use crate::registry::{ArgKind, ArgSpec, OutOfRange, Registry, TextForm, Wildcard, find_arg};
use pumice_units::duration::parse_go_duration;
use pumice_yaml::node::{Data, YamlNode};
use pumice_yaml::scalar::{Scalar, TagMismatch, parse_bool_text, resolve, resolve_plain, shorten};

use super::fields::{Field, fields, wrong_type};

const ARGUMENTS_HELP: &str = "write `key: value` lines below `arguments:`";

/// The arguments of a plugin (`registry` given) or action called `owner`.
pub(super) fn read_arguments(
    node: &YamlNode<'_>,
    owner: &str,
    specs: &'static [ArgSpec],
    registry: Option<&Registry>,
    found: &mut Findings,
) -> Arguments {
    let mut read = Vec::new();
    for field in argument_fields(node, found) {
        let value = match find_arg(specs, field.name) {
            Some(spec) => {
                warn_wildcard(&field, spec, found);
                read_value(&field, spec, found)
            }
            None => {
                report_unknown(&field, owner, specs, registry, found);
                free_value(field.value, found)
            }
        };
        read.extend(value.map(|value| (field.name.to_owned(), value)));
    }
    read.into_iter().collect()
}

/// Arguments that no spec describes, as they are written.
pub(super) fn read_free_arguments(node: &YamlNode<'_>, found: &mut Findings) -> Arguments {
    let mut read = Vec::new();
    for field in argument_fields(node, found) {
        let value = free_value(field.value, found);
        read.extend(value.map(|value| (field.name.to_owned(), value)));
    }
    read.into_iter().collect()
}

fn argument_fields<'n, 'a>(node: &'n YamlNode<'a>, found: &mut Findings) -> Vec<Field<'n, 'a>> {
    if node.is_null() {
        return Vec::new();
    }
    if node.entries().is_none() {
        wrong_type(found, node, "`arguments`", "a map", ARGUMENTS_HELP);
    }
    fields(node, found)
}

fn report_unknown(
    field: &Field<'_, '_>,
    owner: &str,
    specs: &[ArgSpec],
    registry: Option<&Registry>,
    found: &mut Findings,
) {
    let name = shorten(field.name);
    let message = format!("`{owner}` has no argument `{name}`; it has no effect");
    let finding = found.warn("W0302-unknown-argument", field.key, message);
    let exact = specs
        .iter()
        .filter(|spec| spec.prefix().is_none())
        .map(|spec| spec.name);
    if let Some(near) = nearest(field.name, exact) {
        finding.help(format!("did you mean `{near}`?"));
        return;
    }
    if let Some(near) = nearest_pattern(field.name, specs) {
        finding.help(format!("did you mean `{}`?", shorten(&near)));
        return;
    }
    let plugins = registry
        .map(|registry| registry.plugins)
        .unwrap_or_default();
    let real_owner = plugins
        .iter()
        .find(|plugin| find_arg(plugin.args, field.name).is_some());
    if let Some(real_owner) = real_owner {
        finding.help(format!(
            "it is an argument of the plugin `{}`",
            real_owner.name
        ));
    }
}

/// Tells of a name that stands for nothing.
fn warn_wildcard(field: &Field<'_, '_>, spec: &ArgSpec, found: &mut Findings) {
    let rest = &field.name[spec.prefix().map_or(0, str::len)..];
    if spec.is_wildcard && Wildcard::read(rest).is_none() {
        let name = shorten(field.name);
        let message = format!("`{name}` has no effect: it stands for no name");
        let help =
            "write a name, or the beginning of names and one `*` behind it, as in `nvidia.com/*`";
        found.warn("W0315-no-name", field.key, message).help(help);
    }
}

/// For a name whose beginning resembles a prefix pattern: the name with that prefix.
fn nearest_pattern(name: &str, specs: &[ArgSpec]) -> Option<String> {
    specs.iter().filter_map(ArgSpec::prefix).find_map(|prefix| {
        // Compared up to the last point of the prefix, whose place in the name may differ.
        let dots = prefix.matches('.').count();
        let (cut, _) = name.match_indices('.').nth(dots.checked_sub(1)?)?;
        let (head, tail) = name.split_at(cut + 1);
        nearest(head, [prefix]).map(|near| format!("{near}{tail}"))
    })
}

/// The value of an argument with a spec, normalised to its kind; `None` when it is wrong.
fn read_value(field: &Field<'_, '_>, spec: &ArgSpec, found: &mut Findings) -> Option<Value> {
    match spec.kind {
        ArgKind::Any => return free_value(field.value, found),
        ArgKind::Map(specs) if !field.value.is_null() => {
            return read_map(field, spec, specs, found);
        }
        ArgKind::Maps(specs) if !field.value.is_null() => {
            return read_maps(field, spec, specs, found);
        }
        ArgKind::TextMaps { most, example } if !field.value.is_null() => {
            check_text_maps(field, most, example, found);
            return free_value(field.value, found);
        }
        ArgKind::Texts(form) if !field.value.is_null() => {
            return read_texts(field, spec, form, found);
        }
        _ => {}
    }
    let scalar = match resolve(field.value) {
        // As in Go, a key without a value is no value: the default stays.
        Some(Ok(Scalar::Null)) => return None,
        Some(Ok(scalar)) => scalar,
        Some(Err(mismatch)) => return report_tag(field.value, &mismatch, found),
        None => return report_kind(field, spec, found),
    };
    let text = field.value.text().unwrap_or_default();
    // A quoted number is read as the number it shows.
    let number = match scalar {
        Scalar::Str(text) => resolve_plain(text.trim()),
        ref other => other.clone(),
    };
    let value = match (spec.kind, number, scalar) {
        (ArgKind::Int, Scalar::Int(number), _) => Value::Int(number),
        (ArgKind::Int, Scalar::Float(number), _)
            if number.fract() == 0.0 && number.abs() < 1e15 =>
        {
            Value::Int(number as i64)
        }
        (ArgKind::Int, Scalar::Uint(_), _) => return report_range(field, found),
        (ArgKind::Float, Scalar::Int(number), _) => Value::Float(number as f64),
        (ArgKind::Float, Scalar::Uint(number), _) => Value::Float(number as f64),
        (ArgKind::Float, Scalar::Float(number), _) if number.is_finite() => Value::Float(number),
        (ArgKind::Float, Scalar::Float(_), _) => return report_range(field, found),
        (ArgKind::Bool, _, Scalar::Bool(value)) => Value::Bool(value),
        (ArgKind::Bool, _, Scalar::Str(text)) => match parse_bool_text(text.trim()) {
            Some(value) => Value::Bool(value),
            None => return report_kind(field, spec, found),
        },
        (ArgKind::Str, ..) => Value::Str(text.to_owned()),
        (ArgKind::Formed(form), ..) => return read_formed(field, text, form, found),
        (ArgKind::Choice { values, otherwise }, ..) => {
            check_choice(field, (values, text), otherwise, found);
            Value::Str(text.to_owned())
        }
        (ArgKind::Duration, ..) => match parse_go_duration(text) {
            Ok(_) => Value::Str(text.to_owned()),
            Err(error) => {
                let shown = shorten(text);
                let name = shorten(field.name);
                let message = format!("`{name}`: `{shown}` is no duration: {error}");
                let finding = found.error("E0305-bad-duration", field.value, message);
                finding.help("write a number with its unit, as in `30s`, `5m` or `1h30m`");
                return None;
            }
        },
        _ => return report_kind(field, spec, found),
    };
    warn_range(field, spec, &value, found);
    Some(value)
}

/// A text of a form of its own.
fn read_formed(
    field: &Field<'_, '_>,
    text: &str,
    form: TextForm,
    found: &mut Findings,
) -> Option<Value> {
    let Some(fault) = (form.fault)(text.trim()) else {
        return Some(Value::Str(text.to_owned()));
    };
    let message = format!("`{}`: `{}` {fault}", shorten(field.name), shorten(text));
    let finding = found.error("E0311-malformed-text", field.value, message);
    finding.help(format!("write {}, as in `{}`", form.phrase, form.example));
    None
}

/// A map whose keys have specs of their own.
fn read_map(
    field: &Field<'_, '_>,
    spec: &ArgSpec,
    specs: &'static [ArgSpec],
    found: &mut Findings,
) -> Option<Value> {
    if field.value.entries().is_none() {
        return report_kind(field, spec, found);
    }
    let map = read_arguments(field.value, field.name, specs, None, found);
    let pairs = map
        .iter()
        .map(|(key, value)| (key.to_owned(), value.clone()));
    Some(Value::Map(pairs.collect()))
}

/// A list of such maps. Faults are told in each; what is read of the others does not count then.
fn read_maps(
    field: &Field<'_, '_>,
    spec: &ArgSpec,
    specs: &'static [ArgSpec],
    found: &mut Findings,
) -> Option<Value> {
    let Some(items) = field.value.items() else {
        return report_kind(field, spec, found);
    };
    let mut maps = Vec::new();
    for item in items {
        if item.entries().is_none() {
            let (name, what) = (shorten(field.name), item.describe());
            let message = format!("an entry of `{name}` must be a map, not {what}");
            let finding = found.error("E0301-wrong-type", item, message);
            finding.help("write its keys below `-`, as in `- name: …`");
            continue;
        }
        let map = read_arguments(item, field.name, specs, None, found);
        let pairs = map
            .iter()
            .map(|(key, value)| (key.to_owned(), value.clone()));
        maps.push(Value::Map(pairs.collect()));
    }
    Some(Value::List(maps))
}

/// A list of texts.
fn read_texts(
    field: &Field<'_, '_>,
    spec: &ArgSpec,
    form: Option<TextForm>,
    found: &mut Findings,
) -> Option<Value> {
    let Some(items) = field.value.items() else {
        return report_kind(field, spec, found);
    };
    for item in items {
        let Some(Ok(Scalar::Str(text))) = resolve(item) else {
            let (name, what) = (shorten(field.name), item.describe());
            let message = format!("an entry of `{name}` must be a string, not {what}");
            let finding = found.error("E0301-wrong-type", item, message);
            finding.help("put it into quotes");
            continue;
        };
        let fault = form.and_then(|form| Some((form, (form.fault)(text.trim())?)));
        if let Some((form, fault)) = fault {
            let message = format!("`{}`: `{}` {fault}", shorten(field.name), shorten(text));
            let finding = found.error("E0311-malformed-text", item, message);
            finding.help(format!("write {}, as in `{}`", form.phrase, form.example));
        }
    }
    free_value(field.value, found)
}

fn report_kind(field: &Field<'_, '_>, spec: &ArgSpec, found: &mut Findings) -> Option<Value> {
    let expected = spec.kind.phrase();
    let message = format!(
        "`{}` must be {expected}, not {}",
        shorten(field.name),
        field.value.describe()
    );
    let example = match (spec.kind, resolve(field.value)) {
        (ArgKind::Bool, Some(Ok(Scalar::Int(0)))) => "false".to_owned(),
        (ArgKind::Bool, Some(Ok(Scalar::Int(1)))) => "true".to_owned(),
        (_, _) if !spec.default.is_none() => spec.default.to_string(),
        (ArgKind::Choice { values, .. }, _) => {
            values.first().copied().unwrap_or_default().to_owned()
        }
        (ArgKind::Int, _) => "10".to_owned(),
        (ArgKind::Float, _) => "1.5".to_owned(),
        (ArgKind::Bool, _) => "true".to_owned(),
        (ArgKind::Duration, _) => "30s".to_owned(),
        (ArgKind::Formed(form), _) => form.example.to_owned(),
        (ArgKind::Map(_), _) => "{}".to_owned(),
        (ArgKind::Maps(_), _) => "[{}]".to_owned(),
        (ArgKind::TextMaps { example, .. }, _) => format!("[{{{example}}}]"),
        (ArgKind::Texts(Some(form)), _) => format!("[{}]", form.example),
        (ArgKind::Texts(None), _) => "[text]".to_owned(),
        (ArgKind::Str | ArgKind::Any, _) => "text".to_owned(),
    };
    let help = format!("write it as in `{}: {example}`", shorten(field.name));
    found
        .error("E0301-wrong-type", field.value, message)
        .help(help);
    None
}

fn report_range(field: &Field<'_, '_>, found: &mut Findings) -> Option<Value> {
    let value = shorten(field.value.text().unwrap_or_default());
    let message = format!(
        "`{}`: the number `{value}` cannot be used",
        shorten(field.name)
    );
    found
        .error("E0304-number-out-of-range", field.value, message)
        .help("write a finite number within 64 bits");
    None
}

fn report_tag(node: &YamlNode<'_>, mismatch: &TagMismatch, found: &mut Findings) -> Option<Value> {
    let finding = found.error("E0014-tag-mismatch", node, mismatch.to_string());
    finding.help(format!("remove the tag `!!{}`", mismatch.tag));
    None
}

/// Tells what a number out of range counts as: `Arg::read` takes it into its range.
fn warn_range(field: &Field<'_, '_>, spec: &ArgSpec, value: &Value, found: &mut Findings) {
    let Some(number) = value.float().filter(|_| value.str().is_none()) else {
        return;
    };
    let (side, bound, help) = match (spec.min, spec.max) {
        (Some(min), _) if number < min => ("below", min, format!("write {min} or more")),
        (_, Some(max)) if number > max => ("above", max, format!("write {max} or less")),
        _ => return,
    };
    let counts = match spec.out_of_range {
        OutOfRange::Nearest => String::new(),
        OutOfRange::Default => "the default ".to_owned(),
    };
    let text = shorten(field.value.text().unwrap_or_default());
    let message = format!(
        "`{}`: {text} is {side} {bound}; {counts}{} is used",
        shorten(field.name),
        in_range(spec, number)
    );
    let finding = found.warn("W0303-unusual-value", field.value, message);
    finding.help(help);
}

fn check_choice(
    field: &Field<'_, '_>,
    (values, text): (&[&'static str], &str),
    otherwise: &str,
    found: &mut Findings,
) {
    if text.is_empty() || values.contains(&text) {
        return;
    }
    let message = format!(
        "`{}`: `{}` is unknown; {otherwise}",
        shorten(field.name),
        shorten(text)
    );
    let finding = found.warn("W0308-unknown-choice", field.value, message);
    match nearest(text, values.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help(format!("write one of `{}`", values.join("`, `"))),
    };
}

fn check_text_maps(field: &Field<'_, '_>, most: usize, example: &str, found: &mut Findings) {
    let name = shorten(field.name);
    let help = format!("write its entries as in `- {example}`");
    let Some(items) = field.value.items() else {
        let what = field.value.describe();
        let message = format!("`{name}` must be a list of maps, not {what}");
        let finding = found.error("E0301-wrong-type", field.value, message);
        finding.help(help);
        return;
    };
    if let Some(first) = items.get(most) {
        let message = format!("`{name}` has {} entries", items.len());
        let finding = found.error("E0309-too-many-entries", first, message);
        finding.help(format!("keep at most {most}"));
    }
    for item in items.iter().take(most) {
        let Some(pairs) = item.entries() else {
            let what = item.describe();
            let message = format!("an entry of `{name}` must be a map, not {what}");
            let finding = found.error("E0301-wrong-type", item, message);
            finding.help(help.clone());
            continue;
        };
        if pairs.is_empty() {
            let message = format!("an empty entry of `{name}` has no effect");
            let finding = found.warn("W0310-empty-entry", item, message);
            finding.help("remove it, or give it keys and values");
        }
        for pair in pairs {
            if !matches!(resolve(&pair.value), Some(Ok(Scalar::Str(_)))) {
                let key = shorten(pair.key.text().unwrap_or_default());
                let what = pair.value.describe();
                let message = format!("`{key}` in `{name}` must be a string, not {what}");
                let finding = found.error("E0301-wrong-type", &pair.value, message);
                finding.help("put the value into quotes");
            }
        }
    }
}

/// Any value as it is written; `None` when an explicit tag contradicts it.
fn free_value(node: &YamlNode<'_>, found: &mut Findings) -> Option<Value> {
    match &node.data {
        Data::List(items) => Some(Value::List(
            items
                .iter()
                .filter_map(|item| free_value(item, found))
                .collect(),
        )),
        Data::Map(_) => {
            let mut pairs = Vec::new();
            for field in fields(node, found) {
                let value = free_value(field.value, found);
                pairs.extend(value.map(|value| (field.name.to_owned(), value)));
            }
            Some(Value::Map(last_wins(pairs)))
        }
        Data::Scalar { .. } => match resolve(node)? {
            Ok(Scalar::Null) => Some(Value::Null),
            Ok(Scalar::Bool(value)) => Some(Value::Bool(value)),
            Ok(Scalar::Int(number)) => Some(Value::Int(number)),
            Ok(Scalar::Uint(number)) => Some(Value::Float(number as f64)),
            Ok(Scalar::Float(number)) => Some(Value::Float(number)),
            Ok(Scalar::Str(text)) => Some(Value::Str(text.to_owned())),
            Err(mismatch) => report_tag(node, &mismatch, found),
        },
    }
}
