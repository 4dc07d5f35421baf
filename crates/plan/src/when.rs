//! When a job starts, if what runs ends when its owners say (spec/11).
//!
//! ```text
//!  Fork ─┬─ pods end by what is expected ─┐   cycles until nothing changes ─► the job has places: then
//!        └─ pods end by their limits ─────┴►          ▲                │
//!                                                     └── the next end ◄┘   who starts meanwhile ends too
//! ```
//!
//! Nobody is believed beyond what is written: a pod of which nobody says when it ends stays for ever, and one that runs
//! longer than was said, too. Nobody who is not there yet comes.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::Config;
use pumice_engine::view::{Ask, Time, View};
use pumice_engine::{Engine, Fork};
use pumice_model::run_time::RunTime;
use pumice_model::{Delta, JobIx, Task, TaskIx, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::bounds::{Patience, PlanBounds};
use crate::course::{Course, Runner, job_of};
use crate::error::PlanError;
use crate::what_if::PlannedJob;

/// Most jobs of a list in an answer.
const MAX_ROWS: usize = 20;

/// Most moments at which something ends that are looked at.
const MAX_MOMENTS: usize = 20_000;

/// By what a pod ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndBasis {
    /// Its expected run time.
    RunTime,
    /// Its limit.
    Limit,
}

/// A job that ends, or starts, before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobMoment {
    /// `namespace/name` of the PodGroup, or of the pod.
    pub job: String,
    /// When the last of its pods ends, or the first one starts.
    pub at: Option<Time>,
    /// By what it ends; nothing where it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<EndBasis>,
}

/// When a job starts under one reading of run times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobStart {
    /// When it gets its places.
    pub at: Option<Time>,
    /// Seconds until then.
    pub in_s: i64,
    /// Nodes that it gets, each once.
    pub nodes: Vec<String>,
    /// Jobs that end on these nodes before, the last one first.
    pub after: Vec<JobMoment>,
    /// Jobs that start before it.
    pub ahead: Vec<JobMoment>,
    /// Jobs of both lists that are not told because there are too many.
    pub not_told: usize,
}

/// When a job starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhenView {
    /// `namespace/name` of the PodGroup, or of the pod.
    pub job: String,
    /// Queue that the job is in.
    pub queue: String,
    /// It has what it needs, and no pod of it waits for a node.
    pub has_started: bool,
    /// As owners expect; nothing where it does not start as far as anybody has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobStart>,
    /// If everything runs to its limit; nothing where limits do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<JobStart>,
    /// Pods on nodes of which nobody says how long they run.
    pub unknown: usize,
    /// Pods on nodes that run longer than was said.
    pub overrun: usize,
    /// Why it waits now, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// It was broken off at its bound: the job may start later than anything that was looked at.
    pub is_cut: bool,
}

/// When a job starts, by a fork of an engine that has this configuration, at `now_s` (seconds since the epoch).
///
/// # Errors
/// The job does not exist.
pub fn when(
    fork: Fork,
    config: &Config,
    job: &PlannedJob,
    now_s: i64,
    bounds: PlanBounds,
    patience: Patience<'_>,
) -> Result<WhenView, PlanError> {
    let mut engine = fork.wake(config);
    let ix = job.find(&engine)?;
    let mut view = WhenView {
        job: engine.state().population().job_key(ix),
        ..WhenView::default()
    };
    if waiting(&engine, ix).is_empty() {
        view.has_started = true;
        return Ok(view);
    }
    let limits = engine.fork().wake(config);
    for (engine, uses_limits) in [(engine, false), (limits, true)] {
        let runner = Runner {
            now_s,
            bounds,
            patience,
        };
        let mut forward = Forward::new(engine, runner, uses_limits);
        if !uses_limits {
            (view.unknown, view.overrun) = (forward.unknown, forward.overrun);
        }
        let start = forward.until(&view.job);
        view.is_cut |= forward.is_cut;
        match uses_limits {
            true => view.latest = start,
            false => {
                (view.queue, view.message) = (forward.queue, forward.message);
                view.expected = start;
            }
        }
    }
    Ok(view)
}

/// Pods of a job that have no node.
fn waiting(engine: &Engine, job: JobIx) -> Vec<TaskIx> {
    let state = engine.state();
    let is_waiting = |task: &&TaskIx| state.task(**task).status.is_undecided();
    let tasks = state.job(job).tasks.iter();
    tasks.filter(is_waiting).copied().collect()
}

/// A pod that ends.
struct EndingPod {
    uid: String,
    job: String,
    node: String,
    basis: EndBasis,
}

/// A cluster in which time passes.
struct Forward<'a> {
    engine: Engine,
    runner: Runner<'a>,
    now_s: i64,
    uses_limits: bool,
    /// What ends, by when.
    ends: BTreeMap<i64, Vec<EndingPod>>,
    unknown: usize,
    overrun: usize,
    queue: String,
    message: Option<String>,
    is_cut: bool,
}

impl<'a> Forward<'a> {
    fn new(engine: Engine, runner: Runner<'a>, uses_limits: bool) -> Self {
        let mut forward = Self {
            now_s: runner.now_s,
            engine,
            runner,
            uses_limits,
            ends: BTreeMap::new(),
            unknown: 0,
            overrun: 0,
            queue: String::new(),
            message: None,
            is_cut: false,
        };
        let state = forward.engine.state();
        let on_nodes = state.population().tasks();
        let on_nodes = on_nodes.filter(|(_, task)| task.node.is_some() && is_there(task.status));
        let all: Vec<TaskIx> = on_nodes.map(|(ix, _)| ix).collect();
        for ix in all {
            forward.note_end(ix, None);
        }
        forward
    }

