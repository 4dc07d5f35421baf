//! Whether the controller is alive that makes PodGroups for pods that name none (spec/03 C1).
//!
//! ```text
//!  GET Lease, every 2 s ─► changed: alive
//!                          as before for its duration and a handover: not alive
//!                          none: not alive
//!                          no answer: as it was, and the time does not count
//! ```
//!
//! As in the election, nobody compares a foreign clock: a Lease counts from when it was *seen* to
//! change, and one that is seen for the first time counts as renewed. It is read instead of
//! watched, because the role Volcano ships may get this Lease, and not list it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use pumice_model::Delta;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use super::outbox::Closed;
use super::status::Place;
use super::{Input, KindState, Pace};
use crate::lease::{Mono, Record, record};

/// Name on the board of kinds.
pub(super) const KIND: &str = "Lease";

/// Duration of a Lease that does not tell it.
const USUAL_LEASE: Duration = Duration::from_secs(15);

/// A longer duration is not believed: pods would wait that long for a controller that is gone.
const LONGEST_LEASE: Duration = Duration::from_secs(60);

/// How long after its Lease has run out, or was released, a controller counts as alive: another
/// replica, or the one that is started in its place, takes the Lease within this time.
const HANDOVER: Duration = Duration::from_secs(10);

/// Denials in a row after which the gate no longer waits: an API server that is starting denies
/// everything for a moment.
const DENIALS_TO_BELIEVE: u32 = 5;

/// What was seen of the Lease.
#[derive(Debug, Default)]
struct Seen {
    last: Option<Record>,
    /// How long the API server was seen to have nothing newer.
    unchanged: Duration,
    /// When it last answered, and whether the last request had an answer.
    answered: Option<Mono>,
}

impl Seen {
    /// The API server showed this Lease, or that there is none.
    fn saw(&mut self, record: Option<Record>, now: Mono) {
        self.denied(now);
        if self.last != record {
            self.last = record;
            self.unchanged = Duration::ZERO;
        }
    }

    /// The API server answered, and did not show the Lease: there is no news of it.
    fn denied(&mut self, now: Mono) {
        if let Some(before) = self.answered.replace(now) {
            self.unchanged += before.until(now);
        }
    }

    /// There was no answer. The controller could not renew its Lease either: the time since the last
    /// answer does not count.
    fn missed(&mut self) {
        self.answered = None;
    }

    fn is_alive(&self) -> bool {
        self.last.as_ref().is_some_and(|record| {
            let lease = record.duration.unwrap_or(USUAL_LEASE).min(LONGEST_LEASE);
            self.unchanged < lease + HANDOVER
        })
    }
}

/// Looks at the Lease as long as somebody listens.
pub(super) struct Looks {
    leases: Api<Lease>,
    namespace: String,
    name: String,
    pace: Pace,
    inputs: Sender<Input>,
    place: Place,
    started: Instant,
    seen: Seen,
    told_alive: bool,
    failures: u32,
    denials: u32,
}

