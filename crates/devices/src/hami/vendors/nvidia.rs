//! NVIDIA GPUs under HAMi's own device plugin: `nvidia.com/gpu` and parts of it.

use pumice_yaml::node::YamlNode;
use pumice_yaml::scalar::parse_bool_text;

use crate::binding::{Annotation, AnnotationValue};
use crate::config::{DeviceConfig, Reader, Section, field};
use crate::facts::PodFacts;
use crate::hami::config::{NAME_KEYS, names};
use crate::hami::kind::{CardKind, KindNames, Marking, OwnRules, Several};
use crate::hami::mig;
use crate::nvidia::config::NvidiaConfig;
use crate::nvidia::type_list::{REFUSE_TYPES, USE_TYPES};
use crate::part::CardPart;
use crate::settings::Settings;
use crate::text::clip;

use super::vendor::Vendor;

/// Parts of names of types.
pub const TYPES: (&str, &str) = (USE_TYPES, REFUSE_TYPES);
/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid");
/// How the cards have to be shared.
pub const MODE: &str = "nvidia.com/vgpu-mode";
/// All cards of a container are near one NUMA node.
pub const NUMA: &str = "nvidia.com/numa-bind";
/// Instances a pod has of cards in MIG mode, JSON.
pub const INSTANCES: &str = "hami.io/vgpu-mig-allocations";
/// How names of Volcano's own plugin begin, which the section may have for it.
const VOLCANO: &str = "volcano.sh/";

/// NVIDIA's cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "NVIDIA",
    kinds: |settings, config| vec![gpu(settings, config)],
};

/// The section `nvidia`, as HAMi reads it.
pub struct HamiNvidiaConfig {
    names: KindNames,
    /// MiB of who names no memory; 0 for all.
    memory: i64,
    /// Percent of who names no cores.
    cores: i64,
}

impl Default for HamiNvidiaConfig {
    fn default() -> Self {
        let percentage = "nvidia.com/gpumem-percentage".to_owned();
        Self {
            names: KindNames {
                percentage,
                ..KindNames::new("nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores")
            },
            memory: 0,
            cores: 0,
        }
    }
}

impl Section for HamiNvidiaConfig {
    const KEY: &'static str = "nvidia";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        let default = Self::default();
        let Some(section) = reader.map(section, Self::KEY) else {
            return default;
        };
        let mut number = |key: &str, most: i64| {
            let value = field(section, key)?;
            reader.whole(value, &format!("nvidia.{key}"), 0, most)
        };
        let memory = number("defaultMemory", i32::MAX.into());
        let cores = number("defaultCores", 100);
        let names = names(
            reader,
            section,
            (Self::KEY, &NAME_KEYS),
            default.names.clone(),
        );
        Self {
            names: match names.count.starts_with(VOLCANO) {
                true => default.names,
                false => names,
            },
            memory: memory.unwrap_or(default.memory),
            cores: cores.unwrap_or(default.cores),
        }
    }
}

fn gpu(settings: &Settings, config: &DeviceConfig) -> CardKind {
    let own = config.section::<HamiNvidiaConfig>();
    let names = own.names.clone();
    let mut kind = CardKind::registered("NVIDIA", "hami.io/node-nvidia-register", "vgpu", names);
    kind.keys.types = Some(TYPES);
    kind.heeds_uuids(&[UUIDS]);
    kind.keys.mode = Some(MODE);
    kind.keys.numa = Some(NUMA);
    kind.keys.instances = Some(INSTANCES);
    kind.marks = marks;
    kind.default_memory = own.memory;
    kind.default_cores = own.cores;
    kind.default_cores_of_whole = 100;
    kind.several = Several::Parts;
    kind.rules = OwnRules::Paired;
    let volcano = config.section::<NvidiaConfig>();
    let is_shared = volcano.count_name == kind.names.count;
    kind.refuses = match settings.vgpu && is_shared {
        true => twice,
        false => unswitched,
    };
    kind
}

/// The instances, for the device plugin, which makes them.
fn marks(pod: &Marking) -> Vec<Annotation> {
    let mut entries = Vec::new();
    let mut device = (0, 0);
    for one in pod.own {
        device = match device {
            (container, at) if container == one.container => (container, at + 1),
            _ => (one.container, 1),
        };
        let card = one.card.and_then(|at| pod.cards.cards.get(usize::from(at)));
        let Some((card, instance)) = card.zip(one.partition) else {
            continue;
        };
        let part = CardPart::of(&one.charged);
        let Some(profile) = mig::profile_of(card, instance, part) else {
            continue;
        };
        // Identities and names are such that nothing needs escaping.
        entries.push(format!(
            r#"{{"containerIndex":{},"deviceIndex":{},"gpuUUID":"{}","profile":"{}","placement":{{"start":{},"size":{}}}}}"#,
            one.container,
            device.1 - 1,
            one.id,
            profile.name,
            instance.position,
            instance.group
        ));
    }
    match entries.is_empty() {
        true => Vec::new(),
        false => {
            let text = AnnotationValue::Text(format!("[{}]", entries.join(",")));
            vec![Annotation::new(INSTANCES, text)]
        }
    }
}

/// The NUMA annotation says neither yes nor no.
fn unswitched(pod: &PodFacts) -> Option<String> {
    let text = pod.annotation(NUMA).filter(|text| !text.is_empty())?;
    match parse_bool_text(text) {
        Some(_) => None,
        None => Some(format!(
            "annotation {NUMA} is {:?}: write \"true\" for cards of one NUMA node, or remove it",
            clip(text)
        )),
    }
}

/// Two families would hand out the same cards.
fn twice(_: &PodFacts) -> Option<String> {
    Some(
        "deviceshare.VGPUEnable and NVIDIA in deviceshare.HAMiVendors hand out the same resource: \
         remove one of them, or give section nvidia of the device configuration the names of \
         volcano.sh/"
            .to_owned(),
    )
}
