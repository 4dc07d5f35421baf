//! The last decisions, for `/debug/decisions`.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// Decisions kept.
const KEPT: usize = 1000;

/// One decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// When, as RFC 3339 writes it.
    pub time: String,
    /// Number of the cycle.
    pub cycle: u64,
    /// `namespace/name` of the pod.
    pub pod: String,
    /// UID of the pod.
    pub uid: String,
    /// Node chosen; of a pod that is evicted, the one it leaves.
    pub node: String,
    /// `namespace/name` of its PodGroup; empty for a bare pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// What an eviction is for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub eviction: Option<JournalEviction>,
}

/// Why a pod is evicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEviction {
    /// The action: `preempt`, `reclaim`, `shuffle`.
    pub action: &'static str,
    /// The job that gets the room: `namespace/name` of its PodGroup, or of the pod that has none; `shuffle`
    /// makes room for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evicted_for: Option<String>,
    /// What is freed of cards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
}

/// The last [`KEPT`] decisions, oldest first.
#[derive(Debug, Default)]
pub struct Journal(Mutex<VecDeque<JournalEntry>>);

impl Journal {
    /// Adds a decision; the oldest one goes when there are too many.
    pub fn add(&self, entry: JournalEntry) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The newest, first, as they are.
    pub fn newest(&self) -> Vec<JournalEntry> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().rev().cloned().collect()
    }

    /// All of them as JSON.
    pub fn json(&self) -> serde_json::Value {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::json!({ "decisions": entries.iter().collect::<Vec<_>>() })
    }
}
