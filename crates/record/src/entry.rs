//! One entry of a recording.

use std::time::Duration;

use pumice_decider::{DeciderMemory, DeciderOptions, ReportNews};
use pumice_devices::{ReportMaps, ReportPlace};
use pumice_engine::BindWait;
use pumice_model::Delta;
use pumice_model::extender::ExtenderReply;
use pumice_model::object::NodeUsage;
use pumice_model::shard::ShardView;
use pumice_model::write::Outcome;
use serde::{Deserialize, Serialize};

/// Where ConfigMaps are that tell of devices: what tells one place of a configuration from the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReportsOf {
    /// Namespace of the ConfigMaps.
    pub namespace: String,
    /// Name of the ConfigMap, or the label of all of them.
    pub which: String,
}

impl ReportsOf {
    /// How that place is recorded.
    pub fn of(place: &ReportPlace) -> Self {
        let which = match &place.maps {
            ReportMaps::Named(name) => name.clone(),
            ReportMaps::Labelled(label) => (*label).to_owned(),
        };
        let namespace = place.namespace.to_owned();
        Self { namespace, which }
    }
}

/// What a decider was told, or did. Times are since 1970, by the clock of the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TapeEntry {
    /// A decider that knows nothing.
    Begin {
        /// What it runs with.
        options: DeciderOptions,
        /// When it was made.
        at: Duration,
        /// It knew nothing then. Otherwise it went on, and the rest of the copy tells it what it knew.
        fresh: bool,
    },
    /// A configuration, by its text without secrets; `None` where it cannot be shown without them.
    Configure(Option<String>),
    /// Changes of the cluster.
    Deltas(Vec<Delta>),
    /// What an extender said.
    ExtenderReply(Box<ExtenderReply>),
    /// Every first list is complete.
    Synced,
    /// Whether this replica may write.
    Leader(bool),
    /// Whether what decisions are made from is followed.
    Followed(bool),
    /// Nothing is decided any more.
    Rest,
    /// The device configuration at a place.
    DeviceConfig {
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// What it says, if it is there.
        text: Option<String>,
    },
    /// What is new of ConfigMaps that tell of devices.
    NodeReports(ReportsOf, ReportNews),
    /// What was measured of nodes.
    NodeUsage(Vec<(String, NodeUsage)>),
    /// Bindings that are held back.
    BindWaits(Vec<(String, BindWait)>),
    /// The nodes of the own shard.
    Shard(ShardView),
    /// How a write ended, and what the clock said.
    Outcome(Outcome, Vec<u64>),
    /// The decider took a step.
    Step {
        /// What it read from the clock, in nanoseconds: the first since 1970, the others since the one before.
        readings: Vec<u64>,
        /// Pods it decided to bind: UID and node.
        placed: Vec<(String, String)>,
        /// Pods it decided to evict: UID.
        evicted: Vec<String>,
    },
    /// What was wanted done was taken.
    Effects {
        /// How much.
        count: u32,
        /// Digest of it.
        digest: u64,
    },
    /// Nothing is recorded from here on until another beginning.
    BreaksOff {
        /// When.
        at: Duration,
        /// For people.
        why: String,
    },
    /// The copy at which a segment begins is all there.
    CopyEnds,
    /// What the decider remembered at a copy, beside what it was told.
    Memory {
        /// What it remembered.
        of: Box<DeciderMemory>,
        /// What was wanted done and not taken then.
        untaken: UntakenEffects,
    },
}

/// How much was wanted done and not taken when a copy was made, and the digest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntakenEffects {
    pub(crate) count: u32,
    pub(crate) digest: u64,
}
