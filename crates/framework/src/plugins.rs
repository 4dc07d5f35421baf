//! The configured plugins in their tiers, asked by the rules of spec/01 §5.1.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use pumice_conf::Enabled;
use pumice_devices::Settings;
use pumice_model::object::NodeObject;
use pumice_model::{DomainIx, JobIx, NodeIx, QueueIx, ResVec, Rules, State, TaskIx, gang_tree};

use crate::memory::PluginMemory;
use crate::observer::{Observer, Stage};
use crate::obstacles::Barriers;
use crate::plugin::{Changed, ChangedQueues, CycleInfo, Plugin, Step};
use crate::points::{
    CandidateScore, Class, Counting, DomainFilter, Invalid, KeepsMix, LedgerCheck, MovedQueues,
    NeededAnswer, NodeFilter, NodeScore, QueueShare, Signature, StaticClass, StaticPart,
};
use crate::reason::ReasonTable;
use crate::refusal::Refusal;
use crate::tiers::{self, Vote};

mod asked;
mod past_use;
mod placing_order;
mod reserving;
mod run_times;
mod user_room;
mod victims;

pub use past_use::{job_factors, orders_by_factors, use_keeper};
pub use placing_order::sort_by_number_and_age;
pub use reserving::ReservationRules;
pub use run_times::run_time_estimator;
pub(crate) use user_room::regained_room;
pub use user_room::{job_room, may_take, stays_within};
pub use victims::EvictionRules;

use asked::{PluginsOfPoint, Points};

/// One plugin with its switches.
pub struct Member {
    plugin: Box<dyn Plugin>,
    enabled: Enabled,
    /// The configuration names it.
    named: bool,
    /// It says what queues have, where it is asked.
    views: bool,
}

impl Member {
    /// A plugin under the switches of its configuration entry.
    pub fn new(plugin: Box<dyn Plugin>, enabled: &Enabled) -> Self {
        Self {
            plugin,
            enabled: *enabled,
            named: true,
            views: true,
        }
    }

    /// A plugin that is there although the configuration does not name it.
    pub fn unnamed(plugin: Box<dyn Plugin>) -> Self {
        Self {
            plugin,
            enabled: Enabled::default(),
            named: false,
            views: true,
        }
    }

    /// Another plugin says what queues have.
    #[must_use]
    pub fn without_views(self) -> Self {
        Self {
            views: false,
            ..self
        }
    }
}

/// What of the plugins' refusals and orders lasts (see [`mod@crate::points`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// Whether jobs are valid.
    pub valid: bool,
    /// Who is not admitted.
    pub admission: bool,
    /// Which queues are overused.
    pub overused: bool,
    /// What queues may not take.
    pub allocatable: bool,
    /// The order of jobs.
    pub order: bool,
}

impl Clone for Member {
    fn clone(&self) -> Self {
        Self {
            plugin: self.plugin.copied(),
            ..*self
        }
    }
}

/// All plugins of a configuration.
#[derive(Clone, Default)]
pub struct Plugins {
    tiers: Vec<Vec<Member>>,
    points: Points,
    /// When the plugins were opened last.
    opened: Option<OpenedEpochs>,
}

/// Epochs of the state.
#[derive(Clone, Copy)]
struct OpenedEpochs {
    nodes: u64,
    queues: u64,
    queue_tree: u64,
}

/// What plugins remember, in their order.
pub fn keep_memories(plugins: &Plugins, state: &State) -> Vec<PluginMemory> {
    let members = plugins.tiers.iter().flatten();
    let told = members.filter_map(|member| {
        let plugin = member.plugin.name().to_owned();
        let told = member.plugin.keep(state)?;
        Some(PluginMemory { plugin, ..told })
    });
    told.collect()
}

/// Tells each plugin what one of its name remembered of the same state.
pub fn restore_memories(plugins: &mut Plugins, told: &[PluginMemory], state: &State) {
    for member in plugins.tiers.iter_mut().flatten() {
        let name = member.plugin.name();
        if let Some(told) = told.iter().find(|told| told.plugin == name) {
            member.plugin.restore(told, state);
        }
    }
}

