//! Plugin `conformance`: never evict critical pods (spec/02 §3).
//!
//! It only speaks about victims. Until preempt and reclaim come it has no point and no effect. It
//! will protect every pod of priority class `system-cluster-critical` or `system-node-critical` (by
//! name of the class, not by its value) and every pod in namespace `kube-system`; the model already
//! marks them ([`pumice_model::Task::critical`]).

use pumice_conf::PluginSpec;
use pumice_framework::{Plugin, Points};

use crate::registry::Entry;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "conformance",
    summary: "Protects critical pods and those of kube-system from eviction.",
    args: &[],
    rules: &[],
    built: true,
};

/// Entry of the list of plugins.
pub const ENTRY: Entry = Entry::new(SPEC, |_, _| Box::new(Conformance));

/// The plugin.
pub struct Conformance;

impl Plugin for Conformance {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn points(&self) -> Points {
        Points::default()
    }
}
