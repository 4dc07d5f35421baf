//! The queues without which nothing is scheduled.

use std::time::Duration;

use serde_json::{Value, json};

use crate::lease::TermWatch;

use crate::api::call::{ApiCall, Reply, send};

/// Deadline of a request; at most half a term, so that a term can outlast it.
const LIMIT: Duration = Duration::from_secs(10);
/// As Volcano does (spec/01 §9.6): its webhook may come up after us.
const MAX_TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);
const ALL: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

/// What [`ensure_queues`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ensured {
    /// Both queues are there.
    Present,
    /// There is no kind Queue: call again when its CRD appears.
    NoQueueKind,
    /// This process is not the leader (any more): call again when it is.
    NoTerm,
}

/// A queue is missing and could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot make queue {queue:?}: {problem}; make it with kubectl, or grant get and create on \
     queues of scheduling.volcano.sh"
)]
pub struct EnsureError {
    /// Which queue.
    pub queue: String,
    /// What the API server said last.
    pub problem: String,
}

/// Makes queue `root` (weight 1, not reclaimable) and the default queue (weight 1, reclaimable)
/// where they are missing. Writes only within `term`. Tries for about a minute while the API server
/// or a webhook is out of order.
///
/// # Errors
/// A queue is missing and was refused, or there was no success in that time.
pub async fn ensure_queues(
    client: &kube::Client,
    term: &TermWatch,
    default_queue: &str,
) -> Result<Ensured, EnsureError> {
    for (name, reclaimable) in [("root", false), (default_queue, true)] {
        if name == "root" && reclaimable {
            continue;
        }
        let ensured = ensure(client, term, name, reclaimable).await;
        let ensured = ensured.map_err(|problem| EnsureError {
            queue: name.to_owned(),
            problem,
        })?;
        if ensured != Ensured::Present {
            return Ok(ensured);
        }
    }
    Ok(Ensured::Present)
}

async fn ensure(
    client: &kube::Client,
    term: &TermWatch,
    name: &str,
    reclaimable: bool,
) -> Result<Ensured, String> {
    let limit = term.longest().map_or(LIMIT, |term| LIMIT.min(term / 2));
    let mut tries = 0;
    loop {
        let mut reply = send(client, ApiCall::get(format!("{ALL}/{name}")), limit).await;
        if matches!(&reply, Reply::Refused(refusal) if matches!(refusal.code, 403 | 404)) {
            if !term.term_valid_for(limit) {
                return Ok(Ensured::NoTerm);
            }
            let call = ApiCall::post(ALL.to_owned(), &queue(name, reclaimable));
            reply = send(client, call, limit).await;
        }
        let pause = match &reply {
            Reply::Ok(_) => return Ok(Ensured::Present),
            Reply::Refused(refusal) => match refusal.code {
                // Somebody else was faster.
                409 => return Ok(Ensured::Present),
                404 => return Ok(Ensured::NoQueueKind),
                401 | 408 | 429 | 500.. => refusal.retry_after,
                _ => return Err(reply.text()),
            },
            Reply::NotSent(_) | Reply::Lost(_) => None,
        };
        tries += 1;
        if tries >= MAX_TRIES {
            return Err(reply.text());
        }
        tokio::time::sleep(pause.unwrap_or(PAUSE)).await;
    }
}

fn queue(name: &str, reclaimable: bool) -> Value {
    json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": reclaimable},
    })
}
