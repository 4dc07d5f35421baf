//! Reads any mix of manifests: multi-document YAML, JSON, `List`s as kubectl prints them.

mod config;
mod made_names;
mod repeated;
mod text;

use std::collections::BTreeMap;

use pumice_conf::CONF_KEY;
use pumice_devices::NodeReport;
use pumice_devices::config::CONFIG_KEY as DEVICE_KEY;
use pumice_engine::MIX_KEY;
use pumice_wire::rules::BrokenRule;
use pumice_yaml::node::{Data, Location, MapEntry, YamlNode};
use pumice_yaml::tree::{Budget, documents};

use crate::decode::{Mismatch, locate_dotted};
use crate::manifest::{Manifest, ManifestKind, ReadingNotes, read};
use crate::problem::{InputPlace, InputProblem};
pub use config::{Dumped, Embedded};
use made_names::MadeNames;
use repeated::Repeated;

/// Fields that users look for in another place, and where that is.
const MISPLACED: [(&str, &str, &str); 1] = [(
    "Queue",
    "spec.state",
    "a queue is closed and opened in its status: kubectl patch queue NAME --subresource status \
     --type merge -p '{\"status\":{\"state\":\"Closed\"}}'",
)];

/// One input.
#[derive(Clone, Debug)]
pub struct InputSource {
    /// File name, or `stdin`.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// An object and where it was read.
#[derive(Clone, Debug)]
pub struct InputItem {
    /// What was read.
    pub object: Manifest,
    /// Where it begins.
    pub place: InputPlace,
    /// Rules it breaks by which an API server would refuse it.
    pub broken: Vec<BrokenRule>,
    /// It comes from an API server, which has accepted it.
    pub served: bool,
}

/// A device configuration, or a mix of tasks, within a ConfigMap.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceMap {
    /// Namespace; `default` when the manifest names none.
    pub namespace: String,
    /// Name of the ConfigMap.
    pub name: String,
    /// Text under the key [`DEVICE_KEY`] or [`MIX_KEY`], as it stands there.
    pub text: String,
    /// Where the ConfigMap begins.
    pub place: InputPlace,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct InputObjects {
    /// Objects in the order of the input.
    pub items: Vec<InputItem>,
    /// The scheduler configuration found in a ConfigMap.
    pub config: Option<Embedded>,
    /// The one a dumped scheduler had in use.
    pub dumped: Option<Dumped>,
    /// Device configurations found in ConfigMaps, each namespace and name once.
    pub device_maps: Vec<DeviceMap>,
    /// Mixes of tasks found in ConfigMaps, likewise.
    pub mix_maps: Vec<DeviceMap>,
    /// What ConfigMaps tell of the devices of nodes.
    pub node_reports: Vec<NodeReport>,
    /// Kinds that have no effect, with their number.
    pub ignored: BTreeMap<String, u64>,
    /// What was set aside, or is odd.
    pub problems: Vec<InputProblem>,
    made_names: MadeNames,
}

impl InputObjects {
    /// Reads one more source. Documents with bytes that are no text are set aside, the rest is
    /// read.
    ///
    /// # Errors
    /// None of the source is text.
    pub fn read(&mut self, source: &InputSource) -> Result<(), InputProblem> {
        let (text, unreadable) = text::readable(source);
        if text.trim().is_empty()
            && let Some(problem) = unreadable.first()
        {
            return Err(problem.clone());
        }
        self.problems.extend(unreadable);
        let mut any = false;
        for document in documents(&text, Budget::manifests(text.len())) {
            match document {
                Ok(node) if node.is_null() => {}
                Ok(node) => {
                    any = true;
                    self.object(&source.name, node);
                }
                Err(error) => {
                    any = true;
                    let message = format!("broken YAML: {}", error.kind);
                    let help = "correct the document; it is left out, the others are read";
                    self.problem(&source.name, error.location, "", message, help);
                }
            }
        }
        if !any {
            let help = "give a file with at least one object, as `kubectl get … -o yaml` prints";
            let start = Location {
                line: 1,
                column: 1,
                offset: 0,
            };
            self.problem(
                &source.name,
                start,
                "",
                "the file is empty".to_owned(),
                help,
            );
            self.keep_last_problem();
        }
        Ok(())
    }

    fn object(&mut self, file: &str, node: YamlNode) {
        let text = |key: &str| node.get(key).and_then(YamlNode::text).map(str::to_owned);
        if node.entries().is_none() {
            let message = format!(
                "expected an object with apiVersion and kind, found {}",
                node.describe()
            );
            self.problem(
                file,
                node.location,
                "",
                message,
                "remove it, or make it an object",
            );
            return;
        }
        if let Some(twice) = repeated::in_map(&node) {
            self.repeated(file, String::new(), &twice);
            return;
        }
        let Some(kind) = text("kind") else {
            let message = "the object has no `kind`".to_owned();
            self.problem(
                file,
                node.location,
                "",
                message,
                "add `apiVersion` and `kind`",
            );
            return;
        };
        let api_version = text("apiVersion").unwrap_or_default();
        if kind.ends_with("List") && node.get("items").is_some() {
            self.list(file, node, &api_version, &kind);
            return;
        }
        self.single(file, &node, &api_version, &kind);
    }

