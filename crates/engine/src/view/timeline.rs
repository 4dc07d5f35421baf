//! What became of a job, stretch by stretch, as far as this scheduler saw it.

use pumice_model::{Job, JobIx, TaskStatus};
use serde::{Deserialize, Serialize};

use super::shape::Time;
use crate::engine::Engine;
use crate::follow_up::stretches::{Stretch, StretchKind};
use crate::view::pages::Pages;
use crate::waiting::{WaitKind, headline};

/// Some time in which a job waited for one kind of reason, or ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StretchView {
    /// When it began; `None` at the zero of a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// How long it took, or takes so far.
    pub seconds: i64,
    /// It is the one that goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// What the job did: the kind of reason for which it waited, as metrics name it, or `runs`, `ended` or `no-pods`.
    pub kind: StretchKind,
    /// What was told of it first, cut short; empty for nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl Pages<'_> {
    /// Stretches of a job, oldest first, and how many after the first are not kept.
    pub(super) fn timeline(&self, ix: JobIx) -> (Vec<StretchView>, usize) {
        let id = self.state.population().job_id(ix);
        let (known, dropped) = self.follow_up.stretches.of(id);
        let known: Vec<&Stretch> = known.collect();
        let ends = known.iter().skip(1).map(|next| Some(next.from_s));
        let ends = ends.chain(std::iter::once(None));
        let told = known.iter().zip(ends).map(|(stretch, end)| StretchView {
            from: Time::of(stretch.from_s),
            seconds: end.unwrap_or(self.now_s).saturating_sub(stretch.from_s),
            goes_on: end.is_none(),
            kind: stretch.kind,
            text: stretch.text.to_string(),
        });
        (told.collect(), dropped)
    }

    /// What a job does now, of those things that make stretches.
    pub(crate) fn kind_of_stretch(&self, ix: JobIx) -> StretchKind {
        if let Some(kind) = self.kind_of_job(ix) {
            return StretchKind::Waits(kind);
        }
        let job = self.state.job(ix);
        match (self.placed_pods(ix), job.tasks.is_empty()) {
            (0, true) => StretchKind::NoPods,
            (0, false) => StretchKind::Ended,
            _ => StretchKind::Runs,
        }
    }
}

/// What its PodGroup says of why a job waits, in short; empty for nothing.
pub(crate) fn told_of_waiting(job: &Job) -> &str {
    let waits = job.count(TaskStatus::Pending) > 0 || job.is_pending();
    let mut conditions = job.status.conditions.iter().filter(|_| waits);
    let told = conditions.find(|c| c.kind == "Unschedulable" && c.status == "True");
    told.map_or("", |condition| headline(&condition.message))
}

/// A cycle looked at a job: a stretch may have begun.
pub(crate) fn note_stretch(engine: &mut Engine, ix: JobIx, now_s: i64) {
    let population = engine.state.population();
    if !population.has_job(ix) {
        return;
    }
    let (id, job) = (population.job_id(ix), engine.state.job(ix));
    let kind = engine.known().pages().kind_of_stretch(ix);
    // Of one that goes on in the next cycle nothing new is known.
    if kind == StretchKind::Waits(WaitKind::Postponed)
        || !engine.follow_up.stretches.is_news(id, kind)
    {
        return;
    }
    let stretch = Stretch::new(now_s, kind, told_of_waiting(job));
    let namespace = job.namespace;
    engine.follow_up.stretches.note(id, namespace, stretch);
}
