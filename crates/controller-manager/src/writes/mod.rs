//! Sends what the controllers want written.
//!
//! Invariants:
//! * A write goes out within the term only, and its end is always told, once.
//! * Namespaces take turns in every lane, and keys are made in none: ten thousand Jobs of one hold up
//!   no other.

mod answer;
mod keys;
mod lanes;
mod replace;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use kube::Client;
use pumice_controllers::runtime::{
    ApiVerb, ApiWrite, KindPath, ManagedKind, ManagedRef, ManagerInput, WriteId, WriteOutcome,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{Sender, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

use pumice_cluster::api::backoff::{self, Bucket};
use pumice_cluster::api::call::{
    APPLY_PATCH, ApiCall, ApiRefusal, JSON, JSON_PATCH, MERGE_PATCH, Reply, send,
};
use pumice_cluster::contact::Contact;
use pumice_cluster::lease::{NoTerm, TermWatch};

use self::answer::Answer;
use self::lanes::{QueuedWrite, make_keys, run_lane};
use self::replace::Replacement;

/// Tries of a write that the API server puts off.
const MAX_PUT_OFF: u32 = 8;

/// Least time between two messages about one missing grant.
const QUIET: Duration = Duration::from_secs(30);

/// Limits.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Deadline of one request; at most half a term counts.
    pub request_timeout: Duration,
    /// Creations and deletions of pods under way. They come by the thousand and have a lane of their
    /// own, so that a status need not wait behind them.
    pub most_pods: usize,
    /// Other writes under way.
    pub most_others: usize,
    /// Writes per second (`--kube-api-qps`); 0 or less does not limit.
    pub qps: f32,
    /// Writes at once beyond that (`--kube-api-burst`).
    pub burst: u32,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(5),
            most_pods: 64,
            most_others: 16,
            qps: 2000.0,
            burst: 2000,
        }
    }
}

/// Takes measurements; called from many tasks.
pub trait WriteMeter: Send + Sync + 'static {
    /// A request was answered, or was not: `verb` as RBAC has it, `result` one of `ok`, `conflict`,
    /// `throttled`, `denied`, `refused`, `server_error`, `not_sent`, `unknown`.
    fn write(&self, verb: &'static str, kind: &'static str, result: &'static str, seconds: f64);
}

/// Takes writes.
pub struct ControllerWrites {
    shared: Arc<SharedWrites>,
    pods: UnboundedSender<QueuedWrite>,
    others: UnboundedSender<QueuedWrite>,
    /// Secrets that wait for their keys, and then for a place among the others.
    keys: UnboundedSender<QueuedWrite>,
}

struct SharedWrites {
    client: Client,
    contact: Contact,
    options: WriteOptions,
    inputs: Sender<ManagerInput>,
    meter: Arc<dyn WriteMeter>,
    rate: Mutex<Bucket>,
    /// Writes handed in whose end was not told.
    open: AtomicUsize,
    /// Nothing more is sent.
    closed: AtomicBool,
    ended: Notify,
    /// When a missing grant was told of last, by verb and kind.
    told: Mutex<HashMap<(&'static str, ManagedKind), Instant>>,
}

impl ControllerWrites {
    /// Starts the writers; must be called within a tokio runtime. How writes end is told to `inputs`.
    pub fn start(
        client: Client,
        contact: &Contact,
        term: &TermWatch,
        mut options: WriteOptions,
        inputs: Sender<ManagerInput>,
        meter: Arc<dyn WriteMeter>,
    ) -> Self {
        if let Some(longest) = term.longest() {
            options.request_timeout = options.request_timeout.min(longest / 2);
        }
        let (most_pods, most_others) = (options.most_pods, options.most_others);
        let shared = Arc::new(SharedWrites {
            client,
            contact: contact.clone(),
            rate: Mutex::new(Bucket::new(options.qps, options.burst, Instant::now())),
            options,
            inputs,
            meter,
            open: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            ended: Notify::new(),
            told: Mutex::default(),
        });
        // Bounded by the objects there are: of each, only one look is under way.
        let lane = |most: usize| {
            let (sender, receiver) = unbounded_channel();
            tokio::spawn(run_lane(Arc::clone(&shared), receiver, most));
            sender
        };
        let (pods, others) = (lane(most_pods), lane(most_others));
        let (keys, wanted) = unbounded_channel();
        tokio::spawn(make_keys(Arc::clone(&shared), wanted, others.clone()));
        Self {
            shared,
            pods,
            others,
            keys,
        }
    }

