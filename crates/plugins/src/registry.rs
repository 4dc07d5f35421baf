//! The one list of plugins: every plugin of Volcano, and how it is made.
//!
//! What a plugin reads from the configuration stands in its module.

use pumice_conf::{Config, PluginConf, PluginSpec};
use pumice_framework::{Plugin, ReasonTable};

use crate::deviceshare::DeviceShare;
use crate::{
    binpack, capacity, cdp, conformance, deviceshare, drf, extender, gang, network_topology_aware,
    nodegroup, nodeorder, numa_aware, overcommit, pdb, predicates, priority, proportion,
    rescheduling, resource_strategy_fit, resourcequota, sla, task_topology, tdm, usage,
};

/// Makes a plugin from its checked configuration; its filter reasons go into the table.
pub type Build = fn(&PluginConf, &mut ReasonTable) -> Box<dyn Plugin>;

/// One plugin of the list.
#[derive(Clone, Copy)]
pub struct PluginEntry {
    /// Name, summary and arguments: what a configuration is checked against.
    pub spec: PluginSpec,
    /// Makes it.
    pub build: Build,
    /// Annotations of pods and PodGroups it asks for by key; no others are kept.
    pub annotations: &'static [&'static str],
    /// The entry of `configurations` whose arguments it gets beside its own.
    pub configuration: Option<&'static str>,
}

impl PluginEntry {
    /// A plugin.
    pub(crate) const fn new(spec: PluginSpec, build: Build) -> Self {
        Self {
            spec,
            build,
            annotations: &[],
            configuration: None,
        }
    }

    /// The plugin reads these annotations of pods or PodGroups: `Task::annotation`,
    /// `GroupObject::annotation`.
    pub(crate) const fn reading(self, annotations: &'static [&'static str]) -> Self {
        Self {
            annotations,
            ..self
        }
    }

    /// The plugin gets the arguments of an entry of `configurations` beside its own.
    pub(crate) const fn with_configuration(self, name: &'static str) -> Self {
        Self {
            configuration: Some(name),
            ..self
        }
    }
}

/// The list. To add a plugin: a module with an `ENTRY`, and its line here.
pub static PLUGINS: &[PluginEntry] = &LIST;

/// A plugin that is there in every configuration.
pub struct Mandatory {
    /// Its name.
    pub name: &'static str,
    /// Makes it where the configuration does not name it.
    pub make: fn() -> Box<dyn Plugin>,
}

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
