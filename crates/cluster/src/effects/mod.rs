//! What the scheduler writes to the API server, and nothing else.
//!
//! ```text
//!               ┌─► binds: devices, window (AIMD), in order ─┐
//!   submit ─────┼─► evictions ───────────────────────────────┤   term?   rate
//!  (never       ├─► statuses: newest per object, only change ┼──► ask ──► limit ──► one request
//!   blocks)     └─► events: folded, bounded, last ───────────┘      with its own deadline
//!                                                                        │
//!   outcomes ◄── bound, failed (certain), evicted ◄──────────────────────┘
//! ```
//!
//! Invariants: nothing is written outside the term of the lease in which it was decided (see
//! `decided`); no decision waits for a write; the
//! client's own retries are off, since what a second try means depends on the write; a bind is
//! reported as failed only when it cannot happen any more (see `bind`).

mod bind;
mod bind_waits;
mod claims;
mod coalesce;
mod correlate;
mod decided;
pub(crate) mod devices;
mod event;
mod evict;
mod gate;
mod lane;
mod meter;
mod native_status;
mod options;
mod queues;
mod recall;
mod rewrite;
mod shared;
mod status;
mod status_body;
mod verbs;
mod volumes;
mod window;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::contact::Contact;
use crate::lease::TermWatch;
use crate::plugin_progress::PluginProgress;
use crate::watch::Picture;

use self::bind::{BindInFlight, Ready};
use self::decided::{Decided, end_with_terms};
use self::devices::cleanup::{self, CleanUp};
use self::devices::guards::Pass;
use self::event::EventSink;
use self::evict::PodToEvict;
use self::gate::BindLimiter;
use self::lane::Lane;
use self::recall::Recall;
use self::shared::WriterContext;
use self::status::{StatusKey, StatusWrite, pod_keys};

pub use devices::waiting::{BindWaiting, WaitsFor};
pub use meter::{BindStage, Meter};
pub use options::{EffectOptions, EvictionMethod};
pub use pumice_model::write::{BindFailure, BindRequest, Outcome, PodRef, VolumeWork, Write};
pub use queues::{EnsureError, Ensured, ensure_queues};

/// Evictions under way.
const EVICTIONS: usize = 8;
/// Statuses of groups, queues and shards under way.
const STATUSES: usize = 8;
/// Pod conditions under way. In a lane of their own: there may be one per pending pod, and phases
/// of groups must not wait behind them.
const CONDITIONS: usize = 6;
/// Clean-ups of pods that ended before their device plugin had answered, under way.
const CLEANUPS: usize = 4;
/// Events under way: when no bind waits, and when some do.
const EVENTS: (usize, usize) = (8, 2);

/// Takes writes. Dropping it stops all but the binds under way; wait for [`Effects::idle`] first.
pub struct Effects {
    lanes: Arc<Lanes>,
    binds: UnboundedSender<Queued>,
    tasks: Vec<AbortHandle>,
}

/// What is known of the API server and of what it told.
#[derive(Clone, Default)]
pub struct Sight {
    /// Whether it answers.
    pub contact: Contact,
    /// Whether what decisions are made from is followed.
    pub picture: Picture,
    /// How far device plugins are, which the watch notes; `None`: nobody notes it.
    pub progress: Option<PluginProgress>,
}

/// Statuses, by whose they are.
type StatusLane = Lane<StatusKey, Decided<StatusWrite>>;

struct Lanes {
    shared: Arc<WriterContext>,
    gate: Arc<BindLimiter>,
    evictions: Arc<Lane<String, Decided<PodToEvict>>>,
    statuses: Arc<StatusLane>,
    conditions: Arc<StatusLane>,
    cleanups: Arc<Lane<String, Decided<CleanUp>>>,
    events: Arc<EventSink>,
    bind_ended: Notify,
}

struct Queued {
    request: BindRequest,
    recall: Recall,
    since: Instant,
    by: Arc<WriterContext>,
}

