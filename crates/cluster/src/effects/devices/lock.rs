//! The lock of a node: an annotation with a time (spec/04 §12, R23), and for some plugins with the pod
//! whose turn it is, `<time>,<namespace>,<name>` (spec/05 §3.9).
//!
//! ```text
//!  GET node ─► free, older than 5 min, no time ─► PATCH on its resourceVersion ─► ours
//!     ▲     └► another's ─► pause ─┐                        │ 409, no answer
//!     └────────────────────────────┴────────────────────────┘
//! ```
//!
//! The device plugin removes it when it has served the pod. One that is gone or has ended before it was served leaves the
//! lock behind: that holds nobody else, as far as this process has taken it. Binds of this process to one node take
//! their turns here first, so that only one of them asks.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pumice_devices::NodeLock;
use pumice_model::write::PodRef;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::api::backoff;
use crate::api::call::{ApiCall, ApiRefusal, MERGE_PATCH, Reply};
use crate::effects::BindFailure;
use crate::effects::decided::NOT_THE_LEADER;
use crate::effects::recall::Recall;
use crate::effects::shared::{Rate, WriterContext};
use crate::effects::verbs::Target;

use super::Waits;

type Failed = (BindFailure, String);
/// A lock that was taken, or may have been.
pub(in crate::effects) struct Held<'a> {
    shared: &'a Arc<WriterContext>,
    node: &'a str,
    key: &'static str,
    /// How long another's may be held.
    lasts: Duration,
    /// What is written after the time.
    suffix: String,
    /// What was written: more than one value when an answer was lost.
    values: Vec<String>,
}

/// What matters of a node.
#[derive(Deserialize)]
struct LockedNode {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: String,
    #[serde(default)]
    annotations: Option<FxHashMap<String, String>>,
}

enum LockStep {
    Taken,
    /// Another has it: what to say if it keeps it.
    Theirs(String),
    /// The request came to nothing.
    Again(Option<Duration>, String),
    Failed(Failed),
}

/// Takes locks of a node for a pod, all or none, in this order.
///
/// # Errors
/// Why the bind fails: it was taken back, another kept a lock, or the node cannot be read or
/// patched.
pub(in crate::effects) async fn take_all<'a>(
    shared: &'a Arc<WriterContext>,
    whose: (&PodRef, &'a str),
    locks: &[NodeLock],
    recall: &Recall,
) -> Result<Vec<Held<'a>>, Failed> {
    let mut end = Instant::now() + shared.options.lock_wait;
    let mut held = Vec::new();
    for lock in locks {
        match take(shared, whose, (*lock, end), recall).await {
            Ok(taken) => {
                // It must not run out while the others are waited for.
                end = end.min(Instant::now() + taken.lasts / 2);
                held.push(taken);
            }
            Err(failed) => {
                release_all(held).await;
                return Err(failed);
            }
        }
    }
    Ok(held)
}

/// The pod is bound: its device plugin gives the locks back.
pub(in crate::effects) fn leave_all(held: Vec<Held<'_>>, uid: &str) {
    for lock in held {
        let devices = &lock.shared.devices;
        devices.locks.left_by(uid, lock.node, lock.key, lock.values);
        devices.guards.left_lock(uid);
    }
}

/// Gives locks back, the last first.
pub(in crate::effects) async fn release_all(held: Vec<Held<'_>>) {
    for lock in held.into_iter().rev() {
        lock.release().await;
    }
}

async fn take<'a>(
    shared: &'a Arc<WriterContext>,
    (pod, node): (&PodRef, &'a str),
    (lock, end): (NodeLock, Instant),
    recall: &Recall,
) -> Result<Held<'a>, Failed> {
    let mut held = Held {
        shared,
        node,
        key: lock.key,
        lasts: lock.lasts_s.map_or(shared.options.lock_lasts, |seconds| {
            Duration::from_secs(seconds.into())
        }),
        suffix: match lock.names_pod {
            true => format!(",{},{}", pod.namespace, pod.name),
            false => String::new(),
        },
        values: Vec::new(),
    };
    match held.take(&pod.uid, end, recall).await {
        Ok(()) => Ok(held),
        Err(failed) => {
            held.release().await;
            Err(failed)
        }
    }
}

