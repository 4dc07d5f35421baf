//! The candidate: does what [`decide`] says against the API server.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::term::{Term, TermSender};
use super::{
    CandidateView, ElectionSettings, ElectionStep, LeaseRecord, Loss, Mono, SettingsError,
    TermWatch, decide,
};

/// A standby reads this many times per retry period, and failures are retried as often: what it
/// adds to a failover is a fraction of the retry period.
const LOOKS_PER_PERIOD: u32 = 4;

/// How long the first lists of a process wait for its first look at the Lease.
const MAX_FIRST_LOOK: Duration = Duration::from_secs(1);

/// Takes part in the election until it is told to stop.
pub struct Elector {
    leases: Api<Lease>,
    settings: ElectionSettings,
    term: TermSender,
    started: Instant,
    observed: CandidateView,
    lease: Option<Lease>,
    last_problem: String,
    /// Refused updates in a row.
    conflicts: u32,
}

/// What became of a request.
enum LeaseRequestFailure {
    /// The Lease changed since we read it, or appeared since we found none.
    Conflict,
    /// There is no Lease.
    Missing,
    /// Anything else, in words.
    Other(String),
}

impl Elector {
    /// A candidate, and what the writers ask. Use a client of its own: a connection shared with
    /// thousands of writes would delay the renewals.
    ///
    /// # Errors
    /// The settings break a rule.
    pub fn new(
        client: kube::Client,
        settings: ElectionSettings,
    ) -> Result<(Self, TermWatch), SettingsError> {
        settings.validate()?;
        let (term, watch) = TermWatch::new(settings.renew_deadline);
        let elector = Self {
            leases: Api::namespaced(client, &settings.namespace),
            settings,
            term,
            started: Instant::now(),
            observed: CandidateView::default(),
            lease: None,
            last_problem: String::new(),
            conflicts: 0,
        };
        Ok((elector, watch))
    }

    /// Looks at the Lease before anything is listed: one that has been released by then is taken without a pause. What is
    /// not answered in time is looked at by [`Elector::run`], as something that may have happened after the lists.
    pub async fn look_before_lists(&mut self) {
        let _ = tokio::time::timeout(MAX_FIRST_LOOK, self.read()).await;
        self.observed.lists_follow();
    }

