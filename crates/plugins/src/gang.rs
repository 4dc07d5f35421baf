//! Plugin `gang`: a job starts with all the tasks it needs or not at all (spec/02 §2).
//!
//! Everything is counted over the job's tasks by status. Unlike Volcano, pods without a request
//! count once they are placed, not before: a gang is bound with at least `minMember` placed pods.
//! Only pods beyond the `minMember` of their jobs are victims, and beyond the minimum of their role and
//! sub-job (spec/07 §3).

mod newcomers;
mod sub_groups;
mod trees;

use std::cmp::Ordering;

use pumice_conf::{Arg, Arguments, PluginMissed, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::victims::Purpose;
use pumice_framework::points::{
    Allocatable, Invalid, JobOrder, JobPipelined, JobReady, JobStarving, JobValid, SubJobOrder,
    Victims, WhyKept,
};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{CycleInfo, Plugin, PluginMemory, Refusal, Step, Vote};
use pumice_model::job::RoleCount;
use pumice_model::{Job, JobIx, QueueIx, SparePods, State, TaskIx, spare};
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;
use newcomers::Newcomers;
use sub_groups::{is_pipelined, is_ready, lacks_placed, sub_jobs_hold};

const HOLD_MINIMUM_S: Arg<i64> = Arg::int(
    "gang.hold-minimum-seconds",
    5,
    "Seconds after its admission for which pods beyond the minMember of other PodGroups leave a PodGroup \
     its minResources while its pods are still being made; 0: not at all.",
)
.min(0);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "gang",
    summary: "Starts a job with minMember pods or not at all.",
    args: &[HOLD_MINIMUM_S.spec()],
    missed: Some(PluginMissed {
        beside: "predicates",
        code: "W0111-no-gang",
        message: "without plugin `gang`, `minMember` and `minAvailable` mean nothing: pods of a group are \
                  placed one by one",
        help: "add `- name: gang` to the first tier, unless no workload needs several pods at once",
    }),
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(Gang::new(&conf.arguments)));

/// The plugin.
#[derive(Clone)]
pub struct Gang {
    newcomers: Newcomers,
}

impl Gang {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            newcomers: Newcomers::new(HOLD_MINIMUM_S.read(arguments)),
        }
    }
}

impl Plugin for Gang {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_job_order: JobOrder,
        as_sub_job_order: SubJobOrder,
        as_job_ready: JobReady,
        as_job_pipelined: JobPipelined,
        as_job_valid: JobValid,
        as_job_starving: JobStarving,
        as_allocatable: Allocatable,
        as_victims: Victims,
    );

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.newcomers.open(state, cycle.now_s);
    }

    fn observe(&mut self, state: &State, step: Step) {
        match step {
            Step::Placed(task) => self.newcomers.moved(state, task, -1),
            Step::Leaving(task) => self.newcomers.moved(state, task, 1),
            Step::Admitted(job) => self.newcomers.admitted(state, job),
            Step::Evicting(_) | Step::Restored(_) => {}
        }
    }

    fn keep(&self, state: &State) -> Option<PluginMemory> {
        Some(self.newcomers.keep(state))
    }

    fn restore(&mut self, told: &PluginMemory, state: &State) {
        self.newcomers.restore(told, state);
    }

    fn wake_at_s(&self) -> Option<i64> {
        self.newcomers.wake_at_s()
    }
}

/// Those that their jobs can spare, in the order given.
fn spared(
    state: &State,
    candidates: &[TaskIx],
    of_job: impl Fn(JobIx) -> SparePods,
) -> Vec<TaskIx> {
    let mut known: FxHashMap<JobIx, SparePods> = FxHashMap::default();
    let mut is_spare = |victim: &TaskIx| {
        let task = state.task(*victim);
        let Some(job) = task.job else { return false };
        let spare = known.entry(job).or_insert_with(|| of_job(job));
        spare.take(task)
    };
    let candidates = candidates.iter().copied();
    candidates.filter(|victim| is_spare(victim)).collect()
}

impl Victims for Gang {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(WhyKept::ByGang(Some(SPEC.name)))
    }

    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        let allowed = match purpose {
            // One pod of the job comes for those that go.
            Purpose::WithinJob => spared(state, candidates, |job| {
                SparePods::for_own(state, job, preemptor)
            }),
            Purpose::Preempt | Purpose::Reclaim => {
                spared(state, candidates, |job| SparePods::of(state, job))
            }
        };
        VictimAnswer::new(Weight::Protection, allowed)
    }

    fn unprotected(&self, state: &State, candidates: &[TaskIx]) -> Option<Vec<TaskIx>> {
        Some(spared(state, candidates, |job| SparePods::of(state, job)))
    }

    fn keeps_minimum(&self) -> bool {
        true
    }

    fn never(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidate: TaskIx,
    ) -> Option<Weight> {
        let task = state.task(candidate);
        let job = task.job?;
        let is_spare = match purpose {
            Purpose::WithinJob => SparePods::for_own(state, job, preemptor).has(task),
            Purpose::Preempt | Purpose::Reclaim => spare::is_spare(state, job, task),
        };
        (!is_spare).then_some(Weight::Protection)
    }
}

