//! AWS Neuron devices, whole ones or cores of one, which are told by the capacity of their nodes. Tried in simulation
//! only.

use pumice_yaml::node::YamlNode;

use crate::binding::{PluginProtocol, UntilStarted};
use crate::config::{Reader, Section};
use crate::facts::NodeFacts;
use crate::hami::config::{NAME_KEYS, names};
use crate::hami::kind::{CardKind, KindNames, OwnRules, PodLookup, Several, capacity};
use crate::hami::neuron;
use crate::hami::registered_card::{HamiCard, MAX_CARDS};
use crate::ledger::FamilyCode;
use crate::text::Bounded;

use super::vendor::Vendor;

/// Annotations of a pod: UUIDs of the devices it may use, and of those it may not.
pub const UUIDS: (&str, &str) = (
    "aws.amazon.com/use-neuron-uuid",
    "aws.amazon.com/nouse-neuron-uuid",
);
/// Node label: the type of the instance.
const TYPE: &str = "node.kubernetes.io/instance-type";
/// Most cores of a device; no real one comes near.
const MAX_CORES: i64 = 16;

/// How its plugin answers: of what it answers nobody tells. It takes the pod with the oldest time that does not run yet.
pub const PROTOCOL: PluginProtocol = PluginProtocol {
    plugin: "the device plugin of AWS Neuron",
    bound_key: neuron::NODE,
    phase_key: neuron::ALLOCATED,
    busy: &[],
    busy_until_started: UntilStarted::Bound,
    sequence_key: None,
    cleanup: &[],
};

/// Neuron devices, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "AWSNeuron",
    kinds: |_, config| vec![device(config.section::<AwsNeuronConfig>().0.clone())],
};

/// The section `awsneuron`.
pub struct AwsNeuronConfig(KindNames);

impl Default for AwsNeuronConfig {
    fn default() -> Self {
        Self(KindNames::new(
            "aws.amazon.com/neuron",
            "",
            "aws.amazon.com/neuroncore",
        ))
    }
}

impl Section for AwsNeuronConfig {
    const KEY: &'static str = "awsneuron";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        let default = Self::default();
        match reader.map(section, Self::KEY) {
            Some(section) => Self(names(reader, section, (Self::KEY, &NAME_KEYS), default.0)),
            None => default,
        }
    }
}

fn device(names: KindNames) -> CardKind {
    let mut kind = CardKind::registered("AWSNeuron", "status.capacity", "aws-neuron", names);
    kind.keys.to_allocate = None;
    kind.heeds_uuids(&[UUIDS]);
    kind.several = Several::Parts;
    kind.rules = OwnRules::Neuron;
    kind.service = PodLookup::Pending;
    kind.discover = devices;
    kind
}

/// The devices of a node that tells how many they are, and how many cores all of them have.
fn devices(kind: &CardKind, node: &NodeFacts, problems: &mut Bounded) -> Vec<HamiCard> {
    let KindNames { count, cores, .. } = &kind.names;
    let (devices, all) = (capacity(node, count), capacity(node, cores));
    if devices <= 0 {
        return Vec::new();
    }
    let each = all / devices;
    if !(1..=MAX_CORES).contains(&each) || devices > MAX_CARDS as i64 {
        problems.tell(|| {
            format!(
                "capacity: {count} {devices} and {cores} {all} make no devices of 1 to {MAX_CORES} cores; restart \
                 the device plugin"
            )
        });
        return Vec::new();
    }
    let is_ring = node.label(TYPE).is_some_and(neuron::is_ring);
    let details = FamilyCode::new(match is_ring {
        true => neuron::RING,
        false => 0,
    });
    let device = |at: i64| HamiCard {
        id: format!("{}-AWSNeuron-{at}", node.name),
        index: at as u32,
        slots: each,
        // What memory a device has is not told: as much as cores, so that fuller ones come first.
        memory: each,
        cores: each,
        kind: kind.word.clone(),
        healthy: true,
        splits: neuron::splits(each as u16),
        details,
        ..HamiCard::default()
    };
    (0..devices).map(device).collect()
}