/// Starts the writers on the current runtime. `client` must not retry by itself and should not be
/// the one the lease is renewed with; `outcomes` gets what became of binds and evictions. What waits
/// between two tries is tried at once when the API server is back, and Bindings wait while what they
/// were decided from is not followed.
pub fn start(
    client: kube::Client,
    options: EffectOptions,
    term: TermWatch,
    outcomes: UnboundedSender<Outcome>,
    meter: Arc<dyn Meter>,
    sight: Sight,
) -> Effects {
    let event_lifetime = options.event_lifetime;
    let shared = WriterContext::new(client, options, term, outcomes, meter, sight);
    let lanes = Arc::new(Lanes {
        shared,
        gate: BindLimiter::new(),
        evictions: Lane::new(),
        statuses: Lane::new(),
        conditions: Lane::new(),
        cleanups: Lane::new(),
        events: Arc::new(EventSink::new(event_lifetime)),
        bind_ended: Notify::new(),
    });
    // Bounded by `max_binds`: whoever decides hands in and never waits for writes.
    let (binds, queue) = unbounded_channel();
    let tasks = vec![
        tokio::spawn(bind_all(Arc::clone(&lanes), queue)).abort_handle(),
        spawn_evictions(&lanes),
        spawn_statuses(&lanes.statuses, STATUSES),
        spawn_statuses(&lanes.conditions, CONDITIONS),
        spawn_cleanups(&lanes),
        spawn_events(&lanes),
        spawn_guards(&lanes.shared),
        tokio::spawn(try_again_after_outages(Arc::clone(&lanes))).abort_handle(),
        tokio::spawn(end_with_terms(Arc::clone(&lanes))).abort_handle(),
    ];
    Effects {
        lanes,
        binds,
        tasks,
    }
}

fn spawn_evictions(lanes: &Arc<Lanes>) -> AbortHandle {
    let events = Arc::clone(&lanes.events);
    let write = move |decided: Decided<PodToEvict>, tries| {
        evict::write(decided.by, Arc::clone(&events), decided.write, tries)
    };
    let lane = Arc::clone(&lanes.evictions);
    tokio::spawn(lane.run(|| EVICTIONS, write)).abort_handle()
}

fn spawn_statuses(lane: &Arc<StatusLane>, limit: usize) -> AbortHandle {
    let write =
        |decided: Decided<StatusWrite>, tries| status::write(decided.by, decided.write, tries);
    tokio::spawn(Arc::clone(lane).run(move || limit, write)).abort_handle()
}

fn spawn_cleanups(lanes: &Arc<Lanes>) -> AbortHandle {
    let write = |decided: Decided<CleanUp>, tries| cleanup::write(decided.by, decided.write, tries);
    let lane = Arc::clone(&lanes.cleanups);
    tokio::spawn(lane.run(|| CLEANUPS, write)).abort_handle()
}

fn spawn_guards(shared: &Arc<WriterContext>) -> AbortHandle {
    let shared = Arc::clone(shared);
    tokio::spawn(async move { shared.devices.guards.run().await }).abort_handle()
}

fn spawn_events(lanes: &Arc<Lanes>) -> AbortHandle {
    let gate = Arc::clone(&lanes.gate);
    let write = |decided: Decided<_>, tries| event::write(decided.by, decided.write, tries);
    let limit = move || {
        if gate.is_crowded() {
            EVENTS.1
        } else {
            EVENTS.0
        }
    };
    let lane = Arc::clone(&lanes.events.lane);
    tokio::spawn(lane.run(limit, write)).abort_handle()
}

/// What found no API server is tried as soon as it is back, as if for the first time.
async fn try_again_after_outages(lanes: Arc<Lanes>) {
    let contact = &lanes.shared.contact;
    let mut since = contact.moment();
    loop {
        // An outage that ends while the lines below run is not missed.
        since = contact.back(since).await;
        lanes.evictions.try_again();
        lanes.statuses.try_again();
        lanes.conditions.try_again();
        lanes.cleanups.try_again();
        lanes.events.lane.try_again();
    }
}

