//! The answer: what becomes of the jobs that are asked about, and what becomes of others that would not happen without.

use std::collections::{BTreeMap, BTreeSet};

use pumice_engine::Engine;
use pumice_engine::view::{Ask, View};
use pumice_model::TaskIx;
use serde::{Deserialize, Serialize};

use crate::ask::{TwoClusters, asked_job};
use crate::course::{Course, PlacedPod, PlannedEviction, job_of};
use crate::remedies::Remedy;

/// Most pods, evictions and differences that are told, each.
const MAX_ROWS: usize = 500;

/// What becomes of all jobs that are asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PlanOutcome {
    /// Each has the pods that it needs, and nobody goes for it.
    #[default]
    Runs,
    /// Each has them, and others go for some of them.
    Evicts,
    /// Some job has not what it needs.
    Waits,
}

/// What becomes of a job that is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobPlan {
    /// `namespace/name` of the PodGroup, or of the pod.
    pub job: String,
    /// Queue that the job is in.
    pub queue: String,
    /// What becomes of it.
    pub outcome: PlanOutcome,
    /// Pods that have places then.
    pub ready: i32,
    /// Pods that it needs.
    pub needed: i32,
    /// Where its pods are then, by name.
    pub pods: Vec<PlacedPod>,
    /// Why it waits, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What would have to change by the notes of the last cycle, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}

/// A pod of another job of which something else becomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodDifference {
    /// `namespace/name`.
    pub pod: String,
    /// `namespace/name` of its job.
    pub job: String,
    /// What becomes of it without what is asked: `on n1`, `waits`, `evicted`, `gone`.
    pub without: String,
    /// What becomes of it with what is asked.
    pub then: String,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    /// What becomes of the jobs that are asked about, all in all.
    pub outcome: PlanOutcome,
    /// The jobs that are asked about.
    pub jobs: Vec<JobPlan>,
    /// Pods that go, and would not without what is asked.
    pub evicted: Vec<PlannedEviction>,
    /// Other pods of which something else becomes.
    pub others: Vec<PodDifference>,
    /// Pods, evictions and differences that are not told because there are too many.
    pub not_told: usize,
    /// What was tried for what waits, and is enough alone.
    pub remedies: Vec<Remedy>,
    /// It was broken off at its bound: more might have happened.
    pub is_cut: bool,
}

pub fn view(asked: &TwoClusters<'_>, engine: &Engine, before: &Course, after: &Course) -> PlanView {
    let mut view = PlanView {
        is_cut: before.is_cut || after.is_cut,
        ..PlanView::default()
    };
    let about: BTreeSet<&str> = asked.about.iter().map(String::as_str).collect();
    let news = after.evicted.iter();
    let news = news.filter(|(uid, _)| !before.evicted.contains_key(*uid));
    view.evicted = news.map(|(_, evicted)| evicted.clone()).collect();
    view.jobs = asked
        .about
        .iter()
        .map(|job| job_plan(engine, job, &view.evicted))
        .collect();
    let outcomes = view.jobs.iter().map(|job| job.outcome);
    view.outcome = outcomes.fold(PlanOutcome::Runs, |all, one| match (all, one) {
        (PlanOutcome::Waits, _) | (_, PlanOutcome::Waits) => PlanOutcome::Waits,
        (PlanOutcome::Evicts, _) | (_, PlanOutcome::Evicts) => PlanOutcome::Evicts,
        _ => PlanOutcome::Runs,
    });
    if view.outcome == PlanOutcome::Runs && !view.evicted.is_empty() {
        view.outcome = PlanOutcome::Evicts;
    }
    view.others = others(asked, before, after, &about);
    view.shorten();
    view
}

impl PlanView {
    fn shorten(&mut self) {
        let mut left_out = 0;
        let mut cut = |len: usize| left_out += len.saturating_sub(MAX_ROWS);
        cut(self.evicted.len());
        cut(self.others.len());
        self.jobs.iter().for_each(|job| cut(job.pods.len()));
        self.evicted.truncate(MAX_ROWS);
        self.others.truncate(MAX_ROWS);
        for job in &mut self.jobs {
            job.pods.truncate(MAX_ROWS);
        }
        self.not_told = left_out;
    }
}