/// Tells plugins of another configuration, or of a copy, likewise: those whose memory lasts.
pub fn hand_memories_on(plugins: &mut Plugins, told: &[PluginMemory], state: &State) {
    for member in plugins.tiers.iter_mut().flatten() {
        let name = member.plugin.name();
        let told = told.iter().find(|told| told.plugin == name);
        if let Some(told) = told.filter(|_| member.plugin.memory_lasts()) {
            member.plugin.restore(told, state);
        }
    }
}

impl Plugins {
    /// Plugins by tier, in the order of the configuration.
    pub fn new(tiers: Vec<Vec<Member>>) -> Self {
        Self {
            points: Points::new(&tiers),
            tiers,
            opened: None,
        }
    }

    /// Whether jobs start as gangs or not at all: some plugin says when a job is ready, so a job may
    /// be bound in part.
    pub fn has_gangs(&self) -> bool {
        !self.points.job_ready.is_empty()
    }

    fn plugin(&self, (tier, at): (usize, usize)) -> &dyn Plugin {
        self.tiers[tier][at].plugin.as_ref()
    }

    /// One point of those who have it.
    fn ask<'a, P: ?Sized + 'a>(
        &'a self,
        asked: &'a PluginsOfPoint,
        point: impl Fn(&'a dyn Plugin) -> Option<&'a P> + Copy,
    ) -> impl Iterator<Item = &'a P> {
        let plugins = asked.iter().map(|at| self.plugin(*at));
        plugins.filter_map(point)
    }

    /// One point of those who have it, tier by tier.
    fn by_tier<'a, P: ?Sized + 'a>(
        &'a self,
        asked: &'a PluginsOfPoint,
        point: impl Fn(&'a dyn Plugin) -> Option<&'a P> + Copy,
    ) -> impl Iterator<Item = impl Iterator<Item = &'a P>> {
        asked
            .chunk_by(|left, right| left.0 == right.0)
            .map(move |tier| {
                let plugins = tier.iter().map(|at| self.plugin(*at));
                plugins.filter_map(point)
            })
    }

    /// A cycle begins: plugins are told what has changed since they were opened last.
    pub fn open(&mut self, state: &mut State, now_s: i64, observer: &mut dyn Observer) {
        let changed = self.changed(state);
        let cycle = CycleInfo { now_s, changed };
        for member in self.tiers.iter_mut().flatten() {
            let stage = Stage::PluginOpen(member.plugin.name());
            if member.named {
                observer.begin(stage);
            }
            member.plugin.open(state, &cycle);
            if member.named {
                observer.end(stage);
            }
        }
        past_use::tell_of_use(self, state, &cycle);
        let mix = self.task_mix().and_then(KeepsMix::mix);
        state.supplies_mut().set_device_mix(mix);
    }

    /// Who keeps what the tasks of the cluster ask.
    pub fn task_mix(&self) -> Option<&dyn KeepsMix> {
        let mut keepers = self.ask(&self.points.task_mix, |x| x.as_task_mix());
        keepers.next()
    }