    /// An object that is no list.
    fn single(&mut self, file: &str, node: &YamlNode, api_version: &str, kind: &str) {
        if let Some(twice) = repeated::anywhere(node) {
            self.repeated(file, object_name(kind, node), &twice);
        } else if kind != "ConfigMap" || !self.config_map(file, node) {
            self.typed_object(file, node, api_version, kind);
        }
    }

    fn repeated(&mut self, file: &str, object: String, twice: &Repeated) {
        let (path, line) = (&twice.path, twice.first.line);
        let (nothing, help) = if twice.is_top() {
            let help = "put a line `---` between two objects; in one object remove one of both";
            ("; nothing of it is read", help)
        } else {
            ("", "remove one of both")
        };
        let message = format!("{path} is given twice, first in line {line}{nothing}");
        self.problem(file, twice.again, &object, message, help);
    }

    /// Takes the list apart: each item is let go as soon as it is read, for lists can be large.
    fn list(&mut self, file: &str, node: YamlNode, api_version: &str, kind: &str) {
        let Data::Map(entries) = node.data else {
            return;
        };
        let items = entries
            .into_iter()
            .rfind(|entry| entry.key.text() == Some("items"));
        let items = match items.map(|entry| entry.value) {
            Some(YamlNode {
                data: Data::List(items),
                ..
            }) => items,
            Some(value) if !value.is_null() => {
                let message = format!("`items` is {}, not a list", value.describe());
                self.problem(file, value.location, "", message, "make `items` a list");
                return;
            }
            _ => return,
        };
        for item in items {
            if item.get("kind").is_some() || item.entries().is_none() {
                self.object(file, item);
            } else if let Some(kind) = kind.strip_suffix("List").filter(|kind| !kind.is_empty()) {
                // Items of a typed list such as NodeList need not repeat their kind.
                self.single(file, &item, api_version, kind);
            } else {
                let message = "an item of the List has no `kind`".to_owned();
                self.problem(
                    file,
                    item.location,
                    "",
                    message,
                    "add `apiVersion` and `kind`",
                );
            }
        }
    }

    /// Takes what a scheduler reads out of a ConfigMap; false when it holds nothing of that.
    fn config_map(&mut self, file: &str, node: &YamlNode) -> bool {
        let value = |key| node.get("data").and_then(|data| data.get(key));
        let (conf, devices, mix) = (value(CONF_KEY), value(DEVICE_KEY), value(MIX_KEY));
        if let Some(conf) = conf {
            self.scheduler_config(file, node, conf);
        }
        if let Some(devices) = devices {
            self.kept_map(file, node, (DEVICE_KEY, devices));
        }
        if let Some(mix) = mix {
            self.kept_map(file, node, (MIX_KEY, mix));
        }
        conf.is_some() || devices.is_some() || mix.is_some() || self.node_report(file, node)
    }

    /// Takes what a device plugin, or who collects it, tells of nodes.
    fn node_report(&mut self, file: &str, node: &YamlNode) -> bool {
        let meta = |key| node.get("metadata")?.get(key)?.text();
        let data = node.get("data").and_then(YamlNode::entries);
        let text = |entry: &MapEntry| {
            let (key, value) = (entry.key.text()?, entry.value.text()?);
            Some((key.to_owned(), value.to_owned()))
        };
        let data: Vec<(String, String)> = data.into_iter().flatten().filter_map(text).collect();
        let (namespace, name) = (meta("namespace"), meta("name"));
        let (namespace, name) = (namespace.unwrap_or("default"), name.unwrap_or_default());
        match pumice_devices::families::node_reports(namespace, name, &data) {
            Ok(reports) => {
                let is_one = !reports.is_empty();
                self.node_reports.extend(reports);
                is_one
            }
            Err(why) => {
                let object = object_name("ConfigMap", node);
                let help = "write what its device plugin writes; nothing of it is read";
                let message = format!("what it tells of nodes cannot be read: {why}");
                self.problem(file, node.location, &object, message, help);
                true
            }
        }
    }

    fn kept_map(&mut self, file: &str, node: &YamlNode, (key, value): (&str, &YamlNode)) {
        let object = object_name("ConfigMap", node);
        let meta = |key| Some(node.get("metadata")?.get(key)?.text()?.to_owned());
        let Some(text) = value.text() else {
            let message = format!("data.{key} is {}, not a text", value.describe());
            let help = format!("write it as a text block: `{key}: |`");
            self.problem(file, value.location, &object, message, &help);
            return;
        };
        let Some(name) = meta("name") else {
            let message = "the ConfigMap has no metadata.name".to_owned();
            self.problem(file, node.location, &object, message, "give it its name");
            return;
        };
        let namespace = meta("namespace").unwrap_or_else(|| "default".to_owned());
        let maps = match key {
            MIX_KEY => &self.mix_maps,
            _ => &self.device_maps,
        };
        let mut known = maps.iter();
        if let Some(first) = known.find(|m| (&m.namespace, &m.name) == (&namespace, &name)) {
            let message = format!("given twice: the first one is at {}", first.place);
            self.problem(file, node.location, &object, message, "remove one of them");
            return;
        }
        let map = DeviceMap {
            namespace,
            name,
            text: text.to_owned(),
            place: place(file, node.location),
        };
        match key {
            MIX_KEY => self.mix_maps.push(map),
            _ => self.device_maps.push(map),
        }
    }

