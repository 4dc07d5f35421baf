//! Hygon DCUs.

use pumice_yaml::node::YamlNode;

use crate::config::{DeviceConfig, Reader, Section, field};
use crate::hami::config::{NAME_KEYS, names};
use crate::hami::kind::{CardKind, KindNames, MemoryUnit};

use super::vendor::Vendor;

/// Parts of names of types.
pub const TYPES: (&str, &str) = ("hygon.com/use-dcutype", "hygon.com/nouse-dcutype");
/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("hygon.com/use-gpuuuid", "hygon.com/nouse-gpuuuid");

/// Most MiB in a unit of memory.
const MAX_FACTOR: i64 = 1 << 20;

/// Hygon's DCUs, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Hygon",
    kinds: |_, config| vec![dcu(config)],
};

/// The section `hygon`.
pub struct HygonConfig {
    names: KindNames,
    /// MiB in a unit of memory.
    factor: i64,
}

impl Default for HygonConfig {
    fn default() -> Self {
        Self {
            names: KindNames::new("hygon.com/dcunum", "hygon.com/dcumem", "hygon.com/dcucores"),
            factor: 1,
        }
    }
}

impl Section for HygonConfig {
    const KEY: &'static str = "hygon";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        let default = Self::default();
        let Some(section) = reader.map(section, Self::KEY) else {
            return default;
        };
        let factor = field(section, "memoryFactor");
        let factor =
            factor.and_then(|value| reader.whole(value, "hygon.memoryFactor", 1, MAX_FACTOR));
        Self {
            names: names(reader, section, (Self::KEY, &NAME_KEYS), default.names),
            factor: factor.unwrap_or(default.factor),
        }
    }
}

fn dcu(config: &DeviceConfig) -> CardKind {
    let config = config.section::<HygonConfig>();
    let names = config.names.clone();
    let mut kind = CardKind::registered("DCU", "hami.io/node-dcu-register", "dcu", names);
    kind.keys.types = Some(TYPES);
    kind.heeds_uuids(&[UUIDS]);
    kind.unit = MemoryUnit::Mib(config.factor);
    kind.default_cores = 100;
    kind.default_cores_of_whole = 100;
    kind
}
