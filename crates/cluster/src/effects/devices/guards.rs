//! Who may be on its way to a node: of pods its device plugin could mix up, one (spec/04 R22).
//!
//! ```text
//!  enter ──► in flight ──► bound ──► the plugin has answered, the pod has ended, or is gone,
//!     │         ▲ └► failed    └──► or 30 s are over
//!     └► queue ─┘
//! ```
//!
//! A node has one queue. Nobody passes one of its own kind there; pods of other kinds do not wait
//! for each other. What was in flight when this process began is known from the watch only by its
//! UID: it stands in the way of every kind. Each does so once: annotations say how far its plugin is, and whoever
//! may change the pod may write them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pumice_devices::InFlightGuard;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::waiting::WaitsFor;

/// Pods that left a lock behind which are remembered; the locks of the others run out.
const MAX_UNSERVED: usize = 10_000;

/// See the module.
pub(crate) struct InFlightGuards {
    state: Mutex<GuardState>,
    /// There is a new time at which somebody stops standing in the way.
    due: Notify,
    patience: Duration,
}

#[derive(Default)]
struct GuardState {
    nodes: FxHashMap<String, GuardedNode>,
    /// Pods on their way, by UID.
    pods: FxHashMap<String, PodInFlight>,
    /// UIDs of pods that were bound under the lock of their node, which their plugin gives back.
    lock_holders: FxHashSet<String>,
    /// UIDs of those of them that are gone or have ended: what lock they still have nobody gives back.
    unserved: FxHashSet<String>,
    /// UIDs of pods on nodes that stand in nobody's way any more, whatever is told of them.
    settled: FxHashSet<String>,
    /// Nodes of those that wait, by UID.
    waiting: FxHashMap<String, String>,
    /// When a pod stops standing in the way, earliest first; some have left by then.
    due: VecDeque<(Instant, String)>,
    /// Nobody may wait while this is not 0.
    closings: usize,
}

/// A pod whose plugin has not answered.
struct PodInFlight {
    node: String,
    /// It stands in the way of others.
    blocks: bool,
}

#[derive(Default)]
struct GuardedNode {
    in_flight: Vec<InFlight>,
    queue: VecDeque<Waiter>,
}

struct InFlight {
    uid: String,
    /// Kind and content, where they are known.
    what: Option<(u32, String)>,
}

struct Waiter {
    uid: String,
    what: (u32, String),
    go: oneshot::Sender<()>,
}

/// When a bind may go on.
pub(crate) enum Pass {
    /// The bind may go on at once.
    Now,
    /// When this tells; never if its sender is gone, since the process ends.
    Later(oneshot::Receiver<()>),
}

/// Nobody waits as long as it lives.
pub(crate) struct Closing<'a>(&'a InFlightGuards);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state().closings -= 1;
    }
}

