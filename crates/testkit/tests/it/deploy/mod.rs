//! What is shipped to clusters: definitions, manifests, chart, image, dashboard and alerts.

mod chart;
mod crds;
mod image;
mod install;
mod monitoring;
mod rbac;
mod rendered;
mod trust;
mod values;

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// A file of the repository.
fn path(relative: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(relative)
}

fn read(relative: &str) -> String {
    std::fs::read_to_string(path(relative)).expect(relative)
}

/// Names of the entries of a folder, sorted.
fn files(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path(folder)).expect(folder);
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("a UTF-8 name"))
        .collect();
    names.sort();
    names
}

/// The documents of a YAML file that hold something.
fn documents(relative: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(&read(relative))
        .map(|document| Value::deserialize(document).expect(relative))
        .filter(|document| !document.is_null())
        .collect()
}

/// The object of that kind and name in `deploy/install.yaml`.
fn installed(kind: &str, name: &str) -> Value {
    let wanted = |object: &Value| object["kind"] == kind && object["metadata"]["name"] == name;
    let mut objects = documents("deploy/install.yaml").into_iter();
    objects.find(wanted).expect(name)
}

/// Text of the strings of a list.
fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().expect("a string").to_owned())
        .collect()
}
