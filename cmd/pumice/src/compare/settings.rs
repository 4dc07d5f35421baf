//! Where two configurations differ, setting by setting.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::{Arguments, Config, ENABLE_KEYS};
use serde::Serialize;
use serde_json::Value;

/// A setting that is not the same in both; empty where it is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingRow {
    /// Which: `actions`, `plugin binpack`, `plugin binpack: binpack.weight`.
    pub setting: String,
    /// Value in the first.
    pub a: String,
    /// Value in the second.
    pub b: String,
}

/// All that differ, by name.
pub fn differences(first: &Config, second: &Config) -> Vec<SettingRow> {
    let (first, second) = (settings(first), settings(second));
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let of = |all: &BTreeMap<String, String>, name| all.get(name).cloned().unwrap_or_default();
    let rows = names.into_iter().map(|name| SettingRow {
        setting: name.clone(),
        a: of(&first, name),
        b: of(&second, name),
    });
    rows.filter(|row| row.a != row.b).collect()
}

/// Every setting as a text. Switches of plugins that have their default are left out.
fn settings(config: &Config) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    all.insert("actions".to_owned(), config.actions.join(", "));
    for (tier, plugins) in config.tiers.iter().enumerate() {
        for (at, plugin) in plugins.plugins.iter().enumerate() {
            let name = format!("plugin {}", plugin.name);
            let place = format!("tier {}, place {}", tier + 1, at + 1);
            for key in ENABLE_KEYS {
                let is_on = key.is_on(plugin.enabled);
                if is_on != key.default {
                    all.insert(format!("{name}: {}", key.name), is_on.to_string());
                }
            }
            arguments(&name, &plugin.arguments, &mut all);
            all.insert(name, place);
        }
    }
    for entry in &config.configurations {
        let name = format!("configuration {}", entry.name);
        arguments(&name, &entry.arguments, &mut all);
    }
    for (key, value) in &config.metrics {
        all.insert(format!("metrics: {key}"), value.clone());
    }
    all
}

/// Arguments as JSON has them, texts without quotes.
fn arguments(of: &str, given: &Arguments, all: &mut BTreeMap<String, String>) {
    let Ok(Value::Object(given)) = serde_json::to_value(given) else {
        return;
    };
    for (key, value) in given {
        let value = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        all.insert(format!("{of}: {key}"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        pumice_conf::parse(text, &pumice_engine::REGISTRY)
            .config
            .expect("valid")
    }

    #[test]
    fn settings_are_told_in_the_words_of_the_file() {
        let first = config(
            "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: binpack\n    arguments:\n      binpack.weight: 2\n",
        );
        let second = config(
            "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: binpack\n    enableNodeOrder: false\n    arguments:\n      binpack.weight: 3\n",
        );
        let rows = differences(&first, &second);
        let rows: Vec<[&str; 3]> = rows
            .iter()
            .map(|row| [&*row.setting, &*row.a, &*row.b])
            .collect();
        assert_eq!(
            rows,
            [
                ["actions", "enqueue, allocate", "allocate"],
                ["plugin binpack", "tier 1, place 2", "tier 1, place 1"],
                ["plugin binpack: binpack.weight", "2", "3"],
                ["plugin binpack: enableNodeOrder", "", "false"],
                ["plugin gang", "tier 1, place 1", ""],
            ]
        );
        assert!(differences(&first, &first).is_empty());
    }
}
