//! Steps before a Binding, undone in reverse when one of them or the bind fails (spec/01 §7.2).

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::backoff;
use super::http::{Call, MERGE_PATCH, Reply};
use super::shared::{Rate, Shared};
use super::volumes::{self, VolumeWork};

/// One step. Steps may be carried out more than once when an answer is lost: they must be
/// idempotent.
#[derive(Clone, Debug, PartialEq)]
pub enum PreBindStep {
    /// A JSON merge patch of one object.
    MergePatch {
        /// What it is for, in messages: `claim ns/data`.
        what: String,
        /// Path of the object on the API server.
        path: String,
        /// The patch.
        patch: Value,
        /// The patch that takes it back; `None` when nothing has to be.
        undo: Option<Value>,
    },
    /// Claims get volumes, and are waited for.
    Volumes(VolumeWork),
}

impl PreBindStep {
    async fn run(&self, shared: &Arc<Shared>) -> Result<(), String> {
        match self {
            Self::MergePatch {
                what, path, patch, ..
            } => {
                let call = Call::patch(path.clone(), MERGE_PATCH, patch);
                let done = insist(shared, call).await;
                done.map_err(|problem| format!("{what}: {problem}"))
            }
            Self::Volumes(work) => volumes::run(shared, work).await,
        }
    }

    async fn undo(&self, shared: &Arc<Shared>) {
        match self {
            Self::MergePatch { undo: None, .. } => {}
            Self::MergePatch {
                what,
                path,
                undo: Some(undo),
                ..
            } => {
                let call = Call::patch(path.clone(), MERGE_PATCH, undo);
                if let Err(problem) = insist(shared, call).await {
                    tracing::warn!("cannot take back {what}: {problem}");
                }
            }
            Self::Volumes(work) => volumes::roll_back(shared, work).await,
        }
    }
}

/// Carries out the steps; those done are taken back when one fails.
///
/// # Errors
/// Which step failed, and why.
pub(super) async fn run(shared: &Arc<Shared>, steps: &[PreBindStep]) -> Result<(), String> {
    for (done, step) in steps.iter().enumerate() {
        if let Err(problem) = step.run(shared).await {
            // The failed one too: it may have been carried out though its answer was lost.
            roll_back(shared, &steps[..=done]).await;
            return Err(problem);
        }
    }
    Ok(())
}

/// Takes the steps back, the last first. What cannot be taken back is named in the log; the object
/// then carries a decision that the next bind of the pod overwrites.
pub(super) async fn roll_back(shared: &Arc<Shared>, steps: &[PreBindStep]) {
    for step in steps.iter().rev() {
        step.undo(shared).await;
    }
}

/// Sends an idempotent write until it is answered, at most as long as a bind is tried.
async fn insist(shared: &Arc<Shared>, call: Call) -> Result<(), String> {
    let end = Instant::now() + shared.options.bind_timeout;
    let mut tries = 0;
    loop {
        let moment = shared.contact.moment();
        let reply = {
            // Never closed, so it is always a turn.
            let _turn = shared.steps.acquire().await;
            shared.write(Rate::Core, "pre_bind", call.clone()).await
        };
        let Ok(reply) = reply else {
            return Err("no longer the leader".to_owned());
        };
        let pause = match &reply {
            Reply::Ok(_) => return Ok(()),
            Reply::Refused(refusal) => match refusal.code {
                401 | 408 | 409 | 429 | 500.. => refusal.retry_after,
                _ => return Err(reply.text()),
            },
            Reply::NotSent(_) | Reply::Lost(_) => None,
        };
        if Instant::now() >= end {
            return Err(reply.text());
        }
        let pause = pause.unwrap_or_else(|| backoff::pause(tries));
        shared.contact.pause(moment, pause).await;
        tries += 1;
    }
}
