//! Evictions: events, conditions, and the end of exactly this pod (spec/01 §7.4, spec/07 §9).
//!
//! ```text
//!  no budget:  conditions ─► DELETE with the UID
//!  budget:     POST to pods/eviction with the UID ─► conditions
//!                 │ the budget forbids it: asked a few times, then it has failed
//!                 └ the role forbids it: DELETE, where nobody insists on the Eviction API
//! ```
//!
//! A pod that a budget keeps must not be marked before: unready it would count against the budget.
//! Unlike Volcano a pod that carries the conditions already is evicted all the same, and only the
//! one with the UID that was meant.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::warn;

use crate::ObjectRef;
use crate::lease::NoTerm;

use super::coalesce::{Coalesce, Finish};
use super::decided::NOT_THE_LEADER;
use super::event::EventSink;
use super::options::EvictionMethod;
use super::shared::{Rate, WriterContext};
use super::status::mark_victim;
use super::status_body::VictimMark;
use super::verbs::{Target, WriteVerb};
use super::{Outcome, PodRef, pod_path};
use crate::api::backoff;
use crate::api::call::{ApiCall, ApiRefusal, JSON, Reply};

/// Tries until an eviction fails: about a minute.
const MAX_TRIES: u32 = 16;

/// A budget that forbids an eviction is asked again so many times.
const BUDGET_TRIES: u32 = 2;

/// Pause before it is asked again for the first time, then twice that.
const BUDGET_PAUSE: Duration = Duration::from_secs(1);

/// A pod to evict.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PodToEvict {
    pub(super) pod: PodRef,
    pub(super) reason: String,
    pub(super) group: Option<ObjectRef>,
    pub(super) beneficiary: Option<ObjectRef>,
    pub(super) guarded_by_budget: bool,
}

impl PodToEvict {
    /// `preempt for PodGroup ns/g`.
    fn why(&self) -> String {
        match &self.beneficiary {
            Some(who) => format!("{} for {who}", self.reason),
            None => self.reason.clone(),
        }
    }
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
    /// A budget forbids it at this moment.
    Guarded(Option<Duration>, String),
    Failed(String),
}

/// Evicts a pod and tells what became of it.
pub(super) async fn write(
    shared: Arc<WriterContext>,
    events: Arc<EventSink>,
    eviction: PodToEvict,
    tries: u32,
) -> Finish {
    let victim = VictimMark {
        pod: eviction.pod.clone(),
        why: eviction.why(),
        scheduler_name: shared.options.scheduler_name.clone(),
        now: shared.now(),
    };
    if tries == 0 {
        let message = victim.message();
        let about = victim.pod.object();
        events.submit(&shared, about, true, "Evict".to_owned(), &message);
        if let Some(group) = &eviction.group {
            events.submit(
                &shared,
                group.clone(),
                false,
                "Evict".to_owned(),
                &victim.why,
            );
        }
    }
    let pod = eviction.pod.clone();
    let message = match attempt(&shared, &eviction, &victim).await {
        Ok(EvictAttempt::Go | EvictAttempt::Gone) => {
            shared.tell(Outcome::Evicted { pod });
            return Finish::Done;
        }
        Ok(EvictAttempt::Again(pause, _)) if tries < MAX_TRIES || shared.contact.is_out() => {
            return Finish::Again(pause.unwrap_or_else(|| backoff::pause(tries)));
        }
        Ok(EvictAttempt::Guarded(pause, _)) if tries < BUDGET_TRIES => {
            return Finish::Again(pause.unwrap_or(BUDGET_PAUSE * (1 << tries)));
        }
        Ok(
            EvictAttempt::Again(_, message)
            | EvictAttempt::Guarded(_, message)
            | EvictAttempt::Failed(message),
        ) => message,
        Err(NoTerm) => NOT_THE_LEADER.to_owned(),
    };
    shared.tell(Outcome::EvictFailed { pod, message });
    Finish::Dropped
}

async fn attempt(
    shared: &Arc<WriterContext>,
    eviction: &PodToEvict,
    victim: &VictimMark,
) -> Result<EvictAttempt, NoTerm> {
    let asks = match shared.options.eviction_method {
        EvictionMethod::Auto => eviction.guarded_by_budget,
        EvictionMethod::Delete => false,
        EvictionMethod::EvictionApi => true,
    };
    if asks && let Some(end) = evict(shared, victim).await? {
        return Ok(end);
    }
    delete(shared, victim).await
}

/// Through the Eviction API. `None`: that is not possible here, and the pod is to be deleted.
async fn evict(
    shared: &Arc<WriterContext>,
    victim: &VictimMark,
) -> Result<Option<EvictAttempt>, NoTerm> {
    let pod = &victim.pod;
    let insists = shared.options.eviction_method == EvictionMethod::EvictionApi;
    let target = Target::GuardedEviction;
    if !insists && shared.verbs.open(target, Instant::now()) == Err(true) {
        return Ok(None);
    }
    let body = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": pod.namespace, "name": pod.name},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    });
    let call = ApiCall::post(format!("{}/eviction", pod_path(pod)), &body);
    let reply = shared.write(Rate::Core, "evict", call).await?;
    let text = reply.text();
    match &reply {
        Reply::Ok(_) => {
            // It goes, whatever becomes of its conditions.
            if let Reply::Refused(refusal) = mark_victim(shared, victim).await?
                && !refusal.is_of_something_gone()
            {
                warn_unmarked(victim, &refusal);
            }
        }
        Reply::Refused(refusal) if refusal.is_of_budget() => {
            return Ok(Some(EvictAttempt::Guarded(refusal.retry_after, text)));
        }
        // No budget keeps what its namespace takes along.
        Reply::Refused(refusal) if refusal.is_of_ending_namespace() => return Ok(None),
        // More than one budget selects it: no answer of the Eviction API will ever be another.
        Reply::Refused(refusal)
            if refusal.code == 500 && refusal.message.contains("PodDisruptionBudget") =>
        {
            return Ok(Some(EvictAttempt::Failed(text)));
        }
        Reply::Refused(refusal) if refusal.is_rbac() => {
            let text = format!("{text}; grant {}", target.rule());
            return Ok(match (shared.is_denied(target, refusal), insists) {
                (false, _) => Some(EvictAttempt::Again(None, text)),
                (true, true) => Some(EvictAttempt::Failed(text)),
                (true, false) => {
                    if shared.verbs.may_speak(target, Instant::now()) {
                        warn!(
                            "pods that a PodDisruptionBudget selects are deleted without asking it: \
                             {text}"
                        );
                    }
                    None
                }
            });
        }
        _ => {}
    }
    if reply.is_answer() {
        shared.verbs.granted(target, WriteVerb::Patch);
    }
    Ok(Some(step(reply)))
}

async fn delete(shared: &Arc<WriterContext>, victim: &VictimMark) -> Result<EvictAttempt, NoTerm> {
    let marked = mark_victim(shared, victim).await?;
    match step(marked) {
        EvictAttempt::Go => {}
        EvictAttempt::Failed(problem) => {
            // The conditions only explain; the decision is to delete.
            warn!("cannot mark {} as a victim: {problem}", victim.pod.object());
        }
        step => return Ok(step),
    }
    let options: Value = json!({
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

fn warn_unmarked(victim: &VictimMark, refusal: &ApiRefusal) {
    let (about, problem) = (victim.pod.object(), &refusal.message);
    warn!("cannot mark {about} as a victim: {problem}");
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
