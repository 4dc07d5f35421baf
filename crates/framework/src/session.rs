//! One cycle's transaction over the state, and its notes on every job.
//!
//! Every tentative placement goes through [`Session`]: the step is applied to the state at once and
//! all plugins are told. [`Session::undo_to`] takes steps back, newest first, by the exact inverse;
//! [`Session::commit_from`] turns placements into decisions; [`Session::keep_from`] leaves them
//! standing for the rest of the cycle without deciding anything (a pipelined gang).

use std::rc::Rc;

use pumice_devices::Marks;
use pumice_model::object::GroupPhase;
use pumice_model::{Job, JobIx, NodeIx, Origin, State, Sym, TaskIx, TaskStatus, VolumeStep};
use rustc_hash::FxHashMap;

use crate::chain::PluginChain;
use crate::observer::Observer;
use crate::plugin::Step;
use crate::points::Invalid;
use crate::reason::FitError;
use crate::refusal::{Overrun, Overruns, Refusal};
use crate::work::Work;

/// A position in the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(usize);

/// A decision: this pod goes to this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Task.
    pub task: TaskIx,
    /// Node.
    pub node: NodeIx,
    /// What to write first, so that its claims become bound; then they have to be waited for.
    pub volumes: Vec<VolumeStep>,
    /// What it writes for its devices, if it has some.
    pub devices: Option<Box<Marks>>,
}

/// Why a job was not looked at, or not to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Its PodGroup does not exist.
    NoGroup,
    /// Its PodGroup is about to be made.
    AwaitsGroup,
    /// Its queue does not exist.
    NoQueue,
    /// It asks for a network topology, which this version does not place.
    Topology,
    /// What its waiting pods ask of devices can be served nowhere: a pod, and why.
    Unserved(String),
    /// Not admitted by `enqueue`.
    NotEnqueued(Refusal),
    /// It can never be ready as it is.
    Invalid(Invalid),
    /// Its queue has all it deserves: of each resource its waiting pods ask, how much.
    Overused(Overruns),
    /// The cycle ended before its turn, or its turn before it was placed: more than the limit of
    /// work was needed. It goes on in the next cycle.
    Postponed,
}

impl Skip {
    /// What it says besides amounts.
    fn says_the_same(&self, other: &Self) -> bool {
        let resources = |all: &Overruns| -> Overruns {
            let nothing = |overrun: &Overrun| Overrun {
                limit: 0,
                total: 0,
                used: 0,
                reserved: 0,
                asked: 0,
                ..*overrun
            };
            all.iter().map(nothing).collect()
        };
        match (self, other) {
            (Self::NotEnqueued(one), Self::NotEnqueued(other)) => one.gist() == other.gist(),
            (Self::Overused(one), Self::Overused(other)) => resources(one) == resources(other),
            _ => self == other,
        }
    }

    /// The queue, or the size of the cluster, is all that keeps the job from being tried.
    pub fn is_of_queue(&self) -> bool {
        matches!(self, Self::NotEnqueued(_) | Self::Overused(_))
    }

    /// Why a job is skipped that has no PodGroup where there has to be one.
    pub fn without_group(job: &Job) -> Option<Self> {
        match job.origin {
            Origin::Missing => Some(Self::NoGroup),
            Origin::Awaited => Some(Self::AwaitsGroup),
            Origin::Group(_) | Origin::BarePod => None,
        }
    }
}

/// Why one task found no place.
#[derive(Clone, Debug, PartialEq)]
pub enum Unplaced {
    /// No node fits.
    NoNode(Rc<FitError>),
    /// A task of the same role found no node before.
    RoleFailed,
}

/// What a cycle notes about a job, for conditions and explanations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobNote {
    /// Why it was skipped.
    pub skip: Option<Skip>,
    /// Why its queue refused tasks (the first refusal).
    pub refusal: Option<Refusal>,
    /// Tasks that found no place, in the order they were tried.
    pub unplaced: Vec<(TaskIx, Unplaced)>,
    /// Roles and sub-jobs of those that found no node, each once.
    pub failed_roles: Vec<(Sym, u16)>,
    /// Placements of transactions that were taken back: status and node they had.
    pub discarded: FxHashMap<TaskIx, (TaskStatus, NodeIx)>,
}