impl Looks {
    pub(super) fn new(
        client: Client,
        namespace: &str,
        name: &str,
        pace: Pace,
        inputs: Sender<Input>,
        place: Place,
    ) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            pace,
            inputs,
            place,
            started: Instant::now(),
            seen: Seen::default(),
            told_alive: false,
            failures: 0,
            denials: 0,
        }
    }

    pub(super) async fn run(mut self) {
        while let Ok(wait) = self.look().await {
            tokio::select! {
                () = sleep(wait) => {}
                () = self.inputs.closed() => return,
            }
        }
    }

    /// One look. Returns how long to wait before the next.
    async fn look(&mut self) -> Result<Duration, Closed> {
        let answer = timeout(self.pace.answer, self.leases.get_opt(&self.name)).await;
        let now = Mono(self.started.elapsed());
        let wait = match answer {
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => self.found(None, now),
            Ok(Ok(lease)) => self.found(lease, now),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                self.seen.denied(now);
                self.denied(&status.message)
            }
            Ok(Err(error)) => self.failed(crate::client::describe(&error)),
            Err(_) => self.failed(format!("no answer within {:?}", self.pace.answer)),
        };
        self.tell().await?;
        if self.failures == 0 || self.denials >= DENIALS_TO_BELIEVE {
            self.settle().await?;
        }
        Ok(wait)
    }

    fn found(&mut self, lease: Option<Lease>, now: Mono) -> Duration {
        self.place.set_state(match &lease {
            Some(_) => KindState::Synced,
            None => KindState::Absent,
        });
        self.place.set_objects(usize::from(lease.is_some()));
        self.place.contact();
        self.seen.saw(lease.as_ref().map(record), now);
        (self.failures, self.denials) = (0, 0);
        self.pace.lease
    }

    fn denied(&mut self, message: &str) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.denials = self.denials.saturating_add(1);
        let (namespace, name) = (&self.namespace, &self.name);
        let error = format!(
            "no permission to get Lease {namespace}/{name}: whether a controller makes PodGroups is not \
             known, and pods do not wait for theirs; add to the role of the scheduler: \
             {{apiGroups: [\"coordination.k8s.io\"], resources: [\"leases\"], resourceNames: \
             [{name:?}], verbs: [\"get\"]}} (the API server says: {})",
            message.trim()
        );
        if self.denials == DENIALS_TO_BELIEVE {
            warn!("{error}");
        }
        self.place.set_state(KindState::Failing { error });
        match self.denials < DENIALS_TO_BELIEVE {
            true => self.pace.retry(KIND, self.failures),
            false => self.pace.longest_absent_retry,
        }
    }

    fn failed(&mut self, error: String) -> Duration {
        self.seen.missed();
        self.failures = self.failures.saturating_add(1);
        self.place.set_state(KindState::Failing { error });
        self.pace.retry(KIND, self.failures)
    }

    /// Tells whether the controller is alive, when that is news.
    async fn tell(&mut self) -> Result<(), Closed> {
        let alive = self.seen.is_alive();
        if alive == self.told_alive {
            return Ok(());
        }
        self.told_alive = alive;
        let lease = format!("{}/{}", self.namespace, self.name);
        match alive {
            true => info!(
                "Lease {lease} is renewed: pods that have a controller wait for their PodGroup"
            ),
            false => {
                info!("Lease {lease} is not renewed: pods without PodGroup are jobs of their own")
            }
        }
        let delta = Delta::GroupController(alive.then_some(lease));
        self.send(Input::Deltas(vec![delta])).await
    }

    /// The Lease no longer holds up the gate; the last kind says so.
    async fn settle(&mut self) -> Result<(), Closed> {
        match self.place.settle() {
            true => self.send(Input::Synced).await,
            false => Ok(()),
        }
    }

    async fn send(&self, input: Input) -> Result<(), Closed> {
        self.inputs.send(input).await.map_err(|_| Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Mono {
        Mono(Duration::from_secs(seconds))
    }

    fn renewed(stamp: i64) -> Option<Record> {
        Some(Record {
            holder: "controller".to_owned(),
            duration: Some(Duration::from_secs(15)),
            renewed_us: Some(stamp),
            transitions: 1,
        })
    }

    #[test]
    fn a_lease_is_alive_until_it_was_seen_unchanged_for_its_duration_and_a_handover() {
        let mut seen = Seen::default();
        assert!(!seen.is_alive());
        // Its own stamps, of whatever clock, mean nothing.
        seen.saw(renewed(-5), at(100));
        assert!(seen.is_alive(), "the first look is like a change");
        for second in (102..124).step_by(2) {
            seen.saw(renewed(-5), at(second));
            assert!(seen.is_alive(), "second {second}");
        }
        seen.saw(renewed(-5), at(126));
        assert!(!seen.is_alive());
        seen.saw(renewed(-4), at(128));
        assert!(seen.is_alive());
        seen.saw(None, at(130));
        assert!(!seen.is_alive(), "there is none any more");
    }

    #[test]
    fn a_released_lease_is_alive_for_a_handover() {
        let mut seen = Seen::default();
        seen.saw(renewed(1), at(0));
        let released = Record {
            duration: Some(Duration::from_secs(1)),
            ..Record::default()
        };
        for (second, alive) in [(2, true), (12, true), (13, false)] {
            seen.saw(Some(released.clone()), at(second));
            assert_eq!(seen.is_alive(), alive, "second {second}");
        }
    }

    #[test]
    fn time_without_answers_does_not_count_and_denials_are_no_news() {
        let mut seen = Seen::default();
        seen.saw(renewed(1), at(0));
        seen.missed();
        seen.saw(renewed(1), at(600));
        assert!(seen.is_alive(), "the API server was away");
        seen.denied(at(624));
        assert!(seen.is_alive());
        seen.denied(at(626));
        assert!(!seen.is_alive());
    }

    #[test]
    fn an_absurd_duration_is_not_believed() {
        let mut seen = Seen::default();
        let mut record = renewed(1);
        if let Some(record) = &mut record {
            record.duration = Some(Duration::from_secs(1 << 40));
        }
        seen.saw(record.clone(), at(0));
        seen.saw(record, at(71));
        assert!(!seen.is_alive());
    }
}
