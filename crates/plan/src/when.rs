//! When a job starts, if what runs ends when its owners say (spec/11).
//!
//! ```text
//!  Fork ─┬─ pods end by what is expected ─┐   cycles until nothing changes ─► the job has places: then
//!        └─ pods end by their limits ─────┴►          ▲                │
//!                                                     └── the next end ◄┘   who starts meanwhile ends too
//! ```
//!
//! Nobody is believed beyond what is written: a pod of which nobody says when it ends stays for ever, unless plugin
//! `runtimeestimate` guesses it, and one that runs longer than was said, too. Nobody who is not there yet comes.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::Config;
use pumice_engine::view::{Ask, Time, View, run_time_estimate};
use pumice_engine::{Engine, Fork};
use pumice_model::run_time::RunTime;
use pumice_model::{Delta, JobIx, QueueIx, TaskIx, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::bounds::{Patience, PlanBounds};
use crate::course::{Course, Runner, come_true, job_of};
use crate::error::PlanError;
use crate::what_if::PlannedJob;

/// Most jobs of a list in an answer.
const MAX_ROWS: usize = 20;

/// Most jobs of a queue, or of all queues, that are asked about.
const MAX_JOBS: usize = 500;

/// Most moments at which something ends that are looked at.
const MAX_MOMENTS: usize = 20_000;

/// By what a pod ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndBasis {
    /// The run time that its owner expects.
    RunTime,
    /// The limit of its run time.
    Limit,
    /// It is being deleted.
    Deletion,
    /// A guess: as jobs like it ran.
    Guess,
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
    /// Nobody has made a pod of it yet: it starts no earlier than that.
    pub has_no_pods: bool,
    /// As owners expect; nothing where it does not start as far as anybody has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobStart>,
    /// If everything runs to its limit, and no earlier than expected; nothing where limits do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<JobStart>,
    /// Pods on nodes, now, of which nobody says how long they run.
    pub unknown: usize,
    /// Pods on nodes, now, that run longer than was said.
    pub overrun: usize,
    /// Why it waits now, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is expected was broken off at its bound: the job may start later than anything that was looked at.
    pub expected_is_cut: bool,
    /// What limits say was.
    pub latest_is_cut: bool,
}

/// About whom it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WhenAbout {
    /// One job.
    Job(PlannedJob),
    /// The jobs of a queue that wait.
    Queue {
        /// Name of the queue.
        queue: String,
    },
    /// The jobs of all queues that wait.
    Queues {
        /// Which queues.
        queues: AskedQueues,
    },
}

/// Queues that are asked about together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AskedQueues {
    /// Those of the cluster.
    All,
}

/// When jobs start: those that start first come first, those of which nobody can say last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartsView {
    /// Jobs that are asked about.
    pub jobs: Vec<WhenView>,
    /// Jobs that wait and are not told because there are too many.
    pub not_told: usize,
}

