//! The section `vnpus`, in its two shapes: a list of types, or a map with the list in `configs`.

use pumice_yaml::node::YamlNode;

use crate::config::{Reader, field};
use crate::hami::config::required_name;
use crate::hami::kind::KindNames;
use crate::text::shorten;

use super::{ChipTemplate, ChipType, VnpuConfig};

/// Memory is written in annotations as a signed number of 32 bits.
const MAX_MIB: i64 = i32::MAX as i64;
/// No chip has as many cores.
const MAX_CORES: i64 = 1 << 16;
/// Most types; a card remembers its own in 7 bits.
const MAX_TYPES: usize = 100;

pub(super) fn read(reader: &mut Reader, section: &YamlNode<'_>) -> VnpuConfig {
    let (hami_core, list, path) = match section.items() {
        Some(_) => (false, Some(section), "vnpus"),
        None => {
            let Some(section) = reader.map(section, "vnpus") else {
                return VnpuConfig::default();
            };
            let path = "vnpus.hamiVnpuCore";
            let hami_core = truth(reader, section, "hamiVnpuCore", path);
            (hami_core, field(section, "configs"), "vnpus.configs")
        }
    };
    let mut read = VnpuConfig {
        hami_core,
        types: Vec::new(),
    };
    let Some(list) = list else {
        let help = "add the list of chips that the device plugin is installed with";
        reader.problem(section, path, "is missing", help);
        return read;
    };
    for (at, entry) in reader.list(list, path).iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some(entry) = reader.map(entry, &path) else {
            continue;
        };
        let Some(chip) = chip_type(reader, entry, &path) else {
            continue;
        };
        if read.types.len() == MAX_TYPES {
            let what = format!("is one of more than {MAX_TYPES} types of chips");
            reader.problem(entry, &path, &what, "remove what no node has");
            break;
        }
        match clash(&read.types, &chip) {
            Some(name) => {
                let what = format!("the name `{}` belongs to a type before", shorten(name));
                reader.problem(entry, &path, &what, "give each type its own names");
            }
            None => read.types.push(chip),
        }
    }
    read
}

/// A name of a type that an earlier one, or the type itself, has already.
fn clash<'c>(types: &[ChipType], chip: &'c ChipType) -> Option<&'c str> {
    if types.iter().any(|known| known.word == chip.word) {
        return Some(&chip.word);
    }
    let own: Vec<&String> = chip.names.all().collect();
    let taken = |name: &&&String| {
        types
            .iter()
            .any(|known| known.names.all().any(|one| one == **name))
            || own.iter().filter(|other| other == name).count() > 1
    };
    own.iter().find(taken).map(|name| name.as_str())
}

fn chip_type(reader: &mut Reader, entry: &YamlNode<'_>, path: &str) -> Option<ChipType> {
    let word = required_name(reader, entry, "commonWord", path);
    let count_name = required_name(reader, entry, "resourceName", path);
    let memory_name = required_name(reader, entry, "resourceMemoryName", path);
    let core_name = field(entry, "resourceCoreName")
        .is_some()
        .then(|| required_name(reader, entry, "resourceCoreName", path));
    let allocatable = reader.required_whole(entry, "memoryAllocatable", path, MAX_MIB);
    let capacity = reader.required_whole(entry, "memoryCapacity", path, MAX_MIB);
    let ai_cores = cores(reader, entry, "aiCore", path);
    let ai_cpus = cores(reader, entry, "aiCPU", path);
    let pairs = truth(reader, entry, "superPod", &format!("{path}.superPod"));
    let mut templates = Vec::new();
    if let Some(list) = field(entry, "templates") {
        let path = format!("{path}.templates");
        for (at, entry) in reader.list(list, &path).iter().enumerate() {
            templates.extend(template(reader, entry, &format!("{path}[{at}]")));
        }
    }
    templates.sort();
    let count_name = count_name?;
    let (allocatable, capacity) = (allocatable?, capacity?);
    if let Some(large) = templates.iter().find(|one| one.memory > allocatable) {
        let what = format!(
            "{} has {} MiB, more than the chip gives",
            shorten(&large.name),
            large.memory
        );
        let help = "correct memory or memoryAllocatable";
        reader.problem(entry, &format!("{path}.templates"), &what, help);
        return None;
    }
    if capacity < allocatable {
        let what = format!("{capacity} is less than memoryAllocatable");
        let help = "write at least as much as can be given out";
        reader.problem(entry, &format!("{path}.memoryCapacity"), &what, help);
        return None;
    }
    Some(ChipType {
        word: word?,
        names: KindNames {
            cores: core_name.unwrap_or_else(|| Some(format!("{count_name}-core")))?,
            memory: memory_name?,
            percentage: String::new(),
            count: count_name,
        },
        allocatable,
        capacity,
        ai_cores,
        ai_cpus,
        pairs,
        templates,
    })
}

fn template(reader: &mut Reader, entry: &YamlNode<'_>, path: &str) -> Option<ChipTemplate> {
    let entry = reader.map(entry, path)?;
    let name = required_name(reader, entry, "name", path);
    let memory = reader.required_whole(entry, "memory", path, MAX_MIB);
    Some(ChipTemplate {
        ai_cores: cores(reader, entry, "aiCore", path),
        ai_cpus: cores(reader, entry, "aiCPU", path),
        memory: memory?,
        name: name?,
    })
}

fn cores(reader: &mut Reader, entry: &YamlNode<'_>, key: &str, path: &str) -> i64 {
    let Some(value) = field(entry, key) else {
        return 0;
    };
    let path = format!("{path}.{key}");
    reader.whole(value, &path, 0, MAX_CORES).unwrap_or(0)
}

fn truth(reader: &mut Reader, map: &YamlNode<'_>, key: &str, path: &str) -> bool {
    let Some(value) = field(map, key) else {
        return false;
    };
    reader.truth(value, path).unwrap_or(false)
}
