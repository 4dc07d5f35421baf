//! Rules on arguments beyond their kinds: what excludes each other, what has an effect.

use crate::arguments::Arguments;
use crate::diagnostic::{Findings, TextRange};
use crate::nearest::nearest;
use crate::registry::ArgRule;
use pumice_yaml::scalar::{Scalar, resolve, shorten};
use pumice_yaml::tree::{MapEntry, YamlNode};

/// Checks the rules of a plugin on its arguments: `node` as they are written, `read` as they are
/// understood.
pub(super) fn check(
    rules: &[ArgRule],
    node: &YamlNode<'_>,
    read: &Arguments,
    found: &mut Findings,
) {
    let is_on = |name| read.bool(name) == Some(true);
    for rule in rules {
        match *rule {
            ArgRule::Exclusive { one, other, help } if is_on(one) && is_on(other) => {
                report_both(node, (one, other), help, found);
            }
            ArgRule::NotBuilt { name, help } if is_on(name) => {
                let message = format!(
                    "`{name}` is part of Volcano but not built into this version of Pumice; it \
                     has no effect"
                );
                let place = entry(node, name).map_or(node, |entry| &entry.key);
                let finding = found.warn("W0307-switch-not-built", place, message);
                finding.help(help);
            }
            ArgRule::OneOf {
                name,
                values,
                otherwise,
            } => {
                if let Some(text) = read.str(name) {
                    check_choice(node, (name, text), values, otherwise, found);
                }
            }
            ArgRule::TextMaps {
                name,
                most,
                example,
            } => {
                if let Some(entry) = entry(node, name) {
                    check_text_maps(entry, most, example, found);
                }
            }
            ArgRule::Exclusive { .. } | ArgRule::NotBuilt { .. } => {}
        }
    }
}

/// The entry of a key that counts: the last one.
fn entry<'n, 'a>(node: &'n YamlNode<'a>, name: &str) -> Option<&'n MapEntry<'a>> {
    let mut entries = node.entries()?.iter();
    entries.rfind(|entry| entry.key.text() == Some(name))
}

fn report_both(node: &YamlNode<'_>, names: (&str, &str), help: &str, found: &mut Findings) {
    let place = |name| TextRange::from(entry(node, name).map_or(node, |entry| &entry.key));
    let (one, other) = (place(names.0), place(names.1));
    let (earlier, later) = if one.start <= other.start {
        (one, other)
    } else {
        (other, one)
    };
    let message = format!("`{}` and `{}` exclude each other", names.0, names.1);
    found
        .error("E0306-exclusive-switches", later, message)
        .see("the other one is on at", earlier.start)
        .help(help);
}

fn check_choice(
    node: &YamlNode<'_>,
    (name, text): (&str, &str),
    values: &'static [&'static str],
    otherwise: &str,
    found: &mut Findings,
) {
    if text.is_empty() || values.contains(&text) {
        return;
    }
    let place = entry(node, name).map_or(node, |entry| &entry.value);
    let message = format!("`{name}`: `{}` is unknown; {otherwise}", shorten(text));
    let finding = found.warn("W0308-unknown-choice", place, message);
    match nearest(text, values.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help(format!("write one of `{}`", values.join("`, `"))),
    };
}

fn check_text_maps(entry: &MapEntry<'_>, most: usize, example: &str, found: &mut Findings) {
    if entry.value.is_null() {
        return;
    }
    let name = shorten(entry.key.text().unwrap_or_default());
    let help = format!("write its entries as in `- {example}`");
    let Some(items) = entry.value.items() else {
        let what = entry.value.describe();
        let message = format!("`{name}` must be a list of maps, not {what}");
        let finding = found.error("E0301-wrong-type", &entry.value, message);
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
