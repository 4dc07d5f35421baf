//! Enflame GCUs, whole ones and slices of them. Tried in simulation only.

use std::collections::BTreeMap;

use pumice_yaml::node::YamlNode;
use serde::Deserialize;
use serde_json::Value;

use crate::binding::{PluginProtocol, UntilStarted};
use crate::config::{Reader, Section};
use crate::facts::NodeFacts;
use crate::hami::config::{NameKeys, name, names};
use crate::hami::kind::{
    CardKind, KindNames, MemoryUnit, OwnRules, PodLookup, Several, whole_cards,
};
use crate::hami::protocol;
use crate::hami::registered_card::{HamiCard, MAX_CARDS};
use crate::hami::slices::{self, GIB};
use crate::ledger::{CardSplit, FamilyCode};
use crate::text::{Bounded, clip};

use super::vendor::Vendor;

/// Node annotation with the cards that are shared, and the profiles of all of them.
pub const REGISTER: &str = "enflame.com/gcu-drs-capacity";
/// Annotations of a pod: UUIDs of the cards it may share, and of those it may not.
pub const UUIDS: (&str, &str) = ("enflame.com/use-gpuuuid", "enflame.com/nouse-gpuuuid");
/// Resources whose containers are written down by name.
pub const NAMED: &str = "enflame.com/*";
/// How the names of these resources begin.
const PREFIX: &str = "enflame.com/";

/// Most profiles that are read, and most slices of one: percents of as many differ.
const MAX_PROFILES: usize = 64;
const MAX_SLICES: i64 = 100;
/// Most GiB of a profile.
const MAX_GIB: i64 = 1 << 20;

/// How the plugin of shared cards answers: of what it answers nobody tells. It takes the pod with the oldest time that
/// does not run yet.
pub const PROTOCOL: PluginProtocol = PluginProtocol {
    plugin: "the device plugin of Enflame",
    bound_key: slices::TIME,
    phase_key: slices::ASSIGNED,
    busy: &[],
    busy_until_started: UntilStarted::Bound,
    sequence_key: None,
    cleanup: &[],
};

/// Enflame's GCUs, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Enflame",
    kinds: |_, config| {
        let config = config.section::<EnflameConfig>();
        vec![gcu(config.whole.clone()), shared(config.shared.clone())]
    },
};

/// The section `enflame`.
pub struct EnflameConfig {
    whole: KindNames,
    shared: KindNames,
}

impl Default for EnflameConfig {
    fn default() -> Self {
        Self {
            whole: KindNames::new("enflame.com/gcu", "", ""),
            shared: KindNames::new(
                "enflame.com/drs-gcu",
                "enflame.com/gcu-memory",
                "enflame.com/gcu-core",
            ),
        }
    }
}

impl Section for EnflameConfig {
    const KEY: &'static str = "enflame";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        const WHOLE: NameKeys = NameKeys {
            count: "resourceNameGCU",
            memory: "",
            percentage: "",
            cores: "",
        };
        const SHARED: NameKeys = NameKeys {
            count: "resourceNameDRSGCU",
            memory: "resourceNameGCUMemory",
            percentage: "",
            cores: "resourceNameGCUCore",
        };
        /// What the first of them was called before.
        const OLD: &str = "resourceNameVGCU";
        let Self { whole, mut shared } = Self::default();
        let Some(section) = reader.map(section, Self::KEY) else {
            return Self { whole, shared };
        };
        if let Some(old) = name(reader, section, OLD, Self::KEY) {
            shared.count = old;
        }
        let shared = names(reader, section, (Self::KEY, &SHARED), shared);
        if let Some(odd) = shared.all().find(|name| {
            let is_odd = !name.starts_with(PREFIX) || name.len() == PREFIX.len();
            is_odd && !name.is_empty()
        }) {
            let what = format!("`{odd}` is no name of a part of a card");
            let help = "let it begin with enflame.com/: containers that ask it are told to the device plugin by name";
            reader.problem(section, Self::KEY, &what, help);
        }
        Self {
            whole: names(reader, section, (Self::KEY, &WHOLE), whole),
            shared,
        }
    }
}

fn gcu(names: KindNames) -> CardKind {
    let mut kind = CardKind::registered("GCU", "status.capacity", "enflame-gcu", names);
    kind.service = PodLookup::Kubelet;
    // What memory a card has is not told, nor needed to hand it out whole.
    kind.discover = |kind, node, problems| whole_cards(kind, node, ("GCU", 1), problems);
    kind
}

fn shared(names: KindNames) -> CardKind {
    let mut kind = CardKind::registered("Enflame", REGISTER, "enflame-vgpu", names);
    kind.keys.to_allocate = None;
    kind.keys.allocated = protocol::allocated("enflame-vgpu");
    kind.heeds_uuids(&[UUIDS]);
    kind.unit = MemoryUnit::Mib(GIB);
    kind.cores_in_percent = true;
    kind.several = Several::Parts;
    kind.rules = OwnRules::Slices;
    kind.service = PodLookup::Pending;
    kind.discover = discover;
    kind
}