    /// What plugins say of places that are kept for jobs that wait.
    pub fn reserving(&self) -> ReservationRules<'_> {
        ReservationRules(self)
    }

    fn changed(&mut self, state: &mut State) -> Changed {
        let jobs = state.changes().take_unobserved_jobs();
        let rewritten = state.changes().take_rewritten_queues();
        let epochs = OpenedEpochs {
            nodes: state.nodes().static_epoch(),
            queues: state.journal().queues_epoch(),
            queue_tree: state.journal().queue_tree_epoch(),
        };
        match self.opened.replace(epochs) {
            None => Changed::default(),
            Some(before) => Changed {
                jobs,
                nodes: before.nodes != epochs.nodes,
                queues: match before.queue_tree == epochs.queue_tree {
                    true => ChangedQueues::Rewritten(rewritten),
                    false => ChangedQueues::Any,
                },
            },
        }
    }

    /// All plugins are told of a step.
    pub fn observe(&mut self, state: &State, step: Step) {
        for member in self.tiers.iter_mut().flatten() {
            member.plugin.observe(state, step);
        }
    }

    /// When the answer of some plugin changes although nothing happens, seconds since the epoch.
    pub fn wake_at_s(&self) -> Option<i64> {
        let members = self.tiers.iter().flatten();
        members.filter_map(|member| member.plugin.wake_at_s()).min()
    }

    /// What the owner of a PodGroup should know, by all plugins in their order.
    pub fn job_warning(&self, state: &State, job: JobIx) -> Option<String> {
        let members = self.tiers.iter().flatten();
        let warnings = members.filter_map(|member| member.plugin.job_warning(state, job));
        let all: Vec<String> = warnings.collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// What the owners of queues should know, by all plugins in their order; `None` while queues are not
    /// as they were when the last cycle began.
    pub fn queue_warnings(&self, state: &State) -> Option<BTreeMap<QueueIx, String>> {
        if self.opened?.queues != state.journal().queues_epoch() {
            return None;
        }
        let mut all: BTreeMap<QueueIx, String> = BTreeMap::new();
        let members = self.tiers.iter().flatten();
        for (queue, text) in members.flat_map(|member| member.plugin.queue_warnings(state)) {
            let said = all.entry(queue).or_default();
            if !said.is_empty() {
                said.push_str("; ");
            }
            said.push_str(&text);
        }
        Some(all)
    }

    /// Gangs that are bound in part, then JobOrder, then creation, then the key
    /// ([`Population::job_key_order`](pumice_model::Population::job_key_order)).
    pub fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        let partial = |job: JobIx| self.has_gangs() && gang_tree::is_partial(state, state.job(job));
        let answers = self
            .ask(&self.points.job_order, |x| x.as_job_order())
            .map(|p| p.job_order(state, left, right));
        let by_rank = partial(right).cmp(&partial(left));
        by_rank
            .then_with(|| tiers::first_difference(answers))
            .then_with(|| {
                let (l, r) = (state.job(left), state.job(right));
                l.created_s.cmp(&r.created_s)
            })
            .then_with(|| state.population().job_key_order(left, right))
            .then_with(|| left.cmp(&right))
    }

    /// QueueOrder, then creation, then name.
    pub fn queue_order(&self, state: &State, left: QueueIx, right: QueueIx) -> Ordering {
        let answers = self
            .ask(&self.points.queue_order, |x| x.as_queue_order())
            .map(|p| p.queue_order(state, left, right));
        tiers::first_difference(answers).then_with(|| {
            let (l, r) = (&state.queue(left).object, &state.queue(right).object);
            (l.created_s, &l.name).cmp(&(r.created_s, &r.name))
        })
    }

    /// Who moves in the order of queues when something is placed in one.
    pub fn moved_by_placement(&self) -> MovedQueues<'_> {
        let orders = self.ask(&self.points.queue_order, |x| x.as_queue_order());
        let mut all = MovedQueues::Own;
        for order in orders {
            all = match (all, order.moved_by_placement()) {
                (moved, MovedQueues::Own) | (MovedQueues::Own, moved) => moved,
                _ => MovedQueues::Any,
            };
        }
        all
    }

    /// At most so many domains are looked at when others are evicted for a job that asks for one; 8 if no
    /// plugin says.
    pub fn most_domains_for_evictions(&self) -> usize {
        let mut said = self.ask(&self.points.network_settings, |x| x.as_network_settings());
        said.next()
            .map_or(8, |settings| settings.most_for_evictions())
    }

    /// Keys of node labels that make domains of the network while there are no HyperNodes.
    pub fn network_labels(&self) -> &[String] {
        let mut said = self.ask(&self.points.network_settings, |x| x.as_network_settings());
        said.next().map_or(&[], |settings| settings.labels())
    }

    /// SubJobOrder, then match index, then ID.
    pub fn sub_job_order(&self, state: &State, job: JobIx, left: u16, right: u16) -> Ordering {
        let answers = self
            .ask(&self.points.sub_job_order, |x| x.as_sub_job_order())
            .map(|p| p.sub_job_order(state, job, left, right));
        tiers::first_difference(answers).then_with(|| {
            let subs = &state.job(job).sub_jobs;
            let (l, r) = (&subs[left as usize], &subs[right as usize]);
            (l.match_index, &l.id).cmp(&(r.match_index, &r.id))
        })
    }

    /// Whether some domain of the network may be better than another.
    pub fn has_domain_scores(&self) -> bool {
        !self.points.domain_score.is_empty()
    }

    /// HyperNodeOrder: scores of a domain add up.
    pub fn domain_score(&self, state: &State, domain: DomainIx, asked: &ResVec) -> f64 {
        let scores = self.ask(&self.points.domain_score, |x| x.as_domain_score());
        scores.map(|p| p.domain_score(state, domain, asked)).sum()
    }

    /// Whether domains are compared by what is left of them.
    pub fn has_nodes_rest(&self) -> bool {
        !self.points.nodes_rest.is_empty()
    }

    /// How good what is left of these nodes is, in parts of a point ([`crate::points::POINT`]).
    pub fn nodes_rest(&self, state: &State, nodes: &[NodeIx]) -> i128 {
        let rests = self.ask(&self.points.nodes_rest, |x| x.as_nodes_rest());
        rests.map(|p| p.nodes_rest(state, nodes)).sum()
    }

    /// JobReady: all agree.
    pub fn job_ready(&self, state: &State, job: JobIx) -> bool {
        tiers::all(
            self.ask(&self.points.job_ready, |x| x.as_job_ready())
                .map(|p| p.job_ready(state, job)),
        )
    }

    /// SubJobReady: all agree. Without sub-groups it is JobReady.
    pub fn sub_job_ready(&self, state: &State, job: JobIx, sub_job: u16) -> bool {
        if state.job(job).sub_jobs.is_empty() {
            return self.job_ready(state, job);
        }
        tiers::all(
            self.ask(&self.points.sub_job_ready, |x| x.as_job_ready())
                .map(|p| p.sub_job_ready(state, job, sub_job)),
        )
    }

    /// JobPipelined: vote by tier.
    pub fn job_pipelined(&self, state: &State, job: JobIx) -> bool {
        let asked = &self.points.job_pipelined;
        let votes = self.by_tier(asked, |x| x.as_job_pipelined());
        tiers::vote(votes.map(|tier| tier.map(|p| p.job_pipelined(state, job))))
    }

    /// SubJobPipelined: vote by tier. Without sub-groups it is JobPipelined.
    pub fn sub_job_pipelined(&self, state: &State, job: JobIx, sub_job: u16) -> bool {
        if state.job(job).sub_jobs.is_empty() {
            return self.job_pipelined(state, job);
        }
        let asked = &self.points.sub_job_pipelined;
        let votes = self.by_tier(asked, |x| x.as_job_pipelined());
        tiers::vote(votes.map(|tier| tier.map(|p| p.sub_job_pipelined(state, job, sub_job))))
    }

    /// JobValid: the first failure.
    ///
    /// # Errors
    /// Why the job cannot be scheduled.
    pub fn job_valid(&self, state: &State, job: JobIx) -> Result<(), Invalid> {
        tiers::first_error(
            self.ask(&self.points.job_valid, |x| x.as_job_valid())
                .map(|p| p.job_valid(state, job)),
        )
    }

    /// JobStarving: the first tier with an answer decides; nobody answers: false.
    pub fn job_starving(&self, state: &State, job: JobIx) -> bool {
        let asked = &self.points.job_starving;
        let answers = self.by_tier(asked, |x| x.as_job_starving());
        tiers::starving(answers.map(|tier| tier.map(|p| p.job_starving(state, job))))
    }

    /// JobEnqueueable: vote by tier.
    ///
    /// # Errors
    /// The first refusal.
    pub fn job_enqueueable(&self, state: &State, job: JobIx) -> Result<(), Refusal> {
        let mut refusal = None;
        let mut permitted = true;
        for tier in self.by_tier(&self.points.admission, |x| x.as_admission()) {
            let mut votes = Vec::new();
            for plugin in tier {
                let (vote, why) = plugin.job_enqueueable(state, job);
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

    /// All that plugins have against a job that is not enqueueable, in the tier that decides so.
    pub fn job_refusals(&self, state: &State, job: JobIx) -> Vec<Refusal> {
        let tiers = self.by_tier(&self.points.admission, |x| x.as_admission());
        let refusals = tiers.map(|tier| {
            let refusing = tier.filter(|point| point.job_enqueueable(state, job).0 == Vote::Reject);
            refusing
                .flat_map(|point| point.refusals(state, job))
                .collect()
        });
        let mut refusals = refusals.filter(|refusals: &Vec<Refusal>| !refusals.is_empty());
        refusals.next().unwrap_or_default()
    }

    /// Overused: any.
    pub fn overused(&self, state: &State, queue: QueueIx) -> bool {
        tiers::any(
            self.ask(&self.points.overused, |x| x.as_overused())
                .map(|p| p.overused(state, queue)),
        )
    }

    /// Why a queue is passed over, in the words of the first plugin that has some.
    pub fn overused_refusal(&self, state: &State, queue: QueueIx) -> Option<Refusal> {
        let mut said = self.ask(&self.points.overused, |x| x.as_overused());
        said.find_map(|p| p.overused_refusal(state, queue))
    }

    /// Whether a job may have turns: the first refusal.
    ///
    /// # Errors
    /// Why not.
    pub fn job_consent(&self, state: &State, job: JobIx) -> Result<(), Refusal> {
        tiers::first_error(
            self.ask(&self.points.job_consent, |x| x.as_job_consent())
                .map(|p| p.job_consent(state, job)),
        )
    }

    /// What is to be asked of an extender, as of the last cycle.
    pub fn standing_questions(&self) -> &[NeededAnswer] {
        let mut asked = self.ask(&self.points.questions, |x| x.as_extender_questions());
        asked.next().map_or(&[], |p| p.standing_questions())
    }

    /// Jobs an extender is told of with the last cycle, each with a number that changes whenever it does.
    pub fn told_jobs(&self) -> &[(JobIx, u64)] {
        let mut asked = self.ask(&self.points.questions, |x| x.as_extender_questions());
        asked.next().map_or(&[], |p| p.told_jobs())
    }

    /// Allocatable: all agree.
    ///
    /// # Errors
    /// The first refusal.
    pub fn allocatable(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        tiers::first_error(
            self.ask(&self.points.allocatable, |x| x.as_allocatable())
                .map(|p| p.allocatable(state, queue, task)),
        )
    }

    /// Limits of a queue that hold for every pod: all agree.
    ///
    /// # Errors
    /// The first refusal.
    pub fn within_limits(
        &self,
        state: &State,
        queue: QueueIx,
        task: TaskIx,
    ) -> Result<(), Refusal> {
        tiers::first_error(
            self.ask(&self.points.allocatable, |x| x.as_allocatable())
                .map(|p| p.within_limits(state, queue, task)),
        )
    }

    /// Whether limits of its queue, and of its user, leave room for a waiting task even if pods stay whose eviction was
    /// decided: all agree.
    pub fn leaves_room_if_all_stay(&self, state: &State, task: TaskIx) -> bool {
        if !state.population().is_eviction_in_doubt() {
            return true;
        }
        let job = state.task(task).job;
        let Some(queue) = job.and_then(|job| state.job(job).queue) else {
            return true;
        };
        let mut asked = self.ask(&self.points.allocatable, |x| x.as_allocatable());
        asked.all(|p| p.leaves_room_if_all_stay(state, queue, task))
            && user_room::leaves_room_if_all_stay(self, state, task)
    }

    /// What may be concluded from refusals.
    pub fn lasting(&self) -> Lasting {
        let points = &self.points;
        let (valid, admission) = (&points.job_valid, &points.admission);
        let (overused, allocatable) = (&points.overused, &points.allocatable);
        let mut orders = self.ask(&points.job_order, |x| x.as_job_order());
        Lasting {
            valid: self
                .ask(valid, |x| x.as_job_valid())
                .all(|p| p.is_lasting()),
            admission: self
                .ask(admission, |x| x.as_admission())
                .all(|p| p.is_lasting()),
            overused: self
                .ask(overused, |x| x.as_overused())
                .all(|p| p.is_lasting()),
            allocatable: self
                .ask(allocatable, |x| x.as_allocatable())
                .all(|p| p.is_lasting()),
            order: orders.all(|p| p.is_steady()),
        }
    }

    /// How many more tasks of a job have to be placed at least before anything of it may stand.
    pub fn lacks(&self, state: &State, job: JobIx) -> u32 {
        let ready = self.ask(&self.points.job_ready, |x| x.as_job_ready());
        let ready = ready.map(|p| p.lacks(state, job)).max().unwrap_or(0);
        // A later tier may not be asked at all.
        let mut pipelined = self.by_tier(&self.points.job_pipelined, |x| x.as_job_pipelined());
        let first = pipelined.next();
        let pipelined = first.and_then(|tier| tier.map(|p| p.lacks(state, job)).max());
        ready.min(pipelined.unwrap_or(0))
    }

    /// How many more tasks of a sub-job have to be placed at least before anything of it may stand.
    pub fn sub_job_lacks(&self, state: &State, job: JobIx, sub_job: u16) -> u32 {
        let ready = self.ask(&self.points.sub_job_ready, |x| x.as_job_ready());
        let ready = ready.map(|p| p.sub_job_lacks(state, job, sub_job));
        let mut pipelined = self.by_tier(&self.points.sub_job_pipelined, |x| x.as_job_pipelined());
        let first = pipelined.next();
        let pipelined =
            first.and_then(|tier| tier.map(|p| p.sub_job_lacks(state, job, sub_job)).max());
        ready.max().unwrap_or(0).min(pipelined.unwrap_or(0))
    }

    /// Whether conditions are written at the end of a cycle: somebody judges whether a job is valid.
    pub fn writes_conditions(&self) -> bool {
        !self.points.job_valid.is_empty()
    }

    /// What tells the class of a task apart besides its key; `None` when no plugin signs.
    pub fn signature(&self, state: &State, task: TaskIx) -> Option<Signature> {
        if self.points.signatures.is_empty() {
            return None;
        }
        let mut signature = Signature::default();
        for at in &self.points.signatures {
            let plugin = self.plugin(*at);
            if let Some(point) = plugin.as_class_signature() {
                signature.add(plugin.name(), point.signature(state, task));
            }
        }
        Some(signature)
    }

    /// PrePredicate: the first reason against the class on every node.
    pub fn prefilter(&self, state: &State, class: &Class) -> Option<String> {
        let mut ledgers = self.ask(&self.points.ledgers, |x| x.as_ledgers());
        let mut filters = self.ask(&self.points.node_filters, |x| x.as_node_filters());
        let mut scores = self.ask(&self.points.node_scores, |x| x.as_node_scores());
        ledgers
            .find_map(|p| p.refusal(class))
            .or_else(|| filters.find_map(|p| p.prefilter(state, class)))
            .or_else(|| scores.find_map(|p| p.awaits(state, class)))
    }

    /// Collects the static part of classes.
    pub fn static_part(
        &self,
        state: &State,
        class: StaticClass<'_>,
        reasons: &mut ReasonTable,
    ) -> StaticPart {
        let count = state.nodes().len();
        let mut part = StaticPart {
            verdict: vec![None; count],
            score: vec![0; count],
            normalised: vec![],
        };
        for plugin in self.ask(&self.points.node_filters, |x| x.as_node_filters()) {
            plugin.static_filter(state, class, reasons, &mut part);
        }
        for plugin in self.ask(&self.points.node_scores, |x| x.as_node_scores()) {
            plugin.static_score(state, class, &mut part);
        }
        part
    }

    /// What of a node's object keeps pods with these rules away, by all plugins.
    pub fn barriers<'a>(&self, rules: &Rules, node: &'a NodeObject) -> Barriers<'a> {
        let plugins = self.ask(&self.points.node_filters, |x| x.as_node_filters());
        let all = plugins.map(|p| p.barriers(rules, node));
        all.fold(Barriers::default(), Barriers::and)
    }

    /// Whether nodes are chosen with a look at resource claims.
    pub fn look_at_claims(&self) -> bool {
        self.ask(&self.points.node_filters, |x| x.as_node_filters())
            .any(|p| p.looks_at_claims())
    }

    /// Collects the filters on node load.
    pub fn node_filters(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeFilter>> {
        self.ask(&self.points.node_filters, |x| x.as_node_filters())
            .flat_map(|p| p.node_filters(state, class))
            .collect()
    }

    /// Collects the scores on node load.
    pub fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        self.ask(&self.points.node_scores, |x| x.as_node_scores())
            .flat_map(|p| p.node_scores(state, class))
            .collect()
    }

    /// Collects the checks of ledgers.
    pub fn ledger_checks(
        &self,
        class: &Class,
        reasons: &mut ReasonTable,
    ) -> Vec<Box<dyn LedgerCheck>> {
        self.ask(&self.points.ledgers, |x| x.as_ledgers())
            .filter_map(|p| p.ledger_check(class, reasons))
            .collect()
    }

    /// How devices are read from nodes and pods.
    pub fn device_settings(&self) -> Settings {
        let mut ledgers = self.ask(&self.points.ledgers, |x| x.as_ledgers());
        let first = ledgers.next();
        first.map_or_else(Settings::default, |p| p.device_settings().clone())
    }

    /// Collects the filters by topology domain.
    pub fn domain_filters(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
    ) -> Vec<Box<dyn DomainFilter>> {
        let mut filters = Vec::new();
        for plugin in self.ask(&self.points.domain_filters, |x| x.as_domain_filters()) {
            plugin.domain_filters(with, class, &mut filters);
        }
        filters
    }

    /// Collects the scores that compare candidates.
    pub fn candidate_scores(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
    ) -> Vec<Box<dyn CandidateScore>> {
        let mut scores = Vec::new();
        for plugin in self.ask(&self.points.candidate_scores, |x| x.as_candidate_scores()) {
            plugin.candidate_scores(with, class, &mut scores);
        }
        scores
    }

    /// How long claims may take to be bound, if somebody binds them.
    pub fn volume_timeout_s(&self) -> Option<i64> {
        self.ask(&self.points.bind_steps, |x| x.as_bind_steps())
            .find_map(|plugin| plugin.volume_timeout_s())
    }

    /// The share by which jobs are ordered, if a plugin does so.
    pub fn job_share(&self, state: &State, job: JobIx) -> Option<f64> {
        self.ask(&self.points.job_shares, |x| x.as_job_shares())
            .next()
            .map(|plugin| plugin.job_share(state, job))
    }

    /// What the first queue plugin says about a queue.
    pub fn queue_view(&self, state: &State, queue: QueueIx) -> Option<QueueShare> {
        self.ask(&self.points.queue_views, |x| x.as_queue_views())
            .find_map(|plugin| plugin.queue_view(state, queue))
    }
}
