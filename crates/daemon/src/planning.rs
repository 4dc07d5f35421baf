//! Plans that are asked for: made on a fork, by a thread of their own.
//!
//! ```text
//! POST /debug/plan ─► one at a time ─► DecideRequest::Fork ─► the deciding thread copies, and goes on
//!                                                                  └─► another thread answers, for so long at most
//! ```
//!
//! Whoever does not wait for the answer any more ends its making.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use pumice_admin::http::Unanswered;
use pumice_engine::REGISTRY;
use pumice_plan::{PlanBounds, PlanQuestion, PlanRequest, PlanView};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::requests::{DecideRequest, NoView, PlanGround};

/// Makes plans.
pub struct Planner {
    /// Held while one is made: each is a copy of the state, and takes a processor.
    alone: Mutex<()>,
    /// How long one may take (`--plan-time`).
    limit: Duration,
}

/// Ends what is made for somebody who has gone.
struct AskerIsThere(Arc<AtomicBool>);

impl Drop for AskerIsThere {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Planner {
    /// One whose plans may take so long.
    pub fn new(limit: Duration) -> Self {
        Self {
            alone: Mutex::default(),
            limit,
        }
    }

    /// The answer to a question in JSON; otherwise what is wrong with it.
    ///
    /// # Errors
    /// There is no answer at the moment.
    pub async fn plan(
        &self,
        core: &mpsc::Sender<DecideRequest>,
        asked: &[u8],
    ) -> Result<Result<PlanView, String>, Unanswered> {
        let question = match read(asked) {
            Ok(question) => question,
            Err(wrong) => return Ok(Err(format!("{wrong:#}"))),
        };
        let _alone = self.alone.lock().await;
        let ended = || Unanswered("the scheduler is stopping".to_owned());
        let (reply, answer) = oneshot::channel();
        core.send(DecideRequest::Fork(reply))
            .await
            .map_err(|_| ended())?;
        let ground = match answer.await.map_err(|_| ended())? {
            Ok(ground) => *ground,
            Err(NoView::Absent(why) | NoView::NotNow(why)) => return Err(Unanswered(why)),
        };
        let is_there = Arc::new(AtomicBool::new(true));
        let _asker = AskerIsThere(Arc::clone(&is_there));
        let until = Instant::now() + self.limit;
        let made = tokio::task::spawn_blocking(move || {
            let patience = || is_there.load(Ordering::Relaxed) && Instant::now() < until;
            let PlanGround {
                fork,
                config,
                now_s,
            } = ground;
            let bounds = PlanBounds::default();
            pumice_plan::answer(fork, &config, &question, now_s, bounds, &patience)
        });
        // A plan that ends in a panic ends alone.
        let made = made.await.map_err(|error| Unanswered(error.to_string()))?;
        Ok(made.map_err(|wrong| wrong.to_string()))
    }
}

fn read(asked: &[u8]) -> anyhow::Result<PlanQuestion> {
    let request: PlanRequest = serde_json::from_slice(asked)
        .context("the question is not understood; use the same version of `pumice`")?;
    Ok(request.read(&REGISTRY)?)
}

#[cfg(test)]
mod tests;
