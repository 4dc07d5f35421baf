//! Arguments that count only for names that another one lists.

use crate::arguments::Arguments;
use crate::diagnostic::Findings;
use crate::registry::ListedArguments;
use pumice_yaml::node::YamlNode;
use pumice_yaml::scalar::shorten;

/// Checks the arguments of a plugin: `node` as they are written, `read` as they are understood.
pub(super) fn check(
    rules: &[ListedArguments],
    node: &YamlNode<'_>,
    read: &Arguments,
    found: &mut Findings,
) {
    for rule in rules {
        let text = read.str(rule.list).unwrap_or_default();
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        let prefix = rule.each.trim_end_matches('*');
        for entry in node.entries().into_iter().flatten() {
            let key = entry.key.text().unwrap_or_default();
            let name = key.strip_prefix(prefix).unwrap_or_default();
            if name.is_empty() || read.get(key).is_none() {
                continue;
            }
            let (key, shown) = (shorten(key), shorten(name));
            let mut apart = rule.apart.iter();
            let (message, help) = match apart.find(|(known, _)| *known == name) {
                Some((_, own)) => (
                    format!("`{key}` has no effect: {name} has an argument of its own"),
                    format!("write `{own}`"),
                ),
                None if names.contains(&name) => continue,
                None => {
                    let list = rule.list;
                    let mut all = names.clone();
                    all.retain(|name| !name.is_empty());
                    all.push(name);
                    (
                        format!("`{key}` has no effect: `{list}` does not list `{shown}`"),
                        format!("write it there: `{list}: {}`", all.join(", ")),
                    )
                }
            };
            found
                .warn("W0314-not-listed", &entry.key, message)
                .help(help);
        }
    }
}
