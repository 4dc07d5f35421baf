//! When the pods of jobs end, and how long those ran of which all have ended.

use std::sync::Arc;

use pumice_model::{JobId, JobIx, State, Task, TaskId, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

use super::likeness::JobKind;

/// Where no kubelet says when a pod ended, no more seconds may go by between two looks at jobs than this, or the twentieth
/// part of a run time, for that to count.
const EXACT_S: i64 = 60;

/// A job that is there.
#[derive(Clone, Debug)]
pub(super) struct WatchedJob {
    id: JobId,
    kind: Arc<JobKind>,
    /// Pods that have ended well.
    pub ended: FxHashSet<TaskId>,
    /// Seconds that the longest of them ran.
    pub longest_s: i64,
    /// How long it ran cannot be told, or was told.
    pub is_over: bool,
}

/// All jobs that are there.
#[derive(Clone, Debug, Default)]
pub(super) struct JobWatch {
    pub jobs: FxHashMap<JobIx, WatchedJob>,
    /// When they were looked at last.
    pub looked_s: Option<i64>,
}

impl JobWatch {
    /// The kind of a job.
    pub fn kind_of(&self, job: JobIx) -> Option<&JobKind> {
        self.jobs.get(&job).map(|known| &*known.kind)
    }

    /// Looks at jobs that have changed, or at all. Those that have ended well since, with how long they ran.
    pub fn follow(
        &mut self,
        state: &State,
        jobs: Option<&[JobIx]>,
        now_s: i64,
    ) -> Vec<(Arc<JobKind>, i64)> {
        let looked_s = self.looked_s.replace(now_s);
        let unseen_s = looked_s.map(|looked_s| now_s.saturating_sub(looked_s));
        let population = state.population();
        let all = || {
            self.jobs.retain(|ix, _| population.has_job(*ix));
            population.jobs().map(|(ix, _)| ix).collect()
        };
        let jobs = jobs.map_or_else(all, <[JobIx]>::to_vec);
        let mut ended: Vec<_> = jobs
            .iter()
            .filter_map(|ix| self.look_at(state, *ix, unseen_s, now_s))
            .collect();
        ended.sort_unstable();
        ended
    }

    fn look_at(
        &mut self,
        state: &State,
        ix: JobIx,
        unseen_s: Option<i64>,
        now_s: i64,
    ) -> Option<(Arc<JobKind>, i64)> {
        let population = state.population();
        if !population.has_job(ix) {
            self.jobs.remove(&ix);
            return None;
        }
        let job = state.job(ix);
        let known = self.jobs.remove(&ix);
        let known = known.filter(|known| known.id == population.job_id(ix));
        let is_known = known.is_some();
        let is_over = known.as_ref().is_some_and(|known| known.is_over);
        // Before a pod has ended its kind may change: its PodGroup may come later, and somebody may write who its user is.
        let known = known.filter(|known| !known.ended.is_empty());
        let mut watched = known.unwrap_or_else(|| WatchedJob {
            is_over,
            ..WatchedJob::of(state, ix)
        });
        for task in &job.tasks {
            let id = population.task_id(*task);
            watched.note(id, state.task(*task), (unseen_s, is_known), now_s);
        }
        let is_told = watched.is_over || job.tasks.is_empty();
        let has_ended = |task| state.task(task).status == TaskStatus::Succeeded;
        let ends = !is_told && job.tasks.iter().copied().all(has_ended);
        watched.is_over |= ends;
        let ended = ends.then(|| (Arc::clone(&watched.kind), watched.longest_s));
        self.jobs.insert(ix, watched);
        ended
    }
}

impl WatchedJob {
    /// A job of which no pod has ended.
    pub fn of(state: &State, ix: JobIx) -> Self {
        Self {
            id: state.population().job_id(ix),
            kind: Arc::new(JobKind::of(state, state.job(ix))),
            ended: FxHashSet::default(),
            longest_s: 0,
            is_over: false,
        }
    }

    /// How a pod of it is, where so many seconds have passed since all jobs were looked at. What had ended before the first
    /// look was learned by somebody else, or by nobody.
    fn note(
        &mut self,
        id: TaskId,
        task: &Task,
        (unseen_s, is_known): (Option<i64>, bool),
        now_s: i64,
    ) {
        match task.status {
            TaskStatus::Succeeded if self.ended.insert(id) => {
                let ended_s = task.ends_by_s.unwrap_or(now_s);
                let run_s = task
                    .scheduled_s
                    .map(|since_s| ended_s.saturating_sub(since_s));
                let exact = run_s.zip(unseen_s).filter(|(run_s, unseen_s)| {
                    let is_seen = is_known || run_s <= unseen_s;
                    let most_s = EXACT_S.max(run_s / 20);
                    let is_near = is_seen && (0..=most_s).contains(unseen_s);
                    *run_s > 0 && (task.ends_by_s.is_some() || is_near)
                });
                match exact {
                    Some((run_s, _)) => self.longest_s = self.longest_s.max(run_s),
                    None => self.is_over = true,
                }
            }
            // How long it would have run nobody knows.
            TaskStatus::Failed => self.is_over = true,
            _ => {}
        }
    }
}
