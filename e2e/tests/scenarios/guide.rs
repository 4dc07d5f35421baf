//! Every object that the guide shows, by kubectl as a reader applies it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, Page};
use serde::Deserialize;
use serde_json::Value;

/// Flags under which nothing misspelt is taken, and nothing is waited for.
const APPLY: [&str; 4] = ["apply", "--validate=strict", "-f", "-"];
const DELETE: [&str; 7] = [
    "delete",
    "--force",
    "--grace-period=0",
    "--wait=false",
    "--ignore-not-found",
    "-f",
    "-",
];

/// Namespaces that objects name.
fn namespaces(text: &str) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let object = Value::deserialize(document).context("YAML")?;
        let namespace = object["metadata"]["namespace"].as_str();
        found.extend(namespace.map(str::to_owned));
    }
    Ok(found)
}

#[test]
fn every_object_of_the_guide_is_taken_as_it_stands_there() -> Result<()> {
    let lab = Lab::take()?;
    lab.kubelet().pause();
    lab.cluster().install_policies()?;
    let mut refused = Vec::new();
    let mut taken = 0;
    for path in Page::guide()? {
        for block in Page::read(&path)?.blocks() {
            let is_object = block.text.starts_with("kind:") || block.text.contains("\nkind:");
            if !is_object || !["yaml", "yml"].contains(&block.language.as_str()) {
                continue;
            }
            for namespace in namespaces(&block.text)? {
                lab.cluster().create_namespace(&namespace)?;
            }
            match lab.cluster().kubectl(&APPLY, &block.text) {
                Ok(_) => taken += 1,
                Err(error) => refused.push(format!("{path}: {error:#}\n{}", block.text)),
            }
            // The next example may have the same names.
            lab.cluster().kubectl(&DELETE, &block.text)?;
        }
    }
    ensure!(refused.is_empty(), "{}", refused.join("\n"));
    ensure!(taken > 25, "{taken} examples");
    Ok(())
}
