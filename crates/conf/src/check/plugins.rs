//! `tiers`: lists of plugins with switches and arguments.

use std::collections::HashMap;

use crate::config::{ENABLE_KEYS, PluginConf, Tier};
use crate::diagnostic::{Findings, TextRange};
use crate::nearest::nearest;
use crate::registry::{PluginNeeded, PluginSpec, Registry, find_arg};
use pumice_yaml::node::{Data, YamlNode};
use pumice_yaml::scalar::{Scalar, parse_bool_text, resolve, shorten};

use super::arguments::read_arguments;
use super::fields::{Field, expect_text, fields, report_unknown, wrong_type};

/// What the rules across plugins need to know.
#[derive(Default)]
struct Listed {
    /// Place of each name's first entry.
    names: HashMap<String, TextRange>,
    /// Place of each switch that is on: plugin and key.
    switched_on: HashMap<(String, &'static str), TextRange>,
    /// Values that need another plugin, and where they stand.
    needing: Vec<(PluginNeeded, TextRange)>,
}

/// The tiers in file order.
pub(super) fn read_tiers(
    key: &YamlNode<'_>,
    value: &YamlNode<'_>,
    registry: &Registry,
    measured: bool,
    found: &mut Findings,
) -> Vec<Tier> {
    let tiers = match &value.data {
        Data::List(tiers) if !tiers.is_empty() => tiers,
        Data::List(_) => {
            report_no_plugins(value.into(), found);
            return Vec::new();
        }
        _ if value.is_null() => {
            report_no_plugins(key.into(), found);
            return Vec::new();
        }
        _ => {
            let help = "write `- plugins:` below `tiers:` and a list of plugins below that";
            wrong_type(found, value, "`tiers`", "a list", help);
            return Vec::new();
        }
    };
    let mut listed = Listed::default();
    let mut read = Vec::new();
    for tier in tiers {
        let plugins = read_tier(tier, registry, &mut listed, found);
        read.push(Tier { plugins });
    }
    for plugin in registry.plugins {
        check_conflicts(plugin, &listed, found);
        check_missed(key, plugin, &listed, found);
        if let Some(place) = listed.names.get(plugin.name)
            && plugin.reads_usage
            && !measured
        {
            report_unmeasured(*place, plugin.name, found);
        }
    }
    for (needed, place) in &listed.needing {
        if !listed.names.contains_key(needed.plugin) {
            found
                .warn(needed.code, *place, needed.message)
                .help(needed.help);
        }
    }
    read
}

/// Warns of a plugin that does nothing.
fn report_unmeasured(place: TextRange, name: &str, found: &mut Findings) {
    let message = format!("`{name}` does nothing: nobody measures what nodes use");
    found
        .warn("W0112-no-usage", place, message)
        .help("name a source in `metrics`, such as `type: prometheus` with its `address`");
}

/// Warns that no plugin takes part in any decision.
pub(super) fn report_no_plugins(place: TextRange, found: &mut Findings) {
    found
        .warn(
            "W0105-no-plugins",
            place,
            "`tiers` names no plugins: pods are placed by free room alone",
        )
        .help("add at least `predicates` and `gang`");
}

fn read_tier(
    tier: &YamlNode<'_>,
    registry: &Registry,
    listed: &mut Listed,
    found: &mut Findings,
) -> Vec<PluginConf> {
    let Data::Map(_) = &tier.data else {
        if tier.is_null() {
            report_empty_tier(tier.into(), found);
        } else {
            let help = "write `- plugins:` and a list of plugins below it";
            wrong_type(found, tier, "a tier", "a map with `plugins`", help);
        }
        return Vec::new();
    };
    let mut plugins = None;
    for field in fields(tier, found) {
        match field.name {
            "plugins" => plugins = Some(field),
            "name" => {
                let message = "a plugin stands in `tiers` directly; it would not be used";
                found
                    .error("E0106-plugin-outside-tier", field.key, message)
                    .help("indent it below `- plugins:`");
            }
            // A plugin's own keys need no second finding.
            "arguments" if tier.get("name").is_some() => {}
            unknown => report_unknown(
                found,
                field.key,
                " of a tier",
                nearest(unknown, ["plugins"]),
            ),
        }
    }
    let Some(plugins) = plugins else {
        if tier.get("name").is_none() {
            report_empty_tier(tier.into(), found);
        }
        return Vec::new();
    };
    match &plugins.value.data {
        Data::List(items) if !items.is_empty() => {
            let read = |item| read_plugin(item, registry, listed, found);
            items.iter().filter_map(read).collect()
        }
        Data::List(_) => {
            report_empty_tier(plugins.key.into(), found);
            Vec::new()
        }
        _ if plugins.value.is_null() => {
            report_empty_tier(plugins.key.into(), found);
            Vec::new()
        }
        _ => {
            let help = "write `- name: gang` below `plugins:`";
            wrong_type(found, plugins.value, "`plugins`", "a list", help);
            Vec::new()
        }
    }
}

fn report_empty_tier(place: TextRange, found: &mut Findings) {
    found
        .warn("W0107-empty-tier", place, "the tier has no plugins")
        .help("remove it, or indent the plugins below `plugins:`");
}

fn read_plugin(
    item: &YamlNode<'_>,
    registry: &Registry,
    listed: &mut Listed,
    found: &mut Findings,
) -> Option<PluginConf> {
    let Data::Map(_) = &item.data else {
        let help = match item.text() {
            Some(text) if !text.is_empty() => format!("write `- name: {}`", shorten(text)),
            _ => "write `- name: gang`".to_owned(),
        };
        wrong_type(found, item, "a plugin", "a map with `name`", &help);
        return None;
    };
    let fields = fields(item, found);
    let name_field = fields.iter().find(|field| field.name == "name");
    let name = read_name(item, name_field, registry, listed, found);
    let spec = name.and_then(|name| registry.plugin(name));
    let mut plugin = PluginConf {
        name: name.unwrap_or_default().to_owned(),
        ..PluginConf::default()
    };
    for field in &fields {
        match field.name {
            "name" => {}
            "arguments" => {
                plugin.arguments = match spec {
                    Some(spec) => {
                        let registry = Some(registry);
                        let read =
                            read_arguments(field.value, spec.name, spec.args, registry, found);
                        super::exclusive::check(spec.exclusive, field.value, &read, found);
                        super::needed::check(spec, field.value, &read, found);
                        super::listed::check(spec.listed, field.value, &read, found);
                        let needing = super::needed::plugins(spec, field.value, &read);
                        listed.needing.extend(needing);
                        read
                    }
                    None => super::arguments::read_free_arguments(field.value, found),
                };
            }
            _ => read_switch(field, &mut plugin, spec, listed, found),
        }
    }
    name.map(|_| plugin)
}

/// The name of an entry, reported when it is missing, unknown, not built or repeated.
fn read_name<'n>(
    item: &YamlNode<'_>,
    field: Option<&Field<'n, '_>>,
    registry: &Registry,
    listed: &mut Listed,
    found: &mut Findings,
) -> Option<&'n str> {
    let Some(field) = field else {
        let finding = found.error("E0104-missing-name", item, "the plugin has no `name`");
        finding.help("add `name:` with the name of the plugin");
        return None;
    };
    let name = expect_text(found, field.value, "`name`")?;
    if name.is_empty() {
        found
            .error("E0104-missing-name", field.key, "the plugin has no `name`")
            .help("add the name of the plugin behind `name:`");
        return None;
    }
    let shown = shorten(name);
    if registry.plugin(name).is_none() {
        let near = nearest(name, registry.plugins.iter().map(|plugin| plugin.name));
        let message = format!("unknown plugin `{shown}`");
        let finding = found.error("E0101-unknown-plugin", field.value, message);
        if registry.action(name).is_some() {
            finding.help(format!("`{shown}` is an action; it belongs into `actions`"));
        } else if let Some(near) = near {
            finding.help(format!("did you mean `{near}`?"));
        }
    }
    if let Some(first) = listed.names.get(name) {
        let message = format!("the plugin `{shown}` is listed twice");
        found
            .error("E0103-repeated-plugin", field.value, message)
            .see("it was listed before at", first.start)
            .help("keep one entry");
        return Some(name);
    }
    listed.names.insert(name.to_owned(), field.value.into());
    Some(name)
}

