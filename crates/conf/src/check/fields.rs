//! Reading maps: unique keys, unknown keys, values of the wrong type.

use std::collections::HashMap;

use crate::diagnostic::Findings;
use pumice_yaml::node::{Data, YamlNode};
use pumice_yaml::scalar::{resolve, shorten};

/// One key of a map and the value that counts.
#[derive(Clone, Copy)]
pub(super) struct Field<'n, 'a> {
    pub(super) name: &'n str,
    pub(super) key: &'n YamlNode<'a>,
    pub(super) value: &'n YamlNode<'a>,
}

/// The keys of a map in file order, each once with its last value; duplicates are reported.
///
/// Any scalar is a key by its text, as for Go's `map[string]`.
pub(super) fn fields<'n, 'a>(map: &'n YamlNode<'a>, found: &mut Findings) -> Vec<Field<'n, 'a>> {
    let mut unique: Vec<Field<'n, 'a>> = Vec::new();
    let mut places: HashMap<&str, (usize, bool)> = HashMap::new();
    for entry in map.entries().unwrap_or_default() {
        let Data::Scalar { text, .. } = &entry.key.data else {
            let message = format!("a key must be a string, not {}", entry.key.describe());
            found.error("E0013-wrong-type", &entry.key, message);
            continue;
        };
        let name: &'n str = text;
        let field = Field {
            name,
            key: &entry.key,
            value: &entry.value,
        };
        let Some((place, merged)) = places.get_mut(name) else {
            places.insert(name, (unique.len(), entry.merged));
            unique.push(field);
            continue;
        };
        let Some(known) = unique.get_mut(*place) else {
            continue;
        };
        // A map's own key replacing a merged one is what merging is for.
        if !*merged && !entry.merged {
            let message = format!(
                "the key `{}` is given twice; the last value counts",
                shorten(name)
            );
            found
                .warn("W0011-duplicate-key", &entry.key, message)
                .see("it was given before at", known.key.location.offset)
                .help("remove one of them");
        }
        *merged = entry.merged;
        *known = field;
    }
    unique
}

/// Warns about a key nothing reads; `of` tells whose key it would be.
pub(super) fn report_unknown(
    found: &mut Findings,
    key: &YamlNode<'_>,
    of: &str,
    near: Option<&str>,
) {
    let name = shorten(key.text().unwrap_or_default());
    let message = format!("unknown key `{name}`{of}; it has no effect");
    let finding = found.warn("W0012-unknown-key", key, message);
    if let Some(near) = near {
        finding.help(format!("did you mean `{near}`?"));
    }
}

/// Reports a value of the wrong container type.
pub(super) fn wrong_type(
    found: &mut Findings,
    node: &YamlNode<'_>,
    what: &str,
    expected: &str,
    help: &str,
) {
    let message = format!("{what} must be {expected}, not {}", node.describe());
    found.error("E0013-wrong-type", node, message).help(help);
}

/// The text of any scalar, as Go decodes into a string: a number as written, nothing as "".
pub(super) fn expect_text<'n>(
    found: &mut Findings,
    node: &'n YamlNode<'_>,
    what: &str,
) -> Option<&'n str> {
    match resolve(node) {
        Some(Ok(pumice_yaml::scalar::Scalar::Null)) => Some(""),
        Some(Ok(_)) => node.text(),
        Some(Err(mismatch)) => {
            found.error("E0014-tag-mismatch", node, mismatch.to_string());
            None
        }
        None => {
            let message = format!("{what} must be a string, not {}", node.describe());
            found.error("E0013-wrong-type", node, message);
            None
        }
    }
}
