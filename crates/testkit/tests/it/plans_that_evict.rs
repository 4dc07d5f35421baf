//! What holds of evictions in any cluster, cycle after cycle, while victims leave and come back.

mod on_cards;
mod raised;
mod restarted;

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::Config;
use pumice_engine::{Decisions, Engine};
use pumice_model::{Delta, JobIx, State, TaskIx, TaskStatus};
use pumice_testkit::generate::{evicting_conf_text, full_cluster, full_varied_cluster};
use pumice_testkit::naive;

use crate::kubelet::Outside;
use crate::run;

const CASES: u64 = 400;
const VARIED_CASES: u64 = 200;

/// After so many seconds promises have ended.
const LONG_S: i64 = 700;

/// Cycles until a cluster has settled, and more in which it stays so.
const CYCLES: u32 = 24;
const SETTLED: u32 = 6;

/// One cluster with its configuration.
struct Run {
    config: Config,
    engine: Engine,
    outside: Outside,
    context: String,
    /// Who had whom evicted: keys of jobs, victim's and beneficiary's.
    pairs: BTreeSet<(String, String)>,
    evictions: usize,
    /// Cycles that begin long after the one before.
    late: Vec<u32>,
    now_s: i64,
    /// Nodes are given out by amounts alone.
    by_amounts: bool,
}

impl Run {
    fn new(seed: u64, objects: &[Delta]) -> Self {
        let text = evicting_conf_text(seed);
        let config = run::config(&text);
        Self {
            engine: run::engine(&config, objects),
            outside: Outside::new(objects),
            config,
            context: format!("seed {seed}, conf:\n{text}"),
            pairs: BTreeSet::new(),
            evictions: 0,
            late: Vec::new(),
            now_s: naive::START_S,
            by_amounts: true,
        }
    }

    /// With topology spread and volumes, and cycles after which promises end.
    fn varied(seed: u64) -> Self {
        let first = (seed % 5) as u32;
        Self {
            late: vec![first + 1, first + 4],
            by_amounts: false,
            ..Self::new(seed, &full_varied_cluster(seed))
        }
    }

    fn has_plugin(&self, name: &str) -> bool {
        let mut plugins = self.config.tiers.iter().flat_map(|tier| &tier.plugins);
        plugins.any(|plugin| plugin.name == name)
    }

    fn cycle(&mut self, cycle: u32) -> Decisions {
        let decisions = self.decide(cycle);
        self.carry_out(cycle, &decisions);
        decisions
    }

    fn decide(&mut self, cycle: u32) -> Decisions {
        let decisions = self.engine.cycle(self.now_s);
        self.context.push_str(&format!("cycle {cycle}: "));
        self.check(&decisions);
        decisions
    }

    fn carry_out(&mut self, cycle: u32, decisions: &Decisions) {
        self.now_s += if self.late.contains(&cycle) {
            LONG_S
        } else {
            1
        };
        let next = (cycle, self.now_s);
        let told = self.outside.carry_out(&self.engine, decisions, next);
        told.into_iter().for_each(|delta| self.engine.apply(delta));
    }

    fn check(&mut self, decisions: &Decisions) {
        self.check_nodes();
        self.check_limits(decisions);
        self.check_beneficiaries(decisions);
        self.check_victims(decisions);
        self.check_needed(decisions);
    }

    /// No node holds more than it has, now or once everything is released.
    fn check_nodes(&self) {
        let nodes = self.engine.state().nodes();
        for node in nodes.indices() {
            for (resource, amount) in nodes.total.row(node).iter() {
                let idle = nodes.idle.get(resource, node);
                let later = nodes.future_idle(resource, node);
                let name = self.engine.state().resources().name(resource);
                if name.starts_with("volcano.sh/") {
                    // Pods that were there first may hold any cards; that none is given twice is a law of
                    // the state, which is looked at with every decision.
                    continue;
                }
                let at_least = idle.min(later);
                assert!(
                    at_least >= 0,
                    "{name}: {idle}, {later} of {amount} are left of {}: {}",
                    nodes.object(node).name,
                    self.context
                );
            }
        }
    }

    /// Queues that got something have no more of it than their capability.
    fn check_limits(&self, decisions: &Decisions) {
        let mut plugins = self.config.tiers.iter().flat_map(|tier| &tier.plugins);
        if !plugins.any(|plugin| plugin.name == "proportion" && plugin.enabled.allocatable) {
            return;
        }
        let state = self.engine.state();
        let bound = decisions.binds.iter().map(|bind| bind.task);
        let nominated = decisions.nominations.iter().map(|(task, _)| *task);
        for task in bound.chain(nominated) {
            let job = state.task(task).job.expect("a job");
            let queue = state.queue(state.job(job).queue.expect("a queue"));
            let asked = state.charges().charged(task);
            for (name, limit) in &queue.object.capability {
                let Some(resource) = state.resources().get(name) else {
                    continue;
                };
                let held = queue.allocated.get(resource) + queue.pipelined.get(resource);
                let is_none = *limit <= 0 && (name == "cpu" || name == "memory");
                assert!(
                    is_none || asked.get(resource) == 0 || held <= *limit,
                    "{} has {held} of {limit} {name}: {}",
                    queue.object.name,
                    self.context
                );
            }
        }
    }

