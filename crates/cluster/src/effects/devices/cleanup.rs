//! Takes a pod that has ended out of its device plugin's queue (spec/04 R24).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::backoff;
use crate::api::call::{ApiCall, MERGE_PATCH, Reply};
use crate::effects::coalesce::{Coalesce, Finish};
use crate::effects::shared::{Rate, WriterContext};
use crate::effects::verbs::Target;
use crate::effects::{PodRef, pod_path};
use crate::lease::NoTerm;

/// Tries until a clean-up is given up: about a minute.
const MAX_TRIES: u32 = 16;

/// Annotations a pod gets.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::effects) struct CleanUp {
    pub(in crate::effects) pod: PodRef,
    pub(in crate::effects) annotations: Vec<(&'static str, &'static str)>,
}

impl Coalesce for CleanUp {
    fn delay(&self) -> Duration {
        Duration::ZERO
    }
}

/// Writes them, on this incarnation of the pod only.
pub(in crate::effects) async fn write(
    shared: Arc<WriterContext>,
    clean_up: CleanUp,
    tries: u32,
) -> Finish {
    let CleanUp { pod, annotations } = clean_up;
    let pairs = annotations
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)));
    let annotations = Value::Object(pairs.collect());
    // Another UID under this name is refused.
    let body = json!({"metadata": {"uid": pod.uid, "annotations": annotations}});
    let Ok(reply) = patch(&shared, &pod, &body).await else {
        return Finish::Dropped;
    };
    let text = reply.text();
    let pause = match reply {
        Reply::Ok(_) => return Finish::Done,
        Reply::NotSent(_) | Reply::Lost(_) => None,
        Reply::Refused(refusal) => match refusal.code {
            404 => return Finish::Done,
            _ if refusal.is_replaced() => return Finish::Done,
            401 | 408 | 409 | 429 | 500.. => refusal.retry_after,
            403 if refusal.is_rbac() && !shared.is_denied(Target::DeviceCleanup, &refusal) => None,
            _ => {
                if shared
                    .verbs
                    .may_speak(Target::DeviceCleanup, Instant::now())
                {
                    complain(&pod, &text, refusal.is_rbac());
                }
                shared.meter.dropped("device_cleanup");
                return Finish::Dropped;
            }
        },
    };
    if tries >= MAX_TRIES && !shared.contact.is_out() {
        complain(&pod, &text, false);
        shared.meter.dropped("device_cleanup");
        return Finish::Dropped;
    }
    Finish::Again(pause.unwrap_or_else(|| backoff::pause(tries)))
}

/// Through the status, which carries annotations too and reaches nothing of what the pod runs. Volcano's
/// role grants a patch of the pod alone (spec/01 §1.10).
async fn patch(shared: &Arc<WriterContext>, pod: &PodRef, body: &Value) -> Result<Reply, NoTerm> {
    let whole = pod_path(pod);
    let send = |path: String| {
        let call = ApiCall::patch(path, MERGE_PATCH, body);
        shared.write(Rate::Core, "device_cleanup", call)
    };
    match send(format!("{whole}/status")).await? {
        Reply::Refused(refusal) if refusal.is_rbac() => send(whole).await,
        reply => Ok(reply),
    }
}

fn complain(pod: &PodRef, text: &str, rbac: bool) {
    let (about, harm) = (
        pod.object(),
        "the device plugin may give its cards to a later pod until it is deleted",
    );
    match rbac {
        true => tracing::error!(
            "{about} ended before its devices were handed out and cannot be marked: {text}; \
             {harm}; grant {}",
            Target::DeviceCleanup.rule()
        ),
        false => tracing::warn!(
            "{about} ended before its devices were handed out and cannot be marked: {text}; {harm}"
        ),
    }
}
