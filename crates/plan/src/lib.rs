//! What would happen if: questions to a fork of the engine, and nothing of it is done.
//!
//! ```text
//!  Fork ─┬─► engine as it is ──────────────────────► Course ─┐
//!        └─► engine after objects and what-ifs ────► Course ─┴► PlanView: who runs where, who goes for whom,
//!                 └─ forks of it, each with one change more       what is otherwise, what would help
//! ```
//!
//! A course runs cycles until nothing changes any more: pods that are bound stay where they are bound, pods that are
//! evicted are gone. What their controllers would make instead of them is no part of it, nor is anything that ends by
//! itself. So a plan says what happens now, if nobody else does anything. When a job starts is asked of courses one after
//! the other, between which pods end as their owners say ([`when`]).
//!
//! Pure: the caller says how long it may take ([`PlanBounds`], [`Patience`]).

mod ask;
mod bounds;
mod claims_then;
mod compare;
mod course;
mod error;
mod helpful_nodes;
mod remedies;
mod request;
mod what_if;
mod when;

use pumice_conf::Config;
use pumice_engine::Fork;

pub use ask::PlanQuestion;
pub use bounds::{Patience, PlanBounds};
pub use compare::{JobPlan, PlanOutcome, PlanView, PodDifference};
pub use course::{Course, PlacedPod, PlannedEviction};
pub use error::PlanError;
pub use helpful_nodes::helpful_nodes;
pub use remedies::Remedy;
pub use request::{PlanRequest, WhenRequest};
pub use what_if::{AmountsThen, PlannedJob, WhatIf};
pub use when::{AskedQueues, EndBasis, JobMoment, JobStart, StartsView, WhenAbout, WhenView, when};

/// Answers a question on a fork of an engine that has this configuration, at `now_s` (seconds since the epoch).
///
/// # Errors
/// What is asked about or changed does not exist, or says nothing that can be.
pub fn answer(
    fork: Fork,
    config: &Config,
    question: &PlanQuestion,
    now_s: i64,
    bounds: PlanBounds,
    patience: Patience<'_>,
) -> Result<PlanView, PlanError> {
    let mut asked = ask::TwoClusters::prepare(fork, config, question, now_s)?;
    let mut runner = course::Runner {
        now_s,
        bounds,
        patience,
    };
    let (before, after) = (asked.now.fork(), asked.changed.fork());
    let before = runner.run(&mut before.wake(asked.config_now));
    let mut engine = after.wake(asked.config_then);
    let after = runner.run(&mut engine);
    let mut view = compare::view(&asked, &engine, &before, &after);
    if view.outcome == PlanOutcome::Waits {
        view.remedies = remedies::search(&mut asked, &mut runner);
    }
    Ok(view)
}
