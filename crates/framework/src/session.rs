//! One cycle: the state, the plugins, what was decided, and a note on every job.
//!
//! Every tentative step goes through the transaction ([`crate::transaction`]).

use pumice_model::{JobIx, ResVec, State, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::eviction_tally::EvictionTally;
use crate::hindrances::Hindrances;
use crate::line::WaitingLine;
use crate::observer::Observer;
use crate::outcome::{JobNote, Skip};
use crate::plan::{Op, Plan};
use crate::plugins::{Lasting, Plugins, job_room, regained_room};
use crate::reserved::Reservations;
use crate::sleep::Sleepers;
use crate::work_limit::Work;

/// Which actions of a cycle evict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicts {
    /// One that evicts within a queue.
    pub preempt: bool,
    /// One that evicts across queues.
    pub reclaim: bool,
    /// One that evicts across queues passes over what pods and PodGroups say of their eviction.
    pub reclaim_passes_marks: bool,
}

/// One cycle.
pub struct Session<'a> {
    /// The cluster.
    pub state: &'a mut State,
    /// Plugins of the configuration, which are told every step.
    pub plugins: &'a mut Plugins,
    /// Now, seconds since the epoch.
    pub now_s: i64,
    /// Whether `enqueue` is among the actions; otherwise nobody else admits jobs.
    pub has_enqueue: bool,
    /// Which of the actions evict.
    pub evicts: Evicts,
    /// Decisions so far.
    pub plan: Plan,
    /// Jobs that were admitted, in that order.
    pub admitted: Vec<JobIx>,
    /// Placements that stand until the cycle ends, without a decision.
    pub kept: Vec<TaskIx>,
    /// Notes by job.
    pub notes: FxHashMap<JobIx, JobNote>,
    /// How much jobs have taken of the cycle.
    pub work: Work,
    /// Queues in which nobody passes the first job that waits.
    pub line: WaitingLine,
    /// Places that are kept for jobs that wait.
    pub reserved: Reservations,
    /// The jobs that sleep.
    pub sleepers: Sleepers,
    /// What of the plugins' refusals lasts.
    pub lasting: Lasting,
    /// What was evicted, in numbers.
    pub tally: EvictionTally,
    /// What the actions that evict found out so far.
    pub hindrances: Hindrances,
    /// What pods beyond the minimum of their jobs hold together, summed up when it is first asked for.
    pub(crate) extras: Option<ResVec>,
    /// Jobs that have turns, besides those that are woken.
    awake: Vec<JobIx>,
    pub(crate) steps: Vec<Op>,
    /// Jobs whose pods gained a place, or got one back, in that order.
    pub(crate) gains: Vec<JobIx>,
    /// Jobs for which others go, in the order of their plans.
    pub(crate) served: Vec<JobIx>,
    pub(crate) is_served: FxHashSet<JobIx>,
}

impl<'a> Session<'a> {
    /// Opens a cycle.
    pub fn open(
        state: &'a mut State,
        plugins: &'a mut Plugins,
        has_enqueue: bool,
        now_s: i64,
        observer: &mut dyn Observer,
    ) -> Self {
        state.changes().settle_books();
        plugins.open(state, now_s, observer);
        let lasting = plugins.lasting();
        Self {
            state,
            plugins,
            now_s,
            has_enqueue,
            evicts: Evicts::default(),
            plan: Plan::default(),
            admitted: Vec::new(),
            kept: Vec::new(),
            notes: FxHashMap::default(),
            work: Work::default(),
            line: WaitingLine::default(),
            reserved: Reservations::default(),
            sleepers: Sleepers::default(),
            lasting,
            tally: EvictionTally::default(),
            hindrances: Hindrances::default(),
            extras: None,
            awake: Vec::new(),
            steps: Vec::new(),
            gains: Vec::new(),
            served: Vec::new(),
            is_served: FxHashSet::default(),
        }
    }

    /// What was kept for jobs before is theirs in this cycle, as the configuration says.
    pub fn open_reservations(&mut self, reserved: Reservations) {
        self.reserved = reserved;
        let settings = self.plugins.reserving().settings();
        let nodes_epoch = self.state.nodes().static_epoch();
        self.reserved.open(settings, nodes_epoch, self.now_s);
    }

