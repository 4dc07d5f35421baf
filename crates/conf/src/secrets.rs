//! What of a configuration is nobody's to read: a password, which is left out of what is shown and of
//! dumps.

use std::collections::BTreeMap;

use pumice_yaml::node::YamlNode;
use pumice_yaml::tree::{self, Budget};

use crate::config::Config;
use crate::file::parse;
use crate::registry::Registry;

/// The secret keys of `metrics`.
const SECRET_KEYS: [&str; 1] = ["elasticsearch.password"];

/// What stands in the place of a secret.
pub const HIDDEN: &str = "(hidden)";

/// Hides the secrets among the values of `metrics`; whether there were any.
fn hide(metrics: &mut BTreeMap<String, String>) -> bool {
    let mut found = false;
    for key in SECRET_KEYS {
        if let Some(secret) = metrics.get_mut(key) {
            HIDDEN.clone_into(secret);
            found = true;
        }
    }
    found
}

impl Config {
    /// Without its secrets, to be shown.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut shown = self.clone();
        hide(&mut shown.metrics);
        shown
    }
}

/// The text of a valid configuration without its secrets, which means the same otherwise. `None` where
/// that cannot be written, as of a configuration that is a text within another object.
#[must_use]
pub fn text_without_secrets(text: &str, config: &Config, registry: &Registry) -> Option<String> {
    let mut wanted = config.clone();
    if !hide(&mut wanted.metrics) {
        return Some(text.to_owned());
    }
    let mut places = Vec::new();
    for document in tree::documents(text, Budget::CONF) {
        find(&document.ok()?, &mut places);
    }
    // From behind, so that the places before stay where they are. An anchor has several names.
    places.sort_unstable();
    places.dedup();
    let mut shown = text.to_owned();
    for (start, end) in places.into_iter().rev() {
        shown.get(start..end)?;
        shown.replace_range(start..end, &format!("\"{HIDDEN}\""));
    }
    // Another way to write it, which was not thought of here, is not let out.
    let is_hidden = parse(&shown, registry).config.as_ref() == Some(&wanted);
    is_hidden.then_some(shown)
}

/// Where secret values are written.
fn find(node: &YamlNode<'_>, places: &mut Vec<(usize, usize)>) {
    for entry in node.entries().into_iter().flatten() {
        let is_secret = entry
            .key
            .text()
            .is_some_and(|key| SECRET_KEYS.contains(&key));
        if is_secret && entry.value.text().is_some() {
            places.push((entry.value.location.offset, entry.value.end));
        }
        find(&entry.value, places);
    }
    for item in node.items().into_iter().flatten() {
        find(item, places);
    }
}
