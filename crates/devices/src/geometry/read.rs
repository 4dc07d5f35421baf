//! Text to [`DeviceConfig`], with all problems told in one pass.

use serde_yaml::{Mapping, Value};

use crate::text::shorten;

use super::{DeviceConfig, Group, Instance, ModelGeometry, NvidiaConfig};

/// Characters that have a meaning where names of groups are written (spec/04 §9.2).
const RESERVED: [char; 6] = ['-', '[', ']', ',', ':', ';'];

/// Path of the whole text.
const DOCUMENT: &str = "the document";

/// Most partitions of one card at a time; real cards have up to seven.
const MOST_PARTITIONS: i64 = 1024;

/// Most entries and groups, for partitions are named by 16-bit numbers.
const MOST_ENTRIES: usize = 1024;

/// Memory is written in annotations as a signed number of 32 bits.
const MOST_MIB: i64 = i32::MAX as i64;

/// A resource name of the section: its key, where it goes, whether it may be empty.
type NameKey = (&'static str, fn(&mut NvidiaConfig) -> &mut String, bool);

const NAMES: [NameKey; 4] = [
    ("resourceCountName", |to| &mut to.count_name, false),
    ("resourceMemoryName", |to| &mut to.memory_name, false),
    ("resourceCoreName", |to| &mut to.core_name, false),
    (
        "resourceMemoryPercentageName",
        |to| &mut to.percentage_name,
        true,
    ),
];

pub(super) fn read(text: &str) -> Result<DeviceConfig, Vec<String>> {
    let document: Value = match serde_yaml::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            let problem = format!("no valid YAML: {error}; correct the text");
            return Err(vec![problem]);
        }
    };
    let mut reader = Reader::default();
    let mut config = DeviceConfig::default();
    if let Some(document) = reader.map(&document, DOCUMENT)
        && let Some(section) = field(document, "nvidia")
        && let Some(section) = reader.map(section, "nvidia")
    {
        config.nvidia = reader.nvidia(section);
    }
    if reader.problems.is_empty() {
        Ok(config)
    } else {
        Err(reader.problems)
    }
}

#[derive(Default)]
struct Reader {
    problems: Vec<String>,
}

impl Reader {
    fn nvidia(&mut self, section: &Mapping) -> NvidiaConfig {
        let mut read = NvidiaConfig::default();
        for (key, target, may_be_empty) in NAMES {
            let path = format!("nvidia.{key}");
            if let Some(value) = field(section, key)
                && let Some(name) = self.resource_name(value, &path, may_be_empty)
            {
                *target(&mut read) = name;
            }
        }
        self.check_distinct(&mut read);
        if let Some(value) = field(section, "deviceCoreScaling") {
            read.core_scaling = self
                .scaling(value, "nvidia.deviceCoreScaling")
                .unwrap_or(1.0);
        }
        if let Some(value) = field(section, "deviceMemoryScaling") {
            self.scaling(value, "nvidia.deviceMemoryScaling");
        }
        if let Some(value) = field(section, "gpuMemoryFactor") {
            // 0 is the peer's way to say that the unit is MiB.
            let factor = self.whole(value, "nvidia.gpuMemoryFactor", 0, MOST_MIB);
            read.memory_factor = factor.unwrap_or(1).max(1);
        }
        if let Some(value) = field(section, "knownMigGeometries") {
            read.geometries = self.geometries(value);
        }
        read
    }

