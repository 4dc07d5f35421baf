//! The vendors of HAMi, each as what is its own (spec/04 §23.1), in one list.
//!
//! No vendor imports from here: what a vendor is stands in `vendor.rs`, what its cards are in
//! `kind.rs` of the folder above.

mod amd;
mod awsneuron;
mod biren;
mod cambricon;
mod enflame;
mod hygon;
mod iluvatar;
mod kunlun;
mod metax;
mod metax_shared;
mod mthreads;
mod nvidia;
mod vastai;
mod vendor;

use std::collections::BTreeMap;

use crate::binding::PluginProtocol;
use crate::config::{DeviceConfig, SectionSpec};
use crate::settings::Settings;

use super::kind::CardKind;
use vendor::Vendor;

/// All vendors: those of HAMi's list first, then those that were tried in simulation only.
pub const VENDORS: &[Vendor] = &[
    nvidia::VENDOR,
    hygon::VENDOR,
    cambricon::VENDOR,
    iluvatar::VENDOR,
    mthreads::VENDOR,
    metax::VENDOR,
    kunlun::VENDOR,
    awsneuron::VENDOR,
    enflame::VENDOR,
    vastai::VENDOR,
    biren::VENDOR,
    amd::VENDOR,
];

/// The name of NVIDIA.
pub const NVIDIA: &str = nvidia::VENDOR.name;

/// Pod annotation with the MIG instances it has.
pub const INSTANCES: &str = nvidia::INSTANCES;

/// Pod annotation with whole cards of Kunlun, whose name is unlike that of others.
pub const WHOLE_XPUS: &str = kunlun::WHOLE_LIST;

/// Sections of the device configuration they read.
pub const SECTIONS: &[SectionSpec] = &[
    SectionSpec::of::<nvidia::HamiNvidiaConfig>(),
    SectionSpec::of::<hygon::HygonConfig>(),
    SectionSpec::of::<cambricon::CambriconConfig>(),
    SectionSpec::of::<iluvatar::IluvatarConfig>(),
    SectionSpec::of::<mthreads::MthreadsConfig>(),
    SectionSpec::of::<metax::MetaxConfig>(),
    SectionSpec::of::<kunlun::KunlunConfig>(),
    SectionSpec::of::<awsneuron::AwsNeuronConfig>(),
    SectionSpec::of::<enflame::EnflameConfig>(),
    SectionSpec::of::<amd::AmdConfig>(),
];

/// Node annotations they read.
pub const NODE_ANNOTATIONS: &[&str] = &[
    "hami.io/node-*-register",
    kunlun::REGISTER,
    super::register::CORDON,
    metax_shared::REGISTER,
    enflame::REGISTER,
    super::ratings::LOSSES,
    super::ratings::SCORES,
    super::pairs::LINKS,
];

/// Pod annotations that decide where a pod may go.
pub const ASKS: &[&str] = &[
    super::preference::POLICY,
    super::preference::NODE_POLICY,
    super::preference::WEIGHTS,
    nvidia::TYPES.0,
    nvidia::TYPES.1,
    nvidia::UUIDS.0,
    nvidia::UUIDS.1,
    nvidia::MODE,
    nvidia::NUMA,
    hygon::TYPES.0,
    hygon::TYPES.1,
    hygon::UUIDS.0,
    hygon::UUIDS.1,
    cambricon::UUIDS.0,
    cambricon::UUIDS.1,
    "hami.io/use-*-uuid",
    "hami.io/no-use-*-uuid",
    mthreads::UUIDS.0,
    mthreads::UUIDS.1,
    metax_shared::UUIDS.0,
    metax_shared::UUIDS.1,
    super::terms::QOS,
    super::terms::APP_CLASS,
    super::terms::HEEDS_LINKS,
    kunlun::UUIDS[1].0,
    kunlun::UUIDS[1].1,
    awsneuron::UUIDS.0,
    awsneuron::UUIDS.1,
    enflame::UUIDS.0,
    enflame::UUIDS.1,
    vastai::UUIDS.0,
    vastai::UUIDS.1,
    biren::UUIDS.0,
    biren::UUIDS.1,
    amd::TYPES.0,
    amd::TYPES.1,
    amd::UUIDS.0,
    amd::UUIDS.1,
];

/// How those answer that do not as HAMi's plugins do.
pub const PROTOCOLS: &[PluginProtocol] = &[
    cambricon::PROTOCOL,
    mthreads::PROTOCOL,
    kunlun::PROTOCOL,
    awsneuron::PROTOCOL,
    enflame::PROTOCOL,
];

/// Resources whose containers are written down by name.
pub const NAMED: &[&str] = &[enflame::NAMED];

/// Resources that the device configuration gives to two kinds of cards: neither could be told from the
/// other.
pub fn shared_names(config: &DeviceConfig) -> Vec<String> {
    let settings = Settings::default();
    let kinds: Vec<CardKind> = VENDORS
        .iter()
        .flat_map(|vendor| (vendor.kinds)(&settings, config))
        .collect();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut shared = Vec::new();
    for kind in &kinds {
        for name in kind.names.all().filter(|name| !name.is_empty()) {
            match owners.insert(name, &kind.word) {
                Some(other) if other != kind.word => shared.push(format!(
                    "{name} is a resource of {other} and of {}: give each a name of its own",
                    kind.word
                )),
                _ => {}
            }
        }
    }
    shared
}

/// The vendor of a name.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    let is_it = |vendor: &&Vendor| vendor.name.eq_ignore_ascii_case(name.trim());
    VENDORS.iter().find(is_it)
}