    fn typed_object(&mut self, file: &str, node: &YamlNode, api_version: &str, kind: &str) {
        let named = self.made_names.named(kind, node);
        let node = named.as_ref().unwrap_or(node);
        let mut notes = ReadingNotes::default();
        let result = read(api_version, kind, node, &mut notes);
        // What an API server has accepted has no slips, but it may know newer fields of core kinds.
        let ours = api_version.contains("volcano.sh");
        let served = was_served(node);
        if ours || !served {
            self.odd_fields(file, node, kind, notes.odd);
        }
        self.odd_fields(file, node, kind, notes.lost);
        match result {
            Ok(ManifestKind::Object(mut object)) => {
                let place = place(file, node.location);
                if let Manifest::State(dump) = &mut object
                    && let Some(text) = dump.configuration.take()
                {
                    self.dumped = Some(Dumped {
                        place: place.clone(),
                        text,
                    });
                }
                self.items.push(InputItem {
                    object,
                    place,
                    broken: notes.broken,
                    served,
                });
            }
            Ok(ManifestKind::Ignored(kind)) => *self.ignored.entry(kind).or_insert(0) += 1,
            Err(mismatch) => {
                let object = object_name(kind, node);
                let at = if mismatch.path.is_empty() || mismatch.path == "." {
                    String::new()
                } else {
                    format!("{}: ", mismatch.path)
                };
                let message = format!("{at}{}", mismatch.message);
                self.problem(file, mismatch.location, &object, message, &mismatch.help);
            }
        }
    }

    fn odd_fields(&mut self, file: &str, node: &YamlNode, kind: &str, fields: Vec<Mismatch>) {
        let mut fields = fields;
        fields.sort_by_key(|field| field.location);
        for field in fields {
            let belongs = MISPLACED
                .iter()
                .find(|(of, path, _)| (*of, *path) == (kind, &field.path));
            let help = belongs.map_or(field.help.as_str(), |(.., help)| help);
            let object = object_name(kind, node);
            self.problem(file, field.location, &object, field.message, help);
            self.keep_last_problem();
        }
    }

    fn problem(
        &mut self,
        file: &str,
        location: Location,
        object: &str,
        message: String,
        help: &str,
    ) {
        self.problems.push(InputProblem {
            place: place(file, location),
            object: object.to_owned(),
            message,
            help: help.to_owned(),
            kept: false,
        });
    }

    fn keep_last_problem(&mut self) {
        if let Some(problem) = self.problems.last_mut() {
            problem.kept = true;
        }
    }
}

/// Whether an object comes from an API server.
fn was_served(node: &YamlNode) -> bool {
    let metadata = node.get("metadata");
    metadata.is_some_and(|metadata| metadata.get("resourceVersion").is_some())
}

/// `Kind namespace/name` as far as the document says.
fn object_name(kind: &str, node: &YamlNode) -> String {
    let meta = |key: &str| {
        node.get("metadata")
            .and_then(|m| m.get(key))
            .and_then(YamlNode::text)
    };
    match (meta("namespace"), meta("name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        _ => kind.to_owned(),
    }
}

fn place(file: &str, location: Location) -> InputPlace {
    InputPlace {
        file: file.to_owned(),
        line: location.line,
        column: location.column,
    }
}

/// Turns places of objects into places of fields within them, given as dotted paths: the source is
/// read once more for that, and only when there is something to report.
pub fn locate_fields(source: &InputSource, wanted: &mut [(&mut InputPlace, &str)]) {
    let mut by_place: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (at, (place, _)) in wanted.iter().enumerate() {
        by_place
            .entry((place.line, place.column))
            .or_default()
            .push(at);
    }
    let (text, _) = text::readable(source);
    for document in documents(&text, Budget::manifests(text.len())).flatten() {
        visit(&document, &mut |object| {
            let here = (object.location.line, object.location.column);
            for at in by_place.get(&here).into_iter().flatten() {
                let (place, path) = &mut wanted[*at];
                let found = locate_dotted(object, path);
                (place.line, place.column) = (found.line, found.column);
            }
        });
    }
}

/// Every object of a document, those inside lists too.
fn visit(node: &YamlNode, found: &mut impl FnMut(&YamlNode)) {
    match node.get("items").and_then(YamlNode::items) {
        Some(items) => items.iter().for_each(|item| visit(item, found)),
        None => found(node),
    }
}

#[cfg(test)]
mod tests;