    /// Jobs for which others go by plans of this cycle, in that order: none of their pods goes for others
    /// (spec/07 §2.3).
    pub fn served(&self) -> &[JobIx] {
        &self.served
    }

    /// Whether others go for a job by a plan of this cycle.
    pub fn is_served(&self, job: JobIx) -> bool {
        self.is_served.contains(&job)
    }

    /// Wakes those that may get something, or everybody.
    pub fn wake(&mut self, mut sleepers: Sleepers, everybody: bool) {
        let everybody = everybody || self.work.is_behind();
        let regained = regained_room(self.plugins, self.state);
        self.awake = sleepers.wake(self.state, self.now_s, everybody, regained);
        self.sleepers = sleepers;
    }

    /// Room was made within the cycle: actions that come later try everybody.
    pub(crate) fn wake_all(&mut self) {
        if self.sleepers.upset() {
            self.awake = self.state.journal().waiting_jobs();
        }
    }

    /// Jobs that have turns and wait, those included that were woken and got something, by index.
    pub fn awake_jobs(&self) -> Vec<JobIx> {
        let stirred = self.sleepers.stirred();
        let all = self.awake.iter().chain(stirred).copied();
        let mut jobs: Vec<JobIx> = all
            .filter(|job| self.state.population().is_waiting(*job))
            .collect();
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// A job leaves phase Pending.
    pub fn admit(&mut self, job: JobIx) {
        self.state.admissions().admit(job);
        self.admitted.push(job);
        self.sleepers.stir(job);
    }

    /// Whether what an action that evicts finds out about a task of a job may be told: something else is
    /// told of the job, or may yet be. Of a job that sleeps the last word stands.
    pub fn may_be_told(&self, job: JobIx, task: TaskIx) -> bool {
        let best_effort = self.state.task(task).best_effort;
        !self.hindrances.were_tried(best_effort) || self.notes.contains_key(&job)
    }

    /// The note on a job.
    pub fn note(&mut self, job: JobIx) -> &mut JobNote {
        self.notes.entry(job).or_default()
    }

    /// Notes why a job was skipped, unless something is noted already.
    pub fn skip(&mut self, job: JobIx, why: Skip) {
        self.note(job).skip.get_or_insert(why);
    }

    /// A job comes again in the next cycle, for want of work it may take in this one.
    pub fn postpone(&mut self, job: JobIx) {
        self.work.postpone(job);
        self.sleepers.stir(job);
        self.skip(job, Skip::Postponed);
    }

    /// The jobs actions other than enqueue look at: group and queue exist, admitted, valid, and nobody outside
    /// keeps them from having turns. Without
    /// `enqueue` waiting jobs are admitted here. Others are noted with the reason.
    pub fn active_jobs(&mut self, wanted: impl Fn(&State, JobIx) -> bool) -> Vec<JobIx> {
        self.awake_jobs()
            .into_iter()
            .filter(|ix| self.may_have_turns(*ix) && wanted(self.state, *ix))
            .collect()
    }

    /// Whether a job is one that has turns, as [`Session::active_jobs`] says.
    pub fn may_have_turns(&mut self, ix: JobIx) -> bool {
        let job = self.state.job(ix);
        if let Some(why) = Skip::without_group(job) {
            self.skip(ix, why);
            return false;
        }
        if job.queue.is_none() {
            self.skip(ix, Skip::NoQueue);
            return false;
        }
        let (waits, no_tier) = (job.is_pending(), Skip::without_tier(self.state, job));
        if waits && self.has_enqueue {
            return false;
        }
        if waits {
            self.admit(ix);
        }
        if let Some(why) = no_tier {
            self.skip(ix, why);
            return false;
        }
        if let Err(invalid) = self.plugins.job_valid(self.state, ix) {
            self.skip(ix, Skip::Invalid(invalid));
            return false;
        }
        if let Err(refusal) = job_room(self.plugins, self.state, ix) {
            self.skip(ix, Skip::NoRoomOfUser(refusal));
            return false;
        }
        match self.plugins.job_consent(self.state, ix) {
            Ok(()) => true,
            Err(refusal) => {
                self.skip(ix, Skip::NoConsent(refusal));
                false
            }
        }
    }
}