    /// Who had others evicted is promised places, as a whole gang.
    fn check_beneficiaries(&self, decisions: &Decisions) {
        let state = self.engine.state();
        for eviction in &decisions.evictions {
            let by = eviction.by.expect("somebody it is for");
            let is_of = |task: TaskIx| state.task(task).job == Some(by);
            let nominated = decisions.nominations.iter().any(|(task, _)| is_of(*task));
            let bound = decisions.binds.iter().any(|bind| is_of(bind.task));
            let key = state.population().job_key(by);
            assert!(nominated || bound, "{key} gets nothing: {}", self.context);
            let within = state.task(eviction.task).job == Some(by);
            // Where nobody protects gangs, one that was placed may lose pods to the next plan.
            let mut victims = decisions.evictions.iter().map(|other| other.task);
            let is_victim = victims.any(is_of);
            if self.has_plugin("gang") && !within && !is_victim {
                let placed = placed(state, by);
                let min = state.job(by).min_available as usize;
                assert!(placed >= min, "{key} has {placed}: {}", self.context);
            }
        }
    }

    /// Nobody goes who is protected, and no two jobs have each other's pods evicted.
    fn check_victims(&mut self, decisions: &Decisions) {
        let state = self.engine.state();
        self.evictions += decisions.evictions.len();
        for eviction in &decisions.evictions {
            let task = state.task(eviction.task);
            let key = state.population().task_key(eviction.task);
            let held = matches!(eviction.from, TaskStatus::Running | TaskStatus::Bound);
            assert!(held, "{key} was {:?}: {}", eviction.from, self.context);
            assert!(
                !state.population().is_protected_by_mark(eviction.task),
                "{key}: {}",
                self.context
            );
            assert!(!task.deleting, "{key} goes already: {}", self.context);
            let job = task.job.expect("a job");
            let queue = |job: JobIx| state.job(job).queue;
            let by = eviction.by.expect("somebody it is for");
            let same = queue(job) == queue(by);
            assert_eq!(
                same,
                eviction.reason == "preempt",
                "{key}: {}",
                self.context
            );
            if job == by {
                continue;
            }
            // The group of a pod alone is another one for each that comes in its place.
            let name = |job: JobIx| state.population().job_key(job);
            let (victim, by) = (name(job), name(by));
            assert!(
                !self.pairs.contains(&(by.clone(), victim.clone())),
                "{by} and {victim} have each other evicted: {}",
                self.context
            );
            self.pairs.insert((victim, by));
        }
    }

    /// Where only amounts decide, none of the pods that go for one plan could have stayed.
    fn check_needed(&self, decisions: &Decisions) {
        let state = self.engine.state();
        let plans: BTreeSet<JobIx> = decisions
            .evictions
            .iter()
            .filter_map(|one| one.by)
            .collect();
        let rules = ["proportion", "capacity"];
        if !self.by_amounts || plans.len() != 1 || rules.iter().any(|name| self.has_plugin(name)) {
            return;
        }
        for eviction in &decisions.evictions {
            let task = state.task(eviction.task);
            let key = state.population().task_key(eviction.task);
            let object = &self.outside.pods[&key];
            let is_special = !object.host_ports.is_empty() || !object.facts.containers.is_empty();
            if is_special || task.job == eviction.by {
                continue;
            }
            let node = task.node.expect("a node");
            let request = &state.shape(eviction.task).request;
            let mut amounts = request.iter().filter(|(_, amount)| *amount > 0);
            let is_needed = |(resource, amount)| state.nodes().future_idle(resource, node) < amount;
            assert!(amounts.any(is_needed), "{key} could stay: {}", self.context);
        }
    }
}

/// Members of a job that have a place, or had one.
fn placed(state: &State, job: JobIx) -> usize {
    let tasks = state.job(job).tasks.iter();
    let has_place = |task: &&TaskIx| {
        let status = state.task(**task).status;
        status.is_allocated() || matches!(status, TaskStatus::Succeeded | TaskStatus::Pipelined)
    };
    tasks.filter(has_place).count()
}

/// Follows clusters until they have settled.
fn follow_all(seeds: std::ops::Range<u64>, one: impl Fn(u64) -> Run) {
    let (mut evicted, mut by_reason) = (0, BTreeMap::<&str, u64>::new());
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let mut run = one(seed);
        for cycle in 0..CYCLES + SETTLED {
            let decisions = run.cycle(cycle);
            for eviction in &decisions.evictions {
                *by_reason.entry(eviction.reason).or_default() += 1;
            }
            let is_settled = cycle < CYCLES || decisions.evictions.is_empty();
            assert!(is_settled, "somebody goes still: {}", run.context);
        }
        evicted += run.evictions as u64;
    }
    // The cases are not trivial.
    assert!(evicted > cases / 2, "{evicted} evictions");
    assert_eq!(by_reason.len(), 2, "{by_reason:?}");
}

#[test]
fn evictions_are_of_use_fair_and_come_to_an_end() {
    follow_all(run::seeds(0, CASES), |seed| {
        Run::new(seed, &full_cluster(seed))
    });
}

#[test]
fn so_are_those_for_pods_that_are_spread_or_mount_volumes_and_when_promises_end() {
    follow_all(run::seeds(0, VARIED_CASES), Run::varied);
}
