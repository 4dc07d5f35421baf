//! The label of queues that have others below them: by it the policy `pumice-job-queues` finds these, and a Job costs
//! nothing for each queue there is.

use pumice_api::{Queue, keys};
use serde_json::{Value, json};

use super::{merge, name, queue_reference};
use crate::runtime::{ApiWrite, ManagedRef, ObjectCache, ObjectChange, Observed};

/// Longest value of a label.
const MAX_LABEL: usize = 63;

/// What the label says: the name of a queue below, or nothing where that is too long for a label.
pub(super) fn label(queue: &Queue) -> Option<&str> {
    let labels = queue.metadata.labels.as_ref()?;
    labels.get(keys::QUEUE_BELOW).map(String::as_str)
}

/// The write that brings the label to what it should say. The root has none: the policy on Jobs knows it by its name.
pub(super) fn correct(queue: &Queue, cache: &ObjectCache) -> Option<ApiWrite> {
    let own = name(queue);
    let below = || {
        let queues = cache.queues();
        let below = queues.filter(|other| own != keys::ROOT_QUEUE && other.spec.parent == own);
        below.map(|other| match name(other) {
            long if long.len() > MAX_LABEL => "",
            fits => fits,
        })
    };
    let now = label(queue);
    // Who is named already stays so.
    if now.is_some_and(|now| below().any(|other| other == now)) {
        return None;
    }
    let wanted = below().max_by_key(|other| (!other.is_empty(), std::cmp::Reverse(*other)));
    if now == wanted {
        return None;
    }
    let value = wanted.map_or(Value::Null, Value::from);
    let patch =
        json!({"metadata": {"uid": queue.metadata.uid, "labels": {keys::QUEUE_BELOW: value}}});
    Some(merge(queue, patch))
}

/// The queues above a queue that has come, gone or moved.
pub(super) fn parents(change: ObjectChange<'_>) -> impl Iterator<Item = ManagedRef> {
    let parent = |object: Option<&Observed>| {
        let queue = object.and_then(Observed::as_queue);
        queue.map(|queue| queue.spec.parent.clone())
    };
    let (before, after) = (parent(change.before), parent(change.after));
    let is_other = before != after;
    let parents = before.into_iter().chain(after);
    let parents = parents.filter(move |parent| is_other && !parent.is_empty());
    parents.map(|parent| queue_reference(&parent))
}
