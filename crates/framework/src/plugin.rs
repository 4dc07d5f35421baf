//! The one trait plugins implement.

use std::cmp::Ordering;

use pumice_model::{JobIx, QueueIx, ResVec, Rules, State, TaskIx};

use crate::node_points::{Class, NodeFilter, NodeScore, PodPoints, StaticPart};
use crate::refusal::Refusal;
use crate::tiers::Vote;

/// What a plugin may know about the cycle besides the state.
#[derive(Clone, Debug, Default)]
pub struct CycleInfo {
    /// Now, seconds since the epoch: an input, never read from a clock.
    pub now_s: i64,
}

/// Why a job is not valid: condition reason and message (spec/02 §2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// `NotEnoughTasks` or `NotEnoughPodsOfTask`.
    pub reason: &'static str,
    /// Message.
    pub message: String,
}

/// Which extension points a plugin has. Points it does not have are not asked, which matters for
/// votes and for points whose default depends on whether anybody answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// [`Plugin::job_order`].
    pub job_order: bool,
    /// [`Plugin::queue_order`].
    pub queue_order: bool,
    /// A placement in one queue may change the order of two others.
    pub queue_order_is_entangled: bool,
    /// [`Plugin::task_order`].
    pub task_order: bool,
    /// [`Plugin::sub_job_order`].
    pub sub_job_order: bool,
    /// [`Plugin::job_ready`].
    pub job_ready: bool,
    /// [`Plugin::sub_job_ready`].
    pub sub_job_ready: bool,
    /// [`Plugin::job_pipelined`].
    pub job_pipelined: bool,
    /// [`Plugin::sub_job_pipelined`].
    pub sub_job_pipelined: bool,
    /// [`Plugin::job_valid`].
    pub job_valid: bool,
    /// [`Plugin::job_starving`].
    pub job_starving: bool,
    /// [`Plugin::job_enqueueable`] and [`Plugin::job_enqueued`].
    pub job_enqueueable: bool,
    /// [`Plugin::overused`].
    pub overused: bool,
    /// [`Plugin::allocatable`].
    pub allocatable: bool,
    /// The filters: [`Plugin::prefilter`], [`Plugin::static_filter`], [`Plugin::node_filters`].
    pub predicate: bool,
    /// The scores: [`Plugin::static_score`], [`Plugin::node_scores`].
    pub node_order: bool,
    /// Writes PodGroup conditions at the end of a cycle.
    pub conditions: bool,
}

/// A plugin: built once per loaded configuration, kept over cycles.
///
/// Contract: everything that is asked while an action searches takes `&self` and must be a pure
/// function of `state` and of what [`Plugin::open`] and the notification methods have stored. Sums
/// that the state already keeps exactly (per job, queue and node) are read there, so that undoing a
/// transaction undoes them too. What a plugin keeps itself must follow [`Plugin::placed`] and
/// [`Plugin::unplaced`], which are called for every step of a transaction and for every step of its
/// undo.
#[allow(unused_variables)]
pub trait Plugin {
    /// Name, as in the configuration.
    fn name(&self) -> &'static str;

    /// The points it has.
    fn points(&self) -> Points;

    /// A cycle begins. Called once per cycle, before any action.
    fn open(&mut self, state: &State, cycle: &CycleInfo) {}

    /// A task was placed on or pipelined to the node it now has.
    fn placed(&mut self, state: &State, task: TaskIx) {}

    /// A task is about to leave the node it has.
    fn unplaced(&mut self, state: &State, task: TaskIx) {}

    /// `Less`: `left` goes first.
    fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        Ordering::Equal
    }

    /// `Less`: `left` goes first.
    fn queue_order(&self, state: &State, left: QueueIx, right: QueueIx) -> Ordering {
        Ordering::Equal
    }

    /// `Less`: `left` goes first.
    fn task_order(&self, state: &State, left: TaskIx, right: TaskIx) -> Ordering {
        Ordering::Equal
    }

    /// `Less`: sub-job `left` of `job` goes first.
    fn sub_job_order(&self, state: &State, job: JobIx, left: u16, right: u16) -> Ordering {
        Ordering::Equal
    }

    /// The job may be committed.
    fn job_ready(&self, state: &State, job: JobIx) -> bool {
        true
    }

    /// The sub-job needs no further task now.
    fn sub_job_ready(&self, state: &State, job: JobIx, sub_job: u16) -> bool {
        true
    }

    /// The job would be ready if all pipelined tasks were placed.
    fn job_pipelined(&self, state: &State, job: JobIx) -> Vote {
        Vote::Abstain
    }

    /// Likewise for a sub-job.
    fn sub_job_pipelined(&self, state: &State, job: JobIx, sub_job: u16) -> Vote {
        Vote::Abstain
    }

    /// The job can be scheduled at all.
    ///
    /// # Errors
    /// Why not.
    fn job_valid(&self, state: &State, job: JobIx) -> Result<(), Invalid> {
        Ok(())
    }

    /// The job is entitled to more than it has.
    fn job_starving(&self, state: &State, job: JobIx) -> bool {
        false
    }

    /// The job may leave phase Pending.
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        (Vote::Abstain, None)
    }

    /// The job has left phase Pending.
    fn job_enqueued(&mut self, state: &State, job: JobIx) {}

    /// The queue has at least all it deserves.
    fn overused(&self, state: &State, queue: QueueIx) -> bool {
        false
    }

    /// The queue may take the task.
    ///
    /// # Errors
    /// Why not.
    fn allocatable(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        Ok(())
    }

    /// A reason against every node, found by looking at the class alone.
    fn prefilter(&self, state: &State, class: &Class) -> Option<String> {
        None
    }

    /// Adds verdicts that depend on node objects alone to `part.verdict` (first reason stays).
    fn static_filter(&self, state: &State, rules: &Rules, part: &mut StaticPart) {}

    /// Adds scores that depend on node objects alone to `part.score` and `part.normalised`.
    fn static_score(&self, state: &State, rules: &Rules, part: &mut StaticPart) {}

    /// Filters on node load, in the order they are to be asked.
    fn node_filters(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeFilter>> {
        Vec::new()
    }

    /// Scores on node load.
    fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        Vec::new()
    }

    /// Switches on filters that look at other pods.
    fn pod_filters(&self, points: &mut PodPoints) {}

    /// Switches on scores that look at other pods.
    fn pod_scores(&self, points: &mut PodPoints) {}

    /// Pods are bound only after their claims are, for which this many seconds are granted; `None`
    /// if the plugin does not bind claims.
    fn volume_timeout_s(&self) -> Option<i64> {
        None
    }

    /// What a queue deserves, as named amounts in stored units, for reports; `None` if the plugin
    /// does not divide the cluster among queues.
    fn queue_view(&self, state: &State, queue: QueueIx) -> Option<QueueView> {
        None
    }

    /// The share of the cluster by which the plugin orders jobs, for reports; `None` if it does
    /// not.
    fn job_share(&self, state: &State, job: JobIx) -> Option<f64> {
        None
    }
}

/// What a queue plugin says about a queue, for reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueView {
    /// Deserved amounts: resource and amount in stored units.
    pub deserved: Vec<(pumice_model::ResIx, f64)>,
    /// Share.
    pub share: f64,
    /// What its admitted jobs reserve.
    pub inqueue: ResVec,
    /// It has at least all it deserves.
    pub overused: bool,
}
