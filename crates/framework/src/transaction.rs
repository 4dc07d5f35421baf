//! The transaction of a cycle: steps as values, each with its exact inverse.
//!
//! ```text
//!  checkpoint ─► allocate · pipeline · evict ─┬─ undo_to      the inverse of each, newest first
//!                                             ├─ commit_from, commit_evictions_from  decisions: the Plan
//!                                             └─ keep_from    stand for the rest of the cycle
//! ```
//!
//! A step is applied to the state at once and all plugins are told ([`Step`]). What a placement takes,
//! node, devices and volumes, was chosen before and is part of it ([`Choice`]).

use pumice_model::{JobIx, NodeIx, Placement, TaskIx, TaskStatus};

use crate::plan::{Bind, Eviction, Op};
use crate::plugin::Step;
use crate::session::Session;

/// A place for a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Node on which the task is placed.
    pub node: NodeIx,
    /// It has room now; otherwise once resources are released.
    pub idle: bool,
    /// What the task takes there besides room.
    pub takes: Placement,
}

/// A step of a plan that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStep {
    /// Somebody goes.
    Evict(TaskIx),
    /// Somebody is placed on a node.
    Place(TaskIx, NodeIx),
}

/// What becomes of placements when they are committed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Commit {
    /// Allocated tasks are bound.
    Binds,
    /// They are; Pipelined ones are nominated.
    BindsAndNominations,
    /// All are nominated.
    Nominations,
}

/// A position in the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(usize);

