//! Text to [`DeviceConfig`], with all problems in one pass, each with its line and column.

use pumice_yaml::scalar::{Scalar, resolve};
use pumice_yaml::tree::{Budget, Data, Location, MapEntry, YamlNode, documents};

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
    let document = match only_document(text) {
        Ok(Some(document)) => document,
        Ok(None) => return Ok(DeviceConfig::default()),
        Err(problem) => return Err(vec![problem]),
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

fn only_document(text: &str) -> Result<Option<YamlNode<'_>>, String> {
    let invalid = |location: Location, what: &str| {
        let Location { line, column, .. } = location;
        format!("line {line}, column {column}: no valid YAML: {what}; correct the text")
    };
    let mut documents = documents(text, Budget::CONF);
    let first = match documents.next().transpose() {
        Ok(first) => first,
        Err(error) => return Err(invalid(error.location, &error.kind.to_string())),
    };
    match documents.next() {
        None => Ok(first),
        Some(Ok(second)) => Err(invalid(second.location, "a second document")),
        Some(Err(error)) => Err(invalid(error.location, &error.kind.to_string())),
    }
}

#[derive(Default)]
struct Reader {
    problems: Vec<String>,
}

impl Reader {
    fn nvidia(&mut self, section: &YamlNode<'_>) -> NvidiaConfig {
        let mut read = NvidiaConfig::default();
        for (key, target, may_be_empty) in NAMES {
            let path = format!("nvidia.{key}");
            if let Some(value) = field(section, key)
                && let Some(name) = self.resource_name(value, &path, may_be_empty)
            {
                *target(&mut read) = name;
            }
        }
        self.check_distinct(section, &mut read);
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

    fn resource_name(
        &mut self,
        value: &YamlNode<'_>,
        path: &str,
        may_be_empty: bool,
    ) -> Option<String> {
        let name = self.text(value, path)?;
        if name.is_empty() && !may_be_empty {
            self.problem(
                value,
                path,
                "is empty",
                "name a resource, or remove the key for the default",
            );
            return None;
        }
        if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let what = format!("`{}` contains a blank", shorten(name));
            self.problem(value, path, &what, "write the name of an extended resource");
            return None;
        }
        Some(name.to_owned())
    }

    /// One resource cannot be asked for two things.
    fn check_distinct(&mut self, section: &YamlNode<'_>, read: &mut NvidiaConfig) {
        let names = NAMES.map(|(key, target, _)| (key, target(read).clone()));
        for (at, (key, name)) in names.iter().enumerate() {
            let mut before = names[..at].iter();
            if !name.is_empty()
                && let Some((other, _)) = before.find(|(_, known)| known == name)
            {
                let what = format!("`{}` is the name in {other} already", shorten(name));
                let at = section.get(key).unwrap_or(section);
                let path = format!("nvidia.{key}");
                self.problem(at, &path, &what, "give each its own name");
            }
        }
    }

