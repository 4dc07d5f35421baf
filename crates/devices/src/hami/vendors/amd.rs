//! AMD GPUs. Tried in simulation only.

use pumice_yaml::node::YamlNode;

use crate::config::{DeviceConfig, Reader, Section};
use crate::facts::NodeFacts;
use crate::hami::config::{NAME_KEYS, names};
use crate::hami::kind::{CardKind, KindNames, Several, registered};
use crate::hami::registered_card::HamiCard;
use crate::text::{Bounded, clip};

use super::vendor::Vendor;

/// Parts of names of types.
pub const TYPES: (&str, &str) = ("amd.com/use-gputype", "amd.com/nouse-gputype");
/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("amd.com/use-gpu-uuid", "amd.com/nouse-gpu-uuid");

/// AMD's cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "AMD",
    kinds: |_, config| vec![gpu(config)],
};

/// The section `amd`.
pub struct AmdConfig {
    names: KindNames,
}

impl Default for AmdConfig {
    fn default() -> Self {
        Self {
            names: KindNames::new("amd.com/gpu", "amd.com/gpumem", "amd.com/gpucores"),
        }
    }
}

impl Section for AmdConfig {
    const KEY: &'static str = "amd";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        let default = Self::default();
        let Some(section) = reader.map(section, Self::KEY) else {
            return default;
        };
        Self {
            names: names(reader, section, (Self::KEY, &NAME_KEYS), default.names),
        }
    }
}

fn gpu(config: &DeviceConfig) -> CardKind {
    let names = config.section::<AmdConfig>().names.clone();
    let mut kind = CardKind::registered("AMD", "hami.io/node-amd-register", "amd", names);
    kind.keys.types = Some(TYPES);
    kind.heeds_uuids(&[UUIDS]);
    kind.default_cores = 100;
    kind.default_cores_of_whole = 100;
    kind.cores_in_percent = true;
    kind.lists_types = true;
    kind.several = Several::Parts;
    kind.discover = discover;
    kind
}

/// Those whose type can stand in a list.
fn discover(kind: &CardKind, node: &NodeFacts, problems: &mut Bounded) -> Vec<HamiCard> {
    let mut cards = registered(kind, node, problems);
    cards.retain(|card| {
        let is_fit = !card.kind.contains([',', ':', ';']) && !card.kind.is_empty();
        if !is_fit {
            let (source, of) = (&kind.source, clip(&card.kind));
            problems.tell(|| {
                format!("{source}: a card of type {of:?} is left out: no list of pods can name it")
            });
        }
        is_fit
    });
    cards
}
