//! Cambricon MLUs, whose nodes tell cores and memory of all cards together.

use pumice_yaml::node::YamlNode;

use crate::binding::{Annotation, AnnotationValue, NodeLock, PluginProtocol, UntilStarted};
use crate::config::{DeviceConfig, Reader, Section};
use crate::hami::config::{NAME_KEYS, names};
use crate::hami::kind::{CardKind, KindNames, Marking, MemoryUnit, PodLookup, by_capacity};
use crate::part::CardPart;

use super::vendor::Vendor;

/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("cambricon.com/use-gpuuuid", "cambricon.com/nouse-gpuuuid");
/// Pod annotation: the device plugin has served the pod.
const ASSIGNED: &str = "CAMBRICON_DSMLU_ASSIGNED";
/// Pod annotation: card, percent of its cores, and units of its memory.
const PROFILE: &str = "CAMBRICON_DSMLU_PROFILE";
/// Node annotation by which scheduler and device plugin take turns.
const LOCK: NodeLock = NodeLock::lasting("cambricon.com/dsmlu.lock", 120);
/// MiB in a unit of memory.
const UNIT: i64 = 256;

/// How its plugin answers.
pub const PROTOCOL: PluginProtocol = PluginProtocol {
    plugin: "Cambricon's device plugin",
    bound_key: ASSIGNED,
    phase_key: ASSIGNED,
    busy: &[Some("false")],
    busy_until_started: UntilStarted::Answered(&[]),
    sequence_key: None,
    cleanup: &[],
};

/// Cambricon's MLUs, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Cambricon",
    kinds: |_, config| vec![mlu(config)],
};

/// The section `cambricon`.
pub struct CambriconConfig(KindNames);

impl Default for CambriconConfig {
    fn default() -> Self {
        Self(KindNames::new(
            "cambricon.com/vmlu",
            "cambricon.com/mlu.smlu.vmemory",
            "cambricon.com/mlu.smlu.vcore",
        ))
    }
}

impl Section for CambriconConfig {
    const KEY: &'static str = "cambricon";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        let default = Self::default();
        match reader.map(section, Self::KEY) {
            Some(section) => Self(names(reader, section, (Self::KEY, &NAME_KEYS), default.0)),
            None => default,
        }
    }
}

fn mlu(config: &DeviceConfig) -> CardKind {
    let names = config.section::<CambriconConfig>().0.clone();
    let mut kind = CardKind::registered("MLU", "status.capacity", "cambricon-mlu", names);
    kind.heeds_uuids(&[UUIDS]);
    kind.unit = MemoryUnit::Mib(UNIT);
    kind.default_cores = 100;
    kind.default_cores_of_whole = 100;
    kind.one_container = true;
    kind.service = PodLookup::OwnLock(LOCK);
    kind.discover =
        |kind, node, problems| by_capacity(kind, node, ("cambricon-mlu", 100, UNIT), problems);
    kind.marks = marks;
    kind
}

/// The plugin makes one part, that of the first card.
fn marks(pod: &Marking) -> Vec<Annotation> {
    let Some(first) = pod.own.first() else {
        return Vec::new();
    };
    let CardPart { memory, cores, .. } = CardPart::of(&first.asked);
    let profile = format!("{}_{cores}_{}", pod.index(first), memory / UNIT);
    let text = |text: String| AnnotationValue::Text(text);
    vec![
        Annotation::new(ASSIGNED, text("false".to_owned())),
        Annotation::new(PROFILE, text(profile)),
    ]
}