/// Reads an `enable…` key, or reports an unknown one.
fn read_switch(
    field: &Field<'_, '_>,
    plugin: &mut PluginConf,
    spec: Option<&PluginSpec>,
    listed: &mut Listed,
    found: &mut Findings,
) {
    let Some(key) = ENABLE_KEYS.iter().find(|key| key.name == field.name) else {
        if spec.is_some_and(|spec| find_arg(spec.args, field.name).is_some()) {
            let message = format!(
                "`{}` is an argument of `{}`; here it has no effect",
                shorten(field.name),
                plugin.name
            );
            found
                .warn("W0108-misplaced-argument", field.key, message)
                .help("indent it below `arguments:`");
            return;
        }
        let known = ENABLE_KEYS
            .iter()
            .map(|key| key.name)
            .chain(["name", "arguments"]);
        report_unknown(found, field.key, " of a plugin", nearest(field.name, known));
        return;
    };
    let value = match resolve(field.value) {
        Some(Ok(Scalar::Null)) => return,
        Some(Ok(Scalar::Bool(value))) => Some(value),
        Some(Ok(Scalar::Str(text))) => parse_bool_text(text),
        _ => None,
    };
    match value {
        Some(value) => {
            *(key.field)(&mut plugin.enabled) = value;
            if value {
                let switch = (plugin.name.clone(), key.name);
                listed.switched_on.insert(switch, field.key.into());
            }
        }
        None => {
            let what = format!("`{}`", key.name);
            let help = format!("write `{}: true` or `{}: false`", key.name, key.name);
            wrong_type(found, field.value, &what, "a boolean", &help);
        }
    }
}

