//! What the definitions of our own kinds bound, the rules bound too: a simulation has no API server
//! that would look at the definitions.

use std::path::Path;

use pumice_api::Job;
use pumice_controllers::job;
use pumice_wire::rules::{self, RuleScope};
use serde_json::{Value, json};

/// Kinds with their file.
const KINDS: [(&str, &str, &str); 4] = [
    ("batch.volcano.sh", "Job", "batch.volcano.sh_jobs"),
    (
        "scheduling.volcano.sh",
        "Queue",
        "scheduling.volcano.sh_queues",
    ),
    (
        "scheduling.volcano.sh",
        "PodGroup",
        "scheduling.volcano.sh_podgroups",
    ),
    (
        "topology.volcano.sh",
        "HyperNode",
        "topology.volcano.sh_hypernodes",
    ),
];

/// Bounds that are held elsewhere: a weight of 0 is absent to those who fill in defaults.
const ELSEWHERE: [&str; 1] = ["spec.weight"];

/// A field that is out of its bounds: its path, and the object with it.
type OutOfBounds = (String, Value);

fn schema(file: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/crd");
    let text = std::fs::read_to_string(folder.join(format!("{file}.yaml"))).expect("a definition");
    let definition: Value = serde_yaml::from_str(&text).expect("YAML");
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// A value that the schema of a scalar does not take.
fn out_of_bounds(schema: &Value) -> Vec<Value> {
    let mut values = Vec::new();
    values.extend(schema["minimum"].as_i64().map(|least| json!(least - 1)));
    values.extend(schema["maximum"].as_i64().map(|most| json!(most + 1)));
    values.extend(schema["enum"].as_array().map(|_| json!("Nonsense")));
    values.extend(schema["pattern"].as_str().map(|_| json!(":Not_A_Name!")));
    values.extend(schema["maxLength"].as_u64().map(|most| {
        let length = usize::try_from(most).expect("a length");
        json!("x".repeat(length + 1))
    }));
    values
}

/// All of them below a schema; `wrap` puts a value where the schema stands.
fn below(schema: &Value, path: &str, wrap: &dyn Fn(Value) -> Value, found: &mut Vec<OutOfBounds>) {
    found.extend(
        out_of_bounds(schema)
            .into_iter()
            .map(|value| (path.to_owned(), wrap(value))),
    );
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        // What is in these is not ours.
        if matches!(
            name.as_str(),
            "template" | "volumeClaim" | "status" | "metadata"
        ) {
            continue;
        }
        let path = format!("{path}.{name}");
        let path = path.trim_start_matches('.');
        below(inner, path, &|value| wrap(json!({ name: value })), found);
    }
    if schema["items"].is_object() {
        let path = format!("{path}[0]");
        below(
            &schema["items"],
            &path,
            &|value| wrap(json!([value])),
            found,
        );
    }
}

#[test]
fn what_a_definition_bounds_the_rules_bound_too() {
    let mut count = 0;
    for (group, kind, file) in KINDS {
        let mut cases = Vec::new();
        below(&schema(file), "", &|value| value, &mut cases);
        for (path, object) in cases {
            let broken = rules::broken(group, kind, &object, RuleScope::Whole);
            let mut told: Vec<String> = broken.into_iter().map(|rule| rule.path).collect();
            if kind == "Job"
                && let Ok(mut job) = serde_json::from_value::<Job>(object.clone())
            {
                job::defaults(&mut job);
                told.extend(job::validate(&job).into_iter().map(|problem| problem.path));
            }
            let owner = path.rsplit_once('.').map_or("", |(owner, _)| owner);
            let is_told = told
                .iter()
                .any(|at| at.starts_with(owner) && at != "spec.tasks");
            let is_elsewhere = ELSEWHERE.contains(&path.as_str());
            assert!(is_told || is_elsewhere, "{kind} {path}: {object}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}
