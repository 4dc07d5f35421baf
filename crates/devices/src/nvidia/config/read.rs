//! The section `nvidia`.

use pumice_yaml::node::YamlNode;

use crate::config::{Reader, field};
use crate::text::shorten;

use super::{Group, Instance, ModelGeometry, NvidiaConfig};

/// Characters that have a meaning where names of groups are written (spec/04 §9.2).
const RESERVED: [char; 6] = ['-', '[', ']', ',', ':', ';'];

/// Most partitions of one card at a time; real cards have up to seven.
const MAX_PARTITIONS: i64 = 1024;

/// Memory is written in annotations as a signed number of 32 bits.
const MAX_MIB: i64 = i32::MAX as i64;

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

pub(super) fn read(reader: &mut Reader, section: &YamlNode<'_>) -> NvidiaConfig {
    GeometrySection { reader }.nvidia(section)
}

struct GeometrySection<'r> {
    reader: &'r mut Reader,
}

impl GeometrySection<'_> {
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
                .reader
                .scaling(value, "nvidia.deviceCoreScaling")
                .unwrap_or(1.0);
        }
        if let Some(value) = field(section, "deviceMemoryScaling") {
            self.reader.scaling(value, "nvidia.deviceMemoryScaling");
        }
        if let Some(value) = field(section, "gpuMemoryFactor") {
            // 0 is the peer's way to say that the unit is MiB.
            let factor = self
                .reader
                .whole(value, "nvidia.gpuMemoryFactor", 0, MAX_MIB);
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
        let name = self.reader.text(value, path)?;
        if name.is_empty() && !may_be_empty {
            self.reader.problem(
                value,
                path,
                "is empty",
                "name a resource, or remove the key for the default",
            );
            return None;
        }
        if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let what = format!("`{}` contains a blank", shorten(name));
            self.reader
                .problem(value, path, &what, "write the name of an extended resource");
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
                self.reader
                    .problem(at, &path, &what, "give each its own name");
            }
        }
    }

    fn geometries(&mut self, value: &YamlNode<'_>) -> Vec<ModelGeometry> {
        let path = "nvidia.knownMigGeometries";
        let mut read = Vec::new();
        for (at, entry) in self.reader.list(value, path).iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some(entry) = self.reader.map(entry, &path) else {
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
            .reader
            .required_list(entry, "models", &path)
            .iter()
            .enumerate()
        {
            let path = format!("{path}[{at}]");
            match self.reader.text(model, &path).map(str::trim) {
                Some("") => {
                    let help = "write a part of the type of the cards, such as A100-PCIE-40GB";
                    self.reader
                        .problem(model, &path, "is empty and would match every card", help);
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
        let groups = self.reader.required_list(entry, "allowedGeometries", &path);
        for (at, group) in groups.iter().enumerate() {
            let path = format!("{path}[{at}]");
            if let Some(instances) = group.items() {
                // HAMi has no names of groups.
                let name = format!("group{}", at + 1);
                let instances = self.listed_instances(group, instances, &path);
                read.push(Group { name, instances });
                continue;
            }
            let Some(group) = self.reader.map(group, &path) else {
                continue;
            };
            let name = self.group_name(group, &path);
            if let Some(name) = &name
                && read.iter().any(|known| known.name == *name)
            {
                let what = format!("`{name}` names an earlier group of the same models already");
                self.reader.problem(
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
        let name = self.reader.required_text(group, "group", &path)?;
        let unfit = |c: char| RESERVED.contains(&c) || c.is_whitespace() || c.is_control();
        if let Some(bad) = name.chars().find(|&c| unfit(c)) {
            let what = format!("`{}` contains `{}`", shorten(name), bad.escape_default());
            self.reader.problem(
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
        let instances = self.reader.required_list(group, "geometries", &path);
        self.listed_instances(group, instances, &path)
    }

    fn listed_instances(
        &mut self,
        group: &YamlNode<'_>,
        instances: &[YamlNode<'_>],
        path: &str,
    ) -> Vec<Instance> {
        let mut read = Vec::new();
        let mut partitions = 0;
        for (at, instance) in instances.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some(instance) = self.reader.map(instance, &path) else {
                continue;
            };
            let name = self
                .reader
                .required_text(instance, "name", &format!("{path}.name"));
            let memory = self
                .reader
                .required_whole(instance, "memory", &path, MAX_MIB);
            let count = self
                .reader
                .required_whole(instance, "count", &path, MAX_PARTITIONS);
            partitions += count.unwrap_or(0);
            read.push(Instance {
                name: name.unwrap_or_default().to_owned(),
                memory_mib: memory.unwrap_or(1),
                count: count
                    .and_then(|count| u16::try_from(count).ok())
                    .unwrap_or(1),
            });
        }
        if partitions > MAX_PARTITIONS {
            let what = format!("has {partitions} partitions in all");
            let help = format!("a card cannot have more than {MAX_PARTITIONS}");
            self.reader.problem(group, path, &what, &help);
        }
        read
    }
}
