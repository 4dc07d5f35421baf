//! MetaX GPUs: whole ones, and those that are shared ([`super::metax_shared`]).

use pumice_yaml::node::YamlNode;

use crate::config::{Reader, Section, field};
use crate::hami::config::{NameKeys, names};
use crate::hami::kind::{CardKind, KindNames, OwnRules, PodLookup, whole_cards};

use super::metax_shared;
use super::vendor::Vendor;

/// MiB that a card counts as.
const MEMORY: i64 = 65_536;

/// Key of the section: whether links between shared cards count.
const LINKS: &str = "sgpuTopologyAware";

/// MetaX's cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "MetaX",
    kinds: |_, config| {
        let config = config.section::<MetaxConfig>();
        vec![
            whole(config.whole.clone()),
            metax_shared::kind(config.shared.clone(), config.heeds_links),
        ]
    },
};

/// The section `metax`.
pub struct MetaxConfig {
    whole: KindNames,
    shared: KindNames,
    /// Links between shared cards count for the node of a pod that says nothing of them.
    heeds_links: bool,
}

impl Default for MetaxConfig {
    fn default() -> Self {
        Self {
            whole: KindNames::new("metax-tech.com/gpu", "", ""),
            shared: KindNames::new(
                "metax-tech.com/sgpu",
                "metax-tech.com/vmemory",
                "metax-tech.com/vcore",
            ),
            heeds_links: false,
        }
    }
}

impl Section for MetaxConfig {
    const KEY: &'static str = "metax";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        const SHARED: NameKeys = NameKeys {
            count: "resourceVCountName",
            memory: "resourceVMemoryName",
            percentage: "",
            cores: "resourceVCoreName",
        };
        let default = Self::default();
        let Some(section) = reader.map(section, Self::KEY) else {
            return default;
        };
        let heeds_links = field(section, LINKS)
            .and_then(|value| reader.truth(value, &format!("{}.{LINKS}", Self::KEY)));
        let keys = (Self::KEY, &crate::hami::config::NAME_KEYS);
        Self {
            whole: names(reader, section, keys, default.whole),
            shared: names(reader, section, (Self::KEY, &SHARED), default.shared),
            heeds_links: heeds_links.unwrap_or(default.heeds_links),
        }
    }
}

fn whole(names: KindNames) -> CardKind {
    let mut kind = CardKind::registered("Metax-GPU", "status.capacity", "metax-gpu", names);
    kind.default_cores = 100;
    kind.default_cores_of_whole = 100;
    kind.service = PodLookup::Kubelet;
    kind.rules = OwnRules::Rated;
    kind.discover = |kind, node, problems| whole_cards(kind, node, ("metax", MEMORY), problems);
    kind
}