/// Starts binds in order. One whose steps take time, or that waits for its node, does not hold up
/// the others; for the rest the turn is taken here, so that a burst makes requests that wait rather
/// than tasks that wait.
async fn bind_all(lanes: Arc<Lanes>, mut queue: UnboundedReceiver<Queued>) {
    while let Some(queued) = queue.recv().await {
        let ready = match queued.request.has_steps() {
            false => ready(&lanes, &queued).await,
            true => Ready::default(),
        };
        tokio::spawn(bind_one(Arc::clone(&lanes), queued, ready));
    }
}

/// What a bind without steps gets in the order in which binds were handed in.
async fn ready(lanes: &Lanes, queued: &Queued) -> Ready {
    let BindRequest {
        pod, node, devices, ..
    } = &queued.request;
    let guards = &lanes.shared.devices.guards;
    let guard = devices.guard.as_ref();
    let pass = guard.map(|guard| guards.enter(&pod.uid, node, guard));
    let waits = !devices.locks.is_empty() || matches!(pass, Some(Pass::Later(_)));
    let permit = match waits {
        true => None,
        false => tokio::select! {
            permit = lanes.gate.pass(false) => Some(permit),
            () = queued.recall.told() => None,
        },
    };
    Ready { permit, pass }
}

async fn bind_one(lanes: Arc<Lanes>, queued: Queued, ready: Ready) {
    let Queued {
        request,
        recall,
        since,
        by,
    } = queued;
    // A condition that is being written must not land on a bound pod.
    for key in pod_keys(&request.pod) {
        lanes.conditions.settled(&key).await;
    }
    let ways = (&lanes.gate, &*lanes.conditions);
    let bind = BindInFlight::new(&by, ways, &request, ready, recall);
    let end = bind.run().await;
    let BindRequest { pod, node, .. } = request;
    lanes.shared.recalls.end(&pod.uid);
    let outcome = match end {
        Ok(claims) => {
            let meter = &lanes.shared.meter;
            meter.bound(since.elapsed().as_secs_f64());
            meter.bind_stage(&pod.uid, BindStage::Accepted);
            Outcome::Bound { pod, node, claims }
        }
        Err((failure, message)) => Outcome::BindFailed {
            pod,
            node,
            failure,
            message,
        },
    };
    lanes.shared.binds.fetch_sub(1, Ordering::Relaxed);
    lanes.shared.tell(outcome);
    lanes.bind_ended.notify_waiters();
}

impl Effects {
    /// Takes a write of the term that runs now.
    pub fn submit(&self, write: Write) {
        self.submit_in(self.lanes.shared.term(), write);
    }

    /// Takes a write that was decided in this term ([`TermWatch::this_one`]), and is given up when that is
    /// over. Never blocks; writes of one kind and object go out in order, the newest of those that
    /// wait.
    pub fn submit_in(&self, term: &TermWatch, write: Write) {
        let by = self.lanes.shared.decided_in(term);
        match write {
            Write::Bind(request) => self.bind(request, by),
            Write::Evict {
                pod,
                reason,
                group,
                beneficiary,
                guarded_by_budget,
            } => {
                let eviction = PodToEvict {
                    pod,
                    reason,
                    group,
                    beneficiary,
                    guarded_by_budget,
                };
                let key = eviction.pod.uid.clone();
                self.lanes
                    .evictions
                    .submit(key, Decided::new(eviction, &by));
            }
            Write::CleanUp { pod, annotations } => {
                let key = pod.uid.clone();
                let clean_up = CleanUp { pod, annotations };
                self.lanes.cleanups.submit(key, Decided::new(clean_up, &by));
            }
            Write::ReturnDevices(claim) => {
                tokio::spawn(claims::return_devices(by, claim));
            }
            Write::Event {
                about,
                warning,
                reason,
                message,
            } => {
                let events = &self.lanes.events;
                events.submit(&by, about, warning, reason, &message);
            }
            Write::BindWaits {
                pod,
                node,
                reason,
                message,
            } => self.tell_bind_waits(&by, (pod, node), reason, message),
            write => {
                if let Some(status) = StatusWrite::of(write) {
                    let lane = match status {
                        StatusWrite::Condition(_) | StatusWrite::Nomination(_) => {
                            &self.lanes.conditions
                        }
                        _ => &self.lanes.statuses,
                    };
                    lane.submit(status.key(), Decided::new(status, &by));
                }
            }
        }
    }

