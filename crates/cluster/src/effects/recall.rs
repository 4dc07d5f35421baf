//! Bindings that are taken back while they wait: what was decided does not fit any more.
//!
//! Whoever decides says so ([`super::Effects::recall`]); each bind looks right before every request
//! it sends, and stops waiting at once. What is already on its way to the API server cannot be
//! called back: such a bind goes on until it is certain what became of it (see `bind`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tokio::sync::watch;

use super::BindFailure;

/// How a bind fails that is taken back, and why.
type TakenBack = (BindFailure, String);

/// Binds that can be taken back, by the pod's UID.
#[derive(Default)]
pub(super) struct Recalls {
    binds: Mutex<FxHashMap<String, watch::Sender<Option<TakenBack>>>>,
}

/// Whether one bind is taken back.
#[derive(Clone, Debug)]
pub(super) struct Recall(watch::Receiver<Option<TakenBack>>);

impl Recalls {
    /// A poisoned lock is used on: nothing under it can panic half way.
    fn binds(&self) -> MutexGuard<'_, FxHashMap<String, watch::Sender<Option<TakenBack>>>> {
        self.binds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bind begins.
    pub(super) fn begin(&self, uid: &str) -> Recall {
        let (sender, receiver) = watch::channel(None);
        self.binds().insert(uid.to_owned(), sender);
        Recall(receiver)
    }

    /// It has ended.
    pub(super) fn end(&self, uid: &str) {
        self.binds().remove(uid);
    }

    /// It is to be taken back, for this reason. Says whether there is such a bind.
    pub(super) fn recall(&self, uid: &str, why: &str) -> bool {
        let binds = self.binds();
        let bind = binds.get(uid);
        if let Some(bind) = bind {
            bind.send_replace(Some((BindFailure::Outdated, why.to_owned())));
        }
        bind.is_some()
    }

    /// All are to be taken back, and fail like this.
    pub(super) fn recall_all(&self, failure: &BindFailure, why: &str) {
        for bind in self.binds().values() {
            bind.send_replace(Some((failure.clone(), why.to_owned())));
        }
    }
}

impl Recall {
    /// How it fails and why, if it is taken back.
    pub(super) fn why(&self) -> Option<TakenBack> {
        self.0.borrow().clone()
    }

    /// Waits until it is.
    pub(super) async fn told(&self) {
        let told = self.0.clone().wait_for(Option::is_some).await.is_ok();
        if !told {
            // The bind has ended, and nobody can take it back.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_bind_under_way_is_taken_back() {
        let recalls = Recalls::default();
        assert!(!recalls.recall("a", "too early"));
        let recall = recalls.begin("a");
        assert_eq!(recall.why(), None);
        assert!(recalls.recall("a", "cordoned"));
        recall.told().await;
        let cordoned = (BindFailure::Outdated, "cordoned".to_owned());
        assert_eq!(recall.why(), Some(cordoned));
        recalls.end("a");
        assert!(!recalls.recall("a", "too late"));
        assert_eq!(recalls.begin("a").why(), None, "another bind of the pod");
    }
}