/// What has become of a job, as the engine sees it at the end.
fn job_plan(engine: &Engine, key: &str, evicted: &[PlannedEviction]) -> JobPlan {
    let state = engine.state();
    let (namespace, name) = key.split_once('/').unwrap_or_default();
    let Some(ix) = asked_job(engine, key) else {
        return JobPlan {
            job: key.to_owned(),
            outcome: PlanOutcome::Waits,
            reason: Some("Gone".to_owned()),
            message: Some("it is gone then".to_owned()),
            ..JobPlan::default()
        };
    };
    let job = state.job(ix);
    let place = |task: &TaskIx| {
        let status = state.task(*task).status;
        let has_place = status.is_allocated() && !status.is_undecided();
        let node = state.task(*task).node.filter(|_| has_place)?;
        Some(PlacedPod {
            pod: state.population().task_key(*task),
            node: state.nodes().object(node).name.clone(),
            cards: engine.known().card_names(*task),
        })
    };
    let mut pods: Vec<PlacedPod> = job.tasks.iter().filter_map(place).collect();
    pods.sort_by(|left, right| left.pod.cmp(&right.pod));
    let is_ready = job.is_ready() && !pods.is_empty();
    let goes_for_it = evicted.iter().any(|one| one.by.as_deref() == Some(key));
    let ask = Ask::Job {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let told = match engine.known().view(&ask) {
        Ok(View::Job(told)) if !is_ready => Some(told),
        _ => None,
    };
    let (reason, message, changes) = match told {
        Some(told) => (told.reason, told.message, told.changes),
        None => (None, None, Vec::new()),
    };
    JobPlan {
        job: key.to_owned(),
        queue: state.names().text(job.queue_name).to_owned(),
        outcome: match (is_ready, goes_for_it) {
            (false, _) => PlanOutcome::Waits,
            (true, true) => PlanOutcome::Evicts,
            (true, false) => PlanOutcome::Runs,
        },
        ready: job.ready(),
        needed: job.min_available,
        pods,
        reason,
        message,
        changes,
    }
}

/// Pods of jobs that are not asked about, of which something else becomes.
fn others(
    asked: &TwoClusters<'_>,
    before: &Course,
    after: &Course,
    about: &BTreeSet<&str>,
) -> Vec<PodDifference> {
    let mut uids: BTreeSet<&str> = BTreeSet::new();
    for course in [before, after] {
        uids.extend(course.placed.keys().map(String::as_str));
        uids.extend(course.evicted.keys().map(String::as_str));
    }
    let (now, then) = (&asked.now, &asked.changed);
    uids.extend(asked.gone.iter().map(String::as_str));
    let known = |uid: &str| {
        let found = |engine: &Engine| {
            let task = engine.state().population().task_by_uid(uid)?;
            let key = engine.state().population().task_key(task);
            Some((key, job_of(engine, task)))
        };
        found(now).or_else(|| found(then))
    };
    let changes = uids.into_iter().filter_map(|uid| {
        let (pod, job) = known(uid)?;
        let (without, then) = (fate(now, before, uid), fate(then, after, uid));
        let is_other = without != then && !about.contains(&*job);
        is_other.then_some(PodDifference {
            pod,
            job,
            without,
            then,
        })
    });
    let by_name: BTreeMap<(String, String), PodDifference> = changes
        .map(|change| ((change.pod.clone(), change.then.clone()), change))
        .collect();
    by_name.into_values().collect()
}

/// What becomes of a pod in a course that begins with this engine.
fn fate(start: &Engine, course: &Course, uid: &str) -> String {
    if course.evicted.contains_key(uid) {
        return "evicted".to_owned();
    }
    if let Some(placed) = course.placed.get(uid) {
        return format!("on {}", placed.node);
    }
    let state = start.state();
    let Some(task) = state.population().task_by_uid(uid) else {
        return "gone".to_owned();
    };
    let task = state.task(task);
    match task.node.filter(|_| !task.status.is_undecided()) {
        Some(node) => format!("on {}", state.nodes().object(node).name),
        None => "waits".to_owned(),
    }
}
