//! Who may be evicted for whom: the plugins with a word on it, asked by the rules of spec/07 §3.

use pumice_model::{QueueIx, State, TaskIx};
use rustc_hash::FxHashSet;

use super::Plugins;
use super::asked::PluginsOfPoint;
use crate::points::{Purpose, VictimTasks, Victims, WhyKept};
use crate::refusal::{Overruns, Refusal};
use crate::tiers::{self, VictimAnswer, Weight};

/// The plugins, asked who may be evicted.
#[derive(Clone, Copy)]
pub struct EvictionRules<'a>(&'a Plugins);

impl Plugins {
    /// Who may be evicted.
    pub fn evictions(&self) -> EvictionRules<'_> {
        EvictionRules(self)
    }
}

impl EvictionRules<'_> {
    /// Preemptable and Reclaimable: those of the candidates, given cheapest first, that may be evicted for
    /// a task. Where no answer that counts puts jobs in an order, preemption takes from jobs of lower
    /// priority only, and nobody is reclaimed from (spec/07 §3).
    pub fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> Vec<TaskIx> {
        self.victims_by(|_| true, state, purpose, &[preemptor], candidates)
    }

    /// Like [`Self::victims`], for actions that take gangs as a whole and place these tasks together:
    /// plugins that only keep minima are not asked.
    pub fn victims_of_gangs(
        &self,
        state: &State,
        purpose: Purpose,
        gang: &[TaskIx],
        candidates: &[TaskIx],
    ) -> Vec<TaskIx> {
        let others = |point: &dyn Victims| !point.keeps_minimum();
        self.victims_by(others, state, purpose, gang, candidates)
    }

    /// Whether some plugin names pods that are to go for nobody's sake in this cycle.
    pub fn names_victim_tasks(&self) -> bool {
        let asked = &self.0.points.victim_tasks;
        let mut asked = self.0.ask(asked, |x| x.as_victim_tasks());
        asked.any(|point| point.is_due())
    }

    /// VictimTasks: whom of the candidates, given cheapest first, plugins want gone: the union of the first
    /// tier that names any.
    pub fn victim_tasks(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
        let asked = self
            .0
            .by_tier(&self.0.points.victim_tasks, |x| x.as_victim_tasks());
        let named = |point: &dyn VictimTasks| match point.is_due() {
            true => point.victim_tasks(state, candidates),
            false => Vec::new(),
        };
        tiers::union_by_tier(asked.map(|tier| tier.map(named)))
    }

    /// TimeLimits: pods whose time is over, by any plugin, by index.
    pub fn whose_time_is_over(&self, state: &State) -> Vec<TaskIx> {
        let asked = &self.0.points.time_limits;
        let asked = self.0.ask(asked, |x| x.as_time_limits());
        let mut all: Vec<TaskIx> = asked
            .flat_map(|point| point.whose_time_is_over(state))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Those of the candidates, given cheapest first, that no plugin with a word on preemption protects
    /// whoever they go for ([`Victims::unprotected`]), whichever its tier.
    pub fn unprotected(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
        let mut left = candidates.to_vec();
        for point in self.0.ask(&self.0.points.preemptable, |x| x.as_victims()) {
            if let Some(allowed) = point.unprotected(state, &left) {
                left = allowed;
            }
        }
        left
    }

    fn victims_by(
        &self,
        is_asked: impl Fn(&dyn Victims) -> bool + Copy,
        state: &State,
        purpose: Purpose,
        preemptors: &[TaskIx],
        candidates: &[TaskIx],
    ) -> Vec<TaskIx> {
        let tiers = self.victim_answers(is_asked, state, purpose, preemptors, candidates);
        let mut victims =
            tiers::victims(tiers.map(|tier| tier.map(|(_, answer)| answer).collect()));
        if !victims.ordered
            && let Some(preemptor) = preemptors.first().copied()
        {
            match purpose {
                Purpose::Preempt => {
                    let priority = |task: TaskIx| {
                        let job = state.task(task).job;
                        job.map_or(i32::MIN, |job| state.job(job).priority)
                    };
                    let limit = priority(preemptor);
                    victims.allowed.retain(|victim| priority(*victim) < limit);
                }
                Purpose::WithinJob => {
                    let limit = state.task(preemptor).priority;
                    let is_lower = |victim: &TaskIx| state.task(*victim).priority < limit;
                    victims.allowed.retain(is_lower);
                }
                Purpose::Reclaim => victims.allowed.clear(),
            }
        }
        victims.allowed
    }

    /// What each plugin that is asked answers, with why it keeps the others, tier by tier.
    fn victim_answers(
        &self,
        is_asked: impl Fn(&dyn Victims) -> bool + Copy,
        state: &State,
        purpose: Purpose,
        preemptors: &[TaskIx],
        candidates: &[TaskIx],
    ) -> impl Iterator<Item = impl Iterator<Item = (WhyKept, VictimAnswer<TaskIx>)>> {
        let asked = self.asked_about_victims(purpose);
        asked
            .chunk_by(|left, right| left.0 == right.0)
            .map(move |tier| {
                let plugins = tier.iter().map(|at| self.0.plugin(*at));
                plugins.filter_map(move |plugin| {
                    let point = plugin
                        .as_victims()
                        .filter(|point| point.speaks(purpose) && is_asked(*point))?;
                    let answer = point.victims_for_gang(state, purpose, preemptors, candidates);
                    let unsaid = WhyKept::ByPlugin(plugin.name());
                    Some((point.why_kept().unwrap_or(unsaid), answer))
                })
            })
    }

    /// Whether it is certain that a candidate will not be named for preemptors of the same queue and job
    /// priority ([`Victims::never`]).
    pub fn is_never_victim(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidate: TaskIx,
    ) -> bool {
        self.is_never_by(|_| true, state, purpose, preemptor, candidate)
    }

    /// Like [`Self::is_never_victim`], for actions that take gangs as a whole.
    pub fn is_never_victim_of_gangs(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidate: TaskIx,
    ) -> bool {
        let others = |point: &dyn Victims| !point.keeps_minimum();
        self.is_never_by(others, state, purpose, preemptor, candidate)
    }

    fn is_never_by(
        &self,
        is_asked: impl Fn(&dyn Victims) -> bool + Copy,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidate: TaskIx,
    ) -> bool {
        let all = self
            .0
            .by_tier(self.asked_about_victims(purpose), |x| x.as_victims());
        let asked = all.map(|tier| {
            let speakers = tier.filter(move |point| point.speaks(purpose));
            speakers.filter(move |point| is_asked(*point)).peekable()
        });
        // A tier in which nobody is asked leaves the decision to the next one.
        let asked = asked.filter_map(|mut tier| tier.peek().is_some().then_some(tier));
        let never = |point: &dyn Victims| point.never(state, purpose, preemptor, candidate);
        tiers::is_never_victim(asked.map(|tier| tier.map(never)))
    }

    fn asked_about_victims(&self, purpose: Purpose) -> &PluginsOfPoint {
        match purpose {
            Purpose::Preempt | Purpose::WithinJob => &self.0.points.preemptable,
            Purpose::Reclaim => &self.0.points.reclaimable,
        }
    }

    /// Whether who may go depends on the preemptor's job by more than queue and priority.
    pub fn victims_depend_on_job(&self, purpose: Purpose) -> bool {
        let mut asked = self
            .0
            .ask(self.asked_about_victims(purpose), |x| x.as_victims());
        asked.any(|point| point.speaks(purpose) && point.depends_on_job())
    }

    /// What keeps candidates, given as for [`EvictionRules::victims`], from being evicted for a task: how many
    /// of `kept` each plugin does not allow, each of them counted for the first plugin that says so. Only
    /// plugins count whose word does: those of the tier that decides, and those with a veto; with `gangs`
    /// those that are asked by actions that take gangs as a whole.
    pub fn kept_by_plugin(
        &self,
        gangs: bool,
        state: &State,
        purpose: Purpose,
        preemptors: &[TaskIx],
        candidates: &[TaskIx],
        kept: &mut FxHashSet<TaskIx>,
    ) -> Vec<(WhyKept, usize)> {
        let tiers: Vec<(Vec<WhyKept>, Vec<VictimAnswer<TaskIx>>)> = self
            .victim_answers(
                |point| !gangs || !point.keeps_minimum(),
                state,
                purpose,
                preemptors,
                candidates,
            )
            .map(|tier| tier.unzip())
            .collect();
        let decides = tiers
            .iter()
            .position(|(_, answers)| tiers::decides(answers));
        let mut counts = Vec::new();
        for (at, (reasons, answers)) in tiers.iter().enumerate() {
            let has_a_say = decides.is_none_or(|decides| decides == at);
            for (why, answer) in reasons.iter().zip(answers) {
                let Some(allowed) = &answer.allowed else {
                    continue;
                };
                if !has_a_say && answer.weight != Weight::Veto {
                    continue;
                }
                let allowed: FxHashSet<TaskIx> = allowed.iter().copied().collect();
                let before = kept.len();
                kept.retain(|task| allowed.contains(task));
                if kept.len() < before {
                    counts.push((*why, before - kept.len()));
                }
            }
        }
        counts
    }

    /// Preemptive: whether a queue may reclaim for tasks that are placed together; all agree. With nobody to
    /// ask it may not, as nobody knows what queues deserve. Of the resources that are given back some
    /// plugin says that nobody goes for them.
    ///
    /// # Errors
    /// The first refusal.
    pub fn may_reclaim(
        &self,
        state: &State,
        queue: QueueIx,
        tasks: &[TaskIx],
    ) -> Result<Overruns, Refusal> {
        let mut asked = self
            .0
            .ask(&self.0.points.reclaimer, |x| x.as_reclaimer())
            .peekable();
        if asked.peek().is_none() {
            return Err(Refusal::Unsaid);
        }
        let mut over = Overruns::new();
        for point in asked {
            over.extend(point.may_reclaim(state, queue, tasks)?);
        }
        Ok(over)
    }

    /// How far a queue is from that of a preemptor; the sum of what plugins say.
    pub fn queue_distance(&self, state: &State, preemptor: QueueIx, victim: QueueIx) -> u32 {
        let asked = self
            .0
            .ask(&self.0.points.queue_distance, |x| x.as_queue_distance());
        asked
            .map(|p| p.queue_distance(state, preemptor, victim))
            .sum()
    }
}