impl JobNote {
    /// Why the job was not admitted, if that is why it was skipped.
    pub fn enqueue_refusal(&self) -> Option<&Refusal> {
        match &self.skip {
            Some(Skip::NotEnqueued(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Whether two notes differ in nothing but amounts of refusals, which move with every pod that
    /// is placed in the queue.
    pub fn differs_in_amounts_only(&self, other: &Self) -> bool {
        let gist = |refusal: Option<&Refusal>| refusal.map(Refusal::gist);
        let skips_alike = match (&self.skip, &other.skip) {
            (Some(one), Some(other)) => one.says_the_same(other),
            (one, other) => one.is_none() == other.is_none(),
        };
        skips_alike
            && gist(self.refusal.as_ref()) == gist(other.refusal.as_ref())
            && self.unplaced == other.unplaced
            && self.failed_roles == other.failed_roles
            && self.discarded == other.discarded
    }
}

/// One cycle.
pub struct Session<'a> {
    /// The cluster.
    pub state: &'a mut State,
    /// The plugins.
    pub chain: &'a mut PluginChain,
    /// Now, seconds since the epoch.
    pub now_s: i64,
    /// Whether `enqueue` is among the actions; otherwise nobody else admits jobs.
    pub has_enqueue: bool,
    /// Decisions so far.
    pub binds: Vec<Bind>,
    /// Placements that stand until the cycle ends, without a decision.
    pub kept: Vec<TaskIx>,
    /// Notes by job.
    pub notes: FxHashMap<JobIx, JobNote>,
    /// How much jobs have taken of the cycle.
    pub work: Work,
    steps: Vec<TaskIx>,
}

impl<'a> Session<'a> {
    /// Opens a cycle.
    pub fn open(
        state: &'a mut State,
        chain: &'a mut PluginChain,
        has_enqueue: bool,
        now_s: i64,
        observer: &mut dyn Observer,
    ) -> Self {
        state.settle_books();
        chain.open(state, now_s, observer);
        Self {
            state,
            chain,
            now_s,
            has_enqueue,
            binds: Vec::new(),
            kept: Vec::new(),
            notes: FxHashMap::default(),
            work: Work::default(),
            steps: Vec::new(),
        }
    }

    /// The position to come back to.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.steps.len())
    }

    /// Number of steps since a checkpoint.
    pub fn steps_since(&self, checkpoint: Checkpoint) -> usize {
        self.steps.len() - checkpoint.0
    }

    /// Places a pending task on a node.
    pub fn allocate(&mut self, task: TaskIx, node: NodeIx) {
        self.step(task, TaskStatus::Allocated, node);
    }

    /// Lets a pending task wait on a node for resources that are being released.
    pub fn pipeline(&mut self, task: TaskIx, node: NodeIx) {
        self.step(task, TaskStatus::Pipelined, node);
    }

    fn step(&mut self, task: TaskIx, status: TaskStatus, node: NodeIx) {
        self.state.move_task(task, status, Some(node));
        self.chain.observe(self.state, Step::Placed(task));
        self.steps.push(task);
    }

    /// Takes back every step since a checkpoint, newest first.
    pub fn undo_to(&mut self, checkpoint: Checkpoint) {
        while self.steps.len() > checkpoint.0 {
            let Some(task) = self.steps.pop() else { return };
            let (status, node) = (self.state.task(task).status, self.state.task(task).node);
            self.chain.observe(self.state, Step::Leaving(task));
            self.state.move_task(task, TaskStatus::Pending, None);
            if let (Some(job), Some(node)) = (self.state.task(task).job, node) {
                self.note(job).discarded.insert(task, (status, node));
            }
        }
    }

    /// Makes every placement since a checkpoint a decision. Pipelined tasks stay pipelined.
    pub fn commit_from(&mut self, checkpoint: Checkpoint) {
        for at in checkpoint.0..self.steps.len() {
            let task = self.steps[at];
            match (self.state.task(task).status, self.state.task(task).node) {
                (TaskStatus::Allocated, Some(node)) => self.decide(task, node),
                _ => self.kept.push(task),
            }
        }
        self.steps.truncate(checkpoint.0);
    }

    /// Makes placements of a job that were left standing decisions as well: it has become ready.
    pub fn commit_kept(&mut self, job: JobIx) {
        let of_job = |task: &TaskIx| {
            let task = self.state.task(*task);
            task.job == Some(job) && task.status == TaskStatus::Allocated
        };
        let (ready, kept) = self.kept.iter().partition(|task| of_job(task));
        self.kept = kept;
        let ready: Vec<TaskIx> = ready;
        for task in ready {
            if let Some(node) = self.state.task(task).node {
                self.decide(task, node);
            }
        }
    }

    fn decide(&mut self, task: TaskIx, node: NodeIx) {
        let mut devices = None;
        if self.state.task(task).minds_devices() {
            // What fits has devices; should it ever not, nothing is bound without them.
            if self.state.lacks_devices(task) {
                self.kept.push(task);
                return;
            }
            self.state.note_device_warnings(task);
            devices = Some(Box::new(self.state.device_marks(task)));
        }
        self.state.move_task(task, TaskStatus::Binding, Some(node));
        let volumes = match self.chain.volume_timeout_s() {
            Some(_) => self.state.volumes.steps(task),
            None => Vec::new(),
        };
        self.binds.push(Bind {
            task,
            node,
            volumes,
            devices,
        });
        if let Some(job) = self.state.task(task).job
            && let Some(note) = self.notes.get_mut(&job)
        {
            note.discarded.remove(&task);
        }
    }

    /// Leaves the steps since a checkpoint standing for the rest of the cycle, undecided.
    pub fn keep_from(&mut self, checkpoint: Checkpoint) {
        self.kept.extend(self.steps.drain(checkpoint.0..));
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
        self.skip(job, Skip::Postponed);
    }

    /// The jobs actions other than enqueue look at: group and queue exist, admitted, valid. Without
    /// `enqueue` waiting jobs are admitted here. Others are noted with the reason.
    pub fn active_jobs(&mut self, wanted: impl Fn(&State, JobIx) -> bool) -> Vec<JobIx> {
        self.state
            .waiting_jobs()
            .into_iter()
            .filter(|ix| self.is_active(*ix) && wanted(self.state, *ix))
            .collect()
    }

    fn is_active(&mut self, ix: JobIx) -> bool {
        let job = self.state.job(ix);
        if let Some(why) = Skip::without_group(job) {
            self.skip(ix, why);
            return false;
        }
        if job.queue.is_none() {
            self.skip(ix, Skip::NoQueue);
            return false;
        }
        let (waits, wants_topology) = (job.is_pending(), job.wants_topology());
        if waits && self.has_enqueue {
            return false;
        }
        if waits {
            self.state.set_phase(ix, GroupPhase::Inqueue);
        }
        if wants_topology {
            self.skip(ix, Skip::Topology);
            return false;
        }
        match self.chain.job_valid(self.state, ix) {
            Ok(()) => true,
            Err(invalid) => {
                self.skip(ix, Skip::Invalid(invalid));
                false
            }
        }
    }
}
