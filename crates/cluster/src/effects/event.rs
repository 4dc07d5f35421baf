//! Events: made, counted, dropped when there are too many; never in the way of binds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::ObjectRef;

use super::coalesce::{Coalesce, Finish};
use super::correlate::{Correlator, EventRecord, EventVerdict};
use super::decided::Decided;
use super::lane::Lane;
use super::shared::{Rate, WriterContext};
use super::status_body::seconds;
use super::verbs::Target;
use crate::api::backoff;
use crate::api::call::{ApiCall, ApiRefusal, MERGE_PATCH, Reply};

/// Events that may wait; the oldest goes when there is one more.
const MAX_WAITING: usize = 10_000;
/// An event is worth this many tries.
const MAX_TRIES: u32 = 3;

impl Coalesce for EventRecord {
    const REMEMBERED: bool = false;

    fn delay(&self) -> Duration {
        self.wait
    }
}

/// Takes events.
pub(super) struct EventSink {
    correlator: Mutex<Correlator>,
    pub(super) lane: Arc<Lane<String, Decided<EventRecord>>>,
}

impl EventSink {
    /// `lifetime`: how long the API server keeps an event.
    pub(super) fn new(lifetime: Duration) -> Self {
        Self {
            correlator: Mutex::new(Correlator::new(lifetime)),
            lane: Lane::new(),
        }
    }

    /// Takes an event, or folds it into an earlier one.
    pub(super) fn submit(
        &self,
        shared: &Arc<WriterContext>,
        about: ObjectRef,
        warning: bool,
        reason: String,
        message: &str,
    ) {
        if !shared.options.events {
            return;
        }
        let times = (Instant::now(), shared.now());
        let EventVerdict { record, withdrawn } = {
            let mut correlator = self
                .correlator
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            correlator.consider(about, warning, reason, message, times)
        };
        withdrawn.iter().for_each(|name| self.lane.cancel(name));
        let Some(record) = record else {
            shared.meter.suppressed_event();
            return;
        };
        if self.lane.submit_bounded(
            record.name.clone(),
            Decided::new(record, shared),
            MAX_WAITING,
        ) {
            shared.meter.suppressed_event();
        }
    }
}

/// Writes an event: a new one, or the count of one that is there.
pub(super) async fn write(shared: Arc<WriterContext>, record: EventRecord, tries: u32) -> Finish {
    match shared.verbs.open(Target::Event, Instant::now()) {
        Ok(()) => {}
        Err(true) => return Finish::Dropped,
        Err(false) => return Finish::Again(backoff::pause(tries)),
    }
    let all = format!("/api/v1/namespaces/{}/events", namespace(&record));
    let mut reply = None;
    if record.count > 1 {
        let one = format!("{all}/{}", record.name);
        let call = ApiCall::patch(one, MERGE_PATCH, &repeated(&record));
        reply = Some(shared.write(Rate::Events, "event", call).await);
    }
    // Events live for an hour; it may also never have been made.
    let gone = |reply: &Reply| matches!(reply, Reply::Refused(refusal) if refusal.code == 404);
    if reply
        .as_ref()
        .is_none_or(|reply| reply.as_ref().is_ok_and(gone))
    {
        let call = ApiCall::post(all, &whole(&record, &shared.options.event_source));
        reply = Some(shared.write(Rate::Events, "event", call).await);
    }
    let Some(Ok(reply)) = reply else {
        return Finish::Dropped;
    };
    let pause = match &reply {
        Reply::Ok(_) => return Finish::Done,
        Reply::Refused(refusal) => match refusal.code {
            // The first answer was lost.
            409 => return Finish::Done,
            401 | 429 | 500.. => refusal.retry_after,
            _ if refusal.is_rbac() => return refused(&shared, refusal, tries),
            _ => return give_up(&shared, &record, &reply),
        },
        Reply::NotSent(_) | Reply::Lost(_) => None,
    };
    if tries >= MAX_TRIES && !shared.contact.is_out() {
        return give_up(&shared, &record, &reply);
    }
    Finish::Again(pause.unwrap_or_else(|| backoff::pause(tries)))
}

/// By the role, or by an API server that is starting.
fn refused(shared: &WriterContext, refusal: &ApiRefusal, tries: u32) -> Finish {
    let denied = shared.is_denied(Target::Event, refusal);
    if shared.verbs.may_speak(Target::Event, Instant::now()) {
        let state = if denied { "off" } else { "held back" };
        let (text, rule) = (&refusal.message, Target::Event.rule());
        tracing::warn!("events are {state}: {text}; if it stays so grant {rule}");
    }
    match denied {
        true => Finish::Dropped,
        false => Finish::Again(backoff::pause(tries)),
    }
}

fn give_up(shared: &WriterContext, record: &EventRecord, reply: &Reply) -> Finish {
    shared.meter.dropped("event");
    tracing::debug!(
        "dropped event {} of {}: {}",
        record.reason,
        record.about,
        reply.text()
    );
    Finish::Dropped
}

/// Events about objects without namespace live in `default`.
fn namespace(record: &EventRecord) -> &str {
    match record.about.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    }
}

fn repeated(record: &EventRecord) -> Value {
    json!({
        "count": record.count,
        "lastTimestamp": seconds(record.last),
        "message": record.message,
    })
}

fn whole(record: &EventRecord, source: &str) -> Value {
    let about = &record.about;
    let mut object = json!({
        "apiVersion": about.api_version,
        "kind": about.kind,
        "name": about.name,
    });
    for (field, text) in [("namespace", &about.namespace), ("uid", &about.uid)] {
        if !text.is_empty() {
            object[field] = json!(text);
        }
    }
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": record.name, "namespace": namespace(record)},
        "involvedObject": object,
        "reason": record.reason,
        "message": record.message,
        "type": if record.warning { "Warning" } else { "Normal" },
        "source": {"component": source},
        "reportingComponent": source,
        "reportingInstance": "",
        "firstTimestamp": seconds(record.first),
        "lastTimestamp": seconds(record.last),
        "count": record.count,
    })
}
