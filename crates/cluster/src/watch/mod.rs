//! What the API server knows, as a stream of changes for the engine.
//!
//! ```text
//!  follow ─► decode ──► rules ────► (ledger) ─► outbox ──► Input   (one follower per kind)
//!            one wire   ours?                    in order,
//!            object,    on our                   whole lists
//!            dropped    nodes?
//!            at once
//! ```
//!
//! [`crate::follow`] lists and watches; here stands which kinds (`kinds` is the table), which of their objects count, and
//! what they mean.
//!
//! Invariants:
//! * No half list is acted on: until every kind was listed once there is no [`WatchInput::Synced`]; from
//!   then on the difference a list makes is one [`WatchInput::Deltas`].
//! * Whether PodGroups are made by somebody is known before [`WatchInput::Synced`] (`group_controller`).
//! * A kind whose custom resource is not installed counts as empty.
//! * What cannot be read is reported and hurts only itself; what was known of it stays.

mod decode;
mod group_controller;
mod kinds;
mod outbox;
mod picture;
mod rules;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use pumice_ingest::ObjectProblem;
use pumice_model::Delta;
use pumice_model::lag::WATCH_GRACE;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use outbox::Outbox;
use rules::WatchRules;

use crate::ObjectRef;
use crate::follow::board::{Board, KindReporter, KindSlot, KindStatus};
use crate::follow::{FollowLimits, KindFollower, ReadWay, WatchTimes};
use crate::hash_ring::Ring;
use crate::plugin_progress::PluginProgress;
use pumice_model::shard::ShardView;

pub use picture::Picture;

/// Kinds whose definitions every cluster needs: without them there are no queues and no gangs.
pub const NEEDED_DEFINITIONS: [&str; 2] = ["Queue", "PodGroup"];

/// What to do when one of them is missing.
pub const INSTALL_DEFINITIONS: &str =
    "install the CRDs: kubectl create -f config/crd/ of Pumice, or those of Volcano";

/// How the kind of PodGroups of Kubernetes itself is called on the board.
pub(crate) const NATIVE_GROUPS: &str = "PodGroup.scheduling.k8s.io";

/// What the watch tells.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchInput {
    /// Applied in order and together: a single event, a part of the first list, or the whole
    /// difference a later list made.
    Deltas(Vec<Delta>),
    /// An object that could not be read, with all its problems, or one that can be read again or is
    /// gone, with none. What was known of it before stays known.
    Problems {
        /// The object.
        about: ObjectRef,
        /// What is wrong with it.
        problems: Vec<ObjectProblem>,
        /// It counts all the same, and what cannot be read of it as used.
        counts: bool,
    },
    /// The nodes this scheduler may use changed (modes hard and soft).
    Shard(ShardView),
    /// Sent into the stream at this time by whoever measures how far behind the receiver is.
    Probe(std::time::Instant),
    /// Every kind has been listed; sent once, after all these lists. Nothing may be decided before.
    Synced,
}

