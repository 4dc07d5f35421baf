//! The configured plugins in their tiers, asked by the rules of spec/01 §5.1.

use std::cmp::Ordering;

use pumice_conf::Enabled;
use pumice_model::{JobIx, QueueIx, Rules, State, TaskIx};

use crate::node_points::{Class, NodeFilter, NodeScore, PodPoints, StaticPart};
use crate::observer::{Observer, Stage};
use crate::plugin::{CycleInfo, Invalid, Plugin, Points, QueueView};
use crate::refusal::Refusal;
use crate::tiers::{self, Vote};

/// One plugin with its switches.
pub struct Member {
    /// The plugin.
    pub plugin: Box<dyn Plugin>,
    /// Points that are both there and switched on.
    pub on: Points,
}

impl Member {
    /// A plugin under the switches of its configuration entry.
    pub fn new(plugin: Box<dyn Plugin>, enabled: &Enabled) -> Self {
        let has = plugin.points();
        let on = Points {
            job_order: has.job_order && enabled.job_order,
            queue_order: has.queue_order && enabled.queue_order,
            task_order: has.task_order && enabled.task_order,
            sub_job_order: has.sub_job_order && enabled.sub_job_order,
            queue_order_is_entangled: has.queue_order_is_entangled && enabled.queue_order,
            job_ready: has.job_ready && enabled.job_ready,
            sub_job_ready: has.sub_job_ready && enabled.sub_job_ready,
            job_pipelined: has.job_pipelined && enabled.job_pipelined,
            sub_job_pipelined: has.sub_job_pipelined && enabled.sub_job_pipelined,
            job_valid: has.job_valid,
            job_starving: has.job_starving && enabled.job_starving,
            job_enqueueable: has.job_enqueueable && enabled.job_enqueued,
            overused: has.overused && enabled.overused,
            allocatable: has.allocatable && enabled.allocatable,
            predicate: has.predicate && enabled.predicate,
            node_order: has.node_order && enabled.node_order,
            conditions: has.conditions,
        };
        Self { plugin, on }
    }
}

/// All plugins of a configuration.
#[derive(Default)]
pub struct PluginChain {
    tiers: Vec<Vec<Member>>,
    /// Some plugin says when a job is ready, so a job may be bound in part.
    has_gangs: bool,
}

impl PluginChain {
    /// Plugins by tier, in the order of the configuration.
    pub fn new(tiers: Vec<Vec<Member>>) -> Self {
        let has_gangs = tiers.iter().flatten().any(|member| member.on.job_ready);
        Self { tiers, has_gangs }
    }

    /// Whether jobs start as gangs or not at all.
    pub fn has_gangs(&self) -> bool {
        self.has_gangs
    }

    fn with(&self, on: impl Fn(&Points) -> bool) -> impl Iterator<Item = &dyn Plugin> {
        let members = self.tiers.iter().flatten();
        members
            .filter(move |member| on(&member.on))
            .map(|member| member.plugin.as_ref())
    }

    /// Asks one point of every plugin that has it, tier by tier.
    fn by_tier<T>(
        &self,
        on: impl Fn(&Points) -> bool + Copy,
        ask: impl Fn(&dyn Plugin) -> T + Copy,
    ) -> impl Iterator<Item = impl Iterator<Item = T>> {
        self.tiers.iter().map(move |tier| {
            let members = tier.iter().filter(move |member| on(&member.on));
            members.map(move |member| ask(member.plugin.as_ref()))
        })
    }

    /// A cycle begins.
    pub fn open(&mut self, state: &State, cycle: &CycleInfo, observer: &mut dyn Observer) {
        for member in self.tiers.iter_mut().flatten() {
            let stage = Stage::PluginOpen(member.plugin.name());
            observer.begin(stage);
            member.plugin.open(state, cycle);
            observer.end(stage);
        }
    }

    /// A task was placed.
    pub fn placed(&mut self, state: &State, task: TaskIx) {
        for member in self.tiers.iter_mut().flatten() {
            member.plugin.placed(state, task);
        }
    }

    /// A task is about to leave its node.
    pub fn unplaced(&mut self, state: &State, task: TaskIx) {
        for member in self.tiers.iter_mut().flatten() {
            member.plugin.unplaced(state, task);
        }
    }

