//! What a gang can spare: pods beyond its minimum, that of their role and that of their sub-job
//! (spec/07 §3).

use rustc_hash::FxHashMap;

use crate::intern::Sym;
use crate::ix::{JobIx, TaskIx};
use crate::job::{Job, RoleCount, SubJob};
use crate::state::State;
use crate::task::Task;

/// How many more of its pods a job can spare, counted down pod by pod.
#[derive(Clone, Debug, Default)]
pub struct SparePods {
    all: i32,
    /// How many pods can be spared of each role with a minimum.
    roles: FxHashMap<Sym, i32>,
    /// By sub-job; empty where there are none.
    sub_jobs: Vec<i32>,
}

impl SparePods {
    /// What a job can spare for others.
    pub fn of(state: &State, job: JobIx) -> Self {
        let job = state.job(job);
        let minima = job.roles.iter().filter(|_| job.roles_apply());
        let minima = minima.filter(|role| role.min > 0);
        let sub_jobs = job.sub_jobs.iter();
        Self {
            all: beyond_minimum(job),
            roles: minima.map(|role| (role.role, role.spare())).collect(),
            sub_jobs: sub_jobs.map(|sub| sub.spare(state)).collect(),
        }
    }

    /// What it can spare for one of its own pods, which comes in the place of those that go: one more of
    /// the role and sub-job of that pod, and of all together any number. A gang that has not the pods it
    /// needs does not run: it may give whatever it has for one that it lacks.
    pub fn for_own(state: &State, job: JobIx, comes: TaskIx) -> Self {
        let record = state.job(job);
        let mut spare = match record.is_pipelined() && record.roles_hold(RoleCount::pipelined) {
            true => Self::of(state, job),
            false => Self::default(),
        };
        spare.all = i32::MAX;
        let comes = state.task(comes);
        let of_role = spare.roles.get_mut(&comes.role);
        let of_sub_job = spare.sub_jobs.get_mut(comes.sub_job as usize);
        for left in of_role.into_iter().chain(of_sub_job) {
            *left = (*left).max(0).saturating_add(1);
        }
        spare
    }

    /// Whether it can spare a pod.
    pub fn has(&self, task: &Task) -> bool {
        let of_role = self.roles.get(&task.role);
        let of_sub_job = self.sub_jobs.get(task.sub_job as usize);
        let mut limits = of_role.into_iter().chain(of_sub_job);
        self.all > 0 && limits.all(|left| *left > 0)
    }

    /// Takes a pod, if it can be spared.
    pub fn take(&mut self, task: &Task) -> bool {
        let has = self.has(task);
        if has {
            self.all -= 1;
            let of_role = self.roles.get_mut(&task.role);
            let of_sub_job = self.sub_jobs.get_mut(task.sub_job as usize);
            for left in of_role.into_iter().chain(of_sub_job) {
                *left -= 1;
            }
        }
        has
    }
}

/// Whether a pod is one of those that its job can spare while all others stay.
pub fn is_spare(state: &State, job: JobIx, task: &Task) -> bool {
    let job = state.job(job);
    let mut roles = job.roles.iter().filter(|_| job.roles_apply());
    let role = roles.find(|role| role.role == task.role && role.min > 0);
    let sub_job = job.sub_jobs.get(task.sub_job as usize);
    beyond_minimum(job) > 0
        && role.is_none_or(|role| role.spare() > 0)
        && sub_job.is_none_or(|sub| sub.spare(state) > 0)
}

fn beyond_minimum(job: &Job) -> i32 {
    job.allocated_count().saturating_sub(job.min_available)
}

impl SubJob {
    /// How many pods it has beyond its minimum. One below it does not run as a gang any more, and one of no
    /// policy never did: whatever they have is theirs to give.
    fn spare(&self, state: &State) -> i32 {
        if self.policy.is_none() {
            return i32::MAX;
        }
        let holds = |task: &&TaskIx| state.task(**task).status.is_allocated();
        let there = self.tasks.iter().filter(holds).count();
        let beyond = i32::try_from(there).unwrap_or(i32::MAX) - self.min_available;
        if beyond >= 0 { beyond } else { i32::MAX }
    }
}
