//! Traces of pods for OpenTelemetry: from first seen to bound, in parts without a gap between them, each with
//! what the pod waited for.
//!
//! ```text
//!  deciding thread: TraceFeed ─┐ PodMoment, bounded
//!  writers:         TraceSink ─┴─────────────────► TraceBook ─► PodTrace ─► batches, bounded ─► otlp ─► collector
//! ```
//!
//! Nobody who decides or writes waits for any of it: what finds no room is lost and counted. How many pods are
//! followed at a time, and of one namespace, is bounded, and so is what is kept of each.

mod book;
mod export;
mod feed;
mod otlp;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pumice_admin::metrics::Metrics;
use pumice_cluster::effects::BindStage;
use tokio::sync::mpsc;

pub use export::start;
pub use feed::TraceFeed;

use crate::clock::DeciderClock;

/// Moments that may wait to be put into traces.
const MAX_MOMENTS: usize = 65_536;

/// Something that happened to a pod.
#[derive(Clone, Debug, PartialEq)]
struct PodMoment {
    /// Since 1970.
    at: Duration,
    /// UID of the pod.
    uid: String,
    step: PodStep,
}

/// What happened to it.
#[derive(Clone, Debug, PartialEq)]
enum PodStep {
    /// It is there, and has no node.
    Seen(Box<PodSeen>),
    /// Whether it has scheduling gates has changed.
    Gated(bool),
    /// It waits, and it is known why.
    Waits(WaitReason),
    /// A cycle that began at this moment has decided on a node.
    Decided(Box<PodDecision>),
    /// The pod's Binding enters a stage.
    Binds(BindStage),
    /// The watch shows it on this node.
    Bound(String),
    /// It is gone, or is not to be placed any more.
    Gone,
}

/// A pod that waits for a node.
#[derive(Clone, Debug, PartialEq)]
struct PodSeen {
    namespace: String,
    name: String,
    /// Creation, seconds since the epoch.
    created_s: i64,
    /// It was there when this process began to look.
    at_start: bool,
    /// It has scheduling gates.
    gated: bool,
}

/// Why a pod waits.
#[derive(Clone, Debug, Default, PartialEq)]
struct WaitReason {
    /// The word of its condition.
    word: String,
    /// For people.
    message: String,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct PodDecision {
    /// Number of the cycle.
    pub cycle: u64,
    /// Name of the node.
    pub node: String,
    /// Name of the pod's queue.
    pub queue: String,
    /// Name of the pod's PodGroup; empty where it has none.
    pub group: String,
}

/// Takes moments of pods, from any thread. It is nothing where traces are off.
#[derive(Clone, Default)]
pub struct TraceSink(Option<Arc<OpenSink>>);

struct OpenSink {
    moments: mpsc::Sender<PodMoment>,
    clock: DeciderClock,
    metrics: Arc<Metrics>,
    /// A moment found no room since the book was last looked at.
    lost: Arc<AtomicBool>,
    /// Pods of a million of which there are traces.
    per_million: u64,
}

impl TraceSink {
    /// The Binding of a pod enters a stage.
    pub fn binds(&self, uid: &str, stage: BindStage) {
        if let Some(sink) = &self.0
            && sink.follows(uid)
        {
            sink.send(sink.now(), uid, PodStep::Binds(stage));
        }
    }
}

impl OpenSink {
    fn now(&self) -> Duration {
        self.clock.since_epoch()
    }

    /// Whether there are traces of the pod with this UID: the same answer at any time, in any process.
    fn follows(&self, uid: &str) -> bool {
        self.per_million >= MILLION || otlp::random_part(uid) % MILLION < self.per_million
    }

    fn send(&self, at: Duration, uid: &str, step: PodStep) {
        let uid = uid.to_owned();
        if self.moments.try_send(PodMoment { at, uid, step }).is_err() {
            self.lost.store(true, Ordering::Relaxed);
        }
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests;
