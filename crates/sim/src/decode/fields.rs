//! Fields that a manifest has and its type has not.

use pumice_wire::fields::{self, FieldShape, TypeFields};
use pumice_yaml::node::{Location, YamlNode};

/// Most fields listed for an unknown one that resembles none.
const MAX_LISTED: usize = 12;

/// A field that its type does not have.
#[derive(Clone, Debug)]
pub(super) struct Unknown<'n> {
    /// Path of the field, such as `spec.tasks[0].replica`.
    pub path: String,
    /// Where its name stands.
    pub location: Location,
    name: &'n str,
    /// What the type has.
    fields: &'static TypeFields,
}

impl Unknown<'_> {
    /// The field that was most likely meant.
    pub fn nearest(&self) -> Option<&'static str> {
        pumice_conf::nearest(self.name, self.fields.names())
    }

    /// What there is, where that is short enough to be read.
    pub fn choice(&self) -> Option<String> {
        let names: Vec<&str> = self.fields.names().collect();
        let is_short = !names.is_empty() && names.len() <= MAX_LISTED;
        is_short.then(|| names.join(", "))
    }
}

/// The unknown fields of an object, in the order of the text.
pub(super) fn unknown<'n>(group: &str, kind: &str, node: &'n YamlNode<'n>) -> Vec<Unknown<'n>> {
    let mut found = Vec::new();
    if let Some(fields) = fields::of_kind(group, kind) {
        look(node, &FieldShape::Fields(fields.name()), "", &mut found);
    }
    found
}

fn look<'n>(node: &'n YamlNode<'n>, shape: &FieldShape, path: &str, found: &mut Vec<Unknown<'n>>) {
    match shape {
        FieldShape::Any => {}
        FieldShape::List(inner) => {
            for (at, item) in node.items().unwrap_or_default().iter().enumerate() {
                look(item, inner, &format!("{path}[{at}]"), found);
            }
        }
        FieldShape::Map(inner) => {
            for entry in node.entries().unwrap_or_default() {
                let key = entry.key.text().unwrap_or_default();
                look(&entry.value, inner, &below(path, key), found);
            }
        }
        FieldShape::Fields(name) => {
            let Some(fields) = fields::of_type(name) else {
                return;
            };
            for entry in node.entries().unwrap_or_default() {
                let Some(name) = entry.key.text() else {
                    continue;
                };
                let path = below(path, name);
                match fields.field(name) {
                    Some(shape) => look(&entry.value, shape, &path, found),
                    None => found.push(Unknown {
                        path,
                        location: entry.key.location,
                        name,
                        fields,
                    }),
                }
            }
        }
    }
}

fn below(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}
