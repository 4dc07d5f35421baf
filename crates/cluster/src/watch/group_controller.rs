//! Whether the controller is alive that makes PodGroups for pods that name none (spec/03 C1).
//!
//! ```text
//!  GET Lease, every 2 s ─► changed: alive
//!                          as before for its duration and a handover, or none: ask for its pods
//!                          no answer: as it was, and the time does not count
//!  LIST its pods        ─► one is ready: alive
//!                          none for a handover: not alive
//! ```
//!
//! Volcano's charts start the controllers with `--leader-elect=false`: then there is no Lease, and
//! what shows them at work is their pod, known by its label in the namespace of the Lease.
//!
//! As in the election, nobody compares a foreign clock: a Lease counts from when it was *seen* to
//! change, and one that is seen for the first time counts as renewed. It is read instead of
//! watched, because the role Volcano ships may get this Lease, and not list it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use pumice_model::Delta;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use super::WatchInput;
use crate::follow::board::{KindReporter, KindState};
use crate::follow::{ReceiverGone, WatchTimes};
use crate::lease::{Mono, record};
use crate::pods;

use seen::{ControllerSigns, is_ready};

mod seen;

/// What Volcano's manifests call the pods of its controllers.
const POD_LABEL: &str = "app=volcano-controller";

/// Name on the board of kinds.
pub(super) const KIND: &str = "Lease";

/// Denials in a row after which the gate no longer waits: an API server that is starting denies
/// everything for a moment.
const DENIALS_TO_BELIEVE: u32 = 5;

/// Looks at the Lease, and the pods, as long as somebody listens.
pub(super) struct Looks {
    leases: Api<Lease>,
    client: Client,
    namespace: String,
    name: String,
    pace: WatchTimes,
    inputs: Sender<WatchInput>,
    place: KindReporter,
    started: Instant,
    seen: ControllerSigns,
    /// What was last reported: the sign of life, in words.
    reported: Option<String>,
    failures: u32,
    denials: u32,
}

impl Looks {
    pub(super) fn new(
        client: Client,
        namespace: &str,
        name: &str,
        pace: WatchTimes,
        inputs: Sender<WatchInput>,
        place: KindReporter,
    ) -> Self {
        Self {
            leases: Api::namespaced(client.clone(), namespace),
            client,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            pace,
            inputs,
            place,
            started: Instant::now(),
            seen: ControllerSigns::default(),
            reported: None,
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
    async fn look(&mut self) -> Result<Duration, ReceiverGone> {
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
        let wait = match self.seen.is_renewed() || !self.is_settled() {
            true => wait,
            false => self.look_for_pods().await.unwrap_or(wait),
        };
        self.report().await?;
        if self.is_settled() {
            self.settle().await?;
        }
        Ok(wait)
    }

    /// Whether the API server has said all it will.
    fn is_settled(&self) -> bool {
        self.failures == 0 || self.denials >= DENIALS_TO_BELIEVE
    }

    /// Looks for a ready pod of the controller. Returns how long to wait if that was not possible.
    async fn look_for_pods(&mut self) -> Option<Duration> {
        let which = ListParams::default().labels(POD_LABEL).match_any();
        let asked = pods::list(&self.client, &self.namespace, &which);
        let error = match timeout(self.pace.answer, asked).await {
            Ok(Ok(pods)) => {
                let ready = pods.iter().find(|pod| is_ready(pod));
                self.seen.pod(ready.map(ResourceExt::name_any));
                return None;
            }
            Ok(Err(error)) => crate::client::describe(&error),
            Err(_) => format!("no answer within {:?}", self.pace.answer),
        };
        let namespace = &self.namespace;
        let error = format!("pods with label {POD_LABEL} in namespace {namespace}: {error}");
        Some(self.failed(error))
    }

    fn found(&mut self, lease: Option<Lease>, now: Mono) -> Duration {
        self.place.set_state(match &lease {
            Some(_) => KindState::Synced,
            None => KindState::Absent,
        });
        self.place.set_objects(usize::from(lease.is_some()));
        self.place.contact();
        self.seen.lease(lease.as_ref().map(record), now);
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

    /// Reports whether the controller is alive, when that is news.
    async fn report(&mut self) -> Result<(), ReceiverGone> {
        let sign = self.sign();
        if sign == self.reported {
            return Ok(());
        }
        match &sign {
            Some(sign) => info!(
                "PodGroups are made by a controller ({sign}): pods that have a controller wait for \
                 theirs"
            ),
            None => info!(
                "no controller makes PodGroups (Lease {}/{} is not renewed, and no pod with label \
                 {POD_LABEL} is ready there): pods without PodGroup are jobs of their own",
                self.namespace, self.name
            ),
        }
        self.reported.clone_from(&sign);
        self.send(WatchInput::Deltas(vec![Delta::GroupController(sign)]))
            .await
    }

    /// What shows that the controller is alive, in words.
    fn sign(&self) -> Option<String> {
        if self.seen.is_renewed() {
            return Some(format!("lease {}/{}", self.namespace, self.name));
        }
        let pod = self.seen.working_pod()?;
        Some(format!("pod {}/{pod}", self.namespace))
    }

    /// The Lease no longer holds up the gate; the last kind says so.
    async fn settle(&mut self) -> Result<(), ReceiverGone> {
        match self.place.settle() {
            true => self.send(WatchInput::Synced).await,
            false => Ok(()),
        }
    }

    async fn send(&self, input: WatchInput) -> Result<(), ReceiverGone> {
        self.inputs.send(input).await.map_err(|_| ReceiverGone)
    }
}
