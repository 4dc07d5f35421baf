//! A lane: carries out coalesced writes, a few at a time, beside the binds.

use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::coalesce::{Coalesce, Coalescer, Finish};

/// See the module. `K` names the object, `V` is the write.
pub(super) struct Lane<K, V> {
    state: Mutex<Coalescer<K, V>>,
    /// Something was submitted.
    work: Notify,
    /// Something has ended.
    ended: Notify,
}

impl<K, V> Lane<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Coalesce + Send + 'static,
{
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(Coalescer::new()),
            work: Notify::new(),
            ended: Notify::new(),
        })
    }

    /// A poisoned lock is used on: nothing under it can panic half way.
    fn state(&self) -> MutexGuard<'_, Coalescer<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn submit(&self, key: K, value: V) {
        self.state().submit(key, value, Instant::now());
        self.work.notify_one();
    }

    /// Takes a write; says whether another, the first due, had to go because `most` wait already.
    pub(super) fn submit_bounded(&self, key: K, value: V, most: usize) -> bool {
        let mut state = self.state();
        let full = state.waiting() >= most && state.drop_first().is_some();
        state.submit(key, value, Instant::now());
        drop(state);
        self.work.notify_one();
        full
    }

    pub(super) fn cancel(&self, key: &K) {
        self.state().cancel(key);
        self.ended.notify_waiters();
    }

    /// Objects with something waiting or under way.
    pub(super) fn len(&self) -> usize {
        self.state().len()
    }

    /// Makes everything due now.
    pub(super) fn hurry(&self) {
        self.state().hurry(Instant::now());
        self.work.notify_one();
    }

    /// What was tried before is due now.
    pub(super) fn try_again(&self) {
        self.state().try_again(Instant::now());
        self.work.notify_one();
    }

    /// Waits until no write of the object is under way.
    pub(super) async fn settled(&self, key: &K) {
        self.until(|state| !state.is_under_way(key)).await;
    }

    /// Waits until nothing waits and nothing is under way.
    pub(super) async fn idle(&self) {
        self.until(|state| state.len() == 0).await;
    }

    async fn until(&self, holds: impl Fn(&Coalescer<K, V>) -> bool) {
        loop {
            let ended = self.ended.notified();
            if holds(&self.state()) {
                return;
            }
            ended.await;
        }
    }

    /// Works for ever: `limit` says how many writes may be under way, `write` does one.
    pub(super) async fn run<F, D>(self: Arc<Self>, limit: impl Fn() -> usize, write: D)
    where
        D: Fn(V, u32) -> F,
        F: Future<Output = Finish> + Send + 'static,
    {
        let mut under_way = JoinSet::new();
        loop {
            let mut due = None;
            while under_way.len() < limit() {
                let mut state = self.state();
                let Some((key, value, tries)) = state.begin(Instant::now()) else {
                    due = state.next_due();
                    break;
                };
                drop(state);
                let one = write(value, tries);
                under_way.spawn(async move { (key, one.await) });
            }
            let timer = async move {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(ended) = under_way.join_next() => {
                    if let Ok((key, finish)) = ended {
                        self.state().end(&key, finish, Instant::now());
                    }
                    self.ended.notify_waiters();
                }
                () = self.work.notified() => {}
                () = timer => {}
            }
        }
    }
}
