//! Which pods an extender is asked about (spec/02 §23.3).

use std::sync::Arc;

use pumice_framework::Changed;
use pumice_model::extender::{ExtenderSettings, ExtenderVerb};
use pumice_model::object::Gates;
use pumice_model::{JobIx, State, Task, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

/// Which pods are asked about: the first of its job that is like it stands for each pod that waits and
/// is of interest.
#[derive(Clone)]
pub(super) struct AskedPods {
    /// It is asked about pods and nodes.
    of_nodes: bool,
    /// It is asked who may go for pods.
    of_evictors: bool,
    /// Only pods that ask for one of these.
    managed: Option<Vec<String>>,
    jobs: FxHashMap<JobIx, PodsOfJob>,
    /// Counts updates.
    updates: u64,
}

/// The pods of one job.
#[derive(Clone, Default)]
struct PodsOfJob {
    /// UIDs of those whose nodes are asked about, the first ones first.
    kinds: Vec<Arc<str>>,
    /// Which of these stands for a pod.
    stands_for: FxHashMap<TaskIx, Arc<str>>,
    /// UID of the first one for which others may go.
    evictor: Option<Arc<str>>,
    /// The update that found the job changed.
    revision: u64,
}

impl AskedPods {
    pub fn new(settings: &ExtenderSettings) -> Self {
        let asks = |verb| settings.verbs.contains_key(&verb);
        Self {
            of_nodes: asks(ExtenderVerb::Predicate) || asks(ExtenderVerb::Prioritize),
            of_evictors: asks(ExtenderVerb::Preemptable) || asks(ExtenderVerb::Reclaimable),
            managed: settings.managed_resources.clone(),
            jobs: FxHashMap::default(),
            updates: 0,
        }
    }

    /// A pod asks for one of the managed resources.
    pub fn is_of_interest(&self, state: &State, task: TaskIx) -> bool {
        let managed = self.managed.as_ref();
        managed.is_none_or(|managed| state.shape(task).asks_for_any(state.resources(), managed))
    }

    /// How often [`AskedPods::update`] has looked.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Which of these looks found the job changed.
    pub fn revision(&self, job: JobIx) -> u64 {
        self.jobs.get(&job).map_or(0, |pods| pods.revision)
    }

    /// UIDs of the pods of a job whose nodes are asked about, the first ones first.
    pub fn kinds(&self, job: JobIx) -> &[Arc<str>] {
        self.jobs.get(&job).map_or(&[], |pods| &pods.kinds)
    }

    /// UID of the pod of a job that is asked about by who may go for it.
    pub fn evictor(&self, job: JobIx) -> Option<&str> {
        self.jobs.get(&job)?.evictor.as_deref()
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
        let all = || state.journal().waiting_jobs();
        let jobs = match &changed.jobs {
            Some(jobs) => jobs.clone(),
            None => {
                self.jobs.clear();
                all()
            }
        };
        for job in jobs {
            self.jobs.remove(&job);
            if state.population().is_waiting(job) {
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
        if !self.of_nodes && !self.of_evictors {
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
        if self.of_evictors {
            let evictor = waiting
                .iter()
                .find(|task| !state.population().never_preempts(**task));
            pods.evictor = evictor.map(|task| Arc::from(&*state.task(*task).uid));
        }
        if self.of_nodes {
            pods.tell_kinds(state, waiting);
        }
        pods
    }
}

impl PodsOfJob {
    /// Tells which pods that wait are alike, the first ones first.
    fn tell_kinds(&mut self, state: &State, waiting: Vec<TaskIx>) {
        let mut known = FxHashMap::default();
        for ix in waiting {
            let task = state.task(ix);
            let first = known.entry(kind_of(task)).or_insert_with(|| {
                let uid: Arc<str> = Arc::from(&*task.uid);
                self.kinds.push(Arc::clone(&uid));
                uid
            });
            self.stands_for.insert(ix, Arc::clone(first));
        }
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
