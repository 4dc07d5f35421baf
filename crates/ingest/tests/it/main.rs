//! Wire objects, written as users write them, to model objects and problems.

mod composite_groups;
mod in_use;
mod native_groups;
mod objects;
mod placement;
mod pods;
mod request;
mod storage;

use pumice_ingest::{ObjectProblem, Options, Readable};
use pumice_model::object::PodObject;
use serde_json::{Value, json};

/// A pod with this `spec`.
fn with_spec(spec: Value) -> Value {
    json!({"metadata": {"name": "p", "labels": {"app": "web", "version": "v1"}}, "spec": spec})
}

fn read(pod: Value) -> Result<PodObject, Vec<ObjectProblem>> {
    let wire = serde_json::from_value(pod).expect("a pod");
    pumice_ingest::pod(&wire, &Options::default()).and_then(Readable::certain)
}

fn read_spec(spec: Value) -> PodObject {
    read(with_spec(spec)).expect("no problems")
}

/// Path and message of every problem.
fn problems<T: std::fmt::Debug>(read: Result<T, Vec<ObjectProblem>>) -> Vec<String> {
    let problems = read.expect_err("problems");
    assert!(problems.iter().all(|problem| !problem.help.is_empty()));
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.path, problem.message))
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn amounts(amounts: &[(&str, i64)]) -> Vec<(String, i64)> {
    amounts
        .iter()
        .map(|(name, amount)| ((*name).to_owned(), *amount))
        .collect()
}
