//! Which pods an extender is asked about, and which questions stand (spec/02 §23.3).

use std::collections::BTreeSet;
use std::rc::Rc;

use pumice_framework::Changed;
use pumice_framework::points::NeededAnswer;
use pumice_model::extender::{ExtenderQuestion, ExtenderSettings, ExtenderVerb};
use pumice_model::object::Gates;
use pumice_model::{JobIx, State, Task, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

/// Jobs whose questions stand at the same time.
const MOST_JOBS: usize = 128;

/// Kinds of pods of one job.
const MOST_KINDS: usize = 1024;

/// Where more is to be asked, others have their turn after so many seconds: longer than a simulation waits.
const TURN_S: i64 = 120;

/// Of each pod that waits and is of interest, the first of its job that is like it.
pub(super) struct AskedPods {
    /// It is asked about pods at all.
    of_pods: bool,
    /// Only pods that ask for one of these.
    managed: Option<Vec<String>>,
    jobs: FxHashMap<JobIx, PodsOfJob>,
    /// Counts updates.
    updates: u64,
}

/// The pods of one job.
#[derive(Default)]
struct PodsOfJob {
    /// UIDs of those it is asked about, the first ones first.
    asked: Vec<Rc<str>>,
    /// Which of these stands for a pod.
    stands_for: FxHashMap<TaskIx, Rc<str>>,
    /// The update that found the job changed.
    revision: u64,
}

impl AskedPods {
    pub fn new(settings: &ExtenderSettings) -> Self {
        let of_pods = [ExtenderVerb::Predicate, ExtenderVerb::Prioritize];
        Self {
            of_pods: of_pods.iter().any(|verb| settings.verbs.contains_key(verb)),
            managed: settings.managed_resources.clone(),
            jobs: FxHashMap::default(),
            updates: 0,
        }
    }

    /// A pod asks for one of the managed resources.
    pub fn is_of_interest(&self, state: &State, task: TaskIx) -> bool {
        let Some(managed) = &self.managed else {
            return true;
        };
        let shape = state.shape(task);
        let asks = |name: &String| {
            let counted = state.resources().get(name);
            let counted = counted.map_or(0, |resource| shape.request.get(resource));
            counted > 0 || shape.uncounted.iter().any(|(other, _)| other == name)
        };
        managed.iter().any(asks)
    }

    /// UID of the pod that stands for a pod.
    pub fn pod_asked_about<'a>(&'a self, state: &'a State, task: TaskIx) -> &'a str {
        let job = state.task(task).job.and_then(|job| self.jobs.get(&job));
        let first = job.and_then(|job| job.stands_for.get(&task));
        first.map_or(&*state.task(task).uid, |first| &**first)
    }

    /// Looks at jobs that changed.
    pub fn update(&mut self, state: &State, changed: &Changed) {
        self.updates += 1;
        let all = || state.waiting_jobs();
        let jobs = match &changed.jobs {
            Some(jobs) => jobs.clone(),
            None => {
                self.jobs.clear();
                all()
            }
        };
        for job in jobs {
            self.jobs.remove(&job);
            if state.is_waiting(job) {
                let pods = self.pods_of(state, job);
                self.jobs.insert(job, pods);
            }
        }
    }

    fn pods_of(&self, state: &State, job: JobIx) -> PodsOfJob {
        let mut pods = PodsOfJob {
            revision: self.updates,
            ..PodsOfJob::default()
        };
        if !self.of_pods {
            return pods;
        }
        let waits = |task: &&TaskIx| {
            let record = state.task(**task);
            let waits = record.status == TaskStatus::Pending && record.gates == Gates::None;
            waits && record.ours && self.is_of_interest(state, **task)
        };
        let mut waiting: Vec<TaskIx> = state.job(job).tasks.iter().filter(waits).copied().collect();
        waiting.sort_by_key(|task| {
            let task = state.task(*task);
            (task.created_s, &task.name, &task.uid)
        });
        let mut known = FxHashMap::default();
        for ix in waiting {
            let task = state.task(ix);
            let first = known.entry(kind_of(task)).or_insert_with(|| {
                let uid: Rc<str> = Rc::from(&*task.uid);
                pods.asked.push(Rc::clone(&uid));
                uid
            });
            pods.stands_for.insert(ix, Rc::clone(first));
        }
        pods.asked.truncate(MOST_KINDS);
        pods
    }
}

/// Pods of a job that share it are the same to the extender, but for their names, UIDs, creation and labels that
/// no selector reads: indices, which would make each a kind of its own.
fn kind_of(task: &Task) -> impl Eq + std::hash::Hash + use<'_> {
    (
        (task.shape, task.appearance, task.demand),
        (task.role, task.sub_job, &task.annotations),
        (task.priority, task.priority_class, task.preemptable),
    )
}

