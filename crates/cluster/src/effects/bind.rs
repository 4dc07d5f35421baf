//! One bind, from the first request to a certain end.
//!
//! ```text
//!           ┌────────────── pause ◄── 429, 401, never left ──┐
//!           ▼                                                │
//!   term? ─► POST binding ──► 2xx ─────────────────────────► bound
//!                │  │  └────► 409 ──► GET: ours? ──────────► bound / elsewhere / replaced / …
//!                │  └───────► lost, 5xx: in doubt ──► GET, then POST again (same UID, same node)
//!                └──────────► 404, 403, 4xx ───────────────► failed
//! ```
//!
//! Rules:
//!
//! 1. The same pod UID and node may be posted again at any time: the API server accepts one bind
//!    per pod and answers 409 to the rest.
//! 2. A failure is reported only when no request of this bind can be carried out any more: none is
//!    in doubt; or the pod is read and is gone, being deleted, replaced or on another node; or it is
//!    read unbound more than `settle_after` after the last request in doubt was *sent*.
//! 3. While the pod cannot be read nothing is reported: its place stays reserved.
//! 4. Posting ends `bind_timeout` after the first request, and with the term; reading goes on.
//! 5. Right before every request the decision is looked at: one that was taken back meanwhile is not
//!    sent (again), and fails by rule 2. Nothing is sent while what it was decided from is not
//!    followed.
//! 6. What devices wait for comes before the first request; annotations are stamped with it, and
//!    are the same in all requests of this bind.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use pumice_model::object::WrittenClaim;

use super::claims;
use super::decided::NOT_THE_LEADER;
use super::devices::guards::Pass;
use super::devices::{Waits, lock};
use super::gate::{BindLimiter, Permit};
use super::recall::Recall;
use super::shared::{Doubt, Rate, WriterContext};
use super::status::pod_keys;
use super::verbs::Target;
use super::volumes;
use super::window::Sample;
use super::{BindFailure, BindRequest, BindStage, Outcome, StatusLane, pod_path};
use crate::api::backoff;
use crate::api::call::{ApiCall, ApiRefusal, Reply};

/// A bind under way.
pub(super) struct BindInFlight<'a> {
    shared: &'a Arc<WriterContext>,
    gate: &'a Arc<BindLimiter>,
    conditions: &'a StatusLane,
    request: &'a BindRequest,
    doubt: Option<Doubt>,
    tries: u32,
    ready: Ready,
    recall: Recall,
    /// Annotations, once they are stamped.
    stamped: Option<Value>,
}

/// What the caller has got for the first request, if anything.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) permit: Option<Permit>,
    /// The pod's turn among the pods of its node whose device plugin has not answered.
    pub(super) pass: Option<Pass>,
}

/// What a pod looks like on the API server.
#[derive(Debug, PartialEq, Eq)]
enum PodOnServer {
    Here,
    Elsewhere(String),
    Unbound { gated: bool },
    Deleting,
    Replaced,
    Gone,
    Unreadable(String),
}

type FailedBind = (BindFailure, String);

enum Next {
    Bound,
    Failed(FailedBind),
    Again(Duration, String),
}

impl<'a> BindInFlight<'a> {
    pub(super) fn new(
        shared: &'a Arc<WriterContext>,
        (gate, conditions): (&'a Arc<BindLimiter>, &'a StatusLane),
        request: &'a BindRequest,
        ready: Ready,
        recall: Recall,
    ) -> Self {
        Self {
            shared,
            gate,
            conditions,
            request,
            doubt: None,
            tries: 0,
            ready,
            recall,
            stamped: None,
        }
    }

    /// Binds the pod; its claims then.
    ///
    /// # Errors
    /// Why it is certain that the pod is not, and will not be, on the node through this bind.
    pub(super) async fn run(mut self) -> Result<Vec<WrittenClaim>, FailedBind> {
        self.still_fits()?;
        if !self.request.has_steps() {
            self.among_others().await?;
            return Ok(Vec::new());
        }
        let (shared, request) = (self.shared, self.request);
        let end = match self.prepared().await {
            Ok(claims) => self.among_others().await.map(|()| claims),
            Err(problem) => Err((BindFailure::PreBind, problem)),
        };
        if let Err((failure, _)) = &end {
            // A step that failed too: it may have been carried out though its answer was lost.
            claims::roll_back(shared, request, failure).await;
            if let Some(work) = &request.volumes {
                volumes::roll_back(shared, work).await;
            }
        }
        end
    }