impl Allocatable for Gang {
    fn allocatable(&self, state: &State, _: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        let is_extra = |job| self.job_ready(state, job);
        match state.task(task).job {
            Some(job) if !self.newcomers.is_empty() && is_extra(job) => {
                self.newcomers.leave_room_for(state, task)
            }
            _ => Ok(()),
        }
    }

    fn is_lasting(&self) -> bool {
        // Newcomers become more and what is idle less while a cycle lasts.
        true
    }
}

impl JobOrder for Gang {
    fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        state.job(left).is_ready().cmp(&state.job(right).is_ready())
    }

    fn is_steady(&self) -> bool {
        true
    }
}

impl SubJobOrder for Gang {
    fn sub_job_order(&self, state: &State, job: JobIx, left: u16, right: u16) -> Ordering {
        self.sub_job_ready(state, job, left)
            .cmp(&self.sub_job_ready(state, job, right))
    }
}

impl JobReady for Gang {
    fn job_ready(&self, state: &State, job: JobIx) -> bool {
        let job = state.job(job);
        job.is_ready()
            && job.roles_hold(RoleCount::ready)
            && sub_jobs_hold(state, job, is_ready)
            && trees::is_ready(state, job)
    }

    fn lacks(&self, state: &State, job: JobIx) -> u32 {
        let job = state.job(job);
        let missing = job.min_available.saturating_sub(job.ready());
        u32::try_from(missing).unwrap_or(0)
    }

    fn sub_job_ready(&self, state: &State, job: JobIx, sub_job: u16) -> bool {
        is_ready(state, &state.job(job).sub_jobs[sub_job as usize])
    }

    fn sub_job_lacks(&self, state: &State, job: JobIx, sub_job: u16) -> u32 {
        lacks_placed(state, &state.job(job).sub_jobs[sub_job as usize])
    }
}

impl JobPipelined for Gang {
    fn job_pipelined(&self, state: &State, job: JobIx) -> Vote {
        let job = state.job(job);
        permit_if(
            job.is_pipelined()
                && job.roles_hold(RoleCount::pipelined)
                && sub_jobs_hold(state, job, is_pipelined)
                && trees::is_pipelined(state, job),
        )
    }

    fn lacks(&self, state: &State, job: JobIx) -> u32 {
        state.job(job).lacks_placed()
    }

    fn sub_job_pipelined(&self, state: &State, job: JobIx, sub_job: u16) -> Vote {
        permit_if(is_pipelined(
            state,
            &state.job(job).sub_jobs[sub_job as usize],
        ))
    }

    fn sub_job_lacks(&self, state: &State, job: JobIx, sub_job: u16) -> u32 {
        lacks_placed(state, &state.job(job).sub_jobs[sub_job as usize])
    }
}

impl JobValid for Gang {
    fn job_valid(&self, state: &State, job: JobIx) -> Result<(), Invalid> {
        let job = state.job(job);
        if !job.roles_hold(RoleCount::valid) {
            let text = "Not enough valid pods of each task for gang-scheduling";
            // Roles stand in the order in which their pods came, which is not to be told.
            let short = job.roles.iter().filter(|role| role.valid() < role.min);
            let short = short.min_by_key(|role| state.names().text(role.role));
            let which = short.map_or(String::new(), |role| {
                let name = state.names().text(role.role);
                let (valid, min) = (role.valid(), role.min);
                format!(
                    ", task {name} valid: {valid}, min: {min}: {}",
                    remedy(job, min - valid)
                )
            });
            return Err(Invalid {
                reason: "NotEnoughPodsOfTask",
                message: format!("{text}{which}"),
            });
        }
        sub_groups::valid(state, job)?;
        trees::valid(state, job)?;
        let (valid, min) = (job.valid(), job.min_available);
        if valid < min {
            let message = format!(
                "Not enough valid tasks for gang-scheduling, valid: {valid}, min: {min}: {}{}",
                remedy(job, min - valid),
                strangers(state, job)
            );
            return Err(Invalid {
                reason: "NotEnoughTasks",
                message,
            });
        }
        Ok(())
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl JobStarving for Gang {
    fn job_starving(&self, state: &State, job: JobIx) -> bool {
        !state.job(job).is_pipelined()
    }
}

/// What to do about missing pods.
fn remedy(job: &Job, missing: i32) -> String {
    // The same words for any number: what differs in numbers only is not told at once.
    let minimum = job.minimum_field();
    format!("make {missing} more of its pods, or lower {minimum}")
}

/// A hint at members on nodes that another scheduler placed: it may have more that wait there.
fn strangers(state: &State, job: &Job) -> String {
    let tasks = job.tasks.iter().map(|ix| state.task(*ix));
    match tasks.filter(|task| !task.ours).count() {
        0 => String::new(),
        1 => "; 1 of its pods has another schedulerName".to_owned(),
        count => format!("; {count} of its pods have another schedulerName"),
    }
}

fn permit_if(holds: bool) -> Vote {
    if holds { Vote::Permit } else { Vote::Reject }
}

#[cfg(test)]
mod tests;
