//! The checked configuration: what the rest of the scheduler reads.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::arguments::Arguments;

/// A checked configuration (spec/01 §2.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Config {
    /// Names of the actions in the order they run; all of them exist and are built.
    pub actions: Vec<String>,
    /// Plugins by tier; the order of both matters (spec/01 §5).
    pub tiers: Vec<Tier>,
    /// Arguments of actions and free-form entries; one entry a name (the first of the file).
    pub configurations: Vec<NamedArguments>,
    /// Source of node usage (spec/01 §2.7); every scalar as its text.
    pub metrics: BTreeMap<String, String>,
}

impl Config {
    /// The arguments of the `configurations` entry with this name.
    #[must_use]
    pub fn configuration(&self, name: &str) -> Option<&Arguments> {
        let entry = self.configurations.iter().find(|entry| entry.name == name);
        entry.map(|entry| &entry.arguments)
    }

    /// The plugin with this name, in whichever tier it is.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&PluginConf> {
        self.tiers
            .iter()
            .flat_map(|tier| &tier.plugins)
            .find(|plugin| plugin.name == name)
    }
}

/// One tier of plugins.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tier {
    /// The plugins in file order.
    pub plugins: Vec<PluginConf>,
}

/// One plugin of a tier.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PluginConf {
    /// Name of the plugin; it exists and is built, and no other entry of the file has it.
    pub name: String,
    /// Which extension points it takes part in.
    pub enabled: Enabled,
    /// Arguments of the plugin, each of the kind its spec names.
    pub arguments: Arguments,
}

/// One entry of `configurations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedArguments {
    /// The name of an action, or a free-form name such as `init-params`.
    pub name: String,
    /// Arguments that are given under this name.
    pub arguments: Arguments,
}

/// One switch of a plugin entry.
#[derive(Clone, Copy, Debug)]
pub struct EnableKey {
    /// The exact key in the file. Both spellings, `enable` and `enabled`, are in use.
    pub name: &'static str,
    /// The value when the key is absent.
    pub default: bool,
    pub(crate) field: fn(&mut Enabled) -> &mut bool,
}

impl EnableKey {
    /// Whether the switch is on.
    #[must_use]
    pub fn is_on(&self, mut switches: Enabled) -> bool {
        *(self.field)(&mut switches)
    }
}

macro_rules! switches {
    ($($(#[$doc:meta])* $field:ident, $key:literal, $default:literal;)*) => {
        /// The switches of one plugin: which extension points it takes part in (spec/01 §2.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub struct Enabled {
            $($(#[$doc])* pub $field: bool,)*
        }

        impl Enabled {
            /// What of it is left where another one has its say: what that one has switched off.
            #[must_use]
            pub fn beside(self, other: Self) -> Self {
                Self { $($field: self.$field && !other.$field,)* }
            }

            /// Nothing is switched on.
            #[must_use]
            pub fn is_off(self) -> bool {
                $(!self.$field)&&*
            }
        }

        impl Default for Enabled {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        /// All switches with their keys and defaults.
        pub const ENABLE_KEYS: &[EnableKey] = &[
            $(EnableKey { name: $key, default: $default, field: |on| &mut on.$field },)*
        ];
    };
}

switches! {
    /// Extension point `JobOrder`: which job comes first.
    job_order, "enableJobOrder", true;
    /// Extension point `JobReady`: whether a gang may be bound.
    job_ready, "enableJobReady", true;
    /// Extension point `JobPipelined`: whether a gang may wait on its nodes.
    job_pipelined, "enableJobPipelined", true;
    /// JobEnqueueable and JobEnqueued.
    job_enqueued, "enableJobEnqueued", true;
    /// Extension point `TaskOrder`: which pod of a job comes first.
    task_order, "enableTaskOrder", true;
    /// Preemptable; with `allocatable` also off, the simulated add and remove of a task too.
    preemptable, "enablePreemptable", true;
    /// Extension point `Reclaimable`: who may go for another queue.
    reclaimable, "enableReclaimable", true;
    /// Extension point `Preemptive`: whether a queue may reclaim.
    preemptive, "enablePreemptive", true;
    /// Extension point `QueueOrder`: which queue comes first.
    queue_order, "enableQueueOrder", true;
    /// Predicate, PrePredicate and SimulatePredicate.
    predicate, "enablePredicate", true;
    /// Extension point `BestNode`: which of the nodes with the best score.
    best_node, "enableBestNode", true;
    /// NodeOrder, BatchNodeOrder, NodeMap and NodeReduce.
    node_order, "enableNodeOrder", true;
    /// Extension point `TargetJob`: for which job nodes are reserved.
    target_job, "enableTargetJob", true;
    /// Extension point `ReservedNodes`: which nodes are reserved.
    reserved_nodes, "enableReservedNodes", true;
    /// Extension point `JobStarving`: whether a job may evict others.
    job_starving, "enableJobStarving", true;
    /// VictimTasks.
    victim, "enabledVictim", true;
    /// Extension point `Overused`: whether a queue has what it deserves.
    overused, "enabledOverused", true;
    /// Allocatable and SimulateAllocatable.
    allocatable, "enabledAllocatable", true;
    /// Extension point `HyperNodeOrder`: which domain of the network comes first.
    hyper_node_order, "enabledHyperNodeOrder", true;
    /// Extension point `SubJobReady`: whether a sub-group may be bound.
    sub_job_ready, "enabledSubJobReady", true;
    /// Extension point `SubJobPipelined`: whether a sub-group may wait on its nodes.
    sub_job_pipelined, "enabledSubJobPipelined", true;
    /// Extension point `SubJobOrder`: which sub-group of a job comes first.
    sub_job_order, "enabledSubJobOrder", true;
    /// HyperNodeGradientForJob and HyperNodeGradientForSubJob.
    hyper_node_gradient, "enabledHyperNodeGradient", true;
    /// Hierarchy mode of drf and capacity.
    hierarchy, "enableHierarchy", false;
    /// ClusterOrder; nothing calls it.
    cluster_order, "enabledClusterOrder", false;
}
