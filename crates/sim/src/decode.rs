//! From a located YAML tree to typed objects, with the place of whatever does not fit.

mod fields;
mod mismatch;
mod zeroes;

use pumice_wire::{WireObject, WireProblem};
use pumice_yaml::node::{Data, Location, YamlNode};
use pumice_yaml::scalar::{Scalar, resolve};
use serde_json::{Map, Number, Value};

use fields::Unknown;
pub use zeroes::zeroes;

/// A value that is not what its field wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the text.
    pub location: Location,
    /// Path within the object.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// Maps whose values are quantities, which may be written as plain numbers.
const QUANTITY_MAPS: [&str; 15] = [
    "limits",
    "requests",
    "allocatable",
    "capacity",
    "overhead",
    POD_FIXED,
    "capability",
    "deserved",
    "resource",
    "minResources",
    "allocated",
    "allocatedResources",
    "hard",
    "used",
    "usage",
];

/// The overhead of a RuntimeClass: a map within `overhead`, which is itself one for pods.
const POD_FIXED: &str = "podFixed";

/// Fields that are one quantity where they are no map.
const QUANTITIES: [&str; 2] = ["capacity", "maximumVolumeSize"];

/// The one number in a map of that name that is no quantity: `allocatable.count` of a CSINode. No
/// resource can have this name.
const COUNT: &str = "count";

/// Field of a Numatopology that is a map of maps with a `capacity` that is a number.
const NUMA_RESOURCES: &str = "numares";

/// A node as JSON. Scalars are typed as the API machinery types them (YAML 1.1).
pub fn to_json(node: &YamlNode) -> Value {
    value_of(node)
}

fn value_of(node: &YamlNode) -> Value {
    match &node.data {
        Data::List(items) => Value::Array(items.iter().map(|item| value_of(item)).collect()),
        Data::Map(entries) => {
            let mut map = Map::new();
            for entry in entries {
                let Some(key) = entry.key.text() else {
                    continue;
                };
                let is_one =
                    |value: &YamlNode| value.entries().is_some() && value.get(POD_FIXED).is_none();
                let quantities = QUANTITY_MAPS.contains(&key) && is_one(&entry.value);
                let value = if quantities {
                    quantities_of(&entry.value)
                } else if QUANTITIES.contains(&key) {
                    quantity_of(&entry.value)
                } else if key == NUMA_RESOURCES {
                    fields_of(&entry.value, &|resource| fields_of(resource, &value_of))
                } else {
                    value_of(&entry.value)
                };
                map.insert(key.to_owned(), value);
            }
            Value::Object(map)
        }
        Data::Scalar { text, .. } => scalar_of(node, text),
    }
}

/// A map of quantities: numbers become the text they were written as.
fn quantities_of(node: &YamlNode) -> Value {
    let mut map = Map::new();
    for entry in node.entries().unwrap_or_default() {
        let Some(key) = entry.key.text() else {
            continue;
        };
        let value = match key {
            COUNT => value_of(&entry.value),
            _ => quantity_of(&entry.value),
        };
        map.insert(key.to_owned(), value);
    }
    Value::Object(map)
}

/// A map whose values are read one way, whatever their names; what is no map as usual.
fn fields_of(node: &YamlNode, read: &dyn Fn(&YamlNode) -> Value) -> Value {
    let Some(entries) = node.entries() else {
        return value_of(node);
    };
    let fields = entries.iter();
    let fields =
        fields.filter_map(|field| Some((field.key.text()?.to_owned(), read(&field.value))));
    Value::Object(fields.collect())
}

fn quantity_of(node: &YamlNode) -> Value {
    match (&node.data, value_of(node)) {
        (Data::Scalar { text, .. }, Value::Number(_)) => Value::String(text.to_string()),
        (_, value) => value,
    }
}

