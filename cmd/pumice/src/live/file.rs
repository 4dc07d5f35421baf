//! A file of objects that a user names, or standard input.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::user::wrong;

/// Text of the file that a command names; `-` is standard input.
pub(super) fn text_of(path: &Path) -> anyhow::Result<String> {
    let read = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    read.map_err(|error| wrong(format!("{}: {error}", path.display())))
}

/// The documents of a text that are not empty.
pub(super) fn documents(text: &str, source: &str) -> anyhow::Result<Vec<Value>> {
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = Value::deserialize(document);
        let value = value.map_err(|error| wrong(format!("{source}: {error}")))?;
        documents.extend(Some(value).filter(|value| !value.is_null()));
    }
    Ok(documents)
}

/// Whether an object is of a kind; else an error that says of which it is, and what helps.
pub(super) fn ensure_kind(
    object: &Value,
    (kind, api_version): (&str, &str),
    source: &str,
    help: &str,
) -> anyhow::Result<()> {
    if object["kind"] == kind && object["apiVersion"] == api_version {
        return Ok(());
    }
    let what = |field: &str| object[field].as_str().unwrap_or("none").to_owned();
    let (is, of) = (what("kind"), what("apiVersion"));
    Err(wrong(format!(
        "{source} has kind {is} of apiVersion {of}, not a {kind} of {api_version}\n  = help: {help}"
    )))
}
