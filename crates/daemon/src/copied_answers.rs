//! Questions that are answered on a copy, by a thread of their own: plans, and pages of a replica that stands by.
//!
//! ```text
//! POST /debug/plan ────────────────┐
//! GET /debug/… where we stand by ──┴► one at a time ─► DecideRequest::Fork ─► the deciding thread copies, and goes on
//!                                                        └─► another thread answers, for so long at most
//! ```
//!
//! Whoever does not wait for the answer any more ends its making. A replica that stands by knows the cluster, but has
//! decided nothing; so a cycle is run on the copy, and the answer is what this replica would decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use pumice_admin::http::Unanswered;
use pumice_engine::REGISTRY;
use pumice_engine::view::{Ask, Time, View};
use pumice_plan::{PlanBounds, PlanQuestion, PlanRequest, WhenAbout, WhenRequest};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::requests::{CopiedGround, DecideRequest, NoView};

/// What is told with an answer of a replica that stands by, in JSON under the key `standby`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StandbyNote {
    /// Identity of the leader, if there is one.
    pub leader: Option<String>,
    /// When what is told was so.
    pub as_of: Option<Time>,
}

/// A view, and whose it is.
pub struct ToldView {
    /// What is seen.
    pub view: View,
    /// Set where it is what a replica that stands by would see after a cycle of its own.
    pub standby: Option<StandbyNote>,
}

impl ToldView {
    /// The view as JSON, with the note in it.
    pub fn json(&self) -> Value {
        noted(&self.view, self.standby.as_ref())
    }
}

fn noted(told: &impl Serialize, note: Option<&StandbyNote>) -> Value {
    let mut told = serde_json::to_value(told).unwrap_or_default();
    if let Some(note) = note {
        told["standby"] = json!(note);
    }
    told
}

/// Answers on copies.
#[derive(Clone)]
pub struct Questions {
    /// Held while one is answered, also where nobody waits for it any more: each is a copy of the state, and takes a
    /// processor.
    alone: Arc<Mutex<()>>,
    /// How long a plan may take (`--plan-time`).
    plan_limit: Duration,
}

/// Whether whoever asked still waits; ends with the value.
struct AskerIsThere(Arc<AtomicBool>);

impl Drop for AskerIsThere {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Questions {
    /// Plans may take so long.
    pub fn new(plan_limit: Duration) -> Self {
        Self {
            alone: Arc::default(),
            plan_limit,
        }
    }

    /// How long an answer may take.
    pub fn limit(&self) -> Duration {
        self.plan_limit
    }

    /// What would happen if, or when a job starts: JSON of the answer to a question in JSON; otherwise what is wrong with it.
    ///
    /// # Errors
    /// There is no answer at the moment.
    pub async fn plan(
        &self,
        core: &mpsc::Sender<DecideRequest>,
        asked: &[u8],
    ) -> Result<Result<Value, String>, Unanswered> {
        let question = match read(asked) {
            Ok(question) => question,
            Err(wrong) => return Ok(Err(format!("{wrong:#}"))),
        };
        let limit = self.plan_limit;
        let answer = move |mut ground: CopiedGround, is_there: &AtomicBool| {
            let standby = note(&mut ground);
            let patience = until(is_there, limit);
            let half = until(is_there, limit / 2);
            let CopiedGround {
                fork,
                config,
                now_s,
                ..
            } = ground;
            let bounds = PlanBounds::default();
            let made = match &question {
                CopyQuestion::Plan(question) => {
                    let plan =
                        pumice_plan::answer(fork, &config, question, now_s, bounds, &patience);
                    plan.map(|plan| noted(&plan, standby.as_ref()))
                }
                CopyQuestion::When(about) => {
                    let start =
                        pumice_plan::when(fork, &config, about, now_s, bounds, [&half, &patience]);
                    start.map(|start| noted(&start, standby.as_ref()))
                }
            };
            made.map_err(|wrong| wrong.to_string())
        };
        self.answer(core, answer).await
    }