    fn resource_name(&mut self, value: &Value, path: &str, may_be_empty: bool) -> Option<String> {
        let name = self.text(value, path)?;
        if name.is_empty() && !may_be_empty {
            self.problem(
                path,
                "is empty",
                "name a resource, or remove the key for the default",
            );
            return None;
        }
        if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let what = format!("`{}` contains a blank", shorten(name));
            self.problem(path, &what, "write the name of an extended resource");
            return None;
        }
        Some(name.to_owned())
    }

    /// One resource cannot be asked for two things.
    fn check_distinct(&mut self, read: &mut NvidiaConfig) {
        let names = NAMES.map(|(key, target, _)| (key, target(read).clone()));
        for (at, (key, name)) in names.iter().enumerate() {
            let mut before = names[..at].iter();
            if !name.is_empty()
                && let Some((other, _)) = before.find(|(_, known)| known == name)
            {
                let what = format!("`{}` is the name in {other} already", shorten(name));
                self.problem(&format!("nvidia.{key}"), &what, "give each its own name");
            }
        }
    }

    fn geometries(&mut self, value: &Value) -> Vec<ModelGeometry> {
        let path = "nvidia.knownMigGeometries";
        let mut read = Vec::new();
        for (at, entry) in self.list(value, path).iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some(entry) = self.map(entry, &path) else {
                continue;
            };
            let models = self.models(entry, &path);
            let groups = self.groups(entry, &path);
            read.push(ModelGeometry { models, groups });
        }
        read
    }

    fn models(&mut self, entry: &Mapping, path: &str) -> Vec<String> {
        let path = format!("{path}.models");
        let mut read = Vec::new();
        for (at, model) in self
            .required_list(entry, "models", &path)
            .iter()
            .enumerate()
        {
            let path = format!("{path}[{at}]");
            match self.text(model, &path).map(str::trim) {
                Some("") => {
                    let help = "write a part of the type of the cards, such as A100-PCIE-40GB";
                    self.problem(&path, "is empty and would match every card", help);
                }
                Some(model) => read.push(model.to_owned()),
                None => {}
            }
        }
        read
    }

    fn groups(&mut self, entry: &Mapping, path: &str) -> Vec<Group> {
        let path = format!("{path}.allowedGeometries");
        let mut read: Vec<Group> = Vec::new();
        let groups = self.required_list(entry, "allowedGeometries", &path);
        for (at, group) in groups.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some(group) = self.map(group, &path) else {
                continue;
            };
            let name = self.group_name(group, &path);
            if let Some(name) = &name
                && read.iter().any(|known| known.name == *name)
            {
                let what = format!("`{name}` names an earlier group of the same models already");
                self.problem(
                    &format!("{path}.group"),
                    &what,
                    "give each group its own name",
                );
            }
            let instances = self.instances(group, &path);
            read.push(Group {
                name: name.unwrap_or_default(),
                instances,
            });
        }
        read
    }

    fn group_name(&mut self, group: &Mapping, path: &str) -> Option<String> {
        let path = format!("{path}.group");
        let name = self.required_text(group, "group", &path)?;
        let unfit = |c: char| RESERVED.contains(&c) || c.is_whitespace() || c.is_control();
        if let Some(bad) = name.chars().find(|&c| unfit(c)) {
            let what = format!("`{}` contains `{}`", shorten(name), bad.escape_default());
            self.problem(&path, &what, "use a name without blanks and - [ ] , : ;");
            return None;
        }
        Some(name.to_owned())
    }

    fn instances(&mut self, group: &Mapping, path: &str) -> Vec<Instance> {
        let path = format!("{path}.geometries");
        let mut read = Vec::new();
        let mut partitions = 0;
        let instances = self.required_list(group, "geometries", &path);
        for (at, instance) in instances.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some(instance) = self.map(instance, &path) else {
                continue;
            };
            let name = self.required_text(instance, "name", &format!("{path}.name"));
            let memory = self.required_whole(instance, "memory", &path, MOST_MIB);
            let count = self.required_whole(instance, "count", &path, MOST_PARTITIONS);
            partitions += count.unwrap_or(0);
            read.push(Instance {
                name: name.unwrap_or_default().to_owned(),
                memory_mib: memory.unwrap_or(1),
                count: count
                    .and_then(|count| u16::try_from(count).ok())
                    .unwrap_or(1),
            });
        }
        if partitions > MOST_PARTITIONS {
            let what = format!("has {partitions} partitions in all");
            let help = format!("a card cannot have more than {MOST_PARTITIONS}");
            self.problem(&path, &what, &help);
        }
        read
    }

    fn map<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v Mapping> {
        match untagged(value) {
            Value::Mapping(map) => Some(map),
            Value::Null if path == DOCUMENT => None,
            other => {
                let what = format!("must be a map, not {}", describe(other));
                self.problem(path, &what, "write `key: value` lines below it");
                None
            }
        }
    }

    fn list<'v>(&mut self, value: &'v Value, path: &str) -> &'v [Value] {
        match untagged(value) {
            Value::Sequence(list) if list.len() > MOST_ENTRIES => {
                let what = format!("has {} entries", list.len());
                self.problem(path, &what, &format!("keep at most {MOST_ENTRIES}"));
                &[]
            }
            Value::Sequence(list) => list,
            other => {
                let what = format!("must be a list, not {}", describe(other));
                self.problem(path, &what, "write lines that begin with `-` below it");
                &[]
            }
        }
    }

    fn required_list<'v>(&mut self, map: &'v Mapping, key: &str, path: &str) -> &'v [Value] {
        let Some(value) = field(map, key) else {
            self.problem(path, "is missing", "add a list with at least one entry");
            return &[];
        };
        if matches!(untagged(value), Value::Sequence(list) if list.is_empty()) {
            self.problem(path, "is empty", "add at least one entry");
        }
        self.list(value, path)
    }

    fn text<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v str> {
        match untagged(value) {
            Value::String(text) => Some(text),
            other => {
                let what = format!("must be a text, not {}", describe(other));
                self.problem(path, &what, "put it into quotes");
                None
            }
        }
    }

    fn required_text<'v>(&mut self, map: &'v Mapping, key: &str, path: &str) -> Option<&'v str> {
        let text = match field(map, key) {
            Some(value) => self.text(value, path)?,
            None => "",
        };
        if text.is_empty() {
            self.problem(path, "is missing or empty", "give a name");
            return None;
        }
        Some(text)
    }

    /// A whole number, quoted or not.
    fn whole(&mut self, value: &Value, path: &str, least: i64, most: i64) -> Option<i64> {
        let number = match untagged(value) {
            Value::Number(number) => number.as_i64().or_else(|| {
                let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
                // Beyond this, whole numbers and floats are no longer one to one.
                (float.abs() < 9e15).then_some(float as i64)
            }),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let help = format!("write a whole number from {least} to {most}");
        let Some(number) = number else {
            let what = format!("must be a whole number, not {}", describe(untagged(value)));
            self.problem(path, &what, &help);
            return None;
        };
        if !(least..=most).contains(&number) {
            self.problem(path, &format!("{number} cannot be used"), &help);
            return None;
        }
        Some(number)
    }

    fn required_whole(&mut self, map: &Mapping, key: &str, path: &str, most: i64) -> Option<i64> {
        let path = format!("{path}.{key}");
        let Some(value) = field(map, key) else {
            let help = format!("write a whole number from 1 to {most}");
            self.problem(&path, "is missing", &help);
            return None;
        };
        self.whole(value, &path, 1, most)
    }

    fn scaling(&mut self, value: &Value, path: &str) -> Option<f64> {
        const MOST: f64 = 1000.0;
        let number = match untagged(value) {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let fits = |number: &f64| *number > 0.0 && *number <= MOST;
        let number = number.filter(fits);
        if number.is_none() {
            let what = format!("{} cannot be used", describe(untagged(value)));
            let help = format!("write a number above 0 and up to {MOST}; 1 means no scaling");
            self.problem(path, &what, &help);
        }
        number
    }

    fn problem(&mut self, path: &str, what: &str, help: &str) {
        self.problems.push(format!("{path}: {what}; {help}"));
    }
}

/// The value of a key; a key without a value counts as absent.
fn field<'v>(map: &'v Mapping, key: &str) -> Option<&'v Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn untagged(value: &Value) -> &Value {
    match value {
        Value::Tagged(tagged) => untagged(&tagged.value),
        plain => plain,
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("the truth value {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text `{}`", shorten(text)),
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(_) => "a map".to_owned(),
        Value::Tagged(_) => "a tagged value".to_owned(),
    }
}