    /// Gangs that are bound in part, then JobOrder, then creation, then the key
    /// ([`State::job_key_order`]).
    pub fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        let partial = |job: JobIx| self.has_gangs && state.job(job).is_partial();
        let answers = self
            .with(|on| on.job_order)
            .map(|p| p.job_order(state, left, right));
        let by_rank = partial(right).cmp(&partial(left));
        by_rank
            .then_with(|| tiers::first_difference(answers))
            .then_with(|| {
                let (l, r) = (state.job(left), state.job(right));
                l.created_s.cmp(&r.created_s)
            })
            .then_with(|| state.job_key_order(left, right))
            .then_with(|| left.cmp(&right))
    }

    /// QueueOrder, then creation, then name.
    pub fn queue_order(&self, state: &State, left: QueueIx, right: QueueIx) -> Ordering {
        let answers = self
            .with(|on| on.queue_order)
            .map(|p| p.queue_order(state, left, right));
        tiers::first_difference(answers).then_with(|| {
            let (l, r) = (&state.queue(left).object, &state.queue(right).object);
            (l.created_s, &l.name).cmp(&(r.created_s, &r.name))
        })
    }

    /// Whether a placement in one queue may change the order of two others.
    pub fn queue_order_is_entangled(&self) -> bool {
        self.with(|on| on.queue_order_is_entangled).next().is_some()
    }

    /// TaskOrder, then the default order of spec/01 §5.2.
    pub fn task_order(&self, state: &State, left: TaskIx, right: TaskIx) -> Ordering {
        let answers = self
            .with(|on| on.task_order)
            .map(|p| p.task_order(state, left, right));
        tiers::first_difference(answers).then_with(|| {
            let (l, r) = (state.task(left), state.task(right));
            let by_index = match (l.name_index, r.name_index) {
                (Some(l), Some(r)) => l.cmp(&r),
                // Numbered names first, so that the order is total.
                (l, r) => r.is_some().cmp(&l.is_some()),
            };
            by_index.then_with(|| (l.created_s, &l.uid).cmp(&(r.created_s, &r.uid)))
        })
    }

    /// SubJobOrder, then match index, then ID.
    pub fn sub_job_order(&self, state: &State, job: JobIx, left: u16, right: u16) -> Ordering {
        let answers = self
            .with(|on| on.sub_job_order)
            .map(|p| p.sub_job_order(state, job, left, right));
        tiers::first_difference(answers).then_with(|| {
            let subs = &state.job(job).sub_jobs;
            let (l, r) = (&subs[left as usize], &subs[right as usize]);
            (l.match_index, &l.id).cmp(&(r.match_index, &r.id))
        })
    }

    /// JobReady: all agree.
    pub fn job_ready(&self, state: &State, job: JobIx) -> bool {
        tiers::all(
            self.with(|on| on.job_ready)
                .map(|p| p.job_ready(state, job)),
        )
    }

    /// SubJobReady: all agree. Without sub-groups it is JobReady.
    pub fn sub_job_ready(&self, state: &State, job: JobIx, sub_job: u16) -> bool {
        if state.job(job).sub_jobs.is_empty() {
            return self.job_ready(state, job);
        }
        tiers::all(
            self.with(|on| on.sub_job_ready)
                .map(|p| p.sub_job_ready(state, job, sub_job)),
        )
    }

    /// JobPipelined: vote by tier.
    pub fn job_pipelined(&self, state: &State, job: JobIx) -> bool {
        tiers::vote(self.by_tier(|on| on.job_pipelined, |p| p.job_pipelined(state, job)))
    }

    /// SubJobPipelined: vote by tier. Without sub-groups it is JobPipelined.
    pub fn sub_job_pipelined(&self, state: &State, job: JobIx, sub_job: u16) -> bool {
        if state.job(job).sub_jobs.is_empty() {
            return self.job_pipelined(state, job);
        }
        tiers::vote(self.by_tier(
            |on| on.sub_job_pipelined,
            |p| p.sub_job_pipelined(state, job, sub_job),
        ))
    }

    /// JobValid: the first failure.
    ///
    /// # Errors
    /// Why the job cannot be scheduled.
    pub fn job_valid(&self, state: &State, job: JobIx) -> Result<(), Invalid> {
        tiers::first_error(
            self.with(|on| on.job_valid)
                .map(|p| p.job_valid(state, job)),
        )
    }

    /// JobStarving: the first tier with an answer decides; nobody answers: false.
    pub fn job_starving(&self, state: &State, job: JobIx) -> bool {
        tiers::starving(self.by_tier(|on| on.job_starving, |p| p.job_starving(state, job)))
    }

    /// JobEnqueueable: vote by tier.
    ///
    /// # Errors
    /// The first refusal.
    pub fn job_enqueueable(&self, state: &State, job: JobIx) -> Result<(), Refusal> {
        let mut refusal = None;
        let mut permitted = true;
        for tier in &self.tiers {
            let mut votes = Vec::new();
            for member in tier.iter().filter(|member| member.on.job_enqueueable) {
                let (vote, why) = member.plugin.job_enqueueable(state, job);
                if vote == Vote::Reject && refusal.is_none() {
                    refusal = why;
                }
                votes.push(vote);
            }
            permitted = tiers::vote(std::iter::once(votes.iter().copied()));
            if !permitted || votes.contains(&Vote::Permit) {
                break;
            }
        }
        if permitted {
            return Ok(());
        }
        Err(refusal.unwrap_or(Refusal::Unsaid))
    }

    /// JobEnqueued: all are told.
    pub fn job_enqueued(&mut self, state: &State, job: JobIx) {
        for member in self.tiers.iter_mut().flatten() {
            if member.on.job_enqueueable {
                member.plugin.job_enqueued(state, job);
            }
        }
    }

    /// Overused: any.
    pub fn overused(&self, state: &State, queue: QueueIx) -> bool {
        tiers::any(
            self.with(|on| on.overused)
                .map(|p| p.overused(state, queue)),
        )
    }

    /// Allocatable: all agree.
    ///
    /// # Errors
    /// The first refusal.
    pub fn allocatable(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        tiers::first_error(
            self.with(|on| on.allocatable)
                .map(|p| p.allocatable(state, queue, task)),
        )
    }

    /// Whether conditions are written at the end of a cycle.
    pub fn writes_conditions(&self) -> bool {
        self.with(|on| on.conditions).next().is_some()
    }

    /// PrePredicate: the first reason against the class on every node.
    pub fn prefilter(&self, state: &State, class: &Class) -> Option<String> {
        self.with(|on| on.predicate)
            .find_map(|p| p.prefilter(state, class))
    }

    /// Collects the static part of rules.
    pub fn static_part(&self, state: &State, rules: &Rules) -> StaticPart {
        let count = state.nodes.len();
        let mut part = StaticPart {
            verdict: vec![None; count],
            score: vec![0; count],
            normalised: vec![],
        };
        for plugin in self.with(|on| on.predicate) {
            plugin.static_filter(state, rules, &mut part);
        }
        for plugin in self.with(|on| on.node_order) {
            plugin.static_score(state, rules, &mut part);
        }
        part
    }

    /// Collects the filters on node load.
    pub fn node_filters(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeFilter>> {
        self.with(|on| on.predicate)
            .flat_map(|p| p.node_filters(state, class))
            .collect()
    }

    /// Collects the scores on node load.
    pub fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        self.with(|on| on.node_order)
            .flat_map(|p| p.node_scores(state, class))
            .collect()
    }

    /// Collects the points that look at other pods.
    pub fn pod_points(&self) -> PodPoints {
        let mut points = PodPoints::default();
        self.with(|on| on.predicate)
            .for_each(|plugin| plugin.pod_filters(&mut points));
        self.with(|on| on.node_order)
            .for_each(|plugin| plugin.pod_scores(&mut points));
        points
    }

    /// How long claims may take to be bound, if somebody binds them.
    pub fn volume_timeout_s(&self) -> Option<i64> {
        self.with(|on| on.predicate)
            .find_map(|plugin| plugin.volume_timeout_s())
    }

    /// The share by which jobs are ordered, if a plugin does so.
    pub fn job_share(&self, state: &State, job: JobIx) -> Option<f64> {
        self.with(|_| true)
            .find_map(|plugin| plugin.job_share(state, job))
    }

    /// What the first queue plugin says about a queue.
    pub fn queue_view(&self, state: &State, queue: QueueIx) -> Option<QueueView> {
        self.with(|_| true)
            .find_map(|plugin| plugin.queue_view(state, queue))
    }
}