    /// Runs until `shutdown` is ready, then gives the Lease back. Drain the writers first: the
    /// term ends at once.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        loop {
            let action = decide(&self.observed, &self.settings, self.now());
            let takes = matches!(action, ElectionStep::Create | ElectionStep::Take);
            let mut step = pin!(self.act(action));
            let stops = tokio::select! {
                biased;
                () = &mut shutdown => true,
                () = &mut step => false,
            };
            if stops {
                // What is given back must be known to be ours.
                if takes {
                    step.await;
                }
                break;
            }
        }
        let held = self.observed.term_from().is_some();
        self.term.send_replace(Term::None);
        if held {
            self.release().await;
        }
    }

    fn now(&self) -> Mono {
        Mono(self.started.elapsed())
    }

    async fn act(&mut self, action: ElectionStep) {
        match action {
            ElectionStep::Wait(time) => tokio::time::sleep(time).await,
            ElectionStep::Lost(loss) => self.lose(loss),
            ElectionStep::Read => self.read().await,
            ElectionStep::Create | ElectionStep::Take | ElectionStep::Renew => {
                self.write(action).await
            }
        }
    }

    async fn read(&mut self) {
        let answer = self.bounded(self.leases.get(&self.settings.name)).await;
        let now = self.now();
        self.observed.read_again(now.plus(self.pause()));
        match answer {
            Ok(lease) => self.note(lease),
            Err(LeaseRequestFailure::Missing) => {
                self.lease = None;
                self.term.holder.send_replace(String::new());
                self.observed.saw(None, now);
            }
            Err(LeaseRequestFailure::Conflict) => self.observed.failed(now, self.pause()),
            Err(LeaseRequestFailure::Other(problem)) => self.problem("read", problem),
        }
    }

    async fn write(&mut self, action: ElectionStep) {
        let wanted = self.wanted();
        let params = PostParams::default();
        let sent = self.now();
        let answer = match action {
            ElectionStep::Create => self.bounded(self.leases.create(&params, &wanted)).await,
            _ => {
                let put = self.leases.replace(&self.settings.name, &params, &wanted);
                self.bounded(put).await
            }
        };
        match answer {
            Ok(lease) => self.held(lease, sent),
            Err(LeaseRequestFailure::Conflict) => self.conflict(),
            Err(LeaseRequestFailure::Missing) if action == ElectionStep::Create => {
                let namespace = &self.settings.namespace;
                let problem = format!("namespace {namespace:?} does not exist; create it");
                self.problem("create", problem);
            }
            Err(LeaseRequestFailure::Missing) => self.observed.saw(None, self.now()),
            Err(LeaseRequestFailure::Other(problem)) => {
                // It may have been written all the same: the next request must start from what
                // the API server has.
                self.observed.conflict();
                self.problem("write", problem);
            }
        }
    }

    /// A lost race is read at once; one that is lost again and again is no race.
    fn conflict(&mut self) {
        self.observed.conflict();
        self.conflicts += 1;
        if self.conflicts > 1 {
            self.observed.failed(self.now(), self.pause());
        }
    }

    fn held(&mut self, lease: Lease, sent: Mono) {
        self.conflicts = 0;
        let began = self.observed.term_from().is_none();
        let record = record(&lease);
        self.term.holder.send_replace(record.holder.clone());
        self.observed.held(record, sent, self.now());
        self.lease = Some(lease);
        let end = self.started + sent.0 + self.settings.renew_deadline;
        self.term.send_replace(Term::Until(end));
        if !self.last_problem.is_empty() {
            info!(lease = %self.settings.name, "the lease can be written again");
            self.last_problem.clear();
        }
        if began {
            info!(identity = %self.settings.identity, "became leader");
        }
    }

    fn lose(&mut self, loss: Loss) {
        self.observed.drop_term();
        self.term.send_replace(Term::None);
        let holder = self.observed.last().map_or("", |record| &record.holder);
        match loss {
            Loss::Deadline => error!(
                deadline = ?self.settings.renew_deadline,
                "lost the lease: it could not be renewed in time; nothing is decided or written \
                 until this replica holds it again",
            ),
            Loss::Taken => error!(
                holder,
                "lost the lease: it has another holder; this replica stands by"
            ),
            Loss::Deleted => error!(
                lease = %self.settings.name,
                "lost the lease: it was deleted; this replica makes it again"
            ),
        }
    }

    fn note(&mut self, lease: Lease) {
        let record = record(&lease);
        let known = self.observed.last().map(|last| &last.holder);
        if known != Some(&record.holder) {
            info!(holder = %record.holder, "the lease has a new holder");
        }
        self.term.holder.send_replace(record.holder.clone());
        self.observed.saw(Some(record), self.now());
        self.lease = Some(lease);
    }

    /// Pauses after a failure, and says what is wrong once, not at every try.
    fn problem(&mut self, verb: &str, problem: String) {
        self.observed.failed(self.now(), self.pause());
        if problem != self.last_problem {
            let ElectionSettings {
                namespace, name, ..
            } = &self.settings;
            warn!("cannot {verb} lease {namespace}/{name}: {problem}");
            self.last_problem = problem;
        }
    }

    fn pause(&self) -> Duration {
        self.settings.retry_period / LOOKS_PER_PERIOD
    }

    /// The Lease with us as the holder; what we do not know of it stays as it is.
    fn wanted(&self) -> Lease {
        let mut lease = self.blank();
        let spec = lease.spec.get_or_insert_default();
        let now = fresh_stamp(spec.renew_time.as_ref());
        let us = Some(&self.settings.identity);
        if spec.holder_identity.as_ref() != us {
            let before = spec.lease_transitions.unwrap_or(0);
            let first = self.lease.is_none();
            spec.lease_transitions = Some(if first { 0 } else { before.saturating_add(1) });
            spec.acquire_time = Some(now.clone());
            spec.holder_identity = us.cloned();
        }
        spec.lease_duration_seconds = Some(self.settings.lease_seconds());
        spec.renew_time = Some(now);
        lease
    }

    fn blank(&self) -> Lease {
        self.lease.clone().unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.settings.name.clone()),
                namespace: Some(self.settings.namespace.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec::default()),
        })
    }

    /// Names no holder, as client-go does on cancel, so that a standby need not wait until the Lease runs out.
    async fn release(&mut self) {
        for _ in 0..2 {
            let mut lease = self.blank();
            let spec = lease.spec.get_or_insert_default();
            if spec.holder_identity.as_ref() != Some(&self.settings.identity) {
                return;
            }
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            let now = fresh_stamp(spec.renew_time.as_ref());
            spec.acquire_time = Some(now.clone());
            spec.renew_time = Some(now);
            let params = PostParams::default();
            let put = self.leases.replace(&self.settings.name, &params, &lease);
            match self.bounded(put).await {
                Ok(_) => {
                    info!(lease = %self.settings.name, "released the lease");
                    return;
                }
                // A renewal that was under way has been written: read what is there now.
                Err(LeaseRequestFailure::Conflict) => self.read().await,
                Err(LeaseRequestFailure::Missing) => return,
                Err(LeaseRequestFailure::Other(problem)) => {
                    warn!("cannot release the lease, a standby waits until it expires: {problem}");
                    return;
                }
            }
        }
    }

    /// A request with a deadline that leaves time for a second one within the renew deadline.
    async fn bounded(
        &self,
        request: impl Future<Output = Result<Lease, kube::Error>>,
    ) -> Result<Lease, LeaseRequestFailure> {
        let limit = self.settings.renew_deadline / 2;
        match tokio::time::timeout(limit, request).await {
            Ok(Ok(lease)) => Ok(lease),
            Ok(Err(kube::Error::Api(status))) => Err(match status.code {
                404 => LeaseRequestFailure::Missing,
                409 => LeaseRequestFailure::Conflict,
                403 => LeaseRequestFailure::Other(format!(
                    "{}; grant get, create and update on leases of coordination.k8s.io in \
                     namespace {:?}",
                    status.message, self.settings.namespace
                )),
                _ => LeaseRequestFailure::Other(status.message),
            }),
            Ok(Err(error)) => Err(LeaseRequestFailure::Other(error.to_string())),
            Err(_) => Err(LeaseRequestFailure::Other(format!(
                "no answer within {limit:?}"
            ))),
        }
    }
}

/// The wall clock, but never the value it replaces: standbys tell renewals apart by it.
fn fresh_stamp(previous: Option<&MicroTime>) -> MicroTime {
    let now = Timestamp::now();
    let clash = previous.is_some_and(|last| last.0.as_microsecond() == now.as_microsecond());
    let step = SignedDuration::from_micros(i64::from(clash));
    MicroTime(now.checked_add(step).unwrap_or(now))
}

/// What a Lease says.
pub(crate) fn record(lease: &Lease) -> LeaseRecord {
    let Some(spec) = &lease.spec else {
        return LeaseRecord::default();
    };
    let seconds = spec.lease_duration_seconds.unwrap_or(0);
    LeaseRecord {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        duration: u64::try_from(seconds)
            .ok()
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs),
        renewed_us: spec.renew_time.as_ref().map(|time| time.0.as_microsecond()),
        transitions: spec.lease_transitions.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests;
