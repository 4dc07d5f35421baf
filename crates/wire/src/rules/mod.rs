//! Whether an object follows the rules by which an API server would accept it.
//!
//! ```text
//!  rules.txt ─► table ──┐
//!  fields.txt ──────────┼─► look: the object, type by type ─► BrokenRule: path, what, remedy
//!  JSON of an object ───┘
//! ```
//!
//! What a watch brings has been accepted already and is not looked at again: this is for objects
//! that no API server has seen, manifests of a simulation and the pods that a Job is going to have.
//!
//! A rule is a line of `rules.txt`, never code of its own for one field.

mod amounts;
mod format;
mod look;
mod place;
mod relations;
mod table;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::fields;
use place::FieldPlace;

/// How much is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleScope {
    /// Everything.
    #[default]
    Whole,
    /// Not what a pod needs to run and no decision depends on, such as the image of a container: a
    /// sketch of a cluster may leave it out.
    Sketch,
}

/// A rule that an object breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// Field, for example `spec.containers[0].resources.limits[nvidia.com/gpu]`.
    pub path: String,
    /// What is wrong, with the value.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl BrokenRule {
    fn new(at: FieldPlace<'_>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            path: at.to_string(),
            message: message.into(),
            help: help.into(),
        }
    }
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.message, self.help)
    }
}

/// The rules that an object breaks, by its API group (empty for the core group) and kind. None where
/// the kind is not in the table, or what is looked at is no object.
pub fn broken(group: &str, kind: &str, object: &Value, scope: RuleScope) -> Vec<BrokenRule> {
    let mut broken = Vec::new();
    if let Some(fields) = fields::of_kind(group, kind) {
        look::object(fields, object, FieldPlace::TOP, scope, &mut broken);
    }
    broken
}

/// Text of a scalar.
fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
        _ => None,
    }
}

/// Whether a field says something. A map does, also an empty one: `emptyDir: {}`.
fn is_given(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests;