/// The questions that stand.
#[derive(Default)]
pub(super) struct QuestionWindow {
    /// Each once.
    pub questions: Vec<NeededAnswer>,
    /// When others have their turn, seconds since the epoch; none where all stand.
    pub ends_s: Option<i64>,
}

impl QuestionWindow {
    /// Of all that is to be asked, what has its turn at `now_s`, seconds since the epoch.
    pub fn new(state: &State, settings: &ExtenderSettings, asked: &AskedPods, now_s: i64) -> Self {
        let mut jobs = state.waiting_jobs();
        jobs.retain(|job| {
            let job = state.job(*job);
            job.queue.is_some() && !job.origin.lacks_group()
        });
        let mut questions = of_queues(state, settings, &jobs, asked.updates);
        jobs.retain(|job| is_asked_about(state, settings, asked, *job));
        let turns = i64::try_from(jobs.len().div_ceil(MOST_JOBS).max(1)).unwrap_or(1);
        let number = now_s.div_euclid(TURN_S);
        let turn = usize::try_from(number.rem_euclid(turns)).unwrap_or(0);
        for job in of_turn(state, &mut jobs, turn) {
            questions.extend(of_job(state, settings, asked, *job));
        }
        Self {
            questions,
            ends_s: (turns > 1).then(|| (number + 1) * TURN_S),
        }
    }
}

/// The jobs that have a turn, by creation and name.
fn of_turn<'a>(state: &State, jobs: &'a mut [JobIx], turn: usize) -> &'a [JobIx] {
    let order = |left: &JobIx, right: &JobIx| {
        let created_s = |job: &JobIx| state.job(*job).created_s;
        let by_age = created_s(left).cmp(&created_s(right));
        by_age.then_with(|| state.job_key_order(*left, *right))
    };
    let from = (turn * MOST_JOBS).min(jobs.len());
    if 0 < from && from < jobs.len() {
        jobs.select_nth_unstable_by(from, order);
    }
    let jobs = &mut jobs[from..];
    if jobs.len() > MOST_JOBS {
        jobs.select_nth_unstable_by(MOST_JOBS, order);
    }
    let count = jobs.len().min(MOST_JOBS);
    jobs[..count].sort_unstable_by(order);
    &jobs[..count]
}

/// Whether anything is asked about a job or its pods.
fn is_asked_about(
    state: &State,
    settings: &ExtenderSettings,
    asked: &AskedPods,
    ix: JobIx,
) -> bool {
    let asks = |verb| settings.verbs.contains_key(&verb);
    let job = state.job(ix);
    match job.is_pending() {
        true => asks(ExtenderVerb::JobEnqueueable) && job.min_resources.is_some(),
        false => {
            let has_pods = || {
                asked
                    .jobs
                    .get(&ix)
                    .is_some_and(|pods| !pods.asked.is_empty())
            };
            asks(ExtenderVerb::JobReady) || has_pods()
        }
    }
}

fn of_queues(
    state: &State,
    settings: &ExtenderSettings,
    jobs: &[JobIx],
    revision: u64,
) -> Vec<NeededAnswer> {
    let verb = ExtenderVerb::QueueOverused;
    if !settings.verbs.contains_key(&verb) {
        return Vec::new();
    }
    let queues = jobs.iter().filter_map(|job| state.job(*job).queue);
    let names: BTreeSet<&str> = queues
        .map(|queue| state.queue(queue).object.name.as_str())
        .collect();
    let needed = |name: &str| NeededAnswer {
        question: ExtenderQuestion {
            verb,
            subject: name.to_owned(),
        },
        revision,
    };
    names.into_iter().map(needed).collect()
}

fn of_job(
    state: &State,
    settings: &ExtenderSettings,
    asked: &AskedPods,
    ix: JobIx,
) -> Vec<NeededAnswer> {
    let job = state.job(ix);
    let pods = asked.jobs.get(&ix);
    let revision = pods.map_or(0, |pods| pods.revision);
    let needed = |verb: ExtenderVerb, subject: &str| {
        let subject = subject.to_owned();
        let question = ExtenderQuestion { verb, subject };
        let asks = settings.verbs.contains_key(&verb);
        asks.then_some(NeededAnswer { question, revision })
    };
    let key = state.extender_key(job);
    if job.is_pending() {
        // Without `minResources` it is admitted unasked.
        let admission = needed(ExtenderVerb::JobEnqueueable, &key);
        let admission = admission.filter(|_| job.min_resources.is_some());
        return admission.into_iter().collect();
    }
    let ready = needed(ExtenderVerb::JobReady, &key).into_iter();
    let pods = pods.into_iter().flat_map(|pods| pods.asked.iter());
    let of_pods = pods.flat_map(|pod| {
        let verbs = [ExtenderVerb::Predicate, ExtenderVerb::Prioritize];
        verbs.into_iter().filter_map(|verb| needed(verb, pod))
    });
    ready.chain(of_pods).collect()
}