    /// A page of a replica that stands by; otherwise why there is nothing to show under that name. `refused` is what
    /// is wrong with the newest configuration.
    ///
    /// # Errors
    /// There is no answer at the moment.
    pub async fn page(
        &self,
        core: &mpsc::Sender<DecideRequest>,
        ask: Ask,
        refused: Option<String>,
    ) -> Result<Result<ToldView, String>, Unanswered> {
        let answer = move |mut ground: CopiedGround, is_there: &AtomicBool| {
            if !is_there.load(Ordering::Relaxed) {
                return Err("nobody waits for it any more".to_owned());
            }
            let standby = note(&mut ground);
            let mut view = would_be(ground, &ask)?;
            view.leave_out_past();
            view.set_configuration_problem(refused);
            Ok(ToldView { view, standby })
        };
        self.answer(core, answer).await
    }

    /// What is made of a copy, by a thread of its own, while somebody waits for it.
    ///
    /// # Errors
    /// There is no answer at the moment.
    pub async fn answer<T: Send + 'static>(
        &self,
        core: &mpsc::Sender<DecideRequest>,
        answer: impl FnOnce(CopiedGround, &AtomicBool) -> Result<T, String> + Send + 'static,
    ) -> Result<Result<T, String>, Unanswered> {
        let alone = Arc::clone(&self.alone).lock_owned().await;
        let ended = || Unanswered("the scheduler is stopping".to_owned());
        let (reply, copied) = oneshot::channel();
        core.send(DecideRequest::Fork(reply))
            .await
            .map_err(|_| ended())?;
        let ground = match copied.await.map_err(|_| ended())? {
            Ok(ground) => *ground,
            Err(NoView::Absent(why) | NoView::NotNow(why)) => return Err(Unanswered(why)),
            Err(NoView::StandsBy) => return Err(Unanswered("this replica stands by".to_owned())),
        };
        let is_there = Arc::new(AtomicBool::new(true));
        let _asker = AskerIsThere(Arc::clone(&is_there));
        let made = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            answer(ground, &is_there)
        });
        // An answer that ends in a panic ends alone.
        made.await.map_err(|error| Unanswered(error.to_string()))
    }
}

/// Whether whoever asked still waits, from now on for so long at most.
pub fn until(is_there: &AtomicBool, limit: Duration) -> impl Fn() -> bool {
    let end = Instant::now() + limit;
    move || is_there.load(Ordering::Relaxed) && Instant::now() < end
}

/// Whose answer it is, where the copy is not of a replica that decides.
fn note(ground: &mut CopiedGround) -> Option<StandbyNote> {
    let standby = ground.standby.take()?;
    Some(StandbyNote {
        leader: standby.leader,
        as_of: Time::of(ground.now_s),
    })
}

/// What a scheduler with this ground would tell after its next cycle.
fn would_be(ground: CopiedGround, ask: &Ask) -> Result<View, String> {
    let mut engine = ground.fork.wake(&ground.config);
    engine.cycle(ground.now_s);
    let view = engine.known().view(ask);
    view.map_err(|absent| absent.to_string())
}

/// What may be asked of a copy.
enum CopyQuestion {
    Plan(Box<PlanQuestion>),
    When(WhenAbout),
}

/// Looks whether a question is when jobs start, without making anything of it.
#[derive(Deserialize)]
struct QuestionKind {
    when: Option<IgnoredAny>,
}

fn read(asked: &[u8]) -> anyhow::Result<CopyQuestion> {
    let not_understood = "the question is not understood; use the same version of `pumice`";
    let kind: QuestionKind = serde_json::from_slice(asked).context(not_understood)?;
    if kind.when.is_some() {
        let request: WhenRequest = serde_json::from_slice(asked).context(not_understood)?;
        return Ok(CopyQuestion::When(request.when));
    }
    let request: PlanRequest = serde_json::from_slice(asked).context(not_understood)?;
    Ok(CopyQuestion::Plan(Box::new(request.read(&REGISTRY)?)))
}

#[cfg(test)]
mod tests;