    fn enters(&self, stage: BindStage) {
        let uid = &self.request.pod.uid;
        self.shared.meter.bind_stage(uid, stage);
    }

    /// Does what comes before the Binding: volumes, then resource claims.
    async fn prepared(&self) -> Result<Vec<WrittenClaim>, String> {
        if let Some(work) = &self.request.volumes {
            self.enters(BindStage::Volumes);
            volumes::run(self.shared, work).await?;
        }
        if !self.request.claims.is_empty() {
            self.enters(BindStage::Claims);
        }
        claims::run(self.shared, self.request).await
    }

    /// Binds when no pod is on its way that the device plugin could take for this one.
    async fn among_others(&mut self) -> Result<(), FailedBind> {
        let (guards, uid) = (&self.shared.devices.guards, &self.request.pod.uid);
        let Some(guard) = &self.request.devices.guard else {
            return self.locked().await;
        };
        let pass = self.ready.pass.take();
        let pass = pass.unwrap_or_else(|| guards.enter(uid, &self.request.node, guard));
        if let Pass::Later(pass) = pass {
            self.enters(BindStage::DevicePlugin);
            let waits = Waits::new(self.shared, uid);
            tokio::select! {
                pass = pass => if pass.is_err() {
                    let text = "the scheduler is stopping".to_owned();
                    return Err((BindFailure::GaveUp, text));
                },
                () = self.recall.told() => {
                    guards.gone(uid);
                    return self.still_fits();
                }
            }
            drop(waits);
            self.wait_is_over().await;
        }
        let end = self.locked().await;
        match end {
            Ok(()) => guards.bound(uid),
            Err(_) => guards.done(uid),
        }
        end
    }

    /// A condition that speaks of the wait must not land on a bound pod.
    async fn wait_is_over(&self) {
        for key in pod_keys(&self.request.pod) {
            self.conditions.cancel(&key);
            self.conditions.settled(&key).await;
        }
    }

    /// Binds under the locks of the node, where there are any. Device plugins give them back.
    async fn locked(&mut self) -> Result<(), FailedBind> {
        let (whose, locks) = (
            (&self.request.pod, self.request.node.as_str()),
            &self.request.devices.locks,
        );
        if !locks.is_empty() {
            self.enters(BindStage::NodeLock);
        }
        let held = lock::take_all(self.shared, whose, locks, &self.recall).await?;
        if !held.is_empty() {
            self.wait_is_over().await;
        }
        let end = match self.posted().await {
            Ok(()) => Ok(()),
            Err(failed) => self.certain(failed).await,
        };
        match end {
            Ok(()) => lock::leave_all(held, &self.request.pod.uid),
            Err(_) => lock::release_all(held).await,
        }
        end
    }

    /// Posts until there is a success, a refusal, or no more time.
    async fn posted(&mut self) -> Result<(), FailedBind> {
        let mut end = None;
        loop {
            let permit = self.permit().await?;
            if self.shared.clear_to_write(Rate::Core).await.is_err() {
                return Err((BindFailure::GaveUp, NOT_THE_LEADER.to_owned()));
            }
            // The last look before it is sent.
            self.still_fits()?;
            let (sent, moment) = (Instant::now(), self.shared.contact.moment());
            let until = *end.get_or_insert(sent + self.shared.options.bind_timeout);
            let call = self.call();
            self.enters(BindStage::Request);
            let reply = self.shared.send("bind", call).await;
            permit.ended(sample(&reply), sent);
            self.shared.meter.bind_window(self.gate.limit());
            match self.judge(reply, sent).await {
                Next::Bound => return Ok(()),
                Next::Failed(failed) => return Err(failed),
                Next::Again(pause, text) if Instant::now() + pause >= until => {
                    return Err((BindFailure::GaveUp, text));
                }
                Next::Again(pause, _) => {
                    self.enters(BindStage::Pause);
                    tokio::select! {
                        _ = self.shared.contact.pause(moment, pause) => {}
                        () = self.recall.told() => {}
                    }
                }
            }
            self.tries += 1;
        }
    }

