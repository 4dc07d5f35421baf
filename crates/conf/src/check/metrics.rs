//! `metrics`: who measures what nodes use.

use std::collections::BTreeMap;

use crate::diagnostic::Findings;
use crate::metrics::{METRIC_TYPES, address_fault, metric_keys};
use crate::nearest::nearest;
use pumice_units::duration::parse_go_duration;
use pumice_yaml::node::{Data, YamlNode};
use pumice_yaml::scalar::shorten;

use super::fields::{Field, expect_text, fields, report_unknown, wrong_type};

/// Whether the document names a source.
pub(super) fn names_source(document: &YamlNode<'_>) -> bool {
    let kind = document
        .get("metrics")
        .and_then(|metrics| metrics.get("type"));
    kind.and_then(YamlNode::text)
        .is_some_and(|text| !text.is_empty())
}

/// The map, every scalar as its text.
pub(super) fn read(node: &YamlNode<'_>, found: &mut Findings) -> BTreeMap<String, String> {
    let Data::Map(_) = &node.data else {
        if !node.is_null() {
            let help = "write `type:`, `address:` and so on below `metrics:`";
            wrong_type(found, node, "`metrics`", "a map", help);
        }
        return BTreeMap::new();
    };
    let mut metrics = BTreeMap::new();
    let given = settings(node, found);
    for (name, field) in &given {
        if !metric_keys().any(|key| key == name) {
            let near = nearest(name, metric_keys());
            report_unknown(found, field.key, " of `metrics`", near);
        }
        let what = format!("`{}`", shorten(name));
        let Some(text) = expect_text(found, field.value, &what) else {
            continue;
        };
        check_value(field, text, found);
        metrics.insert(name.clone(), text.to_owned());
    }
    let named = |key: &str| {
        let mut given = given.iter();
        given.find(|(name, _)| name == key).map(|(_, field)| field)
    };
    let kind = named("type").filter(|kind| {
        let text = kind.value.text();
        text.is_some_and(|text| text == METRIC_TYPES[0] || text == METRIC_TYPES[2])
    });
    if let Some(kind) = kind.filter(|_| named("address").is_none()) {
        found
            .error(
                "E0406-no-address",
                kind.value,
                "the source has no `address`",
            )
            .help("write `address: http://prometheus.monitoring:9090`");
    }
    metrics
}

/// What the map says, by the whole name: `tls: {caFile: …}` says what `tls.caFile: …` does.
fn settings<'n, 'a>(node: &'n YamlNode<'a>, found: &mut Findings) -> Vec<(String, Field<'n, 'a>)> {
    let mut all = Vec::new();
    for field in fields(node, found) {
        let prefix = format!("{}.", field.name);
        let is_section = metric_keys().any(|key| key.starts_with(&prefix));
        match &field.value.data {
            Data::Map(_) if is_section => {
                let inner = fields(field.value, found).into_iter();
                all.extend(inner.map(|one| (prefix.clone() + one.name, one)));
            }
            _ => all.push((field.name.to_owned(), field)),
        }
    }
    all
}

fn check_value(field: &Field<'_, '_>, text: &str, found: &mut Findings) {
    let shown = shorten(text);
    match field.name {
        "interval" if parse_go_duration(text).map_or(true, |nanos| nanos <= 0) => {
            let message = format!("`{shown}` is no positive duration; 30s is used");
            found
                .warn("W0404-bad-interval", field.value, message)
                .help("write `30s` or `1m`");
        }
        "type" if !text.is_empty() && !METRIC_TYPES.contains(&text) => {
            let message = format!("`{shown}` is no source of what nodes use");
            let finding = found.error("E0405-unknown-source", field.value, message);
            finding.help(match nearest(text, METRIC_TYPES) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write one of `{}`", METRIC_TYPES.join("`, `")),
            });
        }
        "address" => {
            if let Some(fault) = address_fault(text) {
                let message = format!("`{shown}` {fault}");
                found
                    .error("E0407-bad-address", field.value, message)
                    .help("write `http://prometheus.monitoring:9090`");
            }
        }
        _ => {}
    }
}