impl Held<'_> {
    async fn take(&mut self, uid: &str, end: Instant, recall: &Recall) -> Result<(), Failed> {
        let options = &self.shared.options;
        let queue = self.shared.devices.locks.queue(self.node, self.key);
        let waits = Waits::new(self.shared, uid);
        let turn = tokio::select! {
            turn = tokio::time::timeout_at(end, queue.lock()) => turn.ok(),
            () = recall.told() => None,
        };
        if turn.is_none() && recall.why().is_none() {
            return Err(self.late("other binds of this scheduler wait for it too"));
        }
        let (mut looks, mut tries) = (0, 0);
        loop {
            if self.shared.devices.guards.is_closing() {
                let text = "the scheduler is stopping".to_owned();
                return Err((BindFailure::GaveUp, text));
            }
            if let Some(taken_back) = recall.why() {
                return Err(taken_back);
            }
            let (pause, text) = match self.step().await {
                LockStep::Taken => return Ok(()),
                LockStep::Failed(failed) => return Err(failed),
                LockStep::Theirs(text) => {
                    looks += 1;
                    (look_pause(options.lock_pause, looks - 1), text)
                }
                LockStep::Again(pause, text) => {
                    tries += 1;
                    (pause.unwrap_or_else(|| backoff::pause(tries - 1)), text)
                }
            };
            if Instant::now() + pause >= end {
                drop(waits);
                return Err(self.late(&text));
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = recall.told() => {}
            }
        }
    }

    fn late(&self, why: &str) -> Failed {
        let wait = self.shared.options.lock_wait;
        let text = format!(
            "the lock of node {} (annotation {}) was not free within {wait:?}: {why}; if no device \
             plugin works on that node, remove the annotation",
            self.node, self.key
        );
        (BindFailure::PreBind, text)
    }

    fn path(&self) -> String {
        format!("/api/v1/nodes/{}", self.node)
    }

    async fn read(&self) -> Result<Metadata, Reply> {
        let reply = self.shared.read(self.path()).await;
        let Reply::Ok(body) = &reply else {
            return Err(reply);
        };
        match serde_json::from_slice::<LockedNode>(body) {
            Ok(node) => Ok(node.metadata),
            Err(error) => Err(Reply::Lost(format!("the node cannot be read: {error}"))),
        }
    }

    async fn patch(&self, version: &str, value: Option<&str>) -> Option<Reply> {
        let body = json!({
            "metadata": {"resourceVersion": version, "annotations": {self.key: value}},
        });
        let call = ApiCall::patch(self.path(), MERGE_PATCH, &body);
        let reply = self.shared.write(Rate::Core, "node_lock", call).await;
        reply.ok()
    }

    fn is_ours(&self, node: &Metadata) -> bool {
        let found = node.annotations.as_ref().and_then(|all| all.get(self.key));
        found.is_some_and(|value| self.values.contains(value))
    }

    async fn step(&mut self) -> LockStep {
        let node = match self.read().await {
            Ok(node) => node,
            Err(reply) => return self.refused(reply),
        };
        if self.is_ours(&node) {
            return LockStep::Taken;
        }
        let now = self.shared.now();
        let lasts = self.lasts;
        let found = node.annotations.as_ref().and_then(|all| all.get(self.key));
        if let Some(value) = found {
            let owner = self.shared.devices.locks.owner(self.node, self.key, value);
            let is_left = owner.is_some_and(|uid| self.shared.devices.guards.has_left(&uid));
            if holds(value, now, lasts) && !is_left {
                return LockStep::Theirs(format!("another holds it since {value}"));
            }
            tracing::info!(node = self.node, "lock {}={value} is taken over", self.key);
        }
        // A fraction of a second tells our value from another's. RFC 3339 allows it, and so does
        // Go's reader.
        let value = format!("{now:.6}{}", self.suffix);
        self.values.push(value.clone());
        match self.patch(&node.resource_version, Some(&value)).await {
            Some(Reply::Ok(_)) => LockStep::Taken,
            Some(reply) => self.refused(reply),
            None => LockStep::Failed((BindFailure::GaveUp, NOT_THE_LEADER.to_owned())),
        }
    }

    fn refused(&self, reply: Reply) -> LockStep {
        let text = reply.text();
        let Reply::Refused(refusal) = reply else {
            return LockStep::Again(None, text);
        };
        let failed = |failure, text| LockStep::Failed((failure, text));
        match refusal.code {
            404 => failed(
                BindFailure::PreBind,
                format!("node {} does not exist", self.node),
            ),
            403 => failed(BindFailure::Denied, self.denied(&refusal, &text)),
            // Somebody changed the node, as kubelet often does: look again.
            409 => LockStep::Again(Some(Duration::ZERO), text),
            401 | 408 | 429 | 500.. => LockStep::Again(refusal.retry_after, text),
            _ => failed(BindFailure::PreBind, format!("lock of the node: {text}")),
        }
    }

    fn denied(&self, refusal: &ApiRefusal, text: &str) -> String {
        let text = match refusal.is_rbac() {
            true => format!(
                "cannot lock node {}: {text}; grant {}, or switch deviceshare.NodeLockEnable off",
                self.node,
                Target::NodeLock.rule()
            ),
            false => format!("cannot lock node {}: {text}", self.node),
        };
        let now = Instant::now();
        if self.shared.verbs.may_speak(Target::NodeLock, now) {
            tracing::error!("{text}");
        }
        text
    }

    /// Gives the lock back if it is still ours; what cannot be given back runs out by itself.
    async fn release(self) {
        if self.values.is_empty() {
            return;
        }
        let end = Instant::now() + self.shared.options.bind_timeout;
        let mut tries = 0;
        loop {
            let reply = match self.read().await {
                Ok(node) if !self.is_ours(&node) => return,
                Ok(node) => match self.patch(&node.resource_version, None).await {
                    Some(reply) => reply,
                    None => return,
                },
                Err(reply) => reply,
            };
            match &reply {
                Reply::Ok(_) => return,
                Reply::Refused(refusal) if refusal.code == 404 => return,
                _ => {}
            }
            if Instant::now() >= end {
                tracing::warn!(
                    "the lock {} of node {} cannot be given back, it runs out by itself: {}",
                    self.key,
                    self.node,
                    reply.text()
                );
                return;
            }
            tokio::time::sleep(backoff::pause(tries)).await;
            tries += 1;
        }
    }
}