/// Warns of a plugin that is left out of a configuration for a whole cluster.
fn check_missed(key: &YamlNode<'_>, plugin: &PluginSpec, listed: &Listed, found: &mut Findings) {
    let Some(missed) = plugin.missed else {
        return;
    };
    let is_whole = listed.names.len() > 1 && listed.names.contains_key(missed.beside);
    if is_whole && !listed.names.contains_key(plugin.name) {
        found
            .warn(missed.code, key, missed.message)
            .help(missed.help);
    }
}

/// Pairs of plugins that do not go together (spec/01 §2.3, spec/02 §0.4).
fn check_conflicts(plugin: &PluginSpec, listed: &Listed, found: &mut Findings) {
    for conflict in plugin.conflicts {
        let switch = |key| listed.switched_on.get(&(plugin.name.to_owned(), key));
        let place = match conflict.when_on {
            Some(key) => switch(key),
            None => listed.names.get(plugin.name),
        };
        let (Some(one), Some(other)) = (place, listed.names.get(conflict.with)) else {
            continue;
        };
        let (subject, later, earlier) = match conflict.when_on {
            Some(key) => (format!("{} with `{key}`", plugin.name), one, other),
            None if one.start > other.start => (plugin.name.to_owned(), one, other),
            None => (plugin.name.to_owned(), other, one),
        };
        let both = format!("{subject} and {}", conflict.with);
        let finding = match conflict.overrules {
            true => found.warn(conflict.code, *later, format!("{both} decide the same")),
            false => found.error(conflict.code, *later, format!("{both} exclude each other")),
        };
        finding
            .see("the other one is listed at", earlier.start)
            .help(conflict.help);
    }
}