    /// A turn at the gate, while what was decided from is followed.
    async fn permit(&mut self) -> Result<Permit, FailedBind> {
        self.enters(BindStage::Turn);
        let (shared, recall) = (self.shared, self.recall.clone());
        let turn = async {
            let permit = match self.ready.permit.take() {
                Some(permit) => permit,
                None => self.gate.pass(self.tries > 0).await,
            };
            // Watches may come back later than the API server does.
            shared.sees().await;
            permit
        };
        let permit = tokio::select! {
            permit = turn => Some(permit),
            () = recall.told() => None,
        };
        self.still_fits()?;
        let stopped = || (BindFailure::Outdated, "taken back".to_owned());
        permit.ok_or_else(stopped)
    }

    /// Whether the decision has not been taken back.
    fn still_fits(&self) -> Result<(), FailedBind> {
        match self.recall.why() {
            Some(taken_back) => Err(taken_back),
            None => Ok(()),
        }
    }

    async fn judge(&mut self, reply: Reply, sent: Instant) -> Next {
        let text = reply.text();
        match reply {
            Reply::Ok(_) => Next::Bound,
            Reply::NotSent(_) => Next::Again(backoff::pause(self.tries), text),
            Reply::Lost(_) => {
                self.doubt(sent);
                self.look(text).await
            }
            Reply::Refused(refusal) => self.refused(refusal, text, sent).await,
        }
    }

    async fn refused(&mut self, refusal: ApiRefusal, text: String, sent: Instant) -> Next {
        let pause = refusal.retry_after;
        let again = |tries| pause.unwrap_or_else(|| backoff::pause(tries));
        match refusal.code {
            404 => Next::Failed((BindFailure::PodGone, text)),
            409 => {
                // Without a request in doubt, no request of ours can have bound it.
                let ours = self.doubt.is_some();
                let next = self.look(text).await;
                if !ours && matches!(next, Next::Bound) {
                    let BindRequest { pod, node, .. } = self.request;
                    let (pod, node) = (pod.clone(), node.clone());
                    self.shared.tell(Outcome::BoundByAnother { pod, node });
                }
                next
            }
            429 => {
                let pause = again(self.tries);
                self.gate.close_for(pause);
                Next::Again(pause, text)
            }
            // The token is being replaced.
            401 => Next::Again(again(self.tries), text),
            // etcd may have, or may yet, carry out what the API server gave up on.
            408 | 500.. => {
                self.doubt(sent);
                Next::Again(again(self.tries), text)
            }
            403 if refusal.is_rbac() => {
                let text = format!("{text}; grant {}", Target::Binding.rule());
                match self.shared.is_denied(Target::Binding, &refusal) {
                    true => Next::Failed((BindFailure::Denied, text)),
                    false => Next::Again(again(self.tries), text),
                }
            }
            403 => Next::Failed((BindFailure::Denied, text)),
            _ => Next::Failed((BindFailure::Rejected, text)),
        }
    }

    fn doubt(&mut self, sent: Instant) {
        match &mut self.doubt {
            Some(doubt) => doubt.sent = sent,
            None => self.doubt = Some(Doubt::new(self.shared, sent)),
        }
    }

    /// One look at the pod decides, where it can.
    async fn look(&mut self, text: String) -> Next {
        let pause = backoff::pause(self.tries);
        match self.read().await {
            PodOnServer::Here => Next::Bound,
            PodOnServer::Unbound { gated: true } => Next::Failed((BindFailure::Rejected, text)),
            PodOnServer::Unbound { gated: false } | PodOnServer::Unreadable(_) => {
                Next::Again(pause, text)
            }
            seen => Next::Failed(failure(seen, text)),
        }
    }

