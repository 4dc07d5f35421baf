//! `docs/reference/configuration.md`: actions, plugins, switches and arguments.

use std::fmt::Write as _;

use pumice_conf::{
    ArgKind, ArgSpec, CHART_CONF, DEFAULT_CONF, ENABLE_KEYS, METRIC_KEYS, OutOfRange,
    PluginConflict,
};
use pumice_engine::REGISTRY;

use super::{cell, code, head, hold};

#[test]
fn the_page_of_the_configuration_is_what_the_lists_say() {
    let mut page = head(
        "Configuration",
        "Everything that `volcano-scheduler.conf` may say. `pumice check FILE` checks a file, plain \
         or inside its ConfigMap; editors can use [the schema](../../config/schema.json).",
    );
    page += "\n## The file\n\n| key | value |\n|---|---|\n\
        | `actions` | names of actions, separated by commas; they run in this order |\n\
        | `tiers` | a list of `plugins`; earlier tiers, and within a tier earlier plugins, decide first |\n\
        | `configurations` | arguments of actions: a list of `name` and `arguments` |\n\
        | `metrics` | [who measures what nodes use](#keys-of-metrics) |\n";
    let _ = write!(
        page,
        "\nWithout a file:\n\n```yaml\n{DEFAULT_CONF}```\n\n\
         What the chart installs:\n\n```yaml\n{CHART_CONF}```\n"
    );
    actions(&mut page);
    plugins(&mut page);
    switches(&mut page);
    page += "\n## Keys of `metrics`\n\n| key | what it does |\n|---|---|\n";
    for (key, doc) in METRIC_KEYS {
        let _ = writeln!(page, "| {} | {doc} |", code(key));
    }
    hold("docs/reference/configuration.md", &page);
}

fn actions(page: &mut String) {
    *page += "\n## Actions\n";
    for action in REGISTRY.actions {
        let _ = write!(page, "\n### {}\n\n{}\n", action.name, action.summary);
        arguments(page, action.args);
    }
}

fn plugins(page: &mut String) {
    *page += "\n## Plugins\n\nA number out of its range is warned about and counts as the nearest one of the range, if \
              the column does not say otherwise.\n";
    for plugin in REGISTRY.plugins {
        let _ = write!(page, "\n### {}\n\n{}\n", plugin.name, plugin.summary);
        arguments(page, plugin.args);
        for pair in plugin.exclusive {
            let (one, other) = (pair.one, pair.other);
            let _ = writeln!(page, "\n* `{one}` and `{other}` exclude each other.");
        }
        for conflict in plugin.conflicts {
            let _ = writeln!(page, "\n* {}", conflict_text(plugin.name, conflict));
        }
    }
}

fn arguments(page: &mut String, arguments: &[ArgSpec]) {
    if arguments.is_empty() {
        return;
    }
    *page += "\n| argument | kind | default | range | what it does |\n|---|---|---|---|---|\n";
    rows(page, "", arguments);
}

/// One row an argument; those of a map stand below it, with the way to them.
fn rows(page: &mut String, above: &str, arguments: &[ArgSpec]) {
    for argument in arguments {
        let kind = match argument.kind {
            ArgKind::Int => "whole number",
            ArgKind::Float => "number",
            ArgKind::Bool => "boolean",
            ArgKind::Str | ArgKind::Choice { .. } => "text",
            ArgKind::Duration => "duration",
            ArgKind::Formed(form) => form.phrase,
            ArgKind::Map(_) => "map",
            ArgKind::Maps(_) | ArgKind::TextMaps { .. } => "list of maps",
            ArgKind::Texts(_) => "list of texts",
            ArgKind::Any => "any",
        };
        let _ = writeln!(
            page,
            "| `{above}{}` | {kind} | {} | {} | {} |",
            argument.name,
            code(&argument.default.to_string()),
            range(argument),
            cell(argument.doc)
        );
        match argument.kind {
            ArgKind::Map(below) => rows(page, &format!("{above}{}: ", argument.name), below),
            ArgKind::Maps(below) => rows(page, &format!("{above}{}: - ", argument.name), below),
            _ => {}
        }
    }
}

/// What values there are, and what another one means.
fn range(argument: &ArgSpec) -> String {
    match argument.kind {
        ArgKind::Choice { values, otherwise } => {
            let values: Vec<String> = values.iter().map(|value| code(value)).collect();
            return format!("{}; otherwise {otherwise}", values.join(", "));
        }
        ArgKind::Formed(form) => return format!("such as `{}`", form.example),
        ArgKind::TextMaps { most, example } => {
            return format!("at most {most} maps of texts, such as `{example}`");
        }
        _ => {}
    }
    let range = match (argument.min, argument.max) {
        (Some(min), Some(max)) => format!("{min} … {max}"),
        (Some(min), None) => format!("from {min}"),
        (None, Some(max)) => format!("to {max}"),
        (None, None) => return String::new(),
    };
    match argument.out_of_range {
        OutOfRange::Nearest => range,
        OutOfRange::Default => format!("{range}; otherwise {}", argument.default),
    }
}

fn conflict_text(name: &str, conflict: &PluginConflict) -> String {
    let with = conflict.with;
    match conflict.when_on {
        Some(switch) => format!("`{name}` with `{switch}` and `{with}` exclude each other."),
        None => format!("`{name}` and `{with}` exclude each other."),
    }
}

fn switches(page: &mut String) {
    *page += "\n## Switches of a plugin\n\nBeside `name` and `arguments`; both spellings are Volcano's. \
              A switch turns one extension point of that plugin on or off.\n\n\
              | key | default |\n|---|---|\n";
    for key in ENABLE_KEYS {
        let _ = writeln!(page, "| `{}` | {} |", key.name, key.default);
    }
}
