//! `networkTopologyDiscovery` of the controllers' configuration.
//!
//! ```yaml
//! networkTopologyDiscovery:
//!   - source: label
//!     enabled: true
//!     interval: 10m
//!     config:
//!       networkTopologyTypes:
//!         topologyA2:                        # highest level first
//!           - nodeLabel: example.com/spine
//!           - nodeLabel: example.com/leaf
//!           - nodeLabel: kubernetes.io/hostname
//! ```

use std::collections::BTreeSet;

use pumice_api::name as syntax;
use pumice_units::duration::parse_go_duration;
use pumice_yaml::node::YamlNode;
use pumice_yaml::scalar::{Scalar, resolve};
use pumice_yaml::tree::{Budget, documents};

/// The level of nodes themselves: it may end a list, and makes no HyperNode.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Longest name of a type.
const MAX_TYPE_NAME: usize = 20;
/// The key of the configuration.
const DISCOVERY: &str = "networkTopologyDiscovery";

/// How HyperNodes are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyDiscovery {
    /// Types of the source `label`; `None` if it is off.
    pub by_labels: Option<Vec<TopologyType>>,
    /// What is asked for and cannot be done.
    pub warnings: Vec<String>,
}

/// One way in which nodes stand below each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyType {
    /// Name, as it stands in the names of HyperNodes.
    pub name: String,
    /// Labels of nodes, lowest level first.
    pub levels: Vec<String>,
}

/// Reads how HyperNodes are found.
///
/// # Errors
/// What is wrong, each with its place: nothing of the text is to be used then.
pub fn parse_discovery(text: &str) -> Result<TopologyDiscovery, Vec<String>> {
    let document = match documents(text, Budget::CONF).next() {
        None => return Ok(TopologyDiscovery::default()),
        Some(Err(error)) => return Err(vec![error.to_string()]),
        Some(Ok(document)) => document,
    };
    let mut read = DiscoveryReading::default();
    if let Some(sources) = document.get(DISCOVERY).filter(|node| !node.is_null()) {
        match sources.items() {
            Some(items) => items.iter().for_each(|item| read.source(item)),
            None => read.problem(
                sources,
                "write a list of sources, each with `- source: label`",
            ),
        }
    }
    match read.problems.is_empty() {
        true => Ok(read.found),
        false => Err(read.problems),
    }
}

#[derive(Default)]
struct DiscoveryReading {
    found: TopologyDiscovery,
    problems: Vec<String>,
}

impl DiscoveryReading {
    fn problem(&mut self, at: &YamlNode<'_>, message: &str) {
        let line = at.location.line;
        self.problems
            .push(format!("line {line}, {DISCOVERY}: {message}"));
    }

    fn source(&mut self, item: &YamlNode<'_>) {
        let Some(source) = item.get("source") else {
            self.problem(item, "there is no source; write `source: label`");
            return;
        };
        let is_enabled = match item.get("enabled").map(|node| (node, resolve(node))) {
            None | Some((_, Some(Ok(Scalar::Null)))) => false,
            Some((_, Some(Ok(Scalar::Bool(enabled))))) => enabled,
            Some((node, _)) => {
                let message = format!("enabled is {}; write true or false", node.describe());
                self.problem(node, &message);
                return;
            }
        };
        if let Some(interval) = item.get("interval").filter(|node| !node.is_null()) {
            let text = interval.text().unwrap_or_default();
            if let Err(error) = parse_go_duration(text) {
                let message = format!("interval {text:?}: {error}; write for example 10m");
                self.problem(interval, &message);
            }
        }
        match source.text() {
            _ if !is_enabled => {}
            Some("label") => self.labels(item),
            Some("ufm") => {
                let line = source.location.line;
                self.found.warnings.push(format!(
                    "line {line}, {DISCOVERY}: the source ufm is not supported, so it makes no \
                     HyperNodes; make them by hand or from labels of nodes (`source: label`)"
                ));
            }
            _ => {
                let message = format!("source is {}; use label", source.describe());
                self.problem(source, &message);
            }
        }
    }

    fn labels(&mut self, item: &YamlNode<'_>) {
        let config = item.get("config");
        let types = config.and_then(|config| config.get("networkTopologyTypes"));
        let Some(entries) = types.and_then(YamlNode::entries) else {
            let message = "config.networkTopologyTypes is missing; write the labels of each type";
            self.problem(config.unwrap_or(item), message);
            return;
        };
        let known = self.found.by_labels.take().unwrap_or_default();
        let mut names: BTreeSet<String> = known.iter().map(|one| one.name.clone()).collect();
        let mut found = known;
        for entry in entries {
            let written = entry.key.text().unwrap_or_default();
            let name = cleaned(written);
            if written.is_empty() || written.len() > MAX_TYPE_NAME || name.is_empty() {
                let message = format!(
                    "type {written:?}: write a name of 1 to {MAX_TYPE_NAME} letters and digits"
                );
                self.problem(&entry.key, &message);
                continue;
            }
            if !names.insert(name.clone()) {
                let message =
                    format!("type {written:?}: there is another of this name; rename one");
                self.problem(&entry.key, &message);
                continue;
            }
            if let Some(levels) = self.levels(written, &entry.value) {
                found.push(TopologyType { name, levels });
            }
        }
        self.found.by_labels = Some(found);
    }

    /// Labels of a type, lowest level first.
    fn levels(&mut self, name: &str, value: &YamlNode<'_>) -> Option<Vec<String>> {
        let before = self.problems.len();
        let mut levels: Vec<String> = Vec::new();
        let items = value.items().unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let label = item.get("nodeLabel").and_then(YamlNode::text);
            let label = label.unwrap_or_default();
            let is_last = at + 1 == items.len();
            if !syntax::is_qualified(label) {
                let message = format!("type {name:?}: write `- nodeLabel: <key of a label>`");
                self.problem(item, &message);
            } else if levels.iter().any(|known| known == label) {
                let message = format!("type {name:?}: the label {label} stands here twice");
                self.problem(item, &message);
            } else if label == HOSTNAME && !is_last {
                let message = format!("type {name:?}: {HOSTNAME} can only be the last level");
                self.problem(item, &message);
            } else if label != HOSTNAME {
                levels.push(label.to_owned());
            }
        }
        levels.reverse();
        if levels.is_empty() && self.problems.len() == before {
            let message = format!("type {name:?}: write the label of at least one level");
            self.problem(value, &message);
        }
        (self.problems.len() == before).then_some(levels)
    }
}

/// The name of a type as a part of names of objects.
fn cleaned(name: &str) -> String {
    let allowed = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    let cleaned: String = name.chars().map(allowed).collect();
    cleaned.trim_matches('-').to_owned()
}
