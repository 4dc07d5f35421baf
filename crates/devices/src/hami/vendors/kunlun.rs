//! Kunlun XPUs of Baidu: whole ones, and those that are shared in parts of three sizes.

use pumice_yaml::node::YamlNode;

use crate::binding::{Annotation, AnnotationValue, PluginProtocol, UntilStarted};
use crate::config::{Reader, Section};
use crate::facts::NodeFacts;
use crate::hami::config::{NAME_KEYS, NameKeys, names};
use crate::hami::kind::{
    CardKind, KindNames, Marking, MemoryUnit, OwnRules, PodLookup, Several, registered, whole_cards,
};
use crate::hami::registered_card::HamiCard;
use crate::hami::wings;
use crate::text::Bounded;

use super::vendor::Vendor;

/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not; of both kinds of cards.
pub const UUIDS: [(&str, &str); 2] = [
    ("hami.io/use-xpu-uuid", "hami.io/no-use-xpu-uuid"),
    ("baidu.com/use-gpuuuid", "baidu.com/nouse-gpuuuid"),
];
/// Node annotation with the cards that are shared.
pub const REGISTER: &str = "hami.io/node-register-xpu";
/// Pod annotation with its whole cards.
pub const WHOLE_LIST: &str = "hami.io/kunlun-allocated";
/// Pod annotation: indices of its whole cards.
const INDEX: &str = "BAIDU_COM_DEVICE_IDX";

/// MiB that a whole card counts as.
const MEMORY: i64 = 98_304;
/// MiB of parts of a card, and of all of it.
const SIZES: &[i64] = &[24_576, 49_152, MEMORY];

/// How the plugin of whole cards answers: not at all. It takes a pod with indices that does not run yet.
pub const PROTOCOL: PluginProtocol = PluginProtocol {
    plugin: "the device plugin of Kunlun",
    bound_key: INDEX,
    phase_key: INDEX,
    busy: &[],
    busy_until_started: UntilStarted::Bound,
    sequence_key: None,
    cleanup: &[],
};

/// Kunlun's cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Kunlun",
    kinds: |_, config| {
        let config = config.section::<KunlunConfig>();
        vec![whole(config.whole.clone()), shared(config.shared.clone())]
    },
};

/// The section `kunlun`.
pub struct KunlunConfig {
    whole: KindNames,
    shared: KindNames,
}

impl Default for KunlunConfig {
    fn default() -> Self {
        Self {
            whole: KindNames::new("kunlunxin.com/xpu", "", ""),
            shared: KindNames::new("kunlunxin.com/vxpu", "kunlunxin.com/vxpu-memory", ""),
        }
    }
}

impl Section for KunlunConfig {
    const KEY: &'static str = "kunlun";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        const SHARED: NameKeys = NameKeys {
            count: "resourceVCountName",
            memory: "resourceVMemoryName",
            percentage: "",
            cores: "",
        };
        let default = Self::default();
        let Some(section) = reader.map(section, Self::KEY) else {
            return default;
        };
        Self {
            whole: names(reader, section, (Self::KEY, &NAME_KEYS), default.whole),
            shared: names(reader, section, (Self::KEY, &SHARED), default.shared),
        }
    }
}

fn whole(names: KindNames) -> CardKind {
    let mut kind = CardKind::registered("kunlun", "status.capacity", "kunlun", names);
    kind.keys.to_allocate = None;
    kind.keys.allocated = WHOLE_LIST.to_owned();
    kind.heeds_uuids(&UUIDS);
    kind.default_cores = 100;
    kind.default_cores_of_whole = 100;
    // The plugin reads one list of indices of a pod.
    kind.one_container = true;
    kind.rules = OwnRules::Wings { whole: true };
    kind.service = PodLookup::Pending;
    kind.discover = |kind, node, problems| {
        let mut cards = whole_cards(kind, node, ("kunlun", MEMORY), problems);
        let half = cards.len() / 2;
        for (at, card) in cards.iter_mut().enumerate() {
            card.numa = Some(u16::from(at >= half));
        }
        in_wings(kind, cards, problems)
    };
    kind.marks = marks;
    kind
}

fn shared(names: KindNames) -> CardKind {
    let mut kind = CardKind::registered("XPU", REGISTER, "xpu", names);
    kind.heeds_uuids(&UUIDS);
    kind.unit = MemoryUnit::Sizes(SIZES);
    kind.default_memory = MEMORY;
    kind.several = Several::Parts;
    kind.rules = OwnRules::Wings { whole: false };
    kind.discover = |kind: &CardKind, node: &NodeFacts, problems: &mut Bounded| {
        in_wings(kind, registered(kind, node, problems), problems)
    };
    kind
}

/// The cards that have a place in a wing.
fn in_wings(kind: &CardKind, cards: Vec<HamiCard>, problems: &mut Bounded) -> Vec<HamiCard> {
    let mut known: Vec<u32> = Vec::new();
    let mut placed = Vec::new();
    for card in cards {
        if card.index >= wings::CARDS || known.contains(&card.index) {
            problems.tell(|| {
                format!(
                    "{}: card {} is left out: its index {} is not one of 0 to {} of its own",
                    kind.source,
                    card.id,
                    card.index,
                    wings::CARDS - 1
                )
            });
            continue;
        }
        known.push(card.index);
        placed.push(card);
    }
    placed
}

/// Indices of the cards of the one container that has some.
fn marks(pod: &Marking) -> Vec<Annotation> {
    let indices = pod.indices();
    vec![Annotation::new(
        INDEX,
        AnnotationValue::Text(indices.join(",")),
    )]
}
