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
    /// Its name; it exists and is built, and no other entry of the file has it.
    pub name: String,
    /// Which extension points it takes part in.
    pub enabled: Enabled,
    /// Its arguments, each of the kind its spec names.
    pub arguments: Arguments,
}

/// One entry of `configurations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedArguments {
    /// The name of an action, or a free-form name such as `init-params`.
    pub name: String,
    /// The arguments.
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
    /// JobOrder.
    job_order, "enableJobOrder", true;
    /// JobReady.
    job_ready, "enableJobReady", true;
    /// JobPipelined.
    job_pipelined, "enableJobPipelined", true;
    /// JobEnqueueable and JobEnqueued.
    job_enqueued, "enableJobEnqueued", true;
    /// TaskOrder.
    task_order, "enableTaskOrder", true;
    /// Preemptable; with `allocatable` also off, the simulated add and remove of a task too.
    preemptable, "enablePreemptable", true;
    /// Reclaimable.
    reclaimable, "enableReclaimable", true;
    /// Preemptive.
    preemptive, "enablePreemptive", true;
    /// QueueOrder.
    queue_order, "enableQueueOrder", true;
    /// Predicate, PrePredicate and SimulatePredicate.
    predicate, "enablePredicate", true;
    /// BestNode.
    best_node, "enableBestNode", true;
    /// NodeOrder, BatchNodeOrder, NodeMap and NodeReduce.
    node_order, "enableNodeOrder", true;
    /// TargetJob.
    target_job, "enableTargetJob", true;
    /// ReservedNodes.
    reserved_nodes, "enableReservedNodes", true;
    /// JobStarving.
    job_starving, "enableJobStarving", true;
    /// VictimTasks.
    victim, "enabledVictim", true;
    /// Overused.
    overused, "enabledOverused", true;
    /// Allocatable and SimulateAllocatable.
    allocatable, "enabledAllocatable", true;
    /// HyperNodeOrder.
    hyper_node_order, "enabledHyperNodeOrder", true;
    /// SubJobReady.
    sub_job_ready, "enabledSubJobReady", true;
    /// SubJobPipelined.
    sub_job_pipelined, "enabledSubJobPipelined", true;
    /// SubJobOrder.
    sub_job_order, "enabledSubJobOrder", true;
    /// HyperNodeGradientForJob and HyperNodeGradientForSubJob.
    hyper_node_gradient, "enabledHyperNodeGradient", true;
    /// Hierarchy mode of drf and capacity.
    hierarchy, "enableHierarchy", false;
    /// ClusterOrder; nothing calls it.
    cluster_order, "enabledClusterOrder", false;
}
