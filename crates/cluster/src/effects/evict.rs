//! Evictions: events, conditions, deletion of exactly this pod (spec/01 §7.4).
//!
//! Unlike Volcano a pod that carries the conditions already is deleted all the same, and the
//! deletion names the UID.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tracing::warn;

use crate::ObjectRef;
use crate::lease::NoTerm;

use super::backoff;
use super::coalesce::{Coalesce, Finish};
use super::event::EventSink;
use super::http::{ApiCall, JSON, Reply};
use super::shared::{Rate, WriterContext};
use super::status::mark_victim;
use super::status_body::Victim;
use super::verbs::Target;
use super::{Outcome, PodRef, pod_path};

/// Tries until an eviction fails: about a minute.
const MOST_TRIES: u32 = 16;

/// A pod to evict.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PodToEvict {
    pub(super) pod: PodRef,
    pub(super) reason: String,
    pub(super) group: Option<ObjectRef>,
}

impl Coalesce for PodToEvict {
    const REMEMBERED: bool = false;

    fn delay(&self) -> Duration {
        Duration::ZERO
    }
}

enum EvictAttempt {
    Go,
    Gone,
    Again(Option<Duration>, String),
    Failed(String),
}

/// Evicts a pod and tells what became of it.
pub(super) async fn write(
    shared: Arc<WriterContext>,
    events: Arc<EventSink>,
    eviction: PodToEvict,
    tries: u32,
) -> Finish {
    let PodToEvict { pod, reason, group } = eviction;
    let victim = Victim {
        pod: pod.clone(),
        reason: reason.clone(),
        scheduler_name: shared.options.scheduler_name.clone(),
        now: shared.now(),
    };
    if tries == 0 {
        let message = victim.message();
        events.submit(&shared, pod.object(), true, "Evict".to_owned(), &message);
        if let Some(group) = group {
            events.submit(&shared, group, false, "Evict".to_owned(), &reason);
        }
    }
    let failed = |message| {
        let pod = pod.clone();
        shared.tell(Outcome::EvictFailed { pod, message });
        Finish::Dropped
    };
    match steps(&shared, &victim).await {
        Ok(EvictAttempt::Go | EvictAttempt::Gone) => {
            shared.tell(Outcome::Evicted { pod });
            Finish::Done
        }
        Ok(EvictAttempt::Again(pause, _)) if tries < MOST_TRIES || shared.contact.is_out() => {
            Finish::Again(pause.unwrap_or_else(|| backoff::pause(tries)))
        }
        Ok(EvictAttempt::Again(_, message) | EvictAttempt::Failed(message)) => failed(message),
        Err(NoTerm) => failed("no longer the leader".to_owned()),
    }
}

async fn steps(shared: &Arc<WriterContext>, victim: &Victim) -> Result<EvictAttempt, NoTerm> {
    match step(mark_victim(shared, victim).await?) {
        EvictAttempt::Go => {}
        EvictAttempt::Failed(problem) => {
            // The conditions only explain; the decision is to delete.
            warn!("cannot mark {} as a victim: {problem}", victim.pod.object());
        }
        step => return Ok(step),
    }
    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": victim.pod.uid},
    });
    let call = ApiCall::with(Method::DELETE, pod_path(&victim.pod), JSON, &options);
    let reply = shared.write(Rate::Core, "evict", call).await?;
    if let Reply::Refused(refusal) = &reply
        && refusal.is_rbac()
    {
        let rule = Target::Eviction.rule();
        let text = format!("{}; grant {rule}", reply.text());
        return Ok(match shared.is_denied(Target::Eviction, refusal) {
            true => EvictAttempt::Failed(text),
            false => EvictAttempt::Again(None, text),
        });
    }
    Ok(step(reply))
}

/// A refusal over the UID says that this pod is gone; any other conflict that it is being changed.
fn step(reply: Reply) -> EvictAttempt {
    let text = reply.text();
    match reply {
        Reply::Ok(_) => EvictAttempt::Go,
        Reply::NotSent(_) | Reply::Lost(_) => EvictAttempt::Again(None, text),
        Reply::Refused(refusal) => match refusal.code {
            404 => EvictAttempt::Gone,
            _ if refusal.is_replaced() => EvictAttempt::Gone,
            401 | 408 | 409 | 429 | 500.. => EvictAttempt::Again(refusal.retry_after, text),
            _ => EvictAttempt::Failed(text),
        },
    }
}
