//! The built-in plugins, one module each, and their static list.
//!
//! ```text
//!   PLUGINS ───► pumice-conf checks the file ──► Config ──► build ──► Plugins
//!                                                             │
//!   order, votes      priority · gang · drf · proportion · capacity · overcommit · sla · resourcequota · tdm
//!   nodes             predicates · nodeorder · binpack · nodegroup · resource-strategy-fit · tdm · usage · numa-aware
//!   nodes of a job    task-topology · network-topology-aware
//!   cards left over   fragmentation
//!   time              reservation · fairshare · multifactor · runtimelimit · runtimeestimate
//!   devices           deviceshare (the families of pumice-devices judge)
//!   outside           extender
//!   victims           conformance · proportion · capacity · cdp · pdb · tdm · rescheduling · autoscaler
//! ```
//!
//! Sums per job, queue and node are read live from the state, which keeps them exact under undo. A
//! plugin keeps only what it derives when a cycle opens (shares of the cluster, limits, reservations), and
//! sums that the state does not have, by every step (trees of queues). To add a plugin: one module, and its line in [`registry`].

pub mod autoscaler;
pub mod binpack;
mod capability;
pub mod capacity;
pub mod cdp;
mod columns;
pub mod conformance;
mod demand;
mod deserving;
pub mod deviceshare;
pub mod drf;
mod entry;
pub mod extender;
pub mod fairshare;
pub mod fragmentation;
pub mod gang;
mod inter_pod_affinity;
mod kept_lines;
pub mod multifactor;
mod named_map;
pub mod network_topology_aware;
pub mod nodegroup;
pub mod nodeorder;
pub mod numa_aware;
pub mod overcommit;
pub mod pdb;
mod period;
pub mod predicates;
pub mod priority;
pub mod proportion;
pub mod registry;
pub mod rescheduling;
pub mod reservation;
pub mod resource_strategy_fit;
mod resource_weights;
pub mod resourcequota;
pub mod runtimeestimate;
pub mod runtimelimit;
pub mod sla;
pub mod task_topology;
pub mod tdm;
mod topology_spread;
pub mod usage;

use pumice_conf::{Arguments, Config, PluginConf, Value};
use pumice_devices::Settings;
use pumice_framework::plugins::Member;
use pumice_framework::{Plugin, Plugins, ReasonTable};
use pumice_model::extender::ExtenderSettings;

pub use entry::{Build, Mandatory, PluginEntry};
pub use registry::{MANDATORY, PLUGINS, SPECS, annotations_read};

/// The plugins of a checked configuration in their tiers. Their filter reasons are interned in
/// `reasons`.
pub fn build(conf: &Config, reasons: &mut ReasonTable) -> Plugins {
    let mut tiers = Vec::with_capacity(conf.tiers.len());
    for tier in &conf.tiers {
        let members = tier.plugins.iter().filter_map(|plugin| {
            let (asked, is_beside) = registry::asked_at(plugin, conf)?;
            let member = Member::new(make(conf, plugin, reasons)?, &asked);
            Some(if is_beside {
                member.without_views()
            } else {
                member
            })
        });
        tiers.push(members.collect());
    }
    let unnamed = MANDATORY
        .iter()
        .filter(|plugin| conf.plugin(plugin.name).is_none());
    tiers.push(
        unnamed
            .map(|plugin| Member::unnamed((plugin.make)()))
            .collect(),
    );
    Plugins::new(tiers)
}

/// How a checked configuration wants devices to be read.
pub fn device_settings(conf: &Config) -> Settings {
    build(conf, &mut ReasonTable::default()).device_settings()
}

/// Namespace and name of the ConfigMap with the mix of tasks, if a checked configuration names one that counts.
pub fn mix_place(conf: &Config) -> Option<(String, String)> {
    fragmentation::map_place(&conf.plugin(fragmentation::SPEC.name)?.arguments)
}

/// Namespace and name of the ConfigMap in which the tasks that were counted for the mix are kept, if a checked configuration
/// names one.
pub fn counted_place(conf: &Config) -> Option<(String, String)> {
    fragmentation::counted_place(&conf.plugin(fragmentation::SPEC.name)?.arguments)
}

/// Namespace and name of the ConfigMap in which is kept what was used, if a checked configuration names one.
pub fn kept_use_place(conf: &Config) -> Option<(String, String)> {
    fairshare::kept_place(&conf.plugin(fairshare::SPEC.name)?.arguments)
}

/// Why a text that is kept of what was used says nothing under a checked configuration, if it does not.
pub fn kept_use_fault(text: &str, conf: &Config) -> Option<String> {
    let plugin = conf.plugin(fairshare::SPEC.name)?;
    fairshare::kept_use_fault(text, &plugin.arguments)
}

/// Namespace and name of the ConfigMap in which places are kept for jobs, if a checked configuration names one.
pub fn kept_reservations_place(conf: &Config) -> Option<(String, String)> {
    reservation::kept_place(&conf.plugin(reservation::SPEC.name)?.arguments)
}

/// Namespace and name of the ConfigMap in which is kept how long jobs ran, if a checked configuration names one.
pub fn kept_run_times_place(conf: &Config) -> Option<(String, String)> {
    runtimeestimate::kept_place(&conf.plugin(runtimeestimate::SPEC.name)?.arguments)
}

/// Where the extender of a checked configuration is, if it is asked or told anything.
pub fn extender_settings(conf: &Config) -> Option<ExtenderSettings> {
    let settings = extender::settings(conf.plugin(extender::SPEC.name)?);
    let is_used = !settings.verbs.is_empty() || !settings.events.is_empty();
    is_used.then_some(settings)
}

/// One plugin; none when the name is not a built one, which a checked configuration rules out.
fn make(conf: &Config, plugin: &PluginConf, reasons: &mut ReasonTable) -> Option<Box<dyn Plugin>> {
    let entry = registry::find(&plugin.name)?;
    let plugin = PluginConf {
        arguments: arguments_of(entry, plugin, conf),
        ..plugin.clone()
    };
    Some((entry.build)(&plugin, reasons))
}

/// What a plugin reads: its own arguments, those of the entry of `configurations` that it has, and how often
/// nodes are measured as `metrics.interval`.
fn arguments_of(entry: &PluginEntry, plugin: &PluginConf, conf: &Config) -> Arguments {
    let beside = entry
        .configuration
        .and_then(|name| conf.configuration(name));
    let is_own = |name: &str| entry.spec.args.iter().any(|arg| arg.name == name);
    let beside = beside.into_iter().flat_map(Arguments::iter);
    let beside = beside.filter(|(name, _)| !is_own(name));
    let own = plugin.arguments.iter().chain(beside);
    let arguments = own.map(|(name, value)| (name.to_owned(), value.clone()));
    let interval = conf
        .metrics
        .get("interval")
        .filter(|_| entry.spec.reads_usage);
    let interval =
        interval.map(|text| (usage::INTERVAL.name().to_owned(), Value::Str(text.clone())));
    arguments.chain(interval).collect()
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests;