impl InFlightGuards {
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            state: Mutex::default(),
            due: Notify::new(),
            patience,
        }
    }

    /// A poisoned lock is used on: nothing under it can panic half way.
    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Binding of the pod is about to be sent. Follow it with [`InFlightGuards::bound`] or
    /// [`InFlightGuards::done`].
    pub(crate) fn enter(&self, uid: &str, node: &str, guard: &InFlightGuard) -> Pass {
        let mut state = self.state();
        if !guard.waits {
            state.add(uid, node, None);
            return Pass::Now;
        }
        let what = (guard.kind, guard.content.clone());
        let place = state.nodes.entry(node.to_owned()).or_default();
        if place.lets_in(&what, place.queue.iter()) {
            state.add(uid, node, Some(what));
            return Pass::Now;
        }
        let (go, pass) = oneshot::channel();
        if state.closings == 0 {
            let uid = uid.to_owned();
            state.waiting.insert(uid.clone(), node.to_owned());
            let place = state.nodes.entry(node.to_owned()).or_default();
            place.queue.push_back(Waiter { uid, what, go });
        }
        Pass::Later(pass)
    }

    /// The pod's Binding was answered: its plugin has a while to answer too.
    pub(crate) fn bound(&self, uid: &str) {
        let mut state = self.state();
        if state.pods.get(uid).is_some_and(|busy| busy.blocks) {
            let until = Instant::now() + self.patience;
            state.due.push_back((until, uid.to_owned()));
            drop(state);
            self.due.notify_one();
        }
    }

    /// The pod is on its way no more: its Binding has failed, its plugin has answered, or it has
    /// ended.
    pub(crate) fn done(&self, uid: &str) {
        self.state().remove(uid);
    }

    /// The watch shows the pod on a node. `busy`: its plugin has not answered, and it has not ended.
    pub(crate) fn seen(&self, uid: &str, node: &str, busy: bool) {
        let mut state = self.state();
        match state.pods.get(uid) {
            Some(known) if !busy && known.node == node => {
                state.remove(uid);
                state.settled.insert(uid.to_owned());
            }
            Some(_) => {}
            None if busy && !state.settled.contains(uid) => {
                state.add_unknown(uid, node);
                let until = Instant::now() + self.patience;
                state.due.push_back((until, uid.to_owned()));
                drop(state);
                self.due.notify_one();
            }
            None => {
                state.settled.insert(uid.to_owned());
            }
        }
    }

    /// The watch shows a pod on a node that no scheduler has sent there: it stands in nobody's way. One that this
    /// process has sent does so all the same.
    pub(crate) fn settle(&self, uid: &str) {
        let mut state = self.state();
        if !state.pods.contains_key(uid) {
            state.settled.insert(uid.to_owned());
        }
    }

    /// The pod is bound, and has the lock of its node.
    pub(crate) fn left_lock(&self, uid: &str) {
        self.state().lock_holders.insert(uid.to_owned());
    }

    /// The pod has ended: its plugin does nothing for it any more.
    pub(crate) fn ended(&self, uid: &str) {
        self.state().miss(uid);
    }

    /// Whether the pod is gone or has ended, so that nobody gives its lock back.
    pub(crate) fn has_left(&self, uid: &str) -> bool {
        self.state().unserved.contains(uid)
    }

    /// Whether the pod was seen on a node before, or this process has sent it there.
    pub(crate) fn knows(&self, uid: &str) -> bool {
        let state = self.state();
        state.pods.contains_key(uid) || state.settled.contains(uid)
    }

    /// The pod is gone. If it still waits it need not any more: the API server will say so.
    pub(crate) fn gone(&self, uid: &str) {
        let mut state = self.state();
        if let Some(node) = state.waiting.remove(uid)
            && let Some(place) = state.nodes.get_mut(&node)
            && let Some(at) = place.queue.iter().position(|waiter| waiter.uid == uid)
            && let Some(waiter) = place.queue.remove(at)
        {
            let _ = waiter.go.send(());
            state.let_in(&node);
        }
        state.miss(uid);
        state.remove(uid);
        state.settled.remove(uid);
    }

    /// Refuses all that wait, and lets nobody wait as long as the answer lives.
    pub(crate) fn close(&self) -> Closing<'_> {
        let mut state = self.state();
        state.closings += 1;
        state.waiting.clear();
        for place in state.nodes.values_mut() {
            place.queue.clear();
        }
        state.nodes.retain(|_, place| !place.in_flight.is_empty());
        Closing(self)
    }

    /// Whether nobody may wait.
    pub(crate) fn is_closing(&self) -> bool {
        self.state().closings > 0
    }

    /// Who waits, by UID, and for whom.
    pub(crate) fn waits(&self) -> FxHashMap<String, WaitsFor> {
        let state = self.state();
        let mut waits = FxHashMap::default();
        for place in state.nodes.values() {
            for (at, waiter) in place.queue.iter().enumerate() {
                let first = place
                    .in_flight
                    .iter()
                    .find(|flight| flight.mixes_up(&waiter.what));
                let before = place.queue.iter().take(at);
                let plugin = WaitsFor::Plugin {
                    first: first.map_or_else(String::new, |flight| flight.uid.clone()),
                    ahead: before.filter(|other| other.what.0 == waiter.what.0).count(),
                };
                waits.insert(waiter.uid.clone(), plugin);
            }
        }
        waits
    }

    /// Pods that stood in the way for long enough stop it; works for ever.
    pub(crate) async fn run(&self) {
        loop {
            let next = self.state().expire(Instant::now());
            match next {
                Some(due) => tokio::select! {
                    () = tokio::time::sleep_until(due) => {}
                    () = self.due.notified() => {}
                },
                None => self.due.notified().await,
            }
        }
    }
}