    /// Notes when a pod ends that got its node then; at the time that its object tells, if nothing is given.
    fn note_end(&mut self, ix: TaskIx, since_s: Option<i64>) {
        let state = self.engine.state();
        let task = state.task(ix);
        let Some(node) = task.node else {
            return;
        };
        let since_s = since_s.or(task.scheduled_s).unwrap_or(task.created_s);
        let run_time = run_time(&self.engine, task);
        let expected = run_time
            .expected_s
            .map(|seconds| (seconds, EndBasis::RunTime));
        let limit = run_time.limit_s.map(|seconds| (seconds, EndBasis::Limit));
        let said = match self.uses_limits {
            true => limit,
            // Nobody expects more than is allowed.
            false => expected
                .into_iter()
                .chain(limit)
                .min_by_key(|(seconds, _)| *seconds),
        };
        let Some((seconds, basis)) = said else {
            self.unknown += 1;
            return;
        };
        let end_s = since_s.saturating_add(seconds);
        if end_s <= self.now_s {
            self.overrun += 1;
            return;
        }
        let pod = EndingPod {
            uid: task.uid.to_string(),
            job: job_of(&self.engine, ix),
            node: state.nodes().object(node).name.clone(),
            basis,
        };
        self.ends.entry(end_s).or_default().push(pod);
    }

    /// Goes on until a job gets places.
    fn until(&mut self, job: &str) -> Option<JobStart> {
        let began_s = self.now_s;
        let mut ended: BTreeMap<String, Vec<JobMoment>> = BTreeMap::new();
        let mut ahead: Vec<JobMoment> = Vec::new();
        for moment in 0..MAX_MOMENTS {
            self.runner.now_s = self.now_s;
            let course = self.runner.run(&mut self.engine);
            if course.is_cut && !(self.runner.patience)() {
                break;
            }
            let nodes = self.settle(&course, job, &mut ahead);
            if !nodes.is_empty() {
                return Some(started((began_s, self.now_s), nodes, &ended, ahead));
            }
            if moment == 0 {
                self.tell(job);
            }
            let (end_s, pods) = self.ends.pop_first()?;
            self.now_s = end_s;
            for pod in pods {
                let moment = JobMoment {
                    job: pod.job,
                    at: Time::of(end_s),
                    basis: Some(pod.basis),
                };
                let on_node = ended.entry(pod.node).or_default();
                on_node.retain(|one| one.job != moment.job);
                on_node.push(moment);
                self.engine.apply(Delta::PodDelete(pod.uid));
            }
        }
        self.is_cut = true;
        None
    }

    /// What a course did: nodes that the job got, and others that started.
    fn settle(
        &mut self,
        course: &Course,
        job: &str,
        ahead: &mut Vec<JobMoment>,
    ) -> BTreeSet<String> {
        let mut nodes = BTreeSet::new();
        for (uid, placed) in &course.placed {
            let Some(ix) = self.engine.state().population().task_by_uid(uid) else {
                continue;
            };
            let of = job_of(&self.engine, ix);
            if of == job {
                nodes.insert(placed.node.clone());
            } else if !ahead.iter().any(|one| one.job == of) {
                ahead.push(JobMoment {
                    job: of,
                    at: Time::of(self.now_s),
                    basis: None,
                });
            }
            self.note_end(ix, Some(self.now_s));
        }
        nodes
    }

    /// What is told of the job as it waits now.
    fn tell(&mut self, job: &str) {
        let state = self.engine.state();
        let (namespace, name) = job.split_once('/').unwrap_or_default();
        let Some(ix) = state.population().job_by_key(namespace, name) else {
            return;
        };
        self.queue = state.names().text(state.job(ix).queue_name).to_owned();
        let ask = Ask::Job {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        if let Ok(View::Job(told)) = self.engine.known().view(&ask) {
            self.message = told.message;
        }
    }
}

fn is_there(status: TaskStatus) -> bool {
    matches!(
        status,
        TaskStatus::Binding | TaskStatus::Bound | TaskStatus::Running
    )
}

fn run_time(engine: &Engine, task: &Task) -> RunTime {
    let group = task.job.and_then(|job| engine.state().job(job).group());
    RunTime::of(
        task.annotations.as_deref(),
        group.map(|group| &group.annotations),
    )
}

fn started(
    (began_s, at_s): (i64, i64),
    nodes: BTreeSet<String>,
    ended: &BTreeMap<String, Vec<JobMoment>>,
    mut ahead: Vec<JobMoment>,
) -> JobStart {
    let mut after: Vec<JobMoment> = Vec::new();
    for one in nodes.iter().filter_map(|node| ended.get(node)).flatten() {
        match after.iter_mut().find(|known| known.job == one.job) {
            Some(known) if known.at < one.at => *known = one.clone(),
            Some(_) => {}
            None => after.push(one.clone()),
        }
    }
    after.sort_by(|l, r| r.at.cmp(&l.at).then_with(|| l.job.cmp(&r.job)));
    let too_many = |len: usize| len.saturating_sub(MAX_ROWS);
    let not_told = too_many(after.len()) + too_many(ahead.len());
    after.truncate(MAX_ROWS);
    ahead.truncate(MAX_ROWS);
    JobStart {
        at: Time::of(at_s),
        in_s: at_s - began_s,
        nodes: nodes.into_iter().take(MAX_ROWS).collect(),
        after,
        ahead,
        not_told,
    }
}
