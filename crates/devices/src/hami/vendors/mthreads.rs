//! Moore Threads GPUs, whose nodes tell cores and memory of all cards together.

use pumice_yaml::node::YamlNode;

use crate::binding::{Annotation, AnnotationValue, PluginProtocol, UntilStarted};
use crate::config::{DeviceConfig, Reader, Section};
use crate::hami::config::{NAME_KEYS, names};
use crate::hami::kind::{CardKind, KindNames, Marking, MemoryUnit, PodLookup, by_capacity};

use super::vendor::Vendor;

/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("mthreads.ai/use-gpuuuid", "mthreads.ai/nouse-gpuuuid");
/// Pod annotation: indices of its cards.
const INDEX: &str = "mthreads.com/gpu-index";
/// Pod annotation: its node.
const NODE: &str = "mthreads.com/predicate-node";
/// Pod annotation: when its cards were chosen.
const TIME: &str = "mthreads.com/predicate-time";
/// Pod annotation: how many cards, of who has several.
const NUMBER: &str = "mthreads.com/request-gpu-num";

/// MiB in a unit of memory.
const UNIT: i64 = 512;
/// Groups of cores of a card.
const CORES: i64 = 16;
/// Units of memory that one card gives.
const SIZES: &[i64] = &[2, 4, 8, 16, 32, 64, 96];

/// How its plugin answers: not at all. It takes the pod with the oldest time that does not run yet.
pub const PROTOCOL: PluginProtocol = PluginProtocol {
    plugin: "the device plugin of Moore Threads",
    bound_key: NODE,
    phase_key: NODE,
    busy: &[],
    busy_until_started: UntilStarted::Bound,
    sequence_key: None,
    cleanup: &[],
};

/// Moore Threads' cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Mthreads",
    kinds: |_, config| vec![gpu(config)],
};

/// The section `mthreads`.
pub struct MthreadsConfig(KindNames);

impl Default for MthreadsConfig {
    fn default() -> Self {
        Self(KindNames::new(
            "mthreads.com/vgpu",
            "mthreads.com/sgpu-memory",
            "mthreads.com/sgpu-core",
        ))
    }
}

impl Section for MthreadsConfig {
    const KEY: &'static str = "mthreads";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        let default = Self::default();
        match reader.map(section, Self::KEY) {
            Some(section) => Self(names(reader, section, (Self::KEY, &NAME_KEYS), default.0)),
            None => default,
        }
    }
}

fn gpu(config: &DeviceConfig) -> CardKind {
    let names = config.section::<MthreadsConfig>().0.clone();
    let mut kind = CardKind::registered("Mthreads", "status.capacity", "mthreads-vgpu", names);
    kind.keys.to_allocate = None;
    kind.heeds_uuids(&[UUIDS]);
    kind.unit = MemoryUnit::Together(UNIT, SIZES);
    kind.default_cores_of_whole = CORES;
    kind.cores = CORES;
    kind.service = PodLookup::Pending;
    kind.discover =
        |kind, node, problems| by_capacity(kind, node, ("mthreads", CORES, UNIT), problems);
    kind.marks = marks;
    kind
}

fn marks(pod: &Marking) -> Vec<Annotation> {
    let indices = pod.indices();
    let text = AnnotationValue::Text;
    let mut marks = vec![
        Annotation::new(INDEX, text(indices.join(","))),
        Annotation::new(NODE, text(pod.node.to_owned())),
        Annotation::new(TIME, AnnotationValue::NanoSequence),
    ];
    if indices.len() > 1 {
        marks.push(Annotation::new(NUMBER, text(indices.len().to_string())));
    }
    marks
}
