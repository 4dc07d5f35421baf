//! The rules of this module against an API server that answers as told.

mod bind;
mod bounds;
mod claims;
mod devices;
mod event;
mod evict;
mod native_status;
mod node_lock;
mod queues;
mod status;
mod storm;
mod terms;
mod volumes;

use std::sync::Arc;
use std::time::Duration;

use pumice_devices::{Annotation, AnnotationValue, BindingAnnotations};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::ObjectRef;
use crate::contact::Contact;
use crate::lease::TermWatch;
use crate::plugin_progress::PluginProgress;
use crate::watch::Picture;
use pumice_scripted::{Answer, Seen, Server};

use super::shared::WriterContext;
use super::verbs::{Target, WriteVerb};
use super::{
    BindFailure, BindRequest, EffectOptions, Effects, Outcome, PodRef, Sight, Write, start,
};

const POD: &str = "/api/v1/namespaces/ns/pods/p";

/// Effects on a scripted server, with short deadlines.
struct Bench {
    server: Server,
    effects: Effects,
    progress: PluginProgress,
    outcomes: UnboundedReceiver<Outcome>,
}

fn options() -> EffectOptions {
    EffectOptions {
        request_timeout: Duration::from_millis(500),
        bind_timeout: Duration::from_secs(3),
        settle_after: Duration::from_secs(1),
        ..EffectOptions::new("volcano")
    }
}

/// How a bind failed, and what is said of it.
fn failure(outcome: Outcome) -> (BindFailure, String) {
    match outcome {
        Outcome::BindFailed {
            failure, message, ..
        } => (failure, message),
        other => panic!("{other:?} is no failed bind"),
    }
}

/// What is said of a step before the Binding that failed.
fn pre_bind_message(outcome: Outcome) -> String {
    let (failure, message) = failure(outcome);
    assert_eq!(failure, BindFailure::PreBind);
    message
}

impl Bench {
    /// Submits a write; what becomes of it, and what was written, in order.
    async fn carry_out(&mut self, write: Write) -> (Outcome, Vec<String>) {
        self.effects.submit(write);
        let outcome = self.outcome().await;
        let mut writes = self.server.lines();
        writes.retain(|line| !line.starts_with("GET"));
        (outcome, writes)
    }

    async fn new(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> Self {
        Self::with(script, options(), TermWatch::always()).await
    }

    async fn with(
        script: impl FnMut(&Seen) -> Answer + Send + 'static,
        options: EffectOptions,
        term: TermWatch,
    ) -> Self {
        Self::seeing(script, options, term, Picture::default()).await
    }

    async fn seeing(
        script: impl FnMut(&Seen) -> Answer + Send + 'static,
        options: EffectOptions,
        term: TermWatch,
        picture: Picture,
    ) -> Self {
        let server = Server::start(script).await;
        let (sender, outcomes) = unbounded_channel();
        let contact = Contact::default();
        let config = pumice_scripted::config(server.address());
        let client = contact.client(config).expect("a client");
        let progress = PluginProgress::new(options.plugin_patience);
        let sight = Sight {
            contact,
            picture,
            progress: Some(progress.clone()),
        };
        let effects = start(client, options, term, sender, Arc::new(()), sight);
        Self {
            server,
            effects,
            progress,
            outcomes,
        }
    }

    async fn outcome(&mut self) -> Outcome {
        let wait = Duration::from_secs(30);
        let outcome = tokio::time::timeout(wait, self.outcomes.recv()).await;
        outcome.expect("an outcome in time").expect("effects run")
    }

    /// Submits and waits until all is written.
    async fn written(&self, writes: impl IntoIterator<Item = Write>) {
        for write in writes {
            self.effects.submit(write);
        }
        self.effects.idle().await;
    }
}

/// What writers need, without lanes.
fn shared(server: &Server) -> Arc<WriterContext> {
    shared_with(server, options())
}

fn shared_with(server: &Server, options: EffectOptions) -> Arc<WriterContext> {
    let (sender, _outcomes) = unbounded_channel();
    let (term, sight) = (TermWatch::always(), Sight::default());
    WriterContext::new(server.client(), options, term, sender, Arc::new(()), sight)
}

/// Refuses these ways for a minute, while others are served.
async fn prove(shared: &WriterContext, target: Target, ways: &[WriteVerb]) {
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        shared.contact.answered();
        for way in ways {
            shared.verbs.refused(target, *way, &shared.contact);
        }
    }
}

fn pod() -> PodRef {
    PodRef {
        namespace: "ns".to_owned(),
        name: "p".to_owned(),
        uid: "u1".to_owned(),
    }
}

fn group() -> ObjectRef {
    ObjectRef {
        api_version: "scheduling.volcano.sh/v1beta1".to_owned(),
        kind: "PodGroup".to_owned(),
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        uid: "g1".to_owned(),
    }
}

fn bind() -> Write {
    Write::Bind(BindRequest {
        pod: pod(),
        node: "n1".to_owned(),
        devices: BindingAnnotations {
            annotations: vec![text_mark("a/b", "c")],
            ..BindingAnnotations::default()
        },
        volumes: None,
        claims: Vec::new(),
    })
}

fn text_mark(key: &'static str, value: &str) -> Annotation {
    Annotation::new(key, AnnotationValue::Text(value.to_owned()))
}

fn condition(reason: &str, message: &str) -> Write {
    Write::PodCondition {
        pod: pod(),
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

/// The pod as the API server has it.
fn pod_json(uid: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "uid": uid, "resourceVersion": "7"},
        "spec": {"nodeName": node, "containers": []},
        "status": {"phase": "Pending"},
    })
}

fn rbac(verb: &str, resource: &str) -> Answer {
    let message = format!("x is forbidden: User \"s\" cannot {verb} resource \"{resource}\"");
    Answer::refuse(403, &message)
}