/// When jobs start, by a fork of an engine that has this configuration, at `now_s` (seconds since the epoch). One
/// patience is with what is expected, then one with what limits say.
///
/// # Errors
/// The job or the queue does not exist.
pub fn when(
    fork: Fork,
    config: &Config,
    about: &WhenAbout,
    now_s: i64,
    bounds: PlanBounds,
    patience: [Patience<'_>; 2],
) -> Result<StartsView, PlanError> {
    let mut engine = fork.wake(config);
    let (all, not_told) = asked_about(&engine, about)?;
    let mut jobs: Vec<WhenView> = all.iter().map(|job| asked(&engine, *job)).collect();
    let waiting = jobs.iter().filter(|view| !view.has_started);
    let waiting: Vec<String> = waiting.map(|view| view.job.clone()).collect();
    if !waiting.is_empty() {
        let limits = engine.fork().wake(config);
        let go = |engine, uses_limits| {
            let runner = Runner {
                now_s,
                bounds,
                patience: patience[usize::from(uses_limits)],
            };
            let mut forward = Forward::new(engine, runner, uses_limits);
            forward.until(&waiting);
            forward
        };
        let (mut expected, mut latest) = (go(engine, false), go(limits, true));
        for view in jobs.iter_mut().filter(|view| !view.has_started) {
            view.message = expected.messages.remove(&view.job);
            view.expected = expected.starts.remove(&view.job);
            view.latest = latest.starts.remove(&view.job);
            if let (Some(expected), Some(latest)) = (&view.expected, &mut view.latest)
                && latest.in_s < expected.in_s
            {
                // Who runs for a shorter time may let another one in before.
                *latest = expected.clone();
            }
            (view.unknown, view.overrun) = (expected.unknown, expected.overrun);
            view.expected_is_cut = expected.is_cut && view.expected.is_none();
            view.latest_is_cut = latest.is_cut && view.latest.is_none();
        }
    }
    let in_s = |view: &WhenView| view.expected.as_ref().map_or(i64::MAX, |start| start.in_s);
    jobs.sort_by_key(in_s);
    Ok(StartsView { jobs, not_told })
}

/// The jobs, and how many are left out.
fn asked_about(engine: &Engine, about: &WhenAbout) -> Result<(Vec<JobIx>, usize), PlanError> {
    let population = engine.state().population();
    let one = match about {
        WhenAbout::Job(job) => return Ok((vec![job.find(engine)?], 0)),
        WhenAbout::Queue { queue } => {
            let found = population.queue_by_name(queue);
            Some(found.ok_or_else(|| PlanError::NoQueue(queue.clone()))?)
        }
        WhenAbout::Queues {
            queues: AskedQueues::All,
        } => None,
    };
    let is_meant = |queue: Option<QueueIx>| match one {
        Some(one) => queue == Some(one),
        None => queue.is_some(),
    };
    let of_queue = population.jobs().map(|(ix, _)| ix);
    let mut all: Vec<JobIx> = of_queue
        .filter(|ix| is_meant(engine.state().job(*ix).queue) && waits(engine, *ix))
        .collect();
    all.sort_by_cached_key(|ix| population.job_key(*ix));
    let not_told = all.len().saturating_sub(MAX_JOBS);
    all.truncate(MAX_JOBS);
    Ok((all, not_told))
}

/// Some pod of the job has no node, or it lacks pods that nobody has made.
fn waits(engine: &Engine, job: JobIx) -> bool {
    let state = engine.state();
    let status = |task: &TaskIx| state.task(*task).status;
    let job = state.job(job);
    let has_ended = |task| matches!(status(task), TaskStatus::Succeeded | TaskStatus::Failed);
    job.tasks.iter().any(|task| status(task).is_undecided())
        || (!job.is_ready() && !job.tasks.iter().any(has_ended))
}

/// What is known of a job before time passes.
fn asked(engine: &Engine, job: JobIx) -> WhenView {
    let state = engine.state();
    WhenView {
        job: state.population().job_key(job),
        queue: state.names().text(state.job(job).queue_name).to_owned(),
        has_started: !waits(engine, job),
        has_no_pods: state.job(job).tasks.is_empty(),
        ..WhenView::default()
    }
}

/// A pod that ends.
struct EndingPod {
    uid: String,
    job: String,
    node: String,
    basis: EndBasis,
}

/// What is known of the end of a pod.
enum PodEnd {
    Known,
    Unknown,
    Over,
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
    /// Why jobs that are asked about wait now.
    messages: BTreeMap<String, String>,
    starts: BTreeMap<String, JobStart>,
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
            messages: BTreeMap::new(),
            starts: BTreeMap::new(),
            is_cut: false,
        };
        let state = forward.engine.state();
        let on_nodes = state.population().tasks();
        let on_nodes = on_nodes.filter(|(_, task)| task.node.is_some() && is_there(task.status));
        let all: Vec<TaskIx> = on_nodes.map(|(ix, _)| ix).collect();
        for ix in all {
            match forward.note_end(ix, None) {
                PodEnd::Known => {}
                PodEnd::Unknown => forward.unknown += 1,
                PodEnd::Over => forward.overrun += 1,
            }
        }
        forward
    }

    /// Notes when a pod ends that got its node then; at the time that its object tells, if nothing is given.
    fn note_end(&mut self, ix: TaskIx, since_s: Option<i64>) -> PodEnd {
        let state = self.engine.state();
        let task = state.task(ix);
        let Some(node) = task.node else {
            return PodEnd::Unknown;
        };
        let since_s = since_s.or(task.scheduled_s).unwrap_or(task.created_s);
        let run_time = RunTime::of_task(state, task);
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
                .min_by_key(|(seconds, _)| *seconds)
                .or_else(|| {
                    let guess = run_time_estimate(self.engine.known(), ix)?;
                    Some((guess.run_s, EndBasis::Guess))
                }),
        };
        let said = said.map(|(seconds, basis)| (since_s.saturating_add(seconds), basis));
        let (end_s, basis) = match (task.status == TaskStatus::Releasing, said) {
            // The kubelet ends it, sooner or later.
            (true, _) => {
                let by_s = task.ends_by_s.unwrap_or(self.now_s);
                (by_s.max(self.now_s + 1), EndBasis::Deletion)
            }
            (false, Some((end_s, basis))) if end_s > self.now_s => (end_s, basis),
            (false, Some(_)) => return PodEnd::Over,
            (false, None) => return PodEnd::Unknown,
        };
        let pod = EndingPod {
            uid: task.uid.to_string(),
            job: job_of(&self.engine, ix),
            node: state.nodes().object(node).name.clone(),
            basis,
        };
        self.ends.entry(end_s).or_default().push(pod);
        PodEnd::Known
    }

    /// Goes on until each of these jobs got places.
    fn until(&mut self, jobs: &[String]) {
        let began_s = self.now_s;
        let mut ended: BTreeMap<String, Vec<JobMoment>> = BTreeMap::new();
        let asked: BTreeSet<&str> = jobs.iter().map(String::as_str).collect();
        let (mut ahead, mut known): (Vec<JobMoment>, BTreeSet<String>) = Default::default();
        for moment in 0..MAX_MOMENTS {
            self.runner.now_s = self.now_s;
            let course = self.runner.run(&mut self.engine);
            self.is_cut |= course.is_cut;
            if course.is_cut && !(self.runner.patience)() {
                break;
            }
            // It is the same by both readings.
            if moment == 0 && !self.uses_limits {
                jobs.iter().for_each(|job| self.tell(job));
            }
            let placed = self.settle(&course);
            for (job, nodes) in &placed {
                if asked.contains(job.as_str()) && !self.starts.contains_key(job) {
                    let start = started((began_s, self.now_s), nodes, &ended, &ahead);
                    self.starts.insert(job.clone(), start);
                }
            }
            for job in placed.into_keys() {
                if known.insert(job.clone()) {
                    ahead.push(JobMoment {
                        job,
                        at: Time::of(self.now_s),
                        basis: None,
                    });
                }
            }
            if self.starts.len() == jobs.len() {
                return;
            }
            let Some((end_s, pods)) = self.ends.pop_first() else {
                return;
            };
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
                come_true(&mut self.engine, [Delta::PodDelete(pod.uid)]);
            }
        }
        self.is_cut = true;
    }

    /// What a course did: nodes that jobs got. Who is evicted ends no more.
    fn settle(&mut self, course: &Course) -> BTreeMap<String, BTreeSet<String>> {
        if !course.evicted.is_empty() {
            self.ends.values_mut().for_each(|pods| {
                pods.retain(|pod| !course.evicted.contains_key(&pod.uid));
            });
        }
        let mut jobs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (uid, placed) in &course.placed {
            let Some(ix) = self.engine.state().population().task_by_uid(uid) else {
                continue;
            };
            let nodes = jobs.entry(job_of(&self.engine, ix)).or_default();
            nodes.insert(placed.node.clone());
            self.note_end(ix, Some(self.now_s));
        }
        jobs
    }

    /// Why a job waits now, if it still does.
    fn tell(&mut self, job: &str) {
        let (namespace, name) = job.split_once('/').unwrap_or_default();
        let ask = Ask::Job {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        if let Ok(View::Job(told)) = self.engine.known().view(&ask)
            && let Some(message) = told.message
        {
            self.messages.insert(job.to_owned(), message);
        }
    }
}

fn is_there(status: TaskStatus) -> bool {
    matches!(
        status,
        TaskStatus::Binding | TaskStatus::Bound | TaskStatus::Running | TaskStatus::Releasing
    )
}

fn started(
    (began_s, at_s): (i64, i64),
    nodes: &BTreeSet<String>,
    ended: &BTreeMap<String, Vec<JobMoment>>,
    ahead: &[JobMoment],
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
    JobStart {
        at: Time::of(at_s),
        in_s: at_s - began_s,
        nodes: nodes.iter().take(MAX_ROWS).cloned().collect(),
        after,
        ahead: ahead.iter().take(MAX_ROWS).cloned().collect(),
        not_told,
    }
}
