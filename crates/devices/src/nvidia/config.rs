//! The section `nvidia` of the device configuration (spec/04 §4): names of resources, scalings, and
//! the partitions that cards of known models may have.

mod read;

#[cfg(test)]
mod tests;

use pumice_yaml::node::YamlNode;

use crate::config::{Reader, Section};

/// Names and numbers of the section `nvidia`.
#[derive(Clone, Debug, PartialEq)]
pub struct NvidiaConfig {
    /// `resourceCountName`.
    pub count_name: String,
    /// `resourceMemoryName`.
    pub memory_name: String,
    /// `resourceCoreName`.
    pub core_name: String,
    /// `resourceMemoryPercentageName`; empty when percentages are not taken.
    pub percentage_name: String,
    /// `deviceCoreScaling`.
    pub core_scaling: f64,
    /// `gpuMemoryFactor`, at least 1: MiB in one unit of memory.
    pub memory_factor: i64,
    /// `knownMigGeometries`, in order.
    pub geometries: Vec<ModelGeometry>,
}

impl Default for NvidiaConfig {
    fn default() -> Self {
        Self {
            count_name: "volcano.sh/vgpu-number".to_owned(),
            memory_name: "volcano.sh/vgpu-memory".to_owned(),
            core_name: "volcano.sh/vgpu-cores".to_owned(),
            percentage_name: "volcano.sh/vgpu-memory-percentage".to_owned(),
            core_scaling: 1.0,
            memory_factor: 1,
            geometries: known_geometries(),
        }
    }
}

impl NvidiaConfig {
    /// Index of the geometry for a type of cards: the first one of which a model is part of it.
    pub fn geometry_for(&self, kind: &str) -> Option<u16> {
        let names = |model: &String| kind.contains(model.as_str());
        let knows = |geometry: &ModelGeometry| geometry.models.iter().any(names);
        let found = self.geometries.iter().position(knows)?;
        u16::try_from(found).ok()
    }
}

/// The table that the device plugin is installed with (spec/04 §4.3).
fn known_geometries() -> Vec<ModelGeometry> {
    vec![
        geometry(
            &["A30"],
            &[
                &[("1g.6gb", 6144, 4)],
                &[("2g.12gb", 12_288, 2)],
                &[("4g.24gb", 24_576, 1)],
            ],
        ),
        geometry(
            &["A100-SXM4-40GB", "A100-40GB-PCIe", "A100-PCIE-40GB"],
            &[
                &[("1g.5gb", 5120, 7)],
                &[("2g.10gb", 10_240, 3), ("1g.5gb", 5120, 1)],
                &[("3g.20gb", 20_480, 2)],
                &[("7g.40gb", 40_960, 1)],
            ],
        ),
        geometry(
            &["A100-SXM4-80GB", "A100-80GB-PCIe", "A100-PCIE-80GB"],
            &[
                &[("1g.10gb", 9728, 7)],
                &[("2g.20gb", 19_968, 3), ("1g.10gb", 9728, 1)],
                &[("3g.40gb", 40_192, 2)],
                &[("7g.80gb", 80_896, 1)],
            ],
        ),
    ]
}

/// Groups called group1, group2, …, each a list of name, MiB and count.
fn geometry(models: &[&str], groups: &[&[(&str, i64, u16)]]) -> ModelGeometry {
    let instance = |&(name, memory_mib, count): &(&str, i64, u16)| Instance {
        name: name.to_owned(),
        memory_mib,
        count,
    };
    let group = |(at, instances): (usize, &&[(&str, i64, u16)])| Group {
        name: format!("group{}", at + 1),
        instances: instances.iter().map(instance).collect(),
    };
    ModelGeometry {
        models: models.iter().map(|&model| model.to_owned()).collect(),
        groups: groups.iter().enumerate().map(group).collect(),
    }
}

/// Partitions that cards of some models may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelGeometry {
    /// Texts of which the type of a card contains one.
    pub models: Vec<String>,
    /// Groups, in order; a card has the partitions of one group at a time.
    pub groups: Vec<Group>,
}

/// Partitions a card has at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Name, as in annotations.
    pub name: String,
    /// Kinds of partitions, in order.
    pub instances: Vec<Instance>,
}

/// Equal partitions of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// Name of the profile, such as `1g.5gb`.
    pub name: String,
    /// Memory in MiB.
    pub memory_mib: i64,
    /// How many.
    pub count: u16,
}

impl Section for NvidiaConfig {
    const KEY: &'static str = "nvidia";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        match reader.map(section, Self::KEY) {
            Some(section) => read::read(reader, section),
            None => Self::default(),
        }
    }
}
