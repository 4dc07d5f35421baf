//! What nodes tell of their CPUs, and what pods ask of them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::object::{CpuRequest, NumatopologyObject};

/// Numatopologies, and requests for CPUs of one's own.
#[derive(Clone, Default)]
pub(in crate::state) struct ToldCpus {
    /// Numatopologies by node name.
    pub told: FxHashMap<String, NumatopologyObject>,
    /// CPUs of some node are to be chosen anew.
    pub is_stale: bool,
    requests: FxHashSet<Arc<CpuRequest>>,
    /// Requests from which those nobody has are looked for.
    limit: usize,
}

/// Requests that are always kept.
const SPARE_REQUESTS: usize = 64;

impl ToldCpus {
    /// What a pod asks of CPUs, shared by all that ask for the same.
    pub fn share(&mut self, request: &CpuRequest) -> Arc<CpuRequest> {
        if let Some(known) = self.requests.get(request) {
            return known.clone();
        }
        if self.requests.len() >= self.limit.max(SPARE_REQUESTS) {
            self.requests.retain(|known| Arc::strong_count(known) > 1);
            self.limit = 2 * self.requests.len() + SPARE_REQUESTS;
        }
        let shared = Arc::new(request.clone());
        self.requests.insert(shared.clone());
        shared
    }
}
