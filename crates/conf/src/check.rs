//! The rules of the configuration: a document to a [`Config`] and findings.
//!
//! Each part of the file is read by its own function; none of them stops at a problem. What is
//! wrong is left out of the result, which is thrown away when a finding is an error.

mod actions;
mod arguments;
mod exclusive;
mod fields;
mod listed;
mod metrics;
mod needed;
mod plugins;

use crate::config::{Config, NamedArguments};
use crate::diagnostic::Findings;
use crate::nearest::nearest;
use crate::registry::Registry;
use pumice_yaml::node::{Data, YamlNode};
use pumice_yaml::scalar::shorten;

use fields::{expect_text, fields, report_unknown, wrong_type};

const TOP_KEYS: [&str; 4] = ["actions", "tiers", "configurations", "metrics"];

/// Checks one document.
pub(crate) fn check(document: &YamlNode<'_>, registry: &Registry, found: &mut Findings) -> Config {
    let mut config = Config::default();
    let Data::Map(_) = &document.data else {
        let message = format!(
            "the configuration must be a map, not {}",
            document.describe()
        );
        found
            .error("E0006-not-a-map", document, message)
            .help("start with `actions: \"enqueue, allocate, backfill\"` and a list of `tiers`");
        return config;
    };
    let mut seen_actions = false;
    let mut seen_tiers = false;
    for field in fields(document, found) {
        match field.name {
            "actions" => {
                seen_actions = true;
                config.actions = actions::read(field.key, field.value, registry, found);
            }
            "tiers" => {
                seen_tiers = true;
                let measured = metrics::names_source(document);
                config.tiers =
                    plugins::read_tiers(field.key, field.value, registry, measured, found);
            }
            "configurations" => {
                config.configurations = read_configurations(field.value, registry, found);
            }
            "metrics" => config.metrics = metrics::read(field.value, found),
            unknown => {
                report_unknown(found, field.key, "", nearest(unknown, TOP_KEYS));
            }
        }
    }
    if !seen_actions {
        actions::report_none(document.into(), found);
    }
    if !seen_tiers {
        plugins::report_no_plugins(document.into(), found);
    }
    config
}

fn read_configurations(
    node: &YamlNode<'_>,
    registry: &Registry,
    found: &mut Findings,
) -> Vec<NamedArguments> {
    let Data::List(items) = &node.data else {
        if !node.is_null() {
            let help = "write `- name: allocate` and its `arguments` below `configurations:`";
            wrong_type(found, node, "`configurations`", "a list", help);
        }
        return Vec::new();
    };
    let mut read: Vec<NamedArguments> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for item in items {
        let Some((entry, place)) = read_configuration(item, registry, found) else {
            continue;
        };
        if let Some(first) = places.get(&entry.name) {
            let message = format!("a second entry for `{}` is ignored", shorten(&entry.name));
            found
                .warn("W0401-repeated-configuration", place, message)
                .see("the first one is at", *first)
                .help("put all its arguments into one entry");
            continue;
        }
        places.insert(entry.name.clone(), place.location.offset);
        read.push(entry);
    }
    read
}

/// One entry and the node that names it.
fn read_configuration<'n, 'a>(
    item: &'n YamlNode<'a>,
    registry: &Registry,
    found: &mut Findings,
) -> Option<(NamedArguments, &'n YamlNode<'a>)> {
    let Data::Map(_) = &item.data else {
        let help = "write `- name: allocate` and its `arguments`";
        wrong_type(found, item, "an entry of `configurations`", "a map", help);
        return None;
    };
    let mut name = Some("");
    let mut name_node = item;
    let mut arguments = None;
    for field in fields(item, found) {
        match field.name {
            "name" => {
                name_node = field.value;
                name = expect_text(found, field.value, "`name`");
            }
            "arguments" => arguments = Some(field.value),
            unknown => {
                report_unknown(
                    found,
                    field.key,
                    "",
                    nearest(unknown, ["name", "arguments"]),
                );
            }
        }
    }
    let action = name.and_then(|name| registry.action(name));
    let arguments = arguments.map(|node| match action {
        Some(action) => arguments::read_arguments(node, action.name, action.args, None, found),
        None => arguments::read_free_arguments(node, found),
    });
    // A name of the wrong type has been reported.
    let name = name?;
    if name.is_empty() {
        found
            .error("E0403-missing-name", name_node, "the entry has no `name`")
            .help("add `name:` with the action the arguments are for");
        return None;
    }
    if action.is_none()
        && let Some(near) = nearest(name, registry.actions.iter().map(|action| action.name))
    {
        let message = format!("no action is called `{}`", shorten(name));
        let help = format!("did you mean `{near}`?");
        found
            .warn("W0402-unlike-action", name_node, message)
            .help(help);
    }
    let arguments = arguments.unwrap_or_default();
    Some((
        NamedArguments {
            name: name.to_owned(),
            arguments,
        },
        name_node,
    ))
}
