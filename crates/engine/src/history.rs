//! What became of jobs, for whoever keeps it: off unless somebody does.
//!
//! ```text
//!  close of a cycle ─► jobs that were looked at ─► JobSight: what it does, for which reason, what its pods hold, where
//!  a replica that decides nothing ─► jobs that have changed ─► the same, without reasons
//!                                                            └─► HistoryBook ─► history::take
//! ```
//!
//! Reasons are those of the timeline of a job. Nothing of it decides anything, and copies of an engine have none of it.

use std::collections::BTreeSet;
use std::ops::Deref;

use pumice_framework::Plan;
use pumice_history::{BookNews, HistoryBook, JobDoing, JobRecord, JobSight, PodArrival};
use pumice_model::{Applied, Job, JobId, JobIx, ResVec, TaskIx, TaskStatus};

use crate::engine::Engine;
use crate::follow_up::stretches::StretchKind;
use crate::knowledge::Knowledge;
use crate::view::told_of_waiting;
use crate::waiting::WaitKind;

/// What an engine keeps of it. See the module.
pub(crate) struct JobHistory {
    book: HistoryBook<JobId>,
    /// Jobs that have changed while nothing was decided.
    seen: Vec<JobIx>,
    /// The last look was by a replica that decides nothing, or nobody has looked.
    stands_by: bool,
}

/// From now on it is kept what becomes of jobs; `before`: records of another process that were not complete.
pub fn keep(engine: &mut Engine, before: Vec<JobRecord>) {
    let mut book = HistoryBook::default();
    book.resume(before);
    engine.history = Some(Box::new(JobHistory {
        book,
        seen: Vec::new(),
        stands_by: true,
    }));
}

/// How many records wait to be taken.
pub fn waiting(engine: &Engine) -> usize {
    let history = engine.history.as_ref();
    history.map_or(0, |history| history.book.waiting())
}

/// Whether all jobs were looked at, so that all that go on are known.
pub fn has_looked(engine: &Engine) -> bool {
    let history = engine.history.as_ref();
    history.is_some_and(|history| history.book.has_looked())
}

/// What is new since this was last asked.
pub fn take(engine: &mut Engine) -> BookNews {
    let history = engine.history.as_mut();
    history.map_or_else(BookNews::default, |history| history.book.take())
}

/// All records that go on, as they stand.
pub fn open(engine: &Engine) -> Vec<JobRecord> {
    let history = engine.history.iter();
    history
        .flat_map(|history| history.book.open())
        .cloned()
        .collect()
}

/// A replica that decides nothing brings it up to date, after [`Engine::stand_by`].
pub fn stand_by(engine: &mut Engine, now_s: i64) {
    let Some(history) = &mut engine.history else {
        return;
    };
    let changed = engine.state.changes().take_changed_jobs();
    history.seen.extend(&changed);
    history.seen.sort_unstable();
    history.seen.dedup();
    let jobs = match std::mem::replace(&mut history.stands_by, true) {
        true => changed,
        // Why they wait is not known from now on.
        false => all_jobs(engine),
    };
    look_at(engine, &jobs, now_s, false);
}

fn all_jobs(engine: &Engine) -> Vec<JobIx> {
    let jobs = engine.state.population().jobs();
    jobs.map(|(ix, _)| ix).collect()
}

/// A change was applied.
pub(crate) fn follow(engine: &mut Engine, applied: &Applied) {
    if let (Some(history), Some(gone)) = (&mut engine.history, applied.job_gone) {
        history.book.gone(gone);
    }
}

/// A cycle decided this.
pub(crate) fn take_in(engine: &mut Engine, plan: &Plan) {
    let Some(history) = &mut engine.history else {
        return;
    };
    for eviction in &plan.evictions {
        if let Some(job) = engine.state.task(eviction.task).job {
            history.book.evicted(engine.state.population().job_id(job));
        }
    }
}

/// Jobs that have changed while nothing was decided: the first cycle looks at them.
pub(crate) fn take_seen(engine: &mut Engine) -> Vec<JobIx> {
    let history = engine.history.as_mut();
    history.map_or_else(Vec::new, |history| std::mem::take(&mut history.seen))
}

/// A cycle has looked at these jobs.
pub(crate) fn look_after_cycle(engine: &mut Engine, jobs: &[JobIx], now_s: i64) {
    let Some(history) = &mut engine.history else {
        return;
    };
    match std::mem::take(&mut history.stands_by) {
        // Why jobs wait is known again.
        true => look_at(engine, &all_jobs(engine), now_s, true),
        false => look_at(engine, jobs, now_s, true),
    }
}

