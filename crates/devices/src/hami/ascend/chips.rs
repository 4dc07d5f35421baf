//! The section `vnpus` of the device configuration: types of chips and their templates (spec/05
//! §3.1).

mod read;

use pumice_yaml::node::YamlNode;

use crate::config::{Reader, Section};
use crate::hami::kind::KindNames;

/// What the section says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VnpuConfig {
    /// `hamiVnpuCore`: nodes that do not say otherwise share chips by hami-core.
    pub hami_core: bool,
    /// `configs`, in order.
    pub types: Vec<ChipType>,
}

/// A type of chips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChipType {
    /// `commonWord`: its name in annotations.
    pub word: String,
    /// `resourceName`: whole or shared chips; `resourceMemoryName`: MiB of each; `resourceCoreName`: percent
    /// of each, with hami-core.
    pub names: KindNames,
    /// `memoryAllocatable`: MiB that a whole chip gives.
    pub allocatable: i64,
    /// `memoryCapacity`: the most MiB anybody may ask.
    pub capacity: i64,
    /// `aiCore`; 0 where they are not told.
    pub ai_cores: i64,
    /// `aiCPU`; 0 where they are not told.
    pub ai_cpus: i64,
    /// `superPod`: chips are handed out in pairs.
    pub pairs: bool,
    /// `templates`, by memory.
    pub templates: Vec<ChipTemplate>,
}

/// A part that a chip can be split into.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChipTemplate {
    /// MiB.
    pub memory: i64,
    /// AI cores.
    pub ai_cores: i64,
    /// AI CPUs.
    pub ai_cpus: i64,
    /// Name, as the device plugin is told.
    pub name: String,
}

/// What a number of MiB is rounded up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundedMemory {
    /// The template at this place of [`ChipType::templates`].
    Template(u16),
    /// A whole chip.
    Whole,
    /// More than a chip has.
    TooMuch,
}

impl ChipType {
    /// The smallest template with so many MiB, or else a whole chip (spec/05 §3.3).
    pub fn round(&self, mib: i64) -> RoundedMemory {
        let at = self.templates.partition_point(|one| one.memory < mib);
        match u16::try_from(at) {
            Ok(place) if at < self.templates.len() => RoundedMemory::Template(place),
            _ if mib <= self.capacity => RoundedMemory::Whole,
            _ => RoundedMemory::TooMuch,
        }
    }
}

/// Name, MiB, AI cores and AI CPUs.
type TemplateRow = (&'static str, i64, i64, i64);

/// Word, MiB allocatable and in all, AI cores, AI CPUs, templates.
type ChipRow = (&'static str, i64, i64, i64, i64, &'static [TemplateRow]);

const LARGE: &[TemplateRow] = &[
    ("vir05_1c_16g", 16_384, 5, 1),
    ("vir10_3c_32g", 32_768, 10, 3),
];

/// The chips that the device plugin is installed with (spec/05 §3.1).
const KNOWN: &[ChipRow] = &[
    (
        "Ascend910A",
        32_768,
        32_768,
        30,
        0,
        &[
            ("vir02", 2184, 2, 0),
            ("vir04", 4369, 4, 0),
            ("vir08", 8738, 8, 0),
            ("vir16", 17_476, 16, 0),
        ],
    ),
    (
        "Ascend910B2",
        65_536,
        65_536,
        24,
        6,
        &[
            ("vir03_1c_8g", 8192, 3, 1),
            ("vir06_1c_16g", 16_384, 6, 1),
            ("vir12_3c_32g", 32_768, 12, 3),
        ],
    ),
    ("Ascend910B3", 65_536, 65_536, 20, 7, LARGE),
    ("Ascend910B4-1", 65_536, 65_536, 20, 7, LARGE),
    (
        "Ascend910B4",
        32_768,
        32_768,
        20,
        7,
        &[("vir05_1c_8g", 8192, 5, 1), ("vir10_3c_16g", 16_384, 10, 3)],
    ),
    (
        "Ascend310P",
        21_527,
        24_576,
        8,
        7,
        &[
            ("vir01", 3072, 1, 1),
            ("vir02", 6144, 2, 2),
            ("vir04", 12_288, 4, 4),
        ],
    ),
    ("Ascend910C", 65_536, 65_536, 20, 7, LARGE),
];

fn names(count: &str) -> KindNames {
    KindNames::new(count, &format!("{count}-memory"), &format!("{count}-core"))
}

fn known(&(word, allocatable, capacity, ai_cores, ai_cpus, templates): &ChipRow) -> ChipType {
    let template = |&(name, memory, ai_cores, ai_cpus): &TemplateRow| ChipTemplate {
        memory,
        ai_cores,
        ai_cpus,
        name: name.to_owned(),
    };
    ChipType {
        word: word.to_owned(),
        names: names(&format!("huawei.com/{word}")),
        allocatable,
        capacity,
        ai_cores,
        ai_cpus,
        pairs: false,
        templates: templates.iter().map(template).collect(),
    }
}

impl Default for VnpuConfig {
    fn default() -> Self {
        Self {
            hami_core: false,
            types: KNOWN.iter().map(known).collect(),
        }
    }
}

impl Section for VnpuConfig {
    const KEY: &'static str = "vnpus";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        read::read(reader, section)
    }
}