impl InFlight {
    /// Whether the plugin could take it for one that is so.
    fn mixes_up(&self, what: &(u32, String)) -> bool {
        match &self.what {
            Some(other) => other.0 == what.0 && (other.1 != what.1 || what.1.is_empty()),
            None => true,
        }
    }
}

impl GuardedNode {
    /// Whether one can go in beside those in flight, without passing one of its kind.
    fn lets_in<'a>(
        &self,
        what: &(u32, String),
        mut before: impl Iterator<Item = &'a Waiter>,
    ) -> bool {
        let mixed_up = self.in_flight.iter().any(|flight| flight.mixes_up(what));
        !mixed_up && !before.any(|waiter| waiter.what.0 == what.0)
    }
}

impl GuardState {
    /// The pod is on its way. One without `what` stands in nobody's way.
    fn add(&mut self, uid: &str, node: &str, what: Option<(u32, String)>) {
        self.remove(uid);
        let blocks = what.is_some();
        if blocks {
            self.fly(uid, node, what);
        }
        self.put(uid, node, blocks);
    }

    fn put(&mut self, uid: &str, node: &str, blocks: bool) {
        let node = node.to_owned();
        self.pods
            .insert(uid.to_owned(), PodInFlight { node, blocks });
    }

    /// Another process has sent the pod on its way.
    fn add_unknown(&mut self, uid: &str, node: &str) {
        self.fly(uid, node, None);
        self.put(uid, node, true);
    }

    fn fly(&mut self, uid: &str, node: &str, what: Option<(u32, String)>) {
        let uid = uid.to_owned();
        let place = self.nodes.entry(node.to_owned()).or_default();
        place.in_flight.push(InFlight { uid, what });
    }

    /// Nobody will serve the pod any more.
    fn miss(&mut self, uid: &str) {
        if self.lock_holders.remove(uid) {
            if self.unserved.len() >= MAX_UNSERVED {
                self.unserved.clear();
            }
            self.unserved.insert(uid.to_owned());
        }
    }

    fn remove(&mut self, uid: &str) {
        if let Some(busy) = self.pods.remove(uid) {
            self.clear_way(uid, &busy.node);
        }
    }

    fn clear_way(&mut self, uid: &str, node: &str) {
        if let Some(place) = self.nodes.get_mut(node) {
            place.in_flight.retain(|flight| flight.uid != uid);
        }
        self.let_in(node);
    }

    /// Lets in whoever may, in order.
    fn let_in(&mut self, node: &str) {
        let mut at = 0;
        while let Some(place) = self.nodes.get_mut(node) {
            let Some(waiter) = place.queue.get(at) else {
                if place.in_flight.is_empty() && place.queue.is_empty() {
                    self.nodes.remove(node);
                }
                return;
            };
            if !place.lets_in(&waiter.what, place.queue.iter().take(at)) {
                at += 1;
                continue;
            }
            let Some(waiter) = place.queue.remove(at) else {
                return;
            };
            self.waiting.remove(&waiter.uid);
            // A receiver that is gone waits for nothing.
            if waiter.go.send(()).is_ok() {
                self.fly(&waiter.uid, node, Some(waiter.what));
                self.put(&waiter.uid, node, true);
            }
        }
    }

    /// When to look again.
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        while let Some((due, _)) = self.due.front() {
            if *due > now {
                return Some(*due);
            }
            let Some((_, uid)) = self.due.pop_front() else {
                break;
            };
            if let Some(busy) = self.pods.get_mut(&uid)
                && std::mem::take(&mut busy.blocks)
            {
                let node = busy.node.clone();
                self.clear_way(&uid, &node);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
