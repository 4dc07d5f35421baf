//! `actions`: a comma-separated string of names.

use crate::diagnostic::{Findings, TextRange};
use crate::nearest::nearest;
use crate::registry::Registry;
use pumice_yaml::node::{Data, Style, YamlNode};
use pumice_yaml::scalar::{Scalar, resolve, shorten};

use super::fields::expect_text;

/// Names that Volcano once had, and what does their work now.
const REMOVED: [(&str, &str); 2] = [
    (
        "elect",
        "Volcano removed it together with `reserve`; remove it from the list",
    ),
    (
        "reserve",
        "Volcano removed it together with `elect`; remove it from the list",
    ),
];

/// Most names the list may have.
const MAX_ACTIONS: usize = 100;

const USUAL: &str = "write `actions: \"enqueue, allocate, backfill\"`";

/// The actions in the order they run.
pub(super) fn read(
    key: &YamlNode<'_>,
    value: &YamlNode<'_>,
    registry: &Registry,
    found: &mut Findings,
) -> Vec<String> {
    if let Data::List(items) = &value.data {
        let names: Vec<String> = items
            .iter()
            .filter_map(YamlNode::text)
            .take(10)
            .map(shorten)
            .collect();
        let message = "`actions` must be a string of names with commas, not a list";
        let help = format!("write `actions: \"{}\"`", names.join(", "));
        found.error("E0013-wrong-type", value, message).help(help);
        return Vec::new();
    }
    if let Data::Map(_) = &value.data {
        let message = "`actions` must be a string of names with commas, not a map";
        found.error("E0013-wrong-type", value, message).help(USUAL);
        return Vec::new();
    }
    let Some(text) = expect_text(found, value, "`actions`") else {
        return Vec::new();
    };
    if text.trim().is_empty() {
        let place = if matches!(resolve(value), Some(Ok(Scalar::Null))) {
            key
        } else {
            value
        };
        report_none(place.into(), found);
        return Vec::new();
    }
    if text.split(',').count() > MAX_ACTIONS {
        let message = format!("more than {MAX_ACTIONS} actions are given");
        found
            .error("E0206-too-many-actions", value, message)
            .help(USUAL);
        return Vec::new();
    }
    let mut actions: Vec<String> = Vec::new();
    let mut offset = 0;
    for part in text.split(',') {
        let name = part.trim();
        let indent = part.len() - part.trim_start().len();
        let place = part_place(value, text, offset + indent, name.len());
        offset += part.len() + 1;
        if name.is_empty() {
            found
                .error(
                    "E0204-empty-action",
                    place,
                    "an action name is missing between commas",
                )
                .help("remove the extra comma");
            continue;
        }
        if check_name(name, place, registry, found) {
            if actions.iter().any(|known| known == name) {
                let message = format!("the action `{name}` is listed twice and runs twice");
                found
                    .warn("W0205-repeated-action", place, message)
                    .help("remove one of them");
            }
            actions.push(name.to_owned());
        }
    }
    actions
}

/// Reports that no action would run.
pub(super) fn report_none(place: TextRange, found: &mut Findings) {
    found
        .error("E0201-no-actions", place, "no `actions` are given")
        .help(USUAL);
}

fn check_name(name: &str, place: TextRange, registry: &Registry, found: &mut Findings) -> bool {
    let shown = shorten(name);
    match registry.action(name) {
        Some(_) => return true,
        None => {
            let removed = REMOVED
                .iter()
                .find(|(old, _)| *old == name)
                .map(|(_, help)| *help);
            let names: Vec<&str> = registry.actions.iter().map(|action| action.name).collect();
            let help = match (removed, nearest(name, names.iter().copied())) {
                (Some(help), _) => help.to_owned(),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("the actions are {}", names.join(", ")),
            };
            let message = format!("unknown action `{shown}`");
            found
                .error("E0202-unknown-action", place, message)
                .help(help);
        }
    }
    false
}

/// Where a part of the string stands; the whole value when it is not written as it reads.
fn part_place(value: &YamlNode<'_>, text: &str, offset: usize, length: usize) -> TextRange {
    let quotes = match &value.data {
        Data::Scalar {
            style: Style::Plain,
            ..
        } => 0,
        Data::Scalar {
            style: Style::SingleQuoted | Style::DoubleQuoted,
            ..
        } => 1,
        _ => return value.into(),
    };
    let start = value.location.offset;
    if value.end.saturating_sub(start) != text.len() + 2 * quotes {
        return value.into();
    }
    let from = start + quotes + offset;
    TextRange {
        start: from,
        end: from + length,
    }
}
