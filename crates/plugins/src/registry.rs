//! The one list of plugins: every plugin of Volcano, and how it is made.
//!
//! What a plugin reads from the configuration stands in its module, what an entry is in `entry.rs`.
//! Nothing that is listed here imports from here.

use pumice_conf::{Config, Enabled, PluginConf, PluginSpec};

use crate::deviceshare::DeviceShare;
use crate::entry::{Mandatory, PluginEntry};
use crate::{
    autoscaler, binpack, capacity, cdp, conformance, deviceshare, drf, extender, fairshare,
    fragmentation, gang, multifactor, network_topology_aware, nodegroup, nodeorder, numa_aware,
    overcommit, pdb, predicates, priority, proportion, rescheduling, reservation,
    resource_strategy_fit, resourcequota, runtimeestimate, runtimelimit, sla, task_topology, tdm,
    usage,
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

const LIST: [PluginEntry; 31] = [
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
    fragmentation::ENTRY,
    reservation::ENTRY,
    fairshare::ENTRY,
    runtimelimit::ENTRY,
    multifactor::ENTRY,
    runtimeestimate::ENTRY,
    autoscaler::ENTRY,
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

/// The points at which a plugin is asked: where another plugin of the configuration decides the same, only
/// those that that one has switched off, and whether there is such a one. `None`: at none.
pub fn asked_at(plugin: &PluginConf, conf: &Config) -> Option<(Enabled, bool)> {
    let overrules = |entry: &&PluginEntry| {
        let mut conflicts = entry.spec.conflicts.iter();
        conflicts.any(|conflict| conflict.overrules && conflict.with == plugin.name)
    };
    let decides = PLUGINS.iter().filter(overrules);
    let decides = decides.filter_map(|entry| conf.plugin(entry.spec.name));
    let mut asked = plugin.enabled;
    let mut is_beside = false;
    for other in decides {
        is_beside = true;
        asked = asked.beside(other.enabled);
    }
    (!is_beside || !asked.is_off()).then_some((asked, is_beside))
}
