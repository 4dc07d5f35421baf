//! How much of their capability queues have left.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pumice_api::{Queue, ResourceList};
use pumice_units::quantity::{self, Quantity};

use crate::runtime::{GatedPod, ObjectCache, TrackedPod};

/// The scheduler has written a new pod's request into `status.allocated` of its queue after this
/// time. Until then it counts here: rather twice for a moment than not at all.
const WRITTEN: SignedDuration = SignedDuration::from_secs(10);

/// Queues above a queue are looked at up to here.
const DEEPEST: usize = 64;

/// Room in queues, with what was promised to pods whose gate is gone.
pub(super) struct QueueRoom<'a> {
    cache: &'a ObjectCache,
    promised: BTreeMap<String, BTreeMap<String, Quantity>>,
}

impl<'a> QueueRoom<'a> {
    /// Nothing is promised.
    pub(super) fn new(cache: &'a ObjectCache) -> Self {
        Self {
            cache,
            promised: BTreeMap::new(),
        }
    }

    /// A pod without its gate: it counts until the queue's status has it. When that may be. A pod that
    /// gets no node, as it asks for more than its queues may ever have, counts nothing: it would keep
    /// the gates of all others shut.
    pub(super) fn promise(
        &mut self,
        pod: &TrackedPod,
        gated: &GatedPod,
        queue: &str,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let written = match (pod.is_bound, gated.bound_at) {
            (false, _) => None,
            (true, at) => at.unwrap_or(now).checked_add(WRITTEN).ok(),
        };
        if pod.is_bound && written.is_none_or(|at| at <= now) {
            return None;
        }
        if pod.is_bound || self.may_hold(gated, queue) {
            self.take(gated, queue);
        }
        written
    }

    /// Counts a pod for its queue and those above.
    pub(super) fn take(&mut self, gated: &GatedPod, queue: &str) {
        let request = amounts(&gated.usage);
        for queue in path(queue, self.cache) {
            let sum = self.promised.entry(queue.to_owned()).or_default();
            for (name, amount) in &request {
                let entry = sum.entry((*name).to_owned()).or_default();
                *entry = entry.plus(*amount);
            }
        }
    }

    /// Whether a queue, and each above it, has room for a pod once nothing else is in it.
    fn may_hold(&self, gated: &GatedPod, queue: &str) -> bool {
        let request = amounts(&gated.usage);
        let asks = |resource: &str| request.get(resource).copied().unwrap_or_default();
        let path = path(queue, self.cache);
        let mut queues = path.iter().filter_map(|name| self.cache.queue(name));
        queues.all(|queue| {
            let mut most = amounts(&queue.spec.capability).into_iter();
            most.all(|(resource, most)| asks(resource) <= most)
        })
    }

    /// What a pod asks for that a queue, or one above it, has not left; `None` if there is room.
    pub(super) fn lacking(&self, gated: &GatedPod, queue: &str) -> Option<String> {
        let request = amounts(&gated.usage);
        let path = path(queue, self.cache);
        let mut queues = path.iter().filter_map(|name| self.cache.queue(name));
        queues.find_map(|queue| self.lacking_in(&request, queue))
    }

    fn lacking_in(&self, request: &BTreeMap<&str, Quantity>, queue: &Queue) -> Option<String> {
        let name = queue.metadata.name.as_deref().unwrap_or_default();
        let allocated = amounts(&queue.status.allocated);
        let promised = self.promised.get(name);
        amounts(&queue.spec.capability)
            .into_iter()
            .find_map(|(resource, most)| {
                let asked = *request.get(resource)?;
                let used = allocated.get(resource).copied().unwrap_or_default();
                let promised = promised.and_then(|sum| sum.get(resource)).copied();
                let used = used.plus(promised.unwrap_or_default());
                let fits = used.plus(asked) <= most || asked == Quantity::default();
                // What is in use changes all the time: `pumice queues` shows it.
                (!fits).then(|| {
                    format!("queue {name} has no room: {resource} ({most} at most, {asked} asked)")
                })
            })
    }
}

/// A queue and those above it.
pub(super) fn path<'a>(queue: &'a str, cache: &'a ObjectCache) -> Vec<&'a str> {
    let mut path = vec![queue];
    let mut next = cache.queue(queue);
    while let Some(queue) = next
        && path.len() < DEEPEST
    {
        let parent = queue.spec.parent.as_str();
        if parent.is_empty() || path.contains(&parent) {
            break;
        }
        path.push(parent);
        next = cache.queue(parent);
    }
    path
}

/// Those of a queue and of the queues above it that may have only so much.
pub(super) fn limits<'a>(queue: &'a str, cache: &'a ObjectCache) -> Vec<&'a str> {
    let mut path = path(queue, cache);
    path.retain(|name| {
        let queue = cache.queue(name);
        queue.is_some_and(|queue| !queue.spec.capability.is_empty())
    });
    path
}

/// What cannot be read counts nothing.
fn amounts(list: &ResourceList) -> BTreeMap<&str, Quantity> {
    let read = |text: &str| quantity::parse(text).ok();
    let amounts = list.iter();
    amounts
        .filter_map(|(name, text)| Some((name.as_str(), read(&text.0)?)))
        .collect()
}