impl Session<'_> {
    /// The position to come back to.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.steps.len())
    }

    /// How much was decided in this cycle so far; nothing, while something is tried.
    pub fn decided(&self) -> Option<usize> {
        let (binds, evictions) = (self.plan.binds.len(), self.plan.evictions.len());
        let is_trying = !self.steps.is_empty();
        (!is_trying).then(|| binds + evictions + self.kept.len())
    }

    /// Number of steps since a checkpoint.
    pub fn steps_since(&self, checkpoint: Checkpoint) -> usize {
        self.steps.len() - checkpoint.0
    }

    /// Gives a pending task its place: Allocated where there is room now, in its queue too whatever becomes
    /// of evictions (spec/07 §5), otherwise Pipelined.
    pub fn place(&mut self, task: TaskIx, mut choice: Choice) {
        if choice.idle && !self.plugins.leaves_room_if_all_stay(self.state, task) {
            choice.idle = false;
            choice.takes = self.state.choose_placement(task, choice.node, true);
        }
        match choice.idle {
            true => self.allocate(task, choice),
            false => self.pipeline(task, choice),
        }
    }

    /// Places a pending task on a node.
    pub fn allocate(&mut self, task: TaskIx, choice: Choice) {
        let node = choice.node;
        self.enter(task, TaskStatus::Allocated, choice);
        self.gains.extend(self.state.task(task).job);
        self.steps.push(Op::Allocate { task, node });
    }

    /// Lets a pending task wait on a node for resources that are being released.
    pub fn pipeline(&mut self, task: TaskIx, choice: Choice) {
        let node = choice.node;
        self.enter(task, TaskStatus::Pipelined, choice);
        self.steps.push(Op::Pipeline { task, node });
    }

    fn enter(&mut self, task: TaskIx, status: TaskStatus, choice: Choice) {
        self.state.place(task, status, choice.node, choice.takes);
        self.plugins.observe(self.state, Step::Placed(task));
    }

    /// A task that waits on a node in a plan for the future is gone from it at a later moment of that plan. No step:
    /// the inverse is [`Session::put_back`], before anything that came before is undone.
    pub fn withdraw(&mut self, task: TaskIx) {
        self.plugins.observe(self.state, Step::Leaving(task));
        self.state.move_task(task, TaskStatus::Pending, None);
    }

    /// The inverse of [`Session::withdraw`], with what the task was given.
    pub fn put_back(&mut self, task: TaskIx, status: TaskStatus, choice: Choice) {
        self.enter(task, status, choice);
    }

    /// A task on a node is gone at a moment of a plan for the future, and what it has is free; where it has claims, volumes
    /// or CPUs, is being released. No step: the inverse is [`Session::come_back`] with the status it had, which is returned,
    /// before anything that came before is undone.
    pub fn leave(&mut self, task: TaskIx) -> TaskStatus {
        let known = self.state.task(task);
        let (from, is_plain) = (known.status, !known.needs_supplies());
        if from != TaskStatus::Releasing {
            self.plugins.observe(self.state, Step::Evicting(task));
        }
        match is_plain {
            true => self.state.restore(task, TaskStatus::Succeeded),
            false => self.state.evict(task),
        }
        from
    }

    /// The inverse of [`Session::leave`].
    pub fn come_back(&mut self, task: TaskIx, from: TaskStatus) {
        self.state.restore(task, from);
        if from != TaskStatus::Releasing {
            self.plugins.observe(self.state, Step::Restored(task));
        }
    }

    /// Evicts a task that holds a place, for a job or for none: what it has is being released from now on.
    /// The reason is what the pod is told: `preempt`, `reclaim`, `shuffle`.
    pub fn evict(&mut self, task: TaskIx, reason: &'static str, by: impl Into<Option<JobIx>>) {
        let by = by.into();
        let from = self.state.task(task).status;
        self.plugins.observe(self.state, Step::Evicting(task));
        self.state.evict(task);
        self.steps.push(Op::Evict {
            task,
            from,
            reason,
            by,
        });
    }

    /// Tasks evicted since a checkpoint, in that order.
    pub fn evicted_since(&self, checkpoint: Checkpoint) -> Vec<TaskIx> {
        let evicted = self.tries_since(checkpoint).filter_map(|step| match step {
            PlanStep::Evict(task) => Some(task),
            PlanStep::Place(..) => None,
        });
        evicted.collect()
    }

    /// Tasks placed since a checkpoint, in that order.
    pub fn placed_since(&self, checkpoint: Checkpoint) -> Vec<TaskIx> {
        let placed = self.tries_since(checkpoint).filter_map(|step| match step {
            PlanStep::Place(task, _) => Some(task),
            PlanStep::Evict(_) => None,
        });
        placed.collect()
    }

    /// What was tried since a checkpoint, in that order.
    pub fn tries_since(&self, checkpoint: Checkpoint) -> impl Iterator<Item = PlanStep> {
        let steps = self.steps[checkpoint.0..].iter();
        steps.map(|op| match op {
            Op::Evict { task, .. } => PlanStep::Evict(*task),
            Op::Allocate { task, node } | Op::Pipeline { task, node } => {
                PlanStep::Place(*task, *node)
            }
        })
    }

    /// How often in this cycle a pod gained a place, or got it back.
    pub fn gains(&self) -> usize {
        self.gains.len()
    }

    /// The jobs of these pods since there were so many.
    pub fn gains_since(&self, count: usize) -> &[JobIx] {
        &self.gains[count..]
    }

    /// What was gained since there were so many was lost before: steps were tried and taken back.
    pub fn forget_gains_since(&mut self, count: usize) {
        self.gains.truncate(count);
    }

    /// Takes back every step since a checkpoint, newest first. That places were given back is noted of
    /// their jobs.
    pub fn undo_to(&mut self, checkpoint: Checkpoint) {
        self.undo(checkpoint, true);
    }

    /// Takes back every step since a checkpoint of what was only tried to find out who would have to go:
    /// it says nothing of why a task waits.
    pub fn undo_tries_to(&mut self, checkpoint: Checkpoint) {
        self.undo(checkpoint, false);
    }

    fn undo(&mut self, checkpoint: Checkpoint, noted: bool) {
        while self.steps.len() > checkpoint.0 {
            let (task, status, node) = match self.steps.pop() {
                Some(Op::Allocate { task, node }) => (task, TaskStatus::Allocated, node),
                Some(Op::Pipeline { task, node }) => (task, TaskStatus::Pipelined, node),
                Some(Op::Evict { task, from, .. }) => {
                    self.restore(task, from);
                    continue;
                }
                None => return,
            };
            self.plugins.observe(self.state, Step::Leaving(task));
            self.state.move_task(task, TaskStatus::Pending, None);
            if let Some(job) = self.state.task(task).job.filter(|_| noted) {
                self.note(job).discarded.insert(task, (status, node));
            }
        }
    }

    fn restore(&mut self, task: TaskIx, from: TaskStatus) {
        self.state.restore(task, from);
        self.gains.extend(self.state.task(task).job);
        self.plugins.observe(self.state, Step::Restored(task));
    }

    /// Makes every step since a checkpoint a decision. Pipelined tasks stay pipelined.
    pub fn commit_from(&mut self, checkpoint: Checkpoint) {
        self.commit(checkpoint, Commit::Binds);
    }

    /// Makes every step since a checkpoint, evictions among them, one plan. Tasks that wait for what is
    /// being released are nominated to their nodes; of a job that is not ready the others too, so that
    /// they keep their room until it is.
    pub fn commit_evictions_from(&mut self, checkpoint: Checkpoint, ready: bool) {
        let commit = match ready {
            true => Commit::BindsAndNominations,
            false => Commit::Nominations,
        };
        let action = self.steps[checkpoint.0..].iter().find_map(|op| match op {
            Op::Evict { reason, .. } => Some(*reason),
            Op::Allocate { .. } | Op::Pipeline { .. } => None,
        });
        action
            .into_iter()
            .for_each(|action| self.tally.committed(action));
        self.commit(checkpoint, commit);
        self.wake_all();
    }

    fn commit(&mut self, checkpoint: Checkpoint, commit: Commit) {
        let steps: Vec<Op> = self.steps.drain(checkpoint.0..).collect();
        for op in steps {
            match op {
                Op::Allocate { task, node } if commit != Commit::Nominations => {
                    self.decide(task, node);
                }
                Op::Allocate { task, node } | Op::Pipeline { task, node } => {
                    self.keep(task);
                    if commit != Commit::Binds {
                        self.plan.nominations.push((task, node));
                    }
                }
                Op::Evict {
                    task,
                    from,
                    reason,
                    by,
                } => {
                    self.state.decide_eviction(task, from);
                    if let Some(job) = by
                        && self.is_served.insert(job)
                    {
                        self.served.push(job);
                    }
                    self.plan.evictions.push(Eviction {
                        task,
                        from,
                        reason,
                        by,
                    });
                }
            }
        }
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

    /// A placement stands until the cycle ends.
    fn keep(&mut self, task: TaskIx) {
        if let Some(job) = self.state.task(task).job {
            self.sleepers.stir(job);
        }
        self.kept.push(task);
    }

    fn decide(&mut self, task: TaskIx, node: NodeIx) {
        let known = self.state.task(task);
        let (job, has_claims) = (known.job, known.has_resource_claims());
        let mut devices = None;
        if known.involves_devices() {
            // What fits has devices; should it ever not, nothing is bound without them.
            if self.state.held_cards().lacks_devices(task) {
                self.keep(task);
                return;
            }
            assert!(
                self.state.held_cards().cards_are_balanced(task),
                "cards of {} are not what its ledger says",
                self.state.population().task_key(task)
            );
            self.state.note_device_warnings(task);
            devices = Some(Box::new(self.state.held_cards().binding_annotations(task)));
        }
        if has_claims && !self.state.supplies().resource_claims().are_served(task) {
            // Nobody looked at its claims (no filter does): it is not bound without its devices.
            self.keep(task);
            return;
        }
        self.state.move_task(task, TaskStatus::Binding, Some(node));
        debug_assert_eq!(
            self.state.ground().imbalance(self.state.population(), node),
            None
        );
        let volumes = match self.plugins.volume_timeout_s() {
            Some(_) => self.state.supplies().volumes().steps(task),
            None => Vec::new(),
        };
        self.plan.binds.push(Bind {
            task,
            node,
            volumes,
            claims: match has_claims {
                true => self.state.supplies().resource_claims().steps(task),
                false => Vec::new(),
            },
            devices,
        });
        let Some(job) = job else { return };
        self.sleepers.stir(job);
        if let Some(note) = self.notes.get_mut(&job) {
            note.discarded.remove(&task);
        }
    }

    /// Leaves placements since a checkpoint standing for the rest of the cycle, undecided. Evictions
    /// among them are taken back: nobody is evicted without a decision.
    pub fn keep_from(&mut self, checkpoint: Checkpoint) {
        let steps: Vec<Op> = self.steps.drain(checkpoint.0..).collect();
        for op in &steps {
            if let Op::Allocate { task, .. } | Op::Pipeline { task, .. } = op {
                self.keep(*task);
            }
        }
        for op in steps.into_iter().rev() {
            if let Op::Evict { task, from, .. } = op {
                self.restore(task, from);
            }
        }
    }
}
