//! Queues above a queue.

use std::collections::BTreeSet;

use pumice_api::{Queue, keys};

use super::{is_open, name};
use crate::runtime::ObjectCache;

/// What a queue's parent means for it.
pub(super) enum Relation<'a> {
    /// It is the root, or its parent is open.
    Open,
    /// The parent, of this name, is closed or closing.
    Closed(&'a str),
    /// There is no such parent.
    Missing(&'a str),
    /// It is below itself; the queues from its parent up.
    Circle(Vec<&'a str>),
}

impl<'a> Relation<'a> {
    pub fn find(queue: &'a Queue, cache: &'a ObjectCache) -> Self {
        let Some(parent_name) = parent_name(queue) else {
            return Self::Open;
        };
        let Some(parent) = cache.queue(parent_name) else {
            // Whoever starts first in a cluster makes the root.
            let is_root = parent_name == keys::ROOT_QUEUE;
            return if is_root {
                Self::Open
            } else {
                Self::Missing(parent_name)
            };
        };
        let (above, is_circle) = above(queue, cache);
        if is_circle {
            return Self::Circle(above);
        }
        match is_open(&parent.status.state) {
            true => Self::Open,
            false => Self::Closed(parent_name),
        }
    }

    /// What is wrong, in words.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Open | Self::Closed(_) => None,
            Self::Missing(parent) => Some(format!(
                "spec.parent: there is no queue {parent:?}; make it, or name another parent"
            )),
            Self::Circle(above) => Some(format!(
                "spec.parent: the queue is below itself ({}); name another parent",
                above.join(", ")
            )),
        }
    }
}

/// Whether a queue is below another one, at any depth.
pub(super) fn is_below(queue: &Queue, other: &str, cache: &ObjectCache) -> bool {
    above(queue, cache).0.contains(&other)
}

/// Names above a queue, nearest first, and whether it comes round to itself.
fn above<'a>(queue: &'a Queue, cache: &'a ObjectCache) -> (Vec<&'a str>, bool) {
    let mut above = Vec::new();
    let mut seen = BTreeSet::new();
    let mut at = Some(queue);
    while let Some(parent) = at.and_then(parent_name) {
        above.push(parent);
        if parent == name(queue) {
            return (above, true);
        }
        if !seen.insert(parent) {
            break;
        }
        at = cache.queue(parent);
    }
    (above, false)
}

fn parent_name(queue: &Queue) -> Option<&str> {
    match (name(queue), queue.spec.parent.as_str()) {
        (keys::ROOT_QUEUE, _) => None,
        (_, "") => Some(keys::ROOT_QUEUE),
        (_, parent) => Some(parent),
    }
}
