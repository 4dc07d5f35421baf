//! What one replica has seen of the virtual API server: one watch a kind, each with its own delay.

use std::collections::BTreeMap;

use pumice_model::Delta;
use pumice_model::lag::{MAX_WATCH_LAG, WATCH_GRACE};

use super::rng::Rng;
use super::server::{ServerEvent, VirtualServer};
use super::server_kind::{KINDS, ServerKind};

/// Longest delay of a watch event, milliseconds.
pub const MAX_LAG_MS: u64 = MAX_WATCH_LAG.as_millis() as u64;

/// A kind that is not followed for so long stops decisions (`--watch-grace`), milliseconds.
pub const GRACE_MS: u64 = WATCH_GRACE.as_millis() as u64;

/// One kind.
#[derive(Clone, Debug)]
struct VirtualFollower {
    kind: ServerKind,
    /// Events of the history that were seen.
    cursor: usize,
    /// What is known, by key.
    known: BTreeMap<String, Delta>,
    /// The watch is broken since then, and opened again then.
    broken_ms: Option<(u64, u64)>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Watches {
    followers: Vec<VirtualFollower>,
    listed: bool,
}

impl Default for Watches {
    /// Watches that have listed nothing.
    fn default() -> Self {
        let follower = |kind| VirtualFollower {
            kind,
            cursor: 0,
            known: BTreeMap::new(),
            broken_ms: None,
        };
        Self {
            followers: KINDS.map(follower).to_vec(),
            listed: false,
        }
    }
}

impl Watches {
    /// Every kind was listed.
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// Whether all kinds that protect have been followed, or not for a short time only.
    pub fn is_followed(&self, now_ms: u64) -> bool {
        let lost = |f: &VirtualFollower| {
            let broken = f.broken_ms.filter(|_| f.kind.protects());
            broken.is_some_and(|(since, _)| now_ms >= since + GRACE_MS)
        };
        !self.followers.iter().any(lost)
    }

    /// A watch breaks and loses what happens until it is opened again.
    pub fn break_off(&mut self, kind: ServerKind, now_ms: u64, for_ms: u64) {
        for follower in &mut self.followers {
            if follower.kind == kind && follower.broken_ms.is_none() {
                follower.broken_ms = Some((now_ms, now_ms + for_ms));
            }
        }
    }

    /// Everything is seen at once from now on.
    pub fn heal(&mut self, now_ms: u64) {
        for follower in &mut self.followers {
            if let Some((_, until)) = &mut follower.broken_ms {
                *until = now_ms;
            }
        }
    }

    /// What arrives now. `lag`: events younger than [`MAX_LAG_MS`] may come later.
    pub fn receive(&mut self, server: &VirtualServer, rng: &mut Rng, lag: bool) -> Vec<Delta> {
        let now_ms = server.now_ms();
        let mut deltas = Vec::new();
        for follower in &mut self.followers {
            let is_broken = follower.broken_ms.is_some_and(|(_, until)| now_ms < until);
            if is_broken {
                continue;
            }
            if !self.listed || follower.broken_ms.take().is_some() {
                follower.list(server, &mut deltas);
                continue;
            }
            // Of what is not there nothing can come late.
            let end = match lag && server.has(follower.kind) {
                true => follower.end(&server.events, now_ms, rng),
                false => server.events.len(),
            };
            for event in &server.events[follower.cursor..end] {
                if event.kind == follower.kind {
                    follower.see(&event.key, &event.delta);
                    deltas.push(event.delta.clone());
                }
            }
            follower.cursor = end;
        }
        self.listed = true;
        deltas
    }
}

impl VirtualFollower {
    /// Up to which event of the history it sees now.
    fn end(&self, events: &[ServerEvent], now_ms: u64, rng: &mut Rng) -> usize {
        let old = |event: &ServerEvent| event.at_ms + MAX_LAG_MS <= now_ms;
        let sure = events[self.cursor..].iter().take_while(|e| old(e)).count();
        let rest = events.len() - self.cursor - sure;
        self.cursor + sure + rng.below(rest as u64 + 1) as usize
    }

    fn see(&mut self, key: &str, delta: &Delta) {
        match delta {
            Delta::NodeDelete(_)
            | Delta::QueueDelete(_)
            | Delta::HyperNodeDelete(_)
            | Delta::GroupDelete(..)
            | Delta::PodDelete(_)
            | Delta::DeviceClassDelete(_)
            | Delta::SliceDelete(_)
            | Delta::ResourceClaimDelete(..)
            | Delta::NumatopologyDelete(_) => {
                self.known.remove(key);
            }
            delta => {
                self.known.insert(key.to_owned(), delta.clone());
            }
        }
    }

    /// Tells the difference a list makes.
    fn list(&mut self, server: &VirtualServer, deltas: &mut Vec<Delta>) {
        let now = server.list(self.kind);
        let gone = self.known.keys().filter(|key| !now.contains_key(*key));
        deltas.extend(gone.filter_map(|key| deletion(&self.known[key])));
        let new = now
            .iter()
            .filter(|(key, object)| self.known.get(*key) != Some(*object));
        deltas.extend(new.map(|(_, object)| object.clone()));
        self.known = now;
        self.cursor = server.events.len();
    }
}

/// The deletion of an object.
fn deletion(object: &Delta) -> Option<Delta> {
    Some(match object {
        Delta::NodeApply(node) => Delta::NodeDelete(node.name.clone()),
        Delta::QueueApply(queue) => Delta::QueueDelete(queue.name.clone()),
        Delta::HyperNodeApply(object) => Delta::HyperNodeDelete(object.name.clone()),
        Delta::GroupApply(group) => Delta::GroupDelete(group.namespace.clone(), group.name.clone()),
        Delta::PodApply(pod) => Delta::PodDelete(pod.uid.clone()),
        Delta::DeviceClassApply(class) => Delta::DeviceClassDelete(class.name.clone()),
        Delta::SliceApply(slice) => Delta::SliceDelete(slice.name.clone()),
        Delta::ResourceClaimApply(claim) => {
            Delta::ResourceClaimDelete(claim.namespace.clone(), claim.name.clone())
        }
        Delta::NumatopologyApply(object) => Delta::NumatopologyDelete(object.node.clone()),
        _ => return None,
    })
}
