//! Derived JSON schemas as the API server takes them: structural, without references.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::core_types;

/// Where the generator keeps the schemas of named types.
const REFERENCE: &str = "#/$defs/";

/// Names of the core types begin so; those of ours do not.
const CORE: &str = "io.k8s.";

/// Fields every object has; the API server knows what they are.
const COMMON: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Structural schemas of the fields of a kind, without those every object has.
pub(super) struct StructuralSchemas(pub(super) Map<String, Value>);

impl StructuralSchemas {
    /// A kind with a `spec`.
    pub(super) fn of<Spec: JsonSchema>() -> Self {
        Self(Map::new()).with("spec", structural::<Spec>())
    }

    /// A kind with a `spec` and a `status`.
    pub(super) fn with_status<Status: JsonSchema>(self) -> Self {
        self.with("status", structural::<Status>())
    }

    /// A kind that has its fields at the top.
    pub(super) fn flat<Kind: JsonSchema>() -> Self {
        let mut whole = structural::<Kind>();
        let Value::Object(mut fields) = whole["properties"].take() else {
            return Self(Map::new());
        };
        fields.retain(|name, _| !COMMON.contains(&name.as_str()));
        Self(fields)
    }

    fn with(mut self, field: &str, schema: Value) -> Self {
        self.0.insert(field.to_owned(), schema);
        self
    }
}

/// The schema of `T` with every reference replaced by what it names.
fn structural<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut root = generator.into_root_schema_for::<T>().to_value();
    let definitions = match root.get_mut("$defs").map(Value::take) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    inline(&root, true, &definitions)
}

/// `ours`: the schema is of a type of this crate.
fn inline(schema: &Value, ours: bool, definitions: &Map<String, Value>) -> Value {
    if let Some(schema) = without_null(schema) {
        return inline(&schema, ours, definitions);
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(name) = reference.and_then(|path| path.strip_prefix(REFERENCE)) {
        let mut referred = named(name, definitions);
        // What is said of the field is nearer than what is said of its type.
        if ours && let Some(description) = schema.get("description").and_then(Value::as_str) {
            referred["description"] = plain(description);
        }
        return referred;
    }
    let Value::Object(fields) = schema else {
        // `true`: anything goes.
        return json!({"x-kubernetes-preserve-unknown-fields": true});
    };
    let mut kept = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "properties" => Value::Object(
                entries(value)
                    .map(|(name, field)| (name.clone(), inline(field, ours, definitions)))
                    .collect(),
            ),
            "items" | "additionalProperties" => inline(value, ours, definitions),
            "description" if ours => plain(value.as_str().unwrap_or_default()),
            "type" | "format" | "required" | "x-kubernetes-int-or-string" => value.clone(),
            // Derived defaults are those of the Rust types, `title` their names.
            _ => continue,
        };
        kept.insert(key.clone(), value);
    }
    Value::Object(kept)
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The schema of what is optional, for a schema that also allows null: the API server drops nulls
/// of fields that are not nullable, as it does for Volcano's definitions.
fn without_null(schema: &Value) -> Option<Value> {
    let mut schema = schema.as_object()?.clone();
    if let Some(Value::Array(choices)) = schema.remove("anyOf") {
        let some = choices
            .into_iter()
            .find(|choice| choice["type"] != "null")?;
        schema.extend(some.as_object()?.clone());
        return Some(Value::Object(schema));
    }
    let types = schema.get("type")?.as_array()?;
    let some = types.iter().find(|kind| *kind != "null")?.clone();
    schema.insert("type".to_owned(), some);
    Some(Value::Object(schema))
}

/// The schema of a named type.
fn named(name: &str, definitions: &Map<String, Value>) -> Value {
    let Some(definition) = definitions.get(name) else {
        return json!({});
    };
    let Some(core) = name.strip_prefix(CORE) else {
        return inline(definition, true, definitions);
    };
    core_types::replacement(core).unwrap_or_else(|| {
        let mut schema = inline(definition, false, definitions);
        core_types::complete(core, &mut schema);
        schema
    })
}

/// Text of a doc comment without its markup.
fn plain(text: &str) -> Value {
    let text = text.replace("[`", "").replace("`]", "").replace('`', "");
    text.split_whitespace().collect::<Vec<_>>().join(" ").into()
}
