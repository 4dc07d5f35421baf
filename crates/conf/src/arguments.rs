//! Arguments of a plugin or action: an ordered map of typed values.

use serde::{Serialize, Serializer, ser::SerializeMap};

use pumice_yaml::scalar::{Scalar, parse_bool_text, resolve_plain};

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number, whole ones above 64 signed bits included.
    Float(f64),
    /// A text.
    Str(String),
    /// A list of values, of any kind each.
    List(Vec<Value>),
    /// A map in file order; keys are unique.
    Map(#[serde(serialize_with = "serialize_pairs")] Vec<(String, Value)>),
}

impl Value {
    /// The value under a key of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Map(pairs) => pairs
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// A whole number, also one within a text.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Str(text) => match resolve_plain(text) {
                Scalar::Int(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// A number, also one within a text; a whole one is converted.
    #[must_use]
    pub fn float(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Str(text) => match resolve_plain(text) {
                Scalar::Int(number) => Some(number as f64),
                Scalar::Uint(number) => Some(number as f64),
                Scalar::Float(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// A truth value, also one within a text.
    #[must_use]
    pub fn bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Str(text) => parse_bool_text(text),
            _ => None,
        }
    }

    /// A text.
    #[must_use]
    pub fn str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }
}

/// Arguments by name, in file order; names are unique.
///
/// An argument with a spec has the kind its spec names: quoted numbers and booleans have become
/// numbers and booleans. Arguments without a spec are as written, so the getters also read a
/// number or boolean out of a text. Plugins read theirs with an [`Arg`](crate::arg::Arg), which has the default
/// and the range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    pairs: Vec<(String, Value)>,
}

impl Arguments {
    /// The raw value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.pairs
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// A whole number.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.int()
    }

    /// A number; a whole one is converted.
    #[must_use]
    pub fn float(&self, name: &str) -> Option<f64> {
        self.get(name)?.float()
    }

    /// A truth value.
    #[must_use]
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.get(name)?.bool()
    }

    /// A text.
    #[must_use]
    pub fn str(&self, name: &str) -> Option<&str> {
        self.get(name)?.str()
    }

    /// The values of a map, as arguments of their own; none when there is no such map.
    #[must_use]
    pub fn map(&self, name: &str) -> Self {
        match self.get(name) {
            Some(Value::Map(pairs)) => Self {
                pairs: pairs.clone(),
            },
            _ => Self::default(),
        }
    }

    /// All arguments in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// True when there is no argument.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Number of arguments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }
}

/// A later pair with the same name replaces the value of the earlier one.
impl FromIterator<(String, Value)> for Arguments {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(pairs: I) -> Self {
        Self {
            pairs: last_wins(pairs),
        }
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_pairs(&self.pairs, serializer)
    }
}

/// Pairs without duplicates: each name at its first place with its last value.
pub(crate) fn last_wins(pairs: impl IntoIterator<Item = (String, Value)>) -> Vec<(String, Value)> {
    let mut places = std::collections::HashMap::new();
    let mut unique: Vec<(String, Value)> = Vec::new();
    for (name, value) in pairs {
        let place = *places.entry(name.clone()).or_insert(unique.len());
        match unique.get_mut(place) {
            Some(pair) => pair.1 = value,
            None => unique.push((name, value)),
        }
    }
    unique
}

fn serialize_pairs<S: Serializer>(pairs: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(pairs.len()))?;
    for (name, value) in pairs {
        map.serialize_entry(name, value)?;
    }
    map.end()
}
