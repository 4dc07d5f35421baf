//! Rules on several arguments, or on one beyond its kind: what excludes each other, what has an effect.

use crate::arguments::Arguments;
use crate::diagnostic::{Findings, TextRange};
use crate::registry::ArgRule;
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
