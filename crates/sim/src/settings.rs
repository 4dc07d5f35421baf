//! What a simulation needs to know besides the objects.

use pumice_ingest::Options;
use pumice_model::object::Shard;

/// How long to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Until nothing changes, with a kubelet and controllers.
    FixedPoint,
    /// This many cycles, no kubelet; Bindings are accepted between cycles.
    Cycles(u32),
}

/// The NodeShard of the simulated scheduler.
#[derive(Clone, Debug)]
pub struct OwnShard {
    /// Name of the NodeShard (`--scheduler-sharding-name`).
    pub name: String,
    /// What becomes of nodes it has not: `Later` in mode soft, `Never` in mode hard.
    pub others: Shard,
}

/// What the simulation needs to know besides the objects.
#[derive(Clone, Debug)]
pub struct SimulationSettings {
    /// How long to run.
    pub mode: Mode,
    /// Start of the virtual clock, seconds since the epoch.
    pub now_s: i64,
    /// Queue of PodGroups without one.
    pub default_queue: String,
    /// Scheduler names that are ours.
    pub options: Options,
    /// Further provisioners whose volumes do not count against the limits of nodes.
    pub ignored_provisioners: Vec<String>,
    /// Share the nodes by NodeShards.
    pub shard: Option<OwnShard>,
    /// Only nodes with any of these labels take part; empty: all.
    pub node_selector: Vec<(String, String)>,
}
