//! The one list of plugins: every plugin of Volcano, and how it is made.
//!
//! What a plugin reads from the configuration stands in its module, what an entry is in `entry.rs`.
//! Nothing that is listed here imports from here.

use pumice_conf::{Config, PluginSpec};

use crate::deviceshare::DeviceShare;
use crate::entry::{Mandatory, PluginEntry};
use crate::{
    binpack, capacity, cdp, conformance, deviceshare, drf, extender, gang, network_topology_aware,
    nodegroup, nodeorder, numa_aware, overcommit, pdb, predicates, priority, proportion,
    rescheduling, resource_strategy_fit, resourcequota, sla, task_topology, tdm, usage,
};

/// The list. To add a plugin: a module with an `ENTRY`, and its line here.
pub static PLUGINS: &[PluginEntry] = &LIST;

/// Plugins that are there whether they are named or not: what they look after must never be given out
/// unseen.
pub static MANDATORY: &[Mandatory] = &[Mandatory {
    name: deviceshare::SPEC.name,
    make: || Box::new(DeviceShare::default()),
}];

/// The specs of [`PLUGINS`], in the same order.
pub static SPECS: &[PluginSpec] = &specs();

const LIST: [PluginEntry; 24] = [
    priority::ENTRY,
    gang::ENTRY,
    conformance::ENTRY,
    overcommit::ENTRY,
    drf::ENTRY,
    predicates::ENTRY,
    proportion::ENTRY,
    capacity::ENTRY,
    nodeorder::ENTRY,
    binpack::ENTRY,
    deviceshare::ENTRY,
    nodegroup::ENTRY,
    sla::ENTRY,
    resource_strategy_fit::ENTRY,
    pdb::ENTRY,
    resourcequota::ENTRY,
    tdm::ENTRY,
    numa_aware::ENTRY,
    task_topology::ENTRY,
    network_topology_aware::ENTRY,
    usage::ENTRY,
    rescheduling::ENTRY,
    cdp::ENTRY,
    extender::ENTRY,
];

const fn specs() -> [PluginSpec; LIST.len()] {
    let mut specs = [LIST[0].spec; LIST.len()];
    let mut at = 1;
    while at < LIST.len() {
        specs[at] = LIST[at].spec;
        at += 1;
    }
    specs
}

/// Annotations that some plugin reads, whether it is configured or not: a configuration may change
/// while the objects that were read stay.
pub fn annotations_read() -> Vec<&'static str> {
    let all = PLUGINS.iter().flat_map(|entry| entry.annotations);
    let mut keys: Vec<_> = all.copied().collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The entry with a name.
pub fn find(name: &str) -> Option<&'static PluginEntry> {
    PLUGINS.iter().find(|entry| entry.spec.name == name)
}

/// Whether another plugin of a configuration decides what this one would, which then is not asked.
pub fn is_overruled(name: &str, conf: &Config) -> bool {
    let mut named = PLUGINS
        .iter()
        .filter(|entry| conf.plugin(entry.spec.name).is_some());
    named.any(|entry| {
        let mut conflicts = entry.spec.conflicts.iter();
        conflicts.any(|conflict| conflict.overrules && conflict.with == name)
    })
}