    /// Takes a write that was decided in this term ([`TermWatch::this_one`]), and is not sent in another.
    /// Never blocks.
    pub fn submit(&self, term: &TermWatch, id: WriteId, write: ApiWrite) {
        let term = term.this_one();
        let lane = match (write.of.kind, &write.verb) {
            (ManagedKind::Pod, ApiVerb::Create(_) | ApiVerb::Delete { .. }) => &self.pods,
            (_, ApiVerb::CreateWithSshKeys(_)) => &self.keys,
            _ => &self.others,
        };
        self.shared.open.fetch_add(1, Ordering::AcqRel);
        if lane.send(QueuedWrite { id, write, term }).is_err() {
            // The runtime is going down.
            self.shared.open.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Writes handed in whose end was not told.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::Acquire)
    }

    /// Sends nothing more, and returns when what is under way has ended: at most after the deadline
    /// of a request.
    pub async fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        loop {
            let ended = self.shared.ended.notified();
            if self.open() == 0 {
                return;
            }
            ended.await;
        }
    }
}

impl SharedWrites {
    /// Tells how a write ended.
    async fn tell(&self, id: WriteId, of: ManagedRef, answer: Answer) {
        if let Some(uid) = answer.gone {
            let _ = self.inputs.send(ManagerInput::Gone { of, uid }).await;
        }
        // A receiver that is gone means that the process ends.
        let _ = self
            .inputs
            .send(ManagerInput::Ended(id, answer.outcome))
            .await;
        self.open.fetch_sub(1, Ordering::AcqRel);
        self.ended.notify_waiters();
    }

    /// Sends a write until the API server has looked at it.
    async fn carry_out(&self, write: &ApiWrite, term: &TermWatch) -> Answer {
        let (verb, call) = request(write);
        let mut tries = 0;
        loop {
            if let Err(why) = self.clear_to_write(term).await {
                return unsent(why);
            }
            let mut reply = self.send_once(verb, write, call.clone()).await;
            if let Reply::Refused(refusal) = &reply
                && refusal.is_rbac()
                && replace::is_possible(write)
            {
                reply = self.replace(write, term, reply).await;
            }
            if let Reply::Refused(refusal) = &reply {
                self.tell_missing_grant(verb, write.of.kind, refusal);
                if refusal.code == 429 && tries < MAX_PUT_OFF {
                    let pause = refusal.retry_after.unwrap_or_else(|| backoff::pause(tries));
                    sleep(pause).await;
                    tries += 1;
                    continue;
                }
            }
            return answer::of(write, reply);
        }
    }

    async fn send_once(&self, verb: &'static str, write: &ApiWrite, call: ApiCall) -> Reply {
        let began = Instant::now();
        let reply = send(&self.client, call, self.options.request_timeout).await;
        let kind = write.of.kind.path().kind;
        let seconds = began.elapsed().as_secs_f64();
        self.meter.write(verb, kind, reply.result(), seconds);
        reply
    }

    /// Reads the object and replaces it, where the role has no `patch`. Where it lacks that too the
    /// answer to the patch stands.
    async fn replace(&self, write: &ApiWrite, term: &TermWatch, denied: Reply) -> Reply {
        let all = collection(&write.of.kind.path(), &write.of.namespace);
        let one = format!("{all}/{}", write.of.name);
        let limit = self.options.request_timeout;
        let object = match send(&self.client, ApiCall::get(one.clone()), limit).await {
            Reply::Ok(body) => match replace::replacement(write, body) {
                Replacement::Object(object) => object,
                Replacement::Reply(reply) => return reply,
            },
            Reply::Refused(refusal) if refusal.is_rbac() => return denied,
            reply => return reply,
        };
        if let Err(why) = self.clear_to_write(term).await {
            return Reply::NotSent(why);
        }
        let call = ApiCall::put(one, &object);
        match self.send_once("update", write, call).await {
            Reply::Refused(refusal) if refusal.is_rbac() => denied,
            reply => reply,
        }
    }

    /// Waits for a turn within the rate limit, for the API server to be there, and for a term that
    /// outlasts the request.
    async fn clear_to_write(&self, term: &TermWatch) -> Result<(), String> {
        let over = || "the lease is held no longer".to_owned();
        if !term.is_leader() {
            return Err(over());
        }
        let turn = {
            let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.take(Instant::now())
        };
        if !turn.is_zero() {
            sleep(turn).await;
        }
        let moment = self.contact.moment();
        if self.contact.is_out() {
            // What is sent into an outage would only fail.
            let mut term = term.clone();
            tokio::select! {
                _ = self.contact.pause(moment, self.options.request_timeout) => {}
                () = term.lost() => {}
            }
        }
        if self.closed.load(Ordering::Acquire) {
            return Err("the process is ending".to_owned());
        }
        let lasts = term.lasting(self.options.request_timeout).await;
        lasts.map_err(|NoTerm| over())
    }