    /// Holds a failure back until no request in doubt can be carried out any more.
    async fn certain(&mut self, failed: FailedBind) -> Result<(), FailedBind> {
        let mut tries = 0;
        while let Some(doubt) = &self.doubt {
            if is_final(&failed.0) {
                break;
            }
            self.enters(BindStage::Certainty);
            let over = doubt.lasts().is_zero();
            let moment = self.shared.contact.moment();
            match self.read().await {
                PodOnServer::Here => return Ok(()),
                PodOnServer::Unbound { .. } if over => break,
                PodOnServer::Unbound { .. } | PodOnServer::Unreadable(_) => {}
                seen => return Err(failure(seen, failed.1)),
            }
            let pause = backoff::pause(tries);
            let rest = doubt.lasts();
            let pause = if rest.is_zero() {
                pause
            } else {
                pause.min(rest)
            };
            self.shared.contact.pause(moment, pause).await;
            tries += 1;
        }
        Err(failed)
    }

    async fn read(&self) -> PodOnServer {
        match self.shared.read(pod_path(&self.request.pod)).await {
            Reply::Ok(body) => match serde_json::from_slice::<Pod>(&body) {
                Ok(pod) => pod.seen(self.request),
                Err(error) => PodOnServer::Unreadable(error.to_string()),
            },
            Reply::Refused(refusal) if refusal.code == 404 => PodOnServer::Gone,
            reply => PodOnServer::Unreadable(reply.text()),
        }
    }

    fn stamped(&mut self) -> &Value {
        let (shared, request) = (self.shared, self.request);
        self.stamped.get_or_insert_with(|| {
            let stamps = &shared.devices.stamps;
            let pairs = stamps.stamp(&request.node, &request.devices.annotations, shared.now());
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| (key.into_owned(), value.into()));
            Value::Object(pairs.collect())
        })
    }

    fn call(&mut self) -> ApiCall {
        let BindRequest { pod, node, .. } = self.request;
        let mut metadata = json!({
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
        });
        if !self.request.devices.annotations.is_empty() {
            metadata["annotations"] = self.stamped().clone();
        }
        let body = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        ApiCall::post(format!("{}/binding", pod_path(pod)), &body)
    }
}

/// Whether no request in doubt can change this any more.
fn is_final(failure: &BindFailure) -> bool {
    use BindFailure::{BoundElsewhere, PodGone, PodReplaced};
    matches!(failure, PodGone | PodReplaced | BoundElsewhere(_))
}

fn failure(seen: PodOnServer, text: String) -> FailedBind {
    let failure = match seen {
        PodOnServer::Elsewhere(node) => BindFailure::BoundElsewhere(node),
        PodOnServer::Replaced => BindFailure::PodReplaced,
        PodOnServer::Gone | PodOnServer::Deleting => BindFailure::PodGone,
        PodOnServer::Here | PodOnServer::Unbound { .. } | PodOnServer::Unreadable(_) => {
            BindFailure::GaveUp
        }
    };
    (failure, text)
}

fn sample(reply: &Reply) -> Sample {
    match reply {
        Reply::Ok(_) => Sample::Answered,
        Reply::NotSent(_) => Sample::Ignored,
        Reply::Lost(_) => Sample::Strained,
        Reply::Refused(refusal) => match refusal.code {
            408 | 429 | 500.. => Sample::Strained,
            _ => Sample::Answered,
        },
    }
}

/// The fields of a pod that settle a bind.
#[derive(Deserialize)]
struct Pod {
    metadata: StampedMetadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StampedMetadata {
    uid: String,
    deletion_timestamp: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Spec {
    node_name: Option<String>,
    scheduling_gates: Option<Vec<Value>>,
}

impl Pod {
    fn seen(self, wanted: &BindRequest) -> PodOnServer {
        if self.metadata.uid != wanted.pod.uid {
            return PodOnServer::Replaced;
        }
        match self.spec.node_name.filter(|node| !node.is_empty()) {
            Some(node) if node == wanted.node => PodOnServer::Here,
            Some(node) => PodOnServer::Elsewhere(node),
            None if self.metadata.deletion_timestamp.is_some() => PodOnServer::Deleting,
            None => PodOnServer::Unbound {
                gated: self
                    .spec
                    .scheduling_gates
                    .is_some_and(|gates| !gates.is_empty()),
            },
        }
    }
}
