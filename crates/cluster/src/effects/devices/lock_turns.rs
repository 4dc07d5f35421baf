//! Whose turn it is to take the lock of a node, and who has left one behind.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// A node, and the key of the lock on it.
type LockKey = (String, &'static str);
type LockQueue = Arc<tokio::sync::Mutex<()>>;

/// Who takes a lock, of the binds of this process: by node and key.
#[derive(Default)]
pub(in crate::effects) struct LockTurns {
    queues: Mutex<FxHashMap<LockKey, LockQueue>>,
    /// What bound pods have left for their plugin to remove: values, and whose.
    left: Mutex<FxHashMap<LockKey, (Vec<String>, String)>>,
}

impl LockTurns {
    pub(super) fn queue(&self, node: &str, key: &'static str) -> LockQueue {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        // Held by nobody but this table: nobody waits.
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        let queue = queues.entry((node.to_owned(), key)).or_default();
        Arc::clone(queue)
    }

    /// Whose a lock of this value is, if a pod that this process has bound has it.
    pub(super) fn owner(&self, node: &str, key: &'static str, value: &str) -> Option<String> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (values, uid) = left.get(&(node.to_owned(), key))?;
        let is_it = values.iter().any(|known| known == value);
        is_it.then(|| uid.clone())
    }

    /// A pod is bound whose plugin is to remove the lock, which has one of these values.
    pub(super) fn left_by(&self, uid: &str, node: &str, key: &'static str, values: Vec<String>) {
        if let Ok(mut left) = self.left.lock() {
            left.insert((node.to_owned(), key), (values, uid.to_owned()));
        }
    }
}
