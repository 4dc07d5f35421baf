//! PodGroups of a queue by phase: for metrics, and in its status, where `kubectl get queue` finds
//! them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pumice_api::Queue;
use pumice_api::queue::QueueStatus;
use serde_json::json;

use super::{name, queue_reference};
use crate::runtime::{ApiVerb, ApiWrite, ManagedKind, ObjectCache, Observed};

/// Phases of PodGroups, in the order of the metrics.
pub const GROUP_PHASES: [&str; 5] = ["Inqueue", "Pending", "Running", "Unknown", "Completed"];

/// PodGroups of one queue are counted this often at most: thousands may change within a second.
const COUNT_EVERY: SignedDuration = SignedDuration::from_secs(5);

/// PodGroups of every queue there is, by phase. A queue without PodGroups has zeros, a PodGroup
/// without phase is `Pending`.
pub fn group_counts(cache: &ObjectCache) -> BTreeMap<String, BTreeMap<&'static str, usize>> {
    let queues = cache
        .all(ManagedKind::Queue)
        .filter_map(|object| match object {
            Observed::Queue(queue) => queue.metadata.name.clone(),
            _ => None,
        });
    let counts = |queue: String| {
        let counts = counts_of(&queue, cache);
        (queue, counts)
    };
    queues.map(counts).collect()
}

fn counts_of(queue: &str, cache: &ObjectCache) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::from(GROUP_PHASES.map(|phase| (phase, 0)));
    for group in cache.groups_of_queue(queue) {
        if let Some(count) = counts.get_mut(group_phase(&group.status.phase)) {
            *count += 1;
        }
    }
    counts
}

/// A PodGroup that nobody has looked at is pending.
pub(super) fn group_phase(phase: &str) -> &str {
    match phase {
        "" => "Pending",
        phase => phase,
    }
}

/// When PodGroups of queues were counted last.
#[derive(Debug, Default)]
pub(super) struct CountMemory {
    at: BTreeMap<String, Timestamp>,
}

impl CountMemory {
    /// The write that brings the counters of a queue up to date, if they are not; else when to
    /// count again, if it is too early now.
    pub fn look(
        &mut self,
        queue: &Queue,
        cache: &ObjectCache,
        now: Timestamp,
    ) -> (Option<ApiWrite>, Option<Timestamp>) {
        let before = self.at.get(name(queue));
        let next = before.and_then(|at| at.checked_add(COUNT_EVERY).ok());
        if let Some(next) = next.filter(|next| *next > now) {
            return (None, Some(next));
        }
        self.at.insert(name(queue).to_owned(), now);
        let counts = counts_of(name(queue), cache);
        let of = |phase: &str| {
            let count = counts.get(phase).copied().unwrap_or_default();
            i32::try_from(count).unwrap_or(i32::MAX)
        };
        let (pending, inqueue) = (of("Pending"), of("Inqueue"));
        // `waiting` is the sum of two others, and Volcano's definition does not keep it: it is no
        // reason to write by itself.
        let counted = QueueStatus {
            unknown: of("Unknown"),
            pending,
            running: of("Running"),
            inqueue,
            completed: of("Completed"),
            ..queue.status.clone()
        };
        let waiting = pending.saturating_add(inqueue);
        let write = (counted != queue.status).then(|| status_write(queue, &counted, waiting));
        (write, None)
    }

    /// The queue is gone.
    pub fn forget(&mut self, queue: &str) {
        self.at.remove(queue);
    }
}

fn status_write(queue: &Queue, counted: &QueueStatus, waiting: i32) -> ApiWrite {
    let patch = json!({
        "metadata": {"uid": queue.metadata.uid},
        "status": {
            "unknown": counted.unknown,
            "pending": counted.pending,
            "running": counted.running,
            "inqueue": counted.inqueue,
            "completed": counted.completed,
            "waiting": waiting,
        },
    });
    let verb = ApiVerb::Merge {
        patch,
        status: true,
    };
    ApiWrite {
        of: queue_reference(name(queue)),
        verb,
    }
}