/// What a node tells of its cards.
#[derive(Deserialize)]
struct DrsCapacity {
    #[serde(default)]
    devices: Vec<Value>,
    #[serde(default)]
    profiles: BTreeMap<String, Value>,
}

fn discover(kind: &CardKind, node: &NodeFacts, problems: &mut Bounded) -> Vec<HamiCard> {
    let Some(text) = node.annotation(REGISTER) else {
        return Vec::new();
    };
    let told: DrsCapacity = match serde_json::from_str(text) {
        Ok(told) => told,
        Err(error) => {
            problems.tell(|| {
                format!(
                    "{REGISTER}: is no JSON object of devices and profiles ({error}); restart the device plugin"
                )
            });
            return Vec::new();
        }
    };
    let profiles = profiles(&told.profiles, problems);
    let Some(largest) = profiles.last() else {
        problems.tell(|| {
            format!(
                "{REGISTER}: tells no profile such as \"1g.6gb\", so none of its {} cards is given out; restart the \
                 device plugin",
                told.devices.len()
            )
        });
        return Vec::new();
    };
    let count = told.devices.len();
    if count > MAX_CARDS {
        problems.tell(|| format!("{REGISTER}: of {count} cards only {MAX_CARDS} are used"));
    }
    let memory = profiles.iter().map(|one| one.memory).max().unwrap_or(0);
    let mut cards = Vec::new();
    for (at, value) in told.devices.iter().enumerate().take(MAX_CARDS) {
        match device(value, at) {
            Ok((index, minor, capacity)) => cards.push(HamiCard {
                id: format!("{}-enflame-drs-{index}", node.name),
                index,
                slots: capacity,
                memory,
                cores: capacity.min(largest.cores),
                kind: kind.word.clone(),
                mode: "slices".to_owned(),
                healthy: true,
                splits: profiles.clone(),
                details: FamilyCode::new(minor),
                ..HamiCard::default()
            }),
            Err(why) => problems.tell(|| {
                format!("{REGISTER}: device {at} is left out: {why}; restart the device plugin")
            }),
        }
    }
    cards
}

/// Index, minor number and slices of a device: texts with numbers, or numbers.
fn device(value: &Value, at: usize) -> Result<(u32, u16, i64), String> {
    let number = |key: &str, default: Option<i64>, (least, most): (i64, i64)| {
        let told = match value.get(key) {
            Some(Value::String(text)) if text.trim().is_empty() => default,
            Some(Value::String(text)) => text.trim().parse::<i64>().ok(),
            Some(Value::Null) | None => default,
            Some(other) => other.as_i64(),
        };
        let possible = told.filter(|number| (least..=most).contains(number));
        possible.ok_or_else(|| format!("{key} is no number from {least} to {most}"))
    };
    let index = number("index", i64::try_from(at).ok(), (0, i64::from(u16::MAX)))?;
    let minor = number("minor", Some(index), (0, i64::from(u16::MAX)))?;
    let capacity = number("capacity", None, (1, i64::from(i32::MAX)))?;
    Ok((index as u32, minor as u16, capacity))
}

/// The profiles, by slices and then memory; one of each size.
fn profiles(told: &BTreeMap<String, Value>, problems: &mut Bounded) -> Vec<CardSplit> {
    let mut all: Vec<CardSplit> = Vec::new();
    if told.len() > MAX_PROFILES {
        let count = told.len();
        problems.tell(|| format!("{REGISTER}: of {count} profiles only {MAX_PROFILES} are used"));
    }
    for (name, id) in told.iter().take(MAX_PROFILES) {
        let is_plain = |text: &str| !text.contains(|c: char| c.is_whitespace() || c.is_control());
        let amounts = amounts(name).filter(|_| is_plain(name));
        let id = id.as_str().filter(|id| is_plain(id));
        match (amounts, id) {
            (Some(amounts), Some(id)) => all.push(slices::profile(name, id, amounts)),
            (None, _) => problems.tell(|| {
                format!(
                    "{REGISTER}: profile {:?} is left out: its name is none such as 1g.6gb, of 1 to {MAX_SLICES} \
                     slices; restart the device plugin",
                    clip(name)
                )
            }),
            (_, None) => problems.tell(|| {
                format!(
                    "{REGISTER}: profile {:?} is left out: its id is no text without spaces; restart the device plugin",
                    clip(name)
                )
            }),
        }
    }
    all.sort_by_key(|one| (one.cores, one.memory));
    all.dedup_by_key(|one| (one.cores, one.memory));
    all
}

/// Slices and MiB of a profile of this name.
fn amounts(name: &str) -> Option<(i64, i64)> {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split('.');
    let (slices, memory) = (parts.next()?, parts.next()?);
    let slices: i64 = slices.strip_suffix('g').unwrap_or(slices).parse().ok()?;
    let memory: i64 = memory.strip_suffix("gb").unwrap_or(memory).parse().ok()?;
    let is_possible = (1..=MAX_SLICES).contains(&slices) && (1..=MAX_GIB).contains(&memory);
    is_possible.then_some((slices, memory * GIB))
}