fn look_at(engine: &mut Engine, jobs: &[JobIx], now_s: i64, decides: bool) {
    let Some(mut history) = engine.history.take() else {
        return;
    };
    let known = JobWitness(engine.known());
    for ix in jobs {
        if known.state.population().has_job(*ix) {
            let id = known.state.population().job_id(*ix);
            let job = known.state.job(*ix);
            // A job whose PodGroup is not there yet is none yet; one whose PodGroup has gone goes on.
            let uid = match job.origin.lacks_group() {
                true => "",
                false => &*job.uid,
            };
            let is_new = !history.book.knows(id, uid);
            if is_new && uid.is_empty() {
                continue;
            }
            let mut look = JobSight {
                uid,
                ..known.look(*ix, is_new, now_s)
            };
            if !decides && matches!(look.doing, JobDoing::Waits { .. } | JobDoing::AsBefore) {
                look.doing = JobDoing::Unseen;
            }
            history.book.look(id, &look, now_s);
        }
    }
    history.book.end_pass(now_s);
    engine.history = Some(history);
}

/// Looks at jobs.
#[derive(Clone, Copy)]
struct JobWitness<'a>(Knowledge<'a>);

impl<'a> Deref for JobWitness<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> JobWitness<'a> {
    fn look(&self, ix: JobIx, is_new: bool, now_s: i64) -> JobSight<'a> {
        let state = self.state;
        let job = state.job(ix);
        let names = state.population().names();
        let pods: Vec<TaskIx> = self.pods_on_nodes(job).collect();
        let node = |task: &TaskIx| state.task(*task).node;
        let nodes: BTreeSet<_> = pods.iter().filter_map(node).collect();
        let held_by_pods = state.charges().counted_once(pods.iter().copied());
        let mut held = ResVec::default();
        held_by_pods.iter().for_each(|one| held.add_saturating(one));
        let arrivals = pods.iter().zip(&held_by_pods).filter(|_| is_new);
        let arrivals = arrivals.map(|(task, held)| PodArrival {
            since_s: state.task(*task).scheduled_s.unwrap_or(now_s),
            held: self.amounts(held),
        });
        JobSight {
            uid: &job.uid,
            namespace: names.text(job.namespace),
            name: &job.name,
            queue: names.text(job.queue_name),
            user: job.group().map_or("", |group| &group.user),
            created_s: job.created_s,
            doing: self.doing(ix, pods.len()),
            needs: usize::try_from(job.min_available.max(1)).unwrap_or(1),
            pods: pods.len(),
            nodes: nodes
                .into_iter()
                .map(|node| &*state.nodes().object(node).name)
                .collect(),
            held: self.amounts(&held),
            arrivals: arrivals.collect(),
        }
    }

    /// Pods on nodes, on their way out or not.
    fn pods_on_nodes(&self, job: &'a Job) -> impl Iterator<Item = TaskIx> {
        let is_on_node = |ix: &TaskIx| {
            let task = self.state.task(*ix);
            let holds = task.status.is_allocated() && task.status != TaskStatus::Allocated;
            task.node.is_some() && (holds || task.status == TaskStatus::Releasing)
        };
        job.tasks.iter().copied().filter(is_on_node)
    }

    fn amounts(&self, held: &ResVec) -> Vec<(&'a str, u64)> {
        let names = self.state.resources();
        let some = held.iter().filter(|(_, amount)| *amount > 0);
        some.map(|(resource, amount)| (names.name(resource), amount.unsigned_abs()))
            .collect()
    }

    fn doing(&self, ix: JobIx, on_nodes: usize) -> JobDoing<'a> {
        let job = self.state.job(ix);
        let there = [
            TaskStatus::Binding,
            TaskStatus::Bound,
            TaskStatus::Running,
            TaskStatus::Succeeded,
        ];
        let there: i32 = there.into_iter().map(|status| job.count(status)).sum();
        if on_nodes > 0 && there >= job.min_available {
            return JobDoing::Runs;
        }
        match self.pages().kind_of_stretch(ix) {
            StretchKind::Waits(WaitKind::Postponed) => JobDoing::AsBefore,
            StretchKind::Waits(kind) => JobDoing::Waits {
                reason: kind.name(),
                text: told_of_waiting(job),
            },
            StretchKind::Runs => JobDoing::Runs,
            StretchKind::Ended => JobDoing::Ended {
                badly: job.count(TaskStatus::Failed) > 0,
            },
            StretchKind::NoPods | StretchKind::Other => JobDoing::NoPods,
        }
    }
}