    fn tell_missing_grant(&self, verb: &'static str, kind: ManagedKind, refusal: &ApiRefusal) {
        if !refusal.is_rbac() {
            return;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (verb, kind);
        if told.get(&key).is_some_and(|at| at.elapsed() < QUIET) {
            return;
        }
        told.insert(key, Instant::now());
        drop(told);
        let path = kind.path();
        let group = match path.group {
            "" => "the core group",
            group => group,
        };
        tracing::warn!(
            "{}; if it stays so grant {verb} on {} of {group}",
            refusal.message,
            path.plural
        );
    }
}

/// A write that was not sent.
fn unsent(why: String) -> Answer {
    Answer {
        outcome: WriteOutcome::NoAnswer(why),
        gone: None,
    }
}

/// Path of the objects of a kind in a namespace.
fn collection(path: &KindPath, namespace: &str) -> String {
    let prefix = if path.group.is_empty() { "api" } else { "apis" };
    let (version, plural) = (path.api_version(), path.plural);
    match path.namespaced {
        true => format!("/{prefix}/{version}/namespaces/{namespace}/{plural}"),
        false => format!("/{prefix}/{version}/{plural}"),
    }
}

/// The request of a write, and the verb RBAC knows it by.
fn request(write: &ApiWrite) -> (&'static str, ApiCall) {
    let path = write.of.kind.path();
    let all = collection(&path, &write.of.namespace);
    let one = format!("{all}/{}", write.of.name);
    let place = |status: bool| match status {
        true => format!("{one}/status"),
        false => one.clone(),
    };
    match &write.verb {
        // Those with keys have got them before they come here.
        ApiVerb::Create(object) | ApiVerb::CreateWithSshKeys(object) => {
            ("create", ApiCall::post(all, &typed(&path, object)))
        }
        ApiVerb::ReplaceStatus(object) => {
            ("update", ApiCall::put(place(true), &typed(&path, object)))
        }
        ApiVerb::Merge { patch, status } => {
            ("patch", ApiCall::patch(place(*status), MERGE_PATCH, patch))
        }
        ApiVerb::MergeOwned { patch, owner } => {
            let steps = owned_steps(patch, owner);
            ("patch", ApiCall::patch(one, JSON_PATCH, &steps))
        }
        ApiVerb::Apply {
            object,
            manager,
            status,
        } => {
            let at = format!("{}?fieldManager={manager}&force=true", place(*status));
            let call = ApiCall::patch(at, APPLY_PATCH, &typed(&path, object));
            ("patch", call)
        }
        ApiVerb::Delete { uid, foreground } => {
            let propagation = if *foreground {
                "Foreground"
            } else {
                "Background"
            };
            let mut options = json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": propagation,
            });
            if !uid.is_empty() {
                options["preconditions"] = json!({"uid": uid});
            }
            ("delete", ApiCall::with(Method::DELETE, one, JSON, &options))
        }
    }
}

/// The JSON patch that adds what a merge patch says, after a look at the owner.
fn owned_steps(patch: &Value, owner: &str) -> Value {
    let mut steps = vec![json!({
        "op": "test", "path": "/metadata/ownerReferences/0/uid", "value": owner,
    })];
    add_steps(patch, "", &mut steps);
    Value::Array(steps)
}

fn add_steps(patch: &Value, at: &str, steps: &mut Vec<Value>) {
    match patch {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                add_steps(value, &format!("{at}/{name}"), steps);
            }
        }
        value => steps.push(json!({"op": "add", "path": at, "value": value})),
    }
}

/// The object with its type, which the API server wants to see.
fn typed(path: &KindPath, object: &Value) -> Value {
    let mut object = object.clone();
    if object.is_object() {
        object["apiVersion"] = json!(path.api_version());
        object["kind"] = json!(path.kind);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_of_what_is_owned_looks_at_the_owner_first() {
        let steps = owned_steps(&json!({"data": {"a/b": "c", "d": "e"}}), "u1");
        let expected = json!([
            {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": "u1"},
            {"op": "add", "path": "/data/a~1b", "value": "c"},
            {"op": "add", "path": "/data/d", "value": "e"},
        ]);
        assert_eq!(steps, expected);
        let only = owned_steps(&json!({}), "u1");
        assert_eq!(only.as_array().map(Vec::len), Some(1));
    }
}
