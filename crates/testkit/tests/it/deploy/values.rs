//! `docs/reference/chart.md`: every value of the chart, with the sentence that stands above it.

use std::fmt::Write as _;

use serde_json::Value;

use super::{documents, path, read};

const VALUES: &str = "deploy/helm/pumice/values.yaml";
const PAGE: &str = "docs/reference/chart.md";

/// A key of `values.yaml` with everything above it: path, first column, comment before it.
struct Key {
    path: Vec<String>,
    comment: String,
}

/// Keys in the order of the file. The file holds maps of two spaces a level and no list of maps.
fn keys(text: &str) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut comment = String::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let level = (line.len() - trimmed.len()) / 2;
        if let Some(words) = trimmed.strip_prefix("# ") {
            comment = format!("{comment} {words}").trim().to_owned();
        } else if let Some((name, _)) = trimmed.split_once(':') {
            path.truncate(level);
            path.push(name.to_owned());
            keys.push(Key {
                path: path.clone(),
                comment: std::mem::take(&mut comment),
            });
        } else {
            comment.clear();
        }
    }
    keys
}

/// The value at a path, as YAML on one line; nothing for what is not set.
fn default(values: &Value, path: &[String]) -> String {
    let value = path.iter().fold(values, |value, name| &value[name]);
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => String::new(),
        Value::String(text) => format!("`{text}`"),
        value => format!("`{value}`"),
    }
}

/// Whether a key of the file is shown whole, as the default of the key above it.
fn is_inside_a_default(values: &Value, key: &Key) -> bool {
    key.path.len() > 2 && values[&key.path[0]][&key.path[1]].is_object()
}

#[test]
fn the_page_of_values_is_the_file_of_values() {
    let text = read(VALUES);
    let values = documents(VALUES).remove(0);
    let mut page = format!(
        "# Values of the chart\n\nThe keys of [`values.yaml`](../../{VALUES}), which are those of Volcano's chart; how \
         they are used: [Deploying](../../deploy/README.md#helm).\n\n*Made from the file by \
         `UPDATE_EXPECT=1 cargo test -p pumice-testkit --test it deploy::values::`.*\n"
    );
    let keys = keys(&text);
    assert!(keys.len() > 40, "only {} keys were found", keys.len());
    for key in keys {
        if let [section] = key.path.as_slice() {
            let _ = write!(
                page,
                "\n## {section}\n\n| key | default | what it is |\n|---|---|---|\n"
            );
        } else if !is_inside_a_default(&values, &key) {
            let name = key.path.join(".");
            assert!(
                !key.comment.is_empty(),
                "{VALUES}: {name} has no sentence above it"
            );
            let default = default(&values, &key.path);
            let _ = writeln!(page, "| `{name}` | {default} | {} |", key.comment);
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path(PAGE), &page).expect(PAGE);
    }
    let kept = std::fs::read_to_string(path(PAGE)).unwrap_or_default();
    assert!(
        kept == page,
        "{PAGE} is not what {VALUES} says; renew it with UPDATE_EXPECT=1"
    );
}
