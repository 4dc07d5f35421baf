//! What happens when nobody does anything: cycles until nothing changes.

use std::collections::BTreeMap;

use pumice_engine::{Decisions, Engine};
use pumice_model::state::bound_pod;
use pumice_model::{Delta, TaskIx};
use serde::{Deserialize, Serialize};

use crate::bounds::{Patience, PlanBounds};
use crate::claims_then::ClaimsThen;

/// A pod and its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacedPod {
    /// `namespace/name`.
    pub pod: String,
    /// Node that the pod is on.
    pub node: String,
    /// Names of its shared cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
}

/// A pod that goes for others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedEviction {
    /// `namespace/name`.
    pub pod: String,
    /// `namespace/name` of its PodGroup, or of the pod.
    pub job: String,
    /// Node from which it goes.
    pub node: String,
    /// The action that evicts it: `preempt`, `reclaim`, `shuffle`, …
    pub action: String,
    /// `namespace/name` of the job for which it goes; `None` where it goes for nobody in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// Pods that got a node, by UID.
    pub placed: BTreeMap<String, PlacedPod>,
    /// Pods that were evicted, by UID.
    pub evicted: BTreeMap<String, PlannedEviction>,
    /// Something might still have changed when it was broken off.
    pub is_cut: bool,
}

/// Runs courses.
pub struct Runner<'a> {
    pub now_s: i64,
    pub bounds: PlanBounds,
    pub patience: Patience<'a>,
}

impl Runner<'_> {
    /// Cycles a second apart, until one finds nothing left to do.
    pub fn run(&mut self, engine: &mut Engine) -> Course {
        let mut course = Course::default();
        for after_s in 0..i64::from(self.bounds.cycles) {
            if !(self.patience)() {
                break;
            }
            let decisions = engine.cycle(self.now_s.saturating_add(after_s));
            course.note(engine, &decisions);
            let news = consequences(engine, &decisions);
            if decisions.settled && news.is_empty() {
                return course;
            }
            apply(engine, news);
        }
        course.is_cut = true;
        course
    }
}

impl Course {
    fn note(&mut self, engine: &Engine, decisions: &Decisions) {
        let state = engine.state();
        let node_name = |node| state.nodes().object(node).name.clone();
        for bind in &decisions.binds {
            let task = state.task(bind.task);
            let placed = PlacedPod {
                pod: state.population().task_key(bind.task),
                node: node_name(bind.node),
                cards: engine.known().card_names(bind.task),
            };
            self.placed.insert(task.uid.to_string(), placed);
        }
        for eviction in &decisions.evictions {
            let task = state.task(eviction.task);
            let evicted = PlannedEviction {
                pod: state.population().task_key(eviction.task),
                job: job_of(engine, eviction.task),
                node: task.node.map(node_name).unwrap_or_default(),
                action: eviction.reason.to_owned(),
                by: eviction.by.map(|job| state.population().job_key(job)),
            };
            let uid = task.uid.to_string();
            self.placed.remove(&uid);
            self.evicted.insert(uid, evicted);
        }
    }
}

/// `namespace/name` of the job of a pod.
pub fn job_of(engine: &Engine, task: TaskIx) -> String {
    let population = engine.state().population();
    match engine.state().task(task).job {
        Some(job) => population.job_key(job),
        None => population.task_key(task),
    }
}

/// Bindings are accepted, and what is written about claims before; evicted pods end, devices that were to be given back
/// are.
fn consequences(engine: &Engine, decisions: &Decisions) -> Vec<Delta> {
    let uid = |task: TaskIx| engine.state().task(task).uid.to_string();
    let mut claims = ClaimsThen::new(engine);
    for given_back in &decisions.device_returns {
        claims.given_back(given_back);
    }
    for bind in &decisions.binds {
        claims.bound(&uid(bind.task), &bind.claims);
    }
    let mut news = claims.told();
    news.extend(decisions.binds.iter().flat_map(|bind| {
        let told = bound_pod(engine.state(), bind.task);
        let written = Delta::PodBound {
            uid: uid(bind.task),
            claims: Vec::new(),
        };
        [written, Delta::PodApply(Box::new(told))]
    }));
    for eviction in &decisions.evictions {
        claims.gone(eviction.task);
        news.push(Delta::PodDelete(uid(eviction.task)));
    }
    news.extend(claims.told());
    news
}

/// Applies what comes from outside.
pub fn apply(engine: &mut Engine, deltas: impl IntoIterator<Item = Delta>) {
    deltas.into_iter().for_each(|delta| engine.apply(delta));
}

/// Applies what somebody thinks of, and what comes of it: pods that are gone use no claims any more.
pub fn come_true(engine: &mut Engine, deltas: impl IntoIterator<Item = Delta>) {
    for delta in deltas {
        let mut told = Vec::new();
        if let Delta::PodDelete(uid) = &delta
            && let Some(task) = engine.state().population().task_by_uid(uid)
        {
            let mut claims = ClaimsThen::new(engine);
            claims.gone(task);
            told = claims.told();
        }
        apply(engine, [delta].into_iter().chain(told));
    }
}