    fn geometries(&mut self, value: &YamlNode<'_>) -> Vec<ModelGeometry> {
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

    fn models(&mut self, entry: &YamlNode<'_>, path: &str) -> Vec<String> {
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
                    self.problem(model, &path, "is empty and would match every card", help);
                }
                Some(model) => read.push(model.to_owned()),
                None => {}
            }
        }
        read
    }

    fn groups(&mut self, entry: &YamlNode<'_>, path: &str) -> Vec<Group> {
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
                    group,
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

    fn group_name(&mut self, group: &YamlNode<'_>, path: &str) -> Option<String> {
        let path = format!("{path}.group");
        let name = self.required_text(group, "group", &path)?;
        let unfit = |c: char| RESERVED.contains(&c) || c.is_whitespace() || c.is_control();
        if let Some(bad) = name.chars().find(|&c| unfit(c)) {
            let what = format!("`{}` contains `{}`", shorten(name), bad.escape_default());
            self.problem(
                group,
                &path,
                &what,
                "use a name without blanks and - [ ] , : ;",
            );
            return None;
        }
        Some(name.to_owned())
    }

    fn instances(&mut self, group: &YamlNode<'_>, path: &str) -> Vec<Instance> {
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
            self.problem(group, &path, &what, &help);
        }
        read
    }

    fn map<'v, 'a>(&mut self, value: &'v YamlNode<'a>, path: &str) -> Option<&'v YamlNode<'a>> {
        let Data::Map(entries) = &value.data else {
            if path != DOCUMENT || !value.is_null() {
                let what = format!("must be a map, not {}", describe(value));
                self.problem(value, path, &what, "write `key: value` lines below it");
            }
            return None;
        };
        let own = || entries.iter().filter(|entry| !entry.merged);
        for (at, entry) in own().enumerate() {
            let same = |earlier: &&MapEntry<'_>| earlier.key.text() == entry.key.text();
            if let Some(earlier) = own().take(at).find(same) {
                let name = shorten(entry.key.text().unwrap_or_default());
                let line = earlier.key.location.line;
                let what = format!("the key `{name}` stands in line {line} already");
                self.problem(&entry.key, path, &what, "keep one of them");
            }
        }
        Some(value)
    }

    fn list<'v, 'a>(&mut self, value: &'v YamlNode<'a>, path: &str) -> &'v [YamlNode<'a>] {
        match &value.data {
            Data::List(list) if list.len() > MOST_ENTRIES => {
                let what = format!("has {} entries", list.len());
                self.problem(value, path, &what, &format!("keep at most {MOST_ENTRIES}"));
                &[]
            }
            Data::List(list) => list,
            _ => {
                let what = format!("must be a list, not {}", describe(value));
                self.problem(
                    value,
                    path,
                    &what,
                    "write lines that begin with `-` below it",
                );
                &[]
            }
        }
    }

    fn required_list<'v, 'a>(
        &mut self,
        map: &'v YamlNode<'a>,
        key: &str,
        path: &str,
    ) -> &'v [YamlNode<'a>] {
        let Some(value) = field(map, key) else {
            self.problem(
                map,
                path,
                "is missing",
                "add a list with at least one entry",
            );
            return &[];
        };
        if value.items().is_some_and(<[_]>::is_empty) {
            self.problem(value, path, "is empty", "add at least one entry");
        }
        self.list(value, path)
    }

    fn text<'v>(&mut self, value: &'v YamlNode<'_>, path: &str) -> Option<&'v str> {
        if let Some(Ok(Scalar::Str(text))) = resolve(value) {
            return Some(text);
        }
        let what = format!("must be a text, not {}", describe(value));
        self.problem(value, path, &what, "put it into quotes");
        None
    }

    fn required_text<'v>(
        &mut self,
        map: &'v YamlNode<'_>,
        key: &str,
        path: &str,
    ) -> Option<&'v str> {
        let value = field(map, key);
        let text = match value {
            Some(value) => self.text(value, path)?,
            None => "",
        };
        if text.is_empty() {
            self.problem(
                value.unwrap_or(map),
                path,
                "is missing or empty",
                "give a name",
            );
            return None;
        }
        Some(text)
    }

    /// A whole number, quoted or not.
    fn whole(&mut self, value: &YamlNode<'_>, path: &str, least: i64, most: i64) -> Option<i64> {
        let number = match resolve(value) {
            Some(Ok(Scalar::Int(number))) => Some(number),
            // Beyond this, whole numbers and floats are no longer one to one.
            Some(Ok(Scalar::Float(float))) if float.fract() == 0.0 && float.abs() < 9e15 => {
                Some(float as i64)
            }
            Some(Ok(Scalar::Str(text))) => text.trim().parse().ok(),
            _ => None,
        };
        let help = format!("write a whole number from {least} to {most}");
        let Some(number) = number else {
            let what = format!("must be a whole number, not {}", describe(value));
            self.problem(value, path, &what, &help);
            return None;
        };
        if !(least..=most).contains(&number) {
            self.problem(value, path, &format!("{number} cannot be used"), &help);
            return None;
        }
        Some(number)
    }

    fn required_whole(
        &mut self,
        map: &YamlNode<'_>,
        key: &str,
        path: &str,
        most: i64,
    ) -> Option<i64> {
        let path = format!("{path}.{key}");
        let Some(value) = field(map, key) else {
            let help = format!("write a whole number from 1 to {most}");
            self.problem(map, &path, "is missing", &help);
            return None;
        };
        self.whole(value, &path, 1, most)
    }

    fn scaling(&mut self, value: &YamlNode<'_>, path: &str) -> Option<f64> {
        const MOST: f64 = 1000.0;
        let number = match resolve(value) {
            Some(Ok(Scalar::Int(number))) => Some(number as f64),
            Some(Ok(Scalar::Float(number))) => Some(number),
            Some(Ok(Scalar::Str(text))) => text.trim().parse().ok(),
            _ => None,
        };
        let fits = |number: &f64| *number > 0.0 && *number <= MOST;
        let number = number.filter(fits);
        if number.is_none() {
            let what = format!("{} cannot be used", describe(value));
            let help = format!("write a number above 0 and up to {MOST}; 1 means no scaling");
            self.problem(value, path, &what, &help);
        }
        number
    }

    fn problem(&mut self, at: &YamlNode<'_>, path: &str, what: &str, help: &str) {
        let Location { line, column, .. } = at.location;
        let problem = format!("line {line}, column {column}: {path}: {what}; {help}");
        self.problems.push(problem);
    }
}

/// The value of a key; a key without a value counts as absent.
fn field<'v, 'a>(map: &'v YamlNode<'a>, key: &str) -> Option<&'v YamlNode<'a>> {
    map.get(key).filter(|value| !value.is_null())
}

fn describe(value: &YamlNode<'_>) -> String {
    let text = || shorten(value.text().unwrap_or_default());
    match resolve(value) {
        None if value.items().is_some() => "a list".to_owned(),
        None => "a map".to_owned(),
        Some(Ok(Scalar::Null)) => "nothing".to_owned(),
        Some(Ok(Scalar::Bool(_))) => format!("the truth value {}", text()),
        Some(Ok(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_))) => {
            format!("the number {}", text())
        }
        Some(Ok(Scalar::Str(_)) | Err(_)) => format!("the text `{}`", text()),
    }
}