/// Whether a lock of this value counts: its time is no longer ago than it lasts, and no further
/// ahead than clocks could differ.
fn holds(value: &str, now: Timestamp, lasts: Duration) -> bool {
    let time = value.split(',').next().unwrap_or_default();
    time.parse::<Timestamp>()
        .is_ok_and(|at| now.duration_since(at).unsigned_abs() <= lasts)
}

/// Pause after so many looks: doubles from the first to the longest.
fn look_pause((first, longest): (Duration, Duration), looks: u32) -> Duration {
    first.saturating_mul(1 << looks.min(16)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_holds_for_its_time_and_only_if_it_is_a_time() {
        let now: Timestamp = "2026-07-25T18:00:00Z".parse().expect("a time");
        let cases = [
            ("2026-07-25T18:00:00Z", true),
            ("2026-07-25T17:55:00.5Z", true),
            ("2026-07-25T20:55:00+03:00", true),
            ("2026-07-25T17:54:59Z", false),
            ("2026-07-25T18:04:00Z", true),
            ("2126-07-25T18:00:00Z", false),
            ("2026-07-25T18:00:00Z,ns,p", true),
            ("2026-07-25T17:54:59Z,ns,p", false),
            ("2026-07-25T18:00:00Z_ns/p", false),
            ("", false),
            ("yesterday", false),
        ];
        for (value, wanted) in cases {
            let found = holds(value, now, Duration::from_secs(300));
            assert_eq!(found, wanted, "{value}");
        }
    }

    #[test]
    fn looks_become_rarer() {
        let pauses = (Duration::from_millis(500), Duration::from_secs(5));
        let found = [0, 1, 3, 4, 60].map(|looks| look_pause(pauses, looks).as_millis());
        assert_eq!(found, [500, 1000, 4000, 5000, 5000]);
    }
}
