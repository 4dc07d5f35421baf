//! Moments become traces. Pure: a moment says when it was.
//!
//! A trace is a row of parts: one ends in the moment in which the next begins, the first begins when the pod
//! is first seen, and the last ends with the trace. So the parts sum to the latency, to the nanosecond.
//!
//! ```text
//!  wait (reason) ─► wait (another) ─► decide ─► turn, volumes, … request ─► confirm ─► bound
//!       ▲                                             └── it failed ──┐
//!       └─────────────────────────────────────────────────────────────┘
//! ```
//!
//! A reason is known some time after the wait for it began: the first one counts from the beginning of the
//! wait, each further one from when it was told.

use std::mem;
use std::time::Duration;

use pumice_cluster::effects::BindStage;
use rustc_hash::FxHashMap;

use super::{PodDecision, PodMoment, PodSeen, PodStep, WaitReason};

/// Parts of one trace; whatever comes after belongs to the last one.
const MAX_PARTS: usize = 64;

/// What a part of a trace is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PartKind {
    /// It waits, as far as known for this.
    Wait(WaitReason),
    /// The cycle that decides on its node, until the decision is handed to the writers.
    Decide,
    /// The pod's Binding is at this stage.
    Bind(BindStage),
}

/// A part of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TracePart {
    pub(super) kind: PartKind,
    pub(super) from: Duration,
    pub(super) until: Duration,
}

/// How a trace ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TraceEnd {
    /// The watch shows the pod on this node.
    Bound(String),
    /// The pod is gone.
    Gone,
}

/// A pod's way from first seen to its end, complete.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PodTrace {
    pub(super) uid: String,
    pub(super) pod: PodSeen,
    /// Without gaps; there is one at least.
    pub(super) parts: Vec<TracePart>,
    /// The last one.
    pub(super) decision: Option<PodDecision>,
    pub(super) end: TraceEnd,
}

/// Pods that are followed.
#[derive(Default)]
pub(super) struct TraceBook(FxHashMap<String, OpenTrace>);

struct OpenTrace {
    pod: PodSeen,
    /// Those that have ended.
    parts: Vec<TracePart>,
    kind: PartKind,
    since: Duration,
    decision: Option<PodDecision>,
    /// This process has told why it waits, so it leads.
    told: bool,
}

impl OpenTrace {
    fn new(pod: PodSeen, since: Duration) -> Self {
        let kind = match pod.gated {
            true => gated(),
            false => PartKind::Wait(WaitReason::default()),
        };
        Self {
            pod,
            parts: Vec::new(),
            kind,
            since,
            decision: None,
            told: false,
        }
    }

    /// Moments of several threads may be told in another order than they happened in: no part ends
    /// before it began.
    fn enter(&mut self, kind: PartKind, at: Duration) {
        if self.kind == kind || self.parts.len() + 1 >= MAX_PARTS {
            return;
        }
        let part = self.close(at);
        self.since = part.until;
        self.parts.push(part);
        self.kind = kind;
    }

    fn close(&self, at: Duration) -> TracePart {
        TracePart {
            kind: self.kind.clone(),
            from: self.since,
            until: at.max(self.since),
        }
    }

    fn wait(&mut self, reason: WaitReason, at: Duration) {
        self.told = true;
        match &mut self.kind {
            PartKind::Wait(unknown) if *unknown == WaitReason::default() => *unknown = reason,
            _ => self.enter(PartKind::Wait(reason), at),
        }
    }
}

impl TraceBook {
    /// Something has happened to a pod. The trace, where it ends with that and is this process' to tell: a
    /// pod that was bound by another replica is that one's.
    pub(super) fn take(&mut self, moment: PodMoment) -> Option<PodTrace> {
        let PodMoment { at, uid, step } = moment;
        let end = match step {
            PodStep::Seen(pod) => {
                let open = || OpenTrace::new(*pod, at);
                self.0.entry(uid).or_insert_with(open);
                return None;
            }
            PodStep::Bound(node) => TraceEnd::Bound(node),
            PodStep::Gone => TraceEnd::Gone,
            step => {
                if let Some(open) = self.0.get_mut(&uid) {
                    open.step(step, at);
                }
                return None;
            }
        };
        let mut open = self.0.remove(&uid)?;
        let ours = match end {
            TraceEnd::Bound(_) => open.decision.is_some(),
            TraceEnd::Gone => open.told || open.decision.is_some(),
        };
        if !ours {
            return None;
        }
        let last = open.close(at);
        open.parts.push(last);
        Some(PodTrace {
            uid,
            pod: open.pod,
            parts: open.parts,
            decision: open.decision,
            end,
        })
    }

    /// Forgets everything; how much that was.
    pub(super) fn forget_all(&mut self) -> usize {
        mem::take(&mut self.0).len()
    }
}

/// Nobody looks for a place while there are gates.
fn gated() -> PartKind {
    PartKind::Wait(WaitReason {
        word: "SchedulingGated".to_owned(),
        message: "the pod has scheduling gates".to_owned(),
    })
}

impl OpenTrace {
    fn step(&mut self, step: PodStep, at: Duration) {
        match step {
            PodStep::Gated(true) => self.enter(gated(), at),
            PodStep::Gated(false) => self.enter(PartKind::Wait(WaitReason::default()), at),
            PodStep::Waits(reason) => self.wait(reason, at),
            PodStep::Decided(decision) => {
                self.enter(PartKind::Decide, at);
                self.decision = Some(*decision);
            }
            PodStep::Binds(stage) => self.enter(PartKind::Bind(stage), at),
            PodStep::Seen(_) | PodStep::Bound(_) | PodStep::Gone => {}
        }
    }
}
