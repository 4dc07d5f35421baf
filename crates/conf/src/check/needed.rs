//! Arguments that others need, and values that need another plugin.

use crate::arguments::{Arguments, Value};
use crate::diagnostic::{Findings, TextRange};
use crate::registry::{NeededArgument, PluginNeeded, PluginSpec};
use pumice_yaml::node::YamlNode;

use super::exclusive::entry;

/// Checks the arguments of a plugin: `node` as they are written, `read` as they are understood.
pub(super) fn check(
    spec: &PluginSpec,
    node: &YamlNode<'_>,
    read: &Arguments,
    found: &mut Findings,
) {
    let place = |name| TextRange::from(entry(node, name).map_or(node, |entry| &entry.key));
    let is_given = |name: &&&str| is_given(read, name);
    for needed in spec
        .needed
        .iter()
        .filter(|needed| is_missing(needed, node, read))
    {
        if let Some(by) = needed.by.iter().find(is_given) {
            let message = format!("`{by}` needs `{}`, which is missing", needed.name);
            found
                .error("E0313-missing-argument", place(by), message)
                .help(format!(
                    "write it as in `{}: {}`",
                    needed.name, needed.example
                ));
        }
    }
}

/// Values that need another plugin, and where they stand.
pub(super) fn plugins(
    spec: &PluginSpec,
    node: &YamlNode<'_>,
    read: &Arguments,
) -> Vec<(PluginNeeded, TextRange)> {
    let needed = spec.needs_plugins.iter();
    let needed = needed.filter(|needed| match needed.value {
        "" => counts(read.get(needed.argument)),
        value => read.str(needed.argument) == Some(value),
    });
    let place = |name| entry(node, name).map_or(node.into(), |entry| (&entry.value).into());
    needed
        .map(|needed| (*needed, place(needed.argument)))
        .collect()
}

/// A value that is more than nothing.
fn counts(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Int(0)) => false,
        Some(Value::Str(text)) => !text.trim().is_empty(),
        Some(_) => true,
    }
}

/// A text is given that is not empty; for a name with a `*` of some name that it stands for.
fn is_given(read: &Arguments, name: &str) -> bool {
    let is_of = |key: &str| match name.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == name,
    };
    let mut given = read.iter().filter(|(key, _)| is_of(key));
    given.any(|(_, value)| matches!(value, Value::Str(text) if !text.trim().is_empty()))
}

/// Nothing is given; of what cannot be used that was told already.
fn is_missing(needed: &NeededArgument, node: &YamlNode<'_>, read: &Arguments) -> bool {
    let is_faulty = read.get(needed.name).is_none()
        && entry(node, needed.name).is_some_and(|entry| !entry.value.is_null());
    !is_faulty && !is_given(read, needed.name)
}
