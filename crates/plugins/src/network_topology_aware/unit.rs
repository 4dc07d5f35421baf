//! Nodes for pods of a job or sub-job that asks for a place in the network (spec/08 §6.1).

use pumice_framework::points::{CandidateScore, CountedCluster};
use pumice_model::{DomainIx, JobIx, JobUnit, NetworkTree, NodeIx, State, TaskIx, UnitPart};
use rustc_hash::FxHashMap;

/// The smallest unit of a task that asks: its sub-job, a CompositePodGroup around that, or else its job.
pub fn that_asks(state: &State, task: TaskIx) -> Option<JobUnit> {
    let task = state.task(task);
    let job = task.job.filter(|job| state.job(*job).wants_topology())?;
    let units = JobUnit::around(state.population(), job, task).into_iter();
    let mut units = units.rev();
    units.find(|unit| unit.request(state.population()).is_some())
}

/// A unit as a part of the classes of its pods. An index that comes to mean another job brings the scores of
/// that one, since they are read from the state.
pub fn to_text(unit: JobUnit) -> String {
    let job = unit.job.0;
    match unit.part {
        UnitPart::Whole => job.to_string(),
        UnitPart::SubJob(at) => format!("{job}/{at}"),
        UnitPart::Composite(at) => format!("{job}:{at}"),
    }
}

/// What [`to_text`] wrote.
pub fn of_text(text: &str) -> Option<JobUnit> {
    let (job, part) = match (text.split_once('/'), text.split_once(':')) {
        (Some((job, at)), _) => (job, UnitPart::SubJob(at.parse().ok()?)),
        (None, Some((job, at))) => (job, UnitPart::Composite(at.parse().ok()?)),
        (None, None) => (text, UnitPart::Whole),
    };
    let job = JobIx(job.parse().ok()?);
    Some(JobUnit { job, part })
}

/// How close nodes are to what is placed of a unit.
pub struct Nearness {
    unit: JobUnit,
    weight: i64,
    /// Pods of the unit on each node that has some.
    placed: FxHashMap<NodeIx, u32>,
    /// Pods of the unit in each domain.
    there: Vec<u32>,
    /// Pods of the unit on all nodes.
    total: u32,
    /// What `ChangeJournal::sub_jobs_epoch` was when all was counted.
    epoch: u64,
    bases: Bases,
}

/// How close nodes are to a domain, from 0 to 1, by the smallest domain they are in.
#[derive(Default)]
struct Bases {
    /// Close to which.
    around: Option<DomainIx>,
    /// None while nobody has asked.
    of_domains: Vec<Option<f64>>,
}

impl Bases {
    fn begin(&mut self, network: &NetworkTree, around: DomainIx) {
        if self.around != Some(around) {
            self.around = Some(around);
            self.of_domains.clear();
            self.of_domains.resize(network.domains().len(), None);
        }
    }

    fn of(&mut self, network: &NetworkTree, around: DomainIx, node: NodeIx) -> f64 {
        let domains = network.of_node(node);
        *self.of_domains[domains[0].at()].get_or_insert_with(|| closeness(network, around, domains))
    }
}

/// How close a node in some domains, from the smallest on, is to another domain.
fn closeness(network: &NetworkTree, around: DomainIx, domains: &[DomainIx]) -> f64 {
    let lowest = network.domains().first().map_or(0, |domain| domain.tier);
    let top = network.domain(network.cluster()).tier;
    if domains[0] == around || top == lowest {
        return 1.0;
    }
    let mut wider = domains.iter();
    let common = wider.find(|domain| network.is_within(around, **domain));
    let tier = common.map_or(top, |domain| network.domain(*domain).tier);
    top.saturating_sub(tier) as f64 / top.saturating_sub(lowest) as f64
}

impl Nearness {
    pub fn new(state: &State, unit: JobUnit, weight: i64) -> Self {
        let mut score = Self {
            unit,
            weight,
            placed: FxHashMap::default(),
            there: Vec::new(),
            total: 0,
            epoch: 0,
            bases: Bases::default(),
        };
        score.count_anew(state);
        score
    }

    fn count_anew(&mut self, state: &State) {
        self.placed.clear();
        self.there = vec![0; state.ground().network().domains().len()];
        self.total = 0;
        self.epoch = state.journal().sub_jobs_epoch();
        let mut nodes = self.unit.placed_on(state.population());
        nodes.dedup();
        nodes.into_iter().for_each(|node| self.follow(state, node));
    }

    /// Takes in what a node holds now.
    fn follow(&mut self, state: &State, node: NodeIx) {
        let is_placed = |task: &&TaskIx| {
            let task = state.task(**task);
            task.status.is_placed() && self.unit.holds(state.population(), task)
        };
        let now = state.nodes().tasks(node).iter().filter(is_placed).count() as u32;
        let before = match now {
            0 => self.placed.remove(&node),
            _ => self.placed.insert(node, now),
        };
        let before = before.unwrap_or(0);
        if now != before {
            self.total = self.total + now - before;
            for domain in state.ground().network().of_node(node) {
                let there = &mut self.there[domain.at()];
                *there = *there + now - before;
            }
        }
    }

    /// The smallest domain around all that is placed; none while nothing is.
    fn around(&self, state: &State) -> Option<DomainIx> {
        let (node, _) = self.placed.iter().next()?;
        let mut around = state.ground().network().of_node(*node).iter();
        around
            .find(|domain| self.there[domain.at()] == self.total)
            .copied()
    }
}

impl CandidateScore for Nearness {
    fn catch_up(&mut self, CountedCluster { state, .. }: CountedCluster<'_>, touched: &[NodeIx]) {
        if state.journal().sub_jobs_epoch() != self.epoch {
            self.count_anew(state);
            return;
        }
        touched.iter().for_each(|node| self.follow(state, *node));
    }

    fn add(
        &mut self,
        CountedCluster { state, .. }: CountedCluster<'_>,
        candidates: &[u32],
        scores: &mut [i64],
    ) {
        let network = state.ground().network();
        let Some(around) = self.around(state) else {
            return;
        };
        let own = |node: NodeIx| network.of_node(node)[0];
        self.bases.begin(network, around);
        let bases = candidates
            .iter()
            .map(|node| self.bases.of(network, around, NodeIx(*node)));
        let bases: Vec<f64> = bases.collect();
        let best = bases.iter().copied().fold(f64::MIN, f64::max);
        let is_shared = bases.iter().filter(|base| **base == best).count() > 1;
        let pods = self.unit.size(state.population()).max(1) as f64;
        let share = |domain: DomainIx| f64::from(self.there[domain.at()]) / pods;
        for ((score, node), base) in scores.iter_mut().zip(candidates).zip(bases) {
            let more = match is_shared && base == best {
                true => share(own(NodeIx(*node))),
                false => 0.0,
            };
            *score += ((base + more) * 100.0 * self.weight as f64) as i64;
        }
    }

    fn sums(&self) -> usize {
        1
    }
}
