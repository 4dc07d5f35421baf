//! Who of a job goes first (spec/07 §2.4): its pods go in the reverse of the order in which they are placed,
//! so that its leaders stay longest.

use pumice_framework::sort_by_number_and_age;
use pumice_model::{JobIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashSet;

/// How long a pod has been there as far as victims are concerned, and how many of its job stay longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Seconds since the epoch: its creation, but no later than that of the pods of its job and priority
    /// that go before it, so that a worker that was made anew does not count as younger than they.
    pub since_s: i64,
    /// So many pods of its job and priority would be placed before it.
    pub place: u32,
}

/// Standings of pods, looked up job by job. It holds for one run of an action: which pods a job has does
/// not change meanwhile, and evicted ones count until they are gone.
#[derive(Default)]
pub struct Seniority {
    /// By task index; what was not looked at is empty.
    known: Vec<Option<Standing>>,
    jobs: FxHashSet<JobIx>,
}

impl Seniority {
    /// Where a pod stands in its job.
    pub fn of(&mut self, state: &State, task: TaskIx) -> Standing {
        if let Some(known) = self.known(task) {
            return known;
        }
        let record = state.task(task);
        if let Some(job) = record.job
            && state.job(job).tasks.len() > 1
            && self.jobs.insert(job)
        {
            self.look_at(state, job);
        }
        self.known(task).unwrap_or(Standing {
            since_s: record.created_s,
            place: 0,
        })
    }

    fn known(&self, task: TaskIx) -> Option<Standing> {
        self.known.get(task.at()).copied().flatten()
    }

    fn look_at(&mut self, state: &State, job: JobIx) {
        let tasks = state.job(job).tasks.iter().copied();
        let mut tasks: Vec<TaskIx> = tasks.filter(|task| is_there(state, *task)).collect();
        if let Some(last) = tasks.iter().max()
            && self.known.len() <= last.at()
        {
            self.known.resize(last.at() + 1, None);
        }
        let same = |l: &TaskIx, r: &TaskIx| state.task(*l).priority == state.task(*r).priority;
        if !tasks.is_sorted_by_key(|task| state.task(*task).priority) {
            tasks.sort_unstable_by_key(|task| state.task(*task).priority);
        }
        for alike in tasks.chunk_by_mut(same) {
            sort_by_number_and_age(state, alike);
            let mut since_s = i64::MAX;
            for (place, task) in alike.iter().enumerate().rev() {
                since_s = since_s.min(state.task(*task).created_s);
                let place = u32::try_from(place).unwrap_or(u32::MAX);
                self.known[task.at()] = Some(Standing { since_s, place });
            }
        }
    }
}

/// Whether a pod is on a node as somebody who may go, or is going.
fn is_there(state: &State, task: TaskIx) -> bool {
    use TaskStatus::{Bound, Releasing, Running};
    let task = state.task(task);
    task.node.is_some() && matches!(task.status, Bound | Running | Releasing)
}