    fn bind(&self, request: BindRequest, by: Arc<WriterContext>) {
        let shared = &self.lanes.shared;
        for key in pod_keys(&request.pod) {
            self.lanes.conditions.cancel(&key);
        }
        let before = shared.binds.fetch_add(1, Ordering::Relaxed);
        if before >= shared.options.max_binds {
            return self.refuse(request, "too many Bindings are waiting; tried again later");
        }
        let uid = &request.pod.uid;
        shared.meter.bind_stage(uid, BindStage::Turn);
        let queued = Queued {
            recall: shared.recalls.begin(&request.pod.uid),
            request,
            since: Instant::now(),
            by,
        };
        if let Err(queued) = self.binds.send(queued) {
            // The runtime is going down.
            self.refuse(queued.0.request, "the scheduler is stopping");
        }
    }

    /// A bind that was counted and of which no request has been made.
    fn refuse(&self, request: BindRequest, why: &str) {
        self.lanes.shared.binds.fetch_sub(1, Ordering::Relaxed);
        let BindRequest { pod, node, .. } = request;
        self.lanes.shared.tell(Outcome::BindFailed {
            pod,
            node,
            failure: BindFailure::GaveUp,
            message: why.to_owned(),
        });
    }

    /// The decision to bind this pod does not fit any more. If its Binding has not been sent it is
    /// not, and fails as [`BindFailure::Outdated`]; if it may have been it is not sent again, and
    /// fails once it is certain that it has not landed. Says whether there is such a bind.
    pub fn recall(&self, uid: &str, why: &str) -> bool {
        self.lanes.shared.recalls.recall(uid, why)
    }

    /// Binds handed in whose outcome has not been told.
    pub fn in_flight(&self) -> usize {
        self.lanes.shared.binds.load(Ordering::Relaxed)
    }

    /// Binds among them that may have happened without an answer.
    pub fn unknown(&self) -> usize {
        self.lanes.shared.unknown.load(Ordering::Relaxed)
    }

    /// Other writes that wait or are under way.
    pub fn backlog(&self) -> usize {
        let Lanes {
            evictions,
            statuses,
            conditions,
            cleanups,
            events,
            ..
        } = &*self.lanes;
        let others = conditions.len() + cleanups.len() + events.lane.len();
        evictions.len() + statuses.len() + others
    }

    /// Writes what waits without further delay, and returns when nothing is left. For shutdown:
    /// give it a deadline, an API server that is away can make it last. Binds that wait for their
    /// node fail: nothing of them was sent.
    pub async fn idle(&self) {
        let lanes = &*self.lanes;
        let _closing = lanes.shared.devices.guards.close();
        loop {
            let ended = lanes.bind_ended.notified();
            if self.in_flight() == 0 {
                break;
            }
            ended.await;
        }
        lanes.evictions.idle().await;
        lanes.cleanups.idle().await;
        for lane in [&lanes.statuses, &lanes.conditions] {
            lane.hurry();
            lane.idle().await;
        }
        lanes.events.lane.hurry();
        lanes.events.lane.idle().await;
    }
}

impl Drop for Effects {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests;

/// Path of a pod on the API server.
fn pod_path(pod: &PodRef) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name)
}
