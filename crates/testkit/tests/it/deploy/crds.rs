//! What definitions have to be, and that those of the chart are the files of `config/crd/`.

use serde_json::Value;

use super::{files, path, read, strings};

/// Limit of the annotation in which `kubectl apply` keeps the whole object.
const APPLY_LIMIT_BYTES: usize = 256 * 1024;

const FOLDER: &str = "config/crd";
const CHART_FOLDER: &str = "deploy/helm/pumice/crds";

/// The definitions by their file, each of which `tools/schema` holds to the types.
fn definitions() -> Vec<(String, Value)> {
    let files = files(FOLDER).into_iter();
    files
        .map(|name| {
            let file = format!("{FOLDER}/{name}");
            let definition = serde_yaml::from_str(&read(&file)).expect(&file);
            (name, definition)
        })
        .collect()
}

/// Helm reads and packages what a link in a chart leads to. The link is relative, so it holds in
/// every copy of the repository.
#[test]
fn the_chart_has_the_definitions_by_a_link() {
    let link = std::fs::read_link(path(CHART_FOLDER)).expect("a symbolic link");
    assert!(link.is_relative(), "{}", link.display());
    let whole = |folder: &str| path(folder).canonicalize().expect(folder);
    assert_eq!(whole(CHART_FOLDER), whole(FOLDER));
    assert_eq!(files(CHART_FOLDER), files(FOLDER));
    if let Some(helm) = std::env::var_os("HELM") {
        let mut shown = std::process::Command::new(helm);
        shown.args(["show", "crds"]).arg(path("deploy/helm/pumice"));
        let shown = shown.output().expect("helm runs").stdout;
        let shown = String::from_utf8(shown).expect("helm writes UTF-8");
        let count = shown.matches("kind: CustomResourceDefinition\n").count();
        assert_eq!(count, definitions().len());
    }
}

#[test]
fn kubectl_apply_can_keep_every_definition_in_its_annotation() {
    for (name, definition) in definitions() {
        let size = definition.to_string().len();
        assert!(size < APPLY_LIMIT_BYTES, "{name} has {size} bytes");
    }
}

/// What the API server demands of schemas, and what Volcano's definitions never use.
fn structural(schema: &Value, at: &str) -> usize {
    let typed = schema.get("type").is_some();
    let open = ["int-or-string", "preserve-unknown-fields"]
        .iter()
        .any(|key| schema.get(format!("x-kubernetes-{key}")).is_some());
    assert!(typed || open, "{at} has no type");
    for key in ["$ref", "nullable", "oneOf", "allOf", "title", "$defs"] {
        assert!(schema.get(key).is_none(), "{at} has {key}");
    }
    assert_eq!(
        schema["type"] == "array",
        schema.get("items").is_some(),
        "{at}: items belong to arrays"
    );
    let properties = schema.get("properties").and_then(Value::as_object);
    let values = schema.get("additionalProperties");
    assert!(properties.is_none() || values.is_none(), "{at} is both");
    for field in strings(&schema["required"]) {
        let known = properties.is_some_and(|properties| properties.contains_key(&field));
        assert!(known, "{at} requires {field}, which it does not have");
    }
    let fields = properties.into_iter().flatten();
    let below = fields
        .map(|(name, field)| (name.as_str(), field))
        .chain(values.map(|values| ("*", values)))
        .chain(schema.get("items").map(|items| ("*", items)));
    1 + below
        .map(|(name, field)| structural(field, &format!("{at}.{name}")))
        .sum::<usize>()
}

#[test]
fn every_schema_is_structural() {
    let mut fields = 0;
    for (name, definition) in definitions() {
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        fields += structural(schema, &name);
    }
    assert!(fields > 1_000, "{fields} fields");
}

/// Paths of the schemas that keep fields they do not name.
fn open_schemas(schema: &Value, at: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("x-kubernetes-preserve-unknown-fields") {
                found.push(at.to_owned());
            }
            for (name, field) in fields {
                open_schemas(field, &format!("{at}.{name}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| open_schemas(item, at, found)),
        _ => {}
    }
}

#[test]
fn fields_no_type_has_are_kept_nowhere_so_misspelt_ones_are_refused() {
    let mut open = Vec::new();
    for (name, definition) in definitions() {
        open_schemas(&definition, &name, &mut open);
    }
    assert_eq!(open, [""; 0]);
}

/// The schema of the field that a path of a column leads to.
fn field<'a>(schema: &'a Value, path: &str) -> &'a Value {
    let parts = path.trim_start_matches('.').split('.');
    parts.fold(schema, |schema, part| {
        let (name, is_item) = match part.split_once('[') {
            Some((name, _)) => (name, true),
            None => (part, false),
        };
        let field = &schema["properties"][name];
        match is_item {
            true => &field["items"],
            false => field,
        }
    })
}

#[test]
fn columns_show_fields_of_their_type_and_kubectl_gets_workloads_with_all() {
    let mut columns = 0;
    for (name, definition) in definitions() {
        let version = &definition["spec"]["versions"][0];
        let schema = &version["schema"]["openAPIV3Schema"];
        let shown = version["additionalPrinterColumns"].as_array();
        for column in shown.into_iter().flatten() {
            let path = column["jsonPath"].as_str().expect("a path");
            let kind = column["type"].as_str().expect("a type");
            columns += 1;
            if path != ".metadata.creationTimestamp" {
                // Numbers may be shown as text, times are text on the wire.
                let shown: &[&str] = match kind {
                    "string" => &["string", "integer"],
                    "date" => &["string"],
                    kind => &[kind],
                };
                let wire = field(schema, path)["type"].as_str();
                let is_shown = wire.is_some_and(|wire| shown.contains(&wire));
                assert!(is_shown, "{name}: {path} is {wire:?}, not {kind}");
            }
        }
        let spec = &definition["spec"];
        let categories = strings(&spec["names"]["categories"]);
        assert!(categories.contains(&"volcano".to_owned()), "{name}");
        let kind = spec["names"]["kind"].as_str().expect("a kind");
        let workloads = ["Job", "CronJob", "JobFlow", "JobTemplate", "PodGroup"];
        let is_workload = workloads.contains(&kind);
        assert_eq!(
            categories.contains(&"all".to_owned()),
            is_workload,
            "{name}"
        );
        // A Job has a number of pods a task: no path without a list leads there.
        assert_eq!(version["subresources"]["scale"], Value::Null, "{name}");
    }
    assert!(columns > 25, "{columns} columns");
}