/// What is watched, and which of it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchOptions {
    /// Pods with one of these scheduler names are ours (`--scheduler-name`).
    pub scheduler_names: Vec<String>,
    /// Annotations of pods and PodGroups that some plugin reads.
    pub annotations: Vec<&'static str>,
    /// Label and value; a node counts when it has any of them, or when there is none here
    /// (`--node-selector`, spec/01 §1.8).
    pub node_selector: Vec<(String, String)>,
    /// Share of this scheduler among several (spec/01 §1.7).
    pub ring: Option<Ring>,
    /// Watch ReplicationControllers, ReplicaSets and StatefulSets (gate `WorkLoadSupport`).
    pub workloads: bool,
    /// Watch PriorityClasses (`--priority-class` and the gate `PriorityClass`).
    pub priority_class: bool,
    /// Watch Numatopologies (gate `ResourceTopology`).
    pub numatopologies: bool,
    /// Watch CSIDrivers and CSIStorageCapacities (`--csi-storage`).
    pub csi: bool,
    /// Name of the own NodeShard, in the modes hard and soft (`--scheduler-sharding-name`).
    pub shard: Option<String>,
    /// Namespace and name of the Lease of the controller that makes PodGroups for pods that name
    /// none; `None` where there is no such controller.
    pub group_controller: Option<(String, String)>,
    /// Objects in one page of a list, where the server cannot stream it.
    pub page_size: u32,
    /// How long to wait for what.
    pub pace: WatchTimes,
    /// How long a kind that protects may not be followed before nothing is decided; zero for ever.
    pub grace: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            scheduler_names: vec![pumice_api::keys::DEFAULT_SCHEDULER.to_owned()],
            annotations: Vec::new(),
            node_selector: Vec::new(),
            ring: None,
            workloads: true,
            priority_class: true,
            numatopologies: true,
            csi: true,
            shard: None,
            group_controller: None,
            page_size: 500,
            pace: WatchTimes::default(),
            grace: WATCH_GRACE,
        }
    }
}

/// Starts to watch. Must be called within a tokio runtime.
///
/// When `inputs` is full the watch waits, and the API server with it; when its receiver is gone the
/// watch ends. What changes say about device plugins is noted in `progress` before they are handed on.
pub fn start(
    way: ReadWay,
    options: WatchOptions,
    inputs: Sender<WatchInput>,
    progress: Option<&PluginProgress>,
) -> WatchHandle {
    let kinds: Vec<kinds::WatchedKind> = kinds::table(&options).collect();
    let rows = kinds.iter().map(|kind| kind.row().slot());
    let leases = options.group_controller.iter().map(|_| KindSlot {
        kind: group_controller::KIND,
        required: false,
        protects: false,
        always_served: false,
    });
    let board = Arc::new(Board::new(rows.chain(leases)));
    let after_kinds = kinds.len();
    let limits = FollowLimits {
        pace: options.pace.clone(),
        page_size: options.page_size,
    };
    let mut tasks = JoinSet::new();
    for (at, kind) in kinds.into_iter().enumerate() {
        let place = KindReporter::new(Arc::clone(&board), at);
        let receivers = (inputs.clone(), progress.cloned());
        let own_shard = options
            .shard
            .as_deref()
            .filter(|_| kind.name == "NodeShard");
        let outbox = Outbox::new(kind, WatchRules::new(&options), receivers, own_shard);
        let (way, limits) = (way.clone(), limits.clone());
        tasks.spawn(KindFollower::new(kind.row(), outbox, way, limits, place).run());
    }
    if let Some((namespace, name)) = &options.group_controller {
        let place = KindReporter::new(Arc::clone(&board), after_kinds);
        let pace = options.pace.clone();
        let looks = group_controller::Looks::new(way.client, namespace, name, pace, inputs, place);
        tasks.spawn(looks.run());
    }
    WatchHandle {
        picture: Picture::new(Arc::clone(&board), options.grace),
        board,
        _tasks: tasks,
    }
}

/// A running watch; dropping it ends the watch.
#[derive(Debug)]
pub struct WatchHandle {
    board: Arc<Board>,
    picture: Picture,
    _tasks: JoinSet<()>,
}

impl WatchHandle {
    /// Whether every kind has been listed. [`WatchInput::Synced`] says the same in order with the
    /// changes, which is what decisions must wait for.
    pub fn synced(&self) -> bool {
        self.board.synced()
    }

    /// Waits until [`WatchHandle::synced`].
    pub async fn wait_synced(&self) {
        self.board.wait_synced().await;
    }

    /// Whether what decisions are made from is followed.
    pub fn picture(&self) -> Picture {
        self.picture.clone()
    }

    /// Where every kind stands, in a fixed order.
    pub fn kinds(&self) -> Vec<KindStatus> {
        self.board.kinds()
    }
}