fn scalar_of(node: &YamlNode, text: &str) -> Value {
    match resolve(node) {
        Some(Ok(Scalar::Null)) => Value::Null,
        Some(Ok(Scalar::Bool(value))) => Value::Bool(value),
        Some(Ok(Scalar::Int(value))) => Value::Number(value.into()),
        Some(Ok(Scalar::Uint(value))) => Value::Number(value.into()),
        Some(Ok(Scalar::Float(value))) => {
            Number::from_f64(value).map_or_else(|| Value::String(text.to_owned()), Value::Number)
        }
        _ => Value::String(text.to_owned()),
    }
}

/// Reads a typed object from what [`to_json`] makes of a node.
///
/// # Errors
/// The first field that does not fit, with its place.
pub fn typed<K: WireObject>(node: &YamlNode, json: &Value) -> Result<K, Mismatch> {
    let read = K::read(json.to_string().as_bytes());
    read.map_err(|problem| mismatch_of(node, problem))
}

/// Reads an object that must count, and what of it does not fit and is left out; nothing of one that need not.
pub fn in_part<K: WireObject>(node: &YamlNode, json: &Value) -> Option<(K, Vec<Mismatch>)> {
    let (object, lost) = K::read_in_part(json.to_string().as_bytes())?;
    let lost = lost.into_iter().map(|problem| mismatch_of(node, problem));
    Some((object, lost.collect()))
}

fn mismatch_of(node: &YamlNode, problem: WireProblem) -> Mismatch {
    let (message, help) = mismatch::explain(&problem.message);
    Mismatch {
        location: locate_dotted(node, &problem.path),
        path: problem.path,
        message,
        help,
    }
}

/// Fields of an object that its type does not have; none where the type is not in the table.
pub fn unknown_fields(group: &str, kind: &str, node: &YamlNode) -> Vec<Mismatch> {
    let found = fields::unknown(group, kind, node);
    found.iter().map(unknown_field).collect()
}

/// What to say of a field that the type does not have, at the place of its name.
fn unknown_field(field: &Unknown<'_>) -> Mismatch {
    let path = &field.path;
    let (message, help) = match (field.nearest(), field.choice()) {
        (Some(name), _) => (
            format!("unknown field {path}: did you mean {name}?"),
            "correct the name: as it stands the field has no effect".to_owned(),
        ),
        (None, choice) => (
            format!("unknown field {path}: it has no effect"),
            choice.map_or_else(
                || "remove it, or move it where it belongs".to_owned(),
                |names| format!("remove it, or move it where it belongs; here are: {names}"),
            ),
        ),
    };
    Mismatch {
        location: field.location,
        path: path.clone(),
        message,
        help,
    }
}

/// The place of a dotted path such as `spec.containers[0].image`, as far as it exists.
pub fn locate_dotted(root: &YamlNode, path: &str) -> Location {
    let mut node = root;
    let mut rest = path;
    while !rest.is_empty() {
        rest = rest.trim_start_matches('.');
        if let Some(after) = rest.strip_prefix('[') {
            let (index, tail) = after.split_once(']').unwrap_or((after, ""));
            let quoted = index.trim_matches(|c| c == '"' || c == '\'');
            let item = index
                .parse::<usize>()
                .ok()
                .and_then(|at| node.items().and_then(|items| items.get(at)));
            match item.or_else(|| node.get(quoted)) {
                Some(next) => node = next,
                None => return node.location,
            }
            rest = tail;
            continue;
        }
        let Some((next, tail)) = step_by_key(node, rest) else {
            return node.location;
        };
        node = next;
        rest = tail;
    }
    node.location
}

/// The longest key of a map that the rest of a path starts with: keys may contain dots.
fn step_by_key<'n, 'p>(
    node: &'n YamlNode<'n>,
    rest: &'p str,
) -> Option<(&'n YamlNode<'n>, &'p str)> {
    let entries = node.entries()?;
    let found = entries
        .iter()
        .filter_map(|entry| {
            let key = entry.key.text()?;
            let tail = rest.strip_prefix(key)?;
            let ends = tail.is_empty() || tail.starts_with(['.', '[']);
            ends.then_some((key.len(), &entry.value, tail))
        })
        .max_by_key(|(length, ..)| *length);
    found.map(|(_, value, tail)| (value, tail))
}

#[cfg(test)]
mod tests;
