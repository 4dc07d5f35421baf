//! What every writer needs: the client, the term, limits, and where results go.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustc_hash::{FxBuildHasher, FxHashSet};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::contact::Contact;
use crate::lease::{NoTerm, TermWatch};
use crate::plugin_progress::PluginProgress;
use crate::watch::Picture;

use super::devices::state::DeviceState;
use super::recall::Recalls;
use super::verbs::{Target, Verbs, WriteVerb};
use super::{EffectOptions, Meter, Outcome, Sight};
use crate::api::backoff::Bucket;
use crate::api::call::{ApiCall, ApiRefusal, Reply, send};

/// Requests of steps before binds under way.
const STEPS: usize = 32;

/// What all writers share.
pub(super) struct WriterParts {
    pub(super) client: kube::Client,
    pub(super) options: EffectOptions,
    pub(super) meter: Arc<dyn Meter>,
    pub(super) verbs: Verbs,
    /// Requests of steps before binds that may be in flight.
    pub(super) steps: Semaphore,
    /// Pods whose condition we have written.
    pub(super) conditioned: Recent,
    /// Binds whose outcome is unknown.
    pub(super) unknown: AtomicUsize,
    /// Binds handed in and not ended.
    pub(super) binds: AtomicUsize,
    /// Among them those that wait for a device plugin or a lock.
    pub(super) device_waits: AtomicUsize,
    pub(super) devices: DeviceState,
    pub(super) contact: Contact,
    /// Binds that can be taken back.
    pub(super) recalls: Recalls,
    picture: Picture,
    outcomes: UnboundedSender<Outcome>,
    rate: [Mutex<Bucket>; 3],
}

/// What a writer needs: what all share, and the term in which its write was decided, outside of which
/// nothing is sent.
#[derive(Clone)]
pub(super) struct WriterContext {
    parts: Arc<WriterParts>,
    term: TermWatch,
}

impl Deref for WriterContext {
    type Target = WriterParts;

    fn deref(&self) -> &WriterParts {
        &self.parts
    }
}

/// Which rate limit a write counts against: Volcano has one client for each.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rate {
    Core,
    Volcano,
    Events,
}

/// Remembers that something was done for a UID; the oldest are forgotten.
#[derive(Default)]
pub(super) struct Recent {
    known: Mutex<(FxHashSet<u64>, VecDeque<u64>)>,
}

impl Recent {
    const MAX: usize = 65_536;

    pub(super) fn contains(&self, uid: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.0.contains(&FxBuildHasher.hash_one(uid))
    }

    pub(super) fn insert(&self, uid: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (set, order) = &mut *known;
        let hash = FxBuildHasher.hash_one(uid);
        if set.insert(hash) {
            order.push_back(hash);
        }
        if order.len() > Self::MAX {
            order.pop_front().map(|oldest| set.remove(&oldest));
        }
    }
}

impl WriterContext {
    pub(super) fn new(
        client: kube::Client,
        options: EffectOptions,
        term: TermWatch,
        outcomes: UnboundedSender<Outcome>,
        meter: Arc<dyn Meter>,
        sight: Sight,
    ) -> Arc<Self> {
        let bucket = || Mutex::new(Bucket::new(options.qps, options.burst, Instant::now()));
        let progress = sight.progress;
        let progress = progress.unwrap_or_else(|| PluginProgress::new(options.plugin_patience));
        let parts = WriterParts {
            rate: [bucket(), bucket(), bucket()],
            client,
            options: options.within(term.longest()),
            meter,
            verbs: Verbs::default(),
            steps: Semaphore::new(STEPS),
            conditioned: Recent::default(),
            unknown: AtomicUsize::new(0),
            binds: AtomicUsize::new(0),
            device_waits: AtomicUsize::new(0),
            devices: DeviceState::new(progress),
            contact: sight.contact,
            picture: sight.picture,
            recalls: Recalls::default(),
            outcomes,
        };
        Arc::new(Self {
            parts: Arc::new(parts),
            term,
        })
    }

    /// For what was decided in this term.
    pub(super) fn decided_in(&self, term: &TermWatch) -> Arc<Self> {
        Arc::new(Self {
            parts: Arc::clone(&self.parts),
            term: term.this_one(),
        })
    }

    /// Term of the Lease outside of which nothing is written.
    pub(super) fn term(&self) -> &TermWatch {
        &self.term
    }

    /// A receiver that is gone means that the process ends.
    pub(super) fn tell(&self, outcome: Outcome) {
        let _ = self.outcomes.send(outcome);
    }

    /// Waits for a turn within the rate limit, then for a term that outlasts a request.
    ///
    /// # Errors
    /// The term in which the write was decided is over.
    pub(super) async fn clear_to_write(&self, rate: Rate) -> Result<(), NoTerm> {
        if !self.term.is_leader() {
            return Err(NoTerm);
        }
        let turn = {
            let bucket = &self.rate[rate as usize];
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.take(Instant::now())
        };
        if !turn.is_zero() {
            tokio::time::sleep(turn).await;
        }
        self.term.lasting(self.options.request_timeout).await
    }

    /// Sends a write that has been cleared.
    pub(super) async fn send(&self, kind: &'static str, call: ApiCall) -> Reply {
        let began = Instant::now();
        let reply = send(&self.client, call, self.options.request_timeout).await;
        let seconds = began.elapsed().as_secs_f64();
        self.meter.write(kind, reply.result(), seconds);
        reply
    }

    /// Clears and sends a write.
    pub(super) async fn write(
        &self,
        rate: Rate,
        kind: &'static str,
        call: ApiCall,
    ) -> Result<Reply, NoTerm> {
        self.clear_to_write(rate).await?;
        Ok(self.send(kind, call).await)
    }

    /// What the watch knows.
    pub(super) fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Waits until what decisions are made from is followed.
    pub(super) async fn sees(&self) {
        self.picture.followed().await;
    }

    /// Whether a refusal of what has only one way is about the role, and is believed to be. Until
    /// then it is an API server that is starting, perhaps.
    pub(super) fn is_denied(&self, target: Target, refusal: &ApiRefusal) -> bool {
        refusal.is_rbac() && self.verbs.refused(target, WriteVerb::Patch, &self.contact)
    }

    /// Reads; needs no term.
    pub(super) async fn read(&self, path: String) -> Reply {
        send(
            &self.client,
            ApiCall::get(path),
            self.options.request_timeout,
        )
        .await
    }
}

/// Counts one bind in doubt for as long as it lives.
pub(super) struct Doubt {
    shared: Arc<WriterContext>,
    /// When the request was sent that may have been carried out, or may be yet.
    pub(super) sent: Instant,
}

impl Doubt {
    pub(super) fn new(shared: &Arc<WriterContext>, sent: Instant) -> Self {
        shared.unknown.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: Arc::clone(shared),
            sent,
        }
    }

    /// How long until the API server can no longer carry the request out.
    pub(super) fn lasts(&self) -> Duration {
        let end = self.sent + self.shared.options.settle_after;
        end.saturating_duration_since(Instant::now())
    }
}

impl Drop for Doubt {
    fn drop(&mut self) {
        self.shared.unknown.fetch_sub(1, Ordering::Relaxed);
    }
}
