//! Switches of which one at most may be on.

use crate::arguments::Arguments;
use crate::diagnostic::{Findings, TextRange};
use crate::registry::ExclusiveSwitches;
use pumice_yaml::node::{MapEntry, YamlNode};

/// Checks the switches of a plugin: `node` as they are written, `read` as they are understood.
pub(super) fn check(
    exclusive: &[ExclusiveSwitches],
    node: &YamlNode<'_>,
    read: &Arguments,
    found: &mut Findings,
) {
    let is_on = |name| read.bool(name) == Some(true);
    let broken = exclusive
        .iter()
        .filter(|pair| is_on(pair.one) && is_on(pair.other));
    broken.for_each(|pair| report_both(node, pair, found));
}

/// The entry of a key that counts: the last one.
pub(super) fn entry<'n, 'a>(node: &'n YamlNode<'a>, name: &str) -> Option<&'n MapEntry<'a>> {
    let mut entries = node.entries()?.iter();
    entries.rfind(|entry| entry.key.text() == Some(name))
}

fn report_both(node: &YamlNode<'_>, pair: &ExclusiveSwitches, found: &mut Findings) {
    let place = |name| TextRange::from(entry(node, name).map_or(node, |entry| &entry.key));
    let (one, other) = (place(pair.one), place(pair.other));
    let (earlier, later) = if one.start <= other.start {
        (one, other)
    } else {
        (other, one)
    };
    let message = format!("`{}` and `{}` exclude each other", pair.one, pair.other);
    found
        .error("E0306-exclusive-switches", later, message)
        .see("the other one is on at", earlier.start)
        .help(pair.help);
}
