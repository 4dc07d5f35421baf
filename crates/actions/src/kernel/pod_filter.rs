//! Inter-pod affinity and hard topology spread for one class (spec/02 §6.8), by cell.

use std::rc::Rc;

use pumice_framework::{Class, PodPoints, ReasonId, ReasonKind, ReasonTable};
use pumice_model::domains::Domains;
use pumice_model::object::{PodTerm, Selector, SpreadConstraint, Unsatisfiable};
use pumice_model::selector::{node_affinity_holds, selects, tolerates_filtering};
use pumice_model::topology::{CounterIx, Pull, Query};
use pumice_model::{NodeIx, State};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::domain_sum::DomainSum;
use super::layout::{CellDomains, Layout};

/// Reasons of these filters (spec/02 §6.7).
#[derive(Clone, Copy, Debug)]
pub struct PodReasons {
    affinity: ReasonId,
    anti_affinity: ReasonId,
    existing: ReasonId,
    spread: ReasonId,
    spread_label: ReasonId,
}

impl PodReasons {
    /// Interns the reasons.
    pub fn new(table: &mut ReasonTable) -> Self {
        use ReasonKind::{Unresolvable, Unschedulable};
        Self {
            affinity: table.intern("node(s) didn't match pod affinity rules", Unresolvable),
            anti_affinity: table.intern(
                "node(s) didn't match pod anti-affinity rules",
                Unschedulable,
            ),
            existing: table.intern(
                "node(s) didn't satisfy existing pods anti-affinity rules",
                Unschedulable,
            ),
            spread: table.intern(
                "node(s) didn't match pod topology spread constraints",
                Unschedulable,
            ),
            spread_label: table.intern(
                "node(s) didn't match pod topology spread constraints (missing required label)",
                Unresolvable,
            ),
        }
    }
}

#[derive(Debug)]
struct Spread {
    sum: usize,
    max_skew: i64,
    min_domains: i32,
    self_match: i64,
}

/// The filters of one class and the sums they need.
#[derive(Debug)]
pub struct PodFilter {
    sums: Vec<DomainSum>,
    affinity: Vec<usize>,
    first_of_its_kind: bool,
    anti: Vec<usize>,
    existing: Vec<usize>,
    spread: Vec<Spread>,
    reasons: PodReasons,
    /// Cells of nodes about which the filters say the same.
    pub layout: Rc<Layout>,
}

/// Topology keys, and combinations of them, beyond which those no class uses are dropped.
const MOST_KEYS: usize = 256;

/// Domains of topology keys and layouts over them: they depend on node labels alone, so all classes
/// share them.
#[derive(Default)]
pub struct TopologyKeys {
    /// Label keys of all nodes, and the domains of any other key: none.
    on_nodes: Option<(FxHashSet<String>, Rc<Domains>)>,
    domains: FxHashMap<String, Rc<Domains>>,
    layouts: FxHashMap<Vec<String>, Rc<Layout>>,
}

impl TopologyKeys {
    /// Domains of a key.
    pub fn domains(&mut self, state: &State, key: &str) -> Rc<Domains> {
        if let Some(domains) = self.domains.get(key) {
            return domains.clone();
        }
        let (on_nodes, none) = self.on_nodes.get_or_insert_with(|| label_keys(state));
        if !on_nodes.contains(key) {
            return none.clone();
        }
        if self.domains.len() >= MOST_KEYS {
            self.domains.retain(|_, known| Rc::strong_count(known) > 1);
        }
        let domains = Rc::new(Domains::of(&state.nodes, key));
        self.domains.insert(key.to_owned(), domains.clone());
        domains
    }

    fn layout(&mut self, state: &State, keys: &[String]) -> Rc<Layout> {
        if let Some(layout) = self.layouts.get(keys) {
            return layout.clone();
        }
        if self.layouts.len() >= MOST_KEYS {
            self.layouts.retain(|_, known| Rc::strong_count(known) > 1);
        }
        let domains: Vec<Rc<Domains>> = keys.iter().map(|key| self.domains(state, key)).collect();
        let layout = Rc::new(Layout::of(state.nodes.len(), &domains));
        self.layouts.insert(keys.to_vec(), layout.clone());
        layout
    }
}

/// The label keys of all nodes, and the domains of a key that is not among them.
fn label_keys(state: &State) -> (FxHashSet<String>, Rc<Domains>) {
    let mut keys: FxHashSet<String> = FxHashSet::default();
    for node in state.nodes.indices() {
        for (key, _) in &state.nodes.object(node).labels {
            if !keys.contains(key) {
                keys.insert(key.clone());
            }
        }
    }
    (keys, Rc::new(Domains::none(state.nodes.len())))
}

/// Topology keys of one class, each once, in order of first use.
struct KeySet<'a> {
    names: Vec<String>,
    all: &'a mut TopologyKeys,
}

impl KeySet<'_> {
    /// Number and domains of a key.
    fn add(&mut self, state: &State, key: &str) -> (usize, Rc<Domains>) {
        let domains = self.all.domains(state, key);
        let at = match self.names.iter().position(|name| name == key) {
            Some(at) => at,
            None => {
                self.names.push(key.to_owned());
                self.names.len() - 1
            }
        };
        (at, domains)
    }
}

/// Selectors of a constraint as a counter wants them: a missing selector counts nothing.
pub fn constraint_selectors(constraint: &SpreadConstraint) -> Vec<Selector> {
    vec![constraint.selector.clone().unwrap_or_default()]
}

/// Nodes that count for the constraints of a class: they have every key, and the policies of the
/// constraint admit them.
pub struct Eligible {
    has_keys: Vec<bool>,
    /// By policy, whether affinity and taints are honoured, once asked for.
    by_policy: [Option<Rc<[bool]>>; 4],
}

impl Eligible {
    /// The nodes with every key.
    pub fn new(state: &State, keys: &[Rc<Domains>]) -> Self {
        let mut has_keys = vec![true; state.nodes.len()];
        for key in keys {
            for (has, domain) in has_keys.iter_mut().zip(&key.of_node) {
                *has &= *domain != Domains::NONE;
            }
        }
        Self {
            has_keys,
            by_policy: [None, None, None, None],
        }
    }

    /// Those a constraint admits.
    pub fn nodes(
        &mut self,
        state: &State,
        class: &Class,
        constraint: &SpreadConstraint,
    ) -> Rc<[bool]> {
        let (affinity, taints) = (constraint.honor_affinity, constraint.honor_taints);
        let rules = &class.rules;
        let admits = |(at, has_keys): (usize, &bool)| {
            let object = state.nodes.object(NodeIx(at as u32));
            *has_keys
                && (!affinity
                    || node_affinity_holds(
                        &rules.node_selector,
                        rules.node_affinity.as_deref(),
                        object,
                    ))
                && (!taints || tolerates_filtering(&rules.tolerations, &object.taints))
        };
        let policy = &mut self.by_policy[usize::from(affinity) * 2 + usize::from(taints)];
        let nodes = policy.get_or_insert_with(|| {
            let nodes = self.has_keys.iter().enumerate();
            nodes.map(admits).collect()
        });
        nodes.clone()
    }
}

impl PodFilter {
    /// The filters of a class; `None` when no other pod has a say.
    pub fn new(
        state: &mut State,
        class: &Class,
        points: &PodPoints,
        reasons: PodReasons,
        all: &mut TopologyKeys,
    ) -> Option<Self> {
        let rules = class.rules.clone();
        let mut keys = KeySet {
            names: Vec::new(),
            all,
        };
        let mut filter = Self {
            sums: Vec::new(),
            affinity: Vec::new(),
            first_of_its_kind: false,
            anti: Vec::new(),
            existing: Vec::new(),
            spread: Vec::new(),
            reasons,
            layout: Rc::default(),
        };
        if points.affinity_filter && state.topology.is_active() {
            filter.add_affinity(state, class, &rules.affinity, &mut keys);
            for (key, counter) in state.own_counters(class.shape.rules, Pull::Barred) {
                let sum = filter.add_counter(state, counter, &key, &mut keys);
                filter.anti.extend(sum);
            }
            for (key, counter) in state.carried_counters(class.key.appearance, Pull::Barred) {
                let sum = filter.add_counter(state, counter, &key, &mut keys);
                filter.existing.extend(sum);
            }
        }
        if points.spread_filter {
            filter.add_spread(state, class, &mut keys);
        }
        if filter.sums.is_empty() {
            return None;
        }
        filter.layout = keys.all.layout(state, &keys.names);
        Some(filter)
    }

    fn add_sum(
        &mut self,
        state: &State,
        counter: CounterIx,
        key: &str,
        keys: &mut KeySet,
    ) -> usize {
        let (at, domains) = keys.add(state, key);
        self.sums
            .push(DomainSum::new(&state.topology, counter, domains, at, None));
        self.sums.len() - 1
    }

    /// A sum that bars a node where it is not zero; none when no node has the key.
    fn add_counter(
        &mut self,
        state: &State,
        counter: CounterIx,
        key: &str,
        keys: &mut KeySet,
    ) -> Option<usize> {
        let somewhere = keys.all.domains(state, key).count > 0;
        somewhere.then(|| self.add_sum(state, counter, key, keys))
    }

    fn add_affinity(
        &mut self,
        state: &mut State,
        class: &Class,
        terms: &[PodTerm],
        keys: &mut KeySet,
    ) {
        if terms.is_empty() {
            return;
        }
        let counter = state.counter(Query::Terms(terms.to_vec()));
        let mut known: FxHashSet<&str> = FxHashSet::default();
        for term in terms {
            if known.insert(&term.topology_key) {
                let at = self.add_sum(state, counter, &term.topology_key, keys);
                self.affinity.push(at);
            }
        }
        self.first_of_its_kind = terms.iter().all(|term| {
            state
                .topology
                .term_selects(&state.names, term, class.key.appearance)
        });
    }

    fn add_spread(&mut self, state: &mut State, class: &Class, keys: &mut KeySet) {
        let hard: Vec<SpreadConstraint> = class
            .rules
            .spread
            .iter()
            .filter(|c| c.when == Unsatisfiable::DoNotSchedule)
            .cloned()
            .collect();
        let all_keys: Vec<Rc<Domains>> = hard
            .iter()
            .map(|c| keys.add(state, &c.topology_key).1)
            .collect();
        let look = state.topology.look_of(class.key.appearance).clone();
        let namespace = state.names.text(look.namespace).to_owned();
        let mut eligible = Eligible::new(state, &all_keys);
        for constraint in &hard {
            let selectors = constraint_selectors(constraint);
            let query = Query::Spread {
                namespace: namespace.clone(),
                selectors,
            };
            let counter = state.counter(query);
            let eligible = eligible.nodes(state, class, constraint);
            let (at, domains) = keys.add(state, &constraint.topology_key);
            self.sums.push(DomainSum::new(
                &state.topology,
                counter,
                domains,
                at,
                Some(eligible),
            ));
            let matches = |s: &Selector| selects(&state.names, s, &look.labels);
            self.spread.push(Spread {
                sum: self.sums.len() - 1,
                max_skew: i64::from(constraint.max_skew),
                min_domains: constraint.min_domains,
                self_match: i64::from(constraint.selector.as_ref().is_some_and(matches)),
            });
        }
    }

    /// Number of sums it keeps.
    pub fn sums(&self) -> usize {
        self.sums.len()
    }

    /// Takes touched nodes into account; calls `changed` for every cell whose verdict may differ.
    pub fn catch_up(
        &mut self,
        state: &State,
        touched: &[NodeIx],
        mut changed: impl FnMut(&Self, usize),
    ) {
        let before = self.tipping_points();
        let mut stale: Vec<u32> = Vec::new();
        for sum in &mut self.sums {
            for node in touched {
                if let Some(domain) = sum.update(&state.topology, *node) {
                    stale.extend(&self.layout.cells_in[sum.key][domain as usize]);
                }
            }
        }
        if self.tipping_points() == before {
            stale.sort_unstable();
            stale.dedup();
            stale
                .into_iter()
                .for_each(|cell| changed(self, cell as usize));
        } else {
            (0..self.layout.cells()).for_each(|cell| changed(self, cell));
        }
    }

    /// Values that change the verdict of every cell when they move.
    fn tipping_points(&self) -> SmallVec<[i64; 4]> {
        let any_match = self.affinity.iter().any(|at| self.sums[*at].total > 0);
        let least = self
            .spread
            .iter()
            .map(|s| self.sums[s.sum].least(s.min_domains));
        std::iter::once(i64::from(any_match)).chain(least).collect()
    }

    /// Whether the filters pass the nodes of a cell.
    pub fn passes(&self, cell: usize) -> bool {
        let domains = &self.layout.domains[cell];
        self.affinity_verdict(domains).is_none() && self.spread_verdict(domains).is_none()
    }

    /// Reasons against the nodes of a cell, in the order they are found; empty when it passes.
    pub fn reasons(&self, table: &ReasonTable, cell: usize) -> SmallVec<[ReasonId; 2]> {
        let domains = &self.layout.domains[cell];
        let mut found = SmallVec::new();
        if let Some(reason) = self.affinity_verdict(domains) {
            found.push(reason);
            if table.reason(reason).kind == ReasonKind::Unresolvable {
                return found;
            }
        }
        found.extend(self.spread_verdict(domains));
        found
    }

    fn sum_in(&self, at: usize, domains: &CellDomains) -> Option<i64> {
        let sum = &self.sums[at];
        let domain = domains[sum.key];
        (domain != Domains::NONE).then(|| sum.of_domain(domain))
    }

    fn affinity_verdict(&self, domains: &CellDomains) -> Option<ReasonId> {
        if !self.affinity.is_empty() {
            let mut all_positive = true;
            for at in &self.affinity {
                match self.sum_in(*at, domains) {
                    None => return Some(self.reasons.affinity),
                    Some(sum) => all_positive &= sum > 0,
                }
            }
            let nobody = self.affinity.iter().all(|at| self.sums[*at].total == 0);
            let first_of_its_kind = nobody && self.first_of_its_kind;
            if !(all_positive || first_of_its_kind) {
                return Some(self.reasons.affinity);
            }
        }
        let conflicts = |at: &usize| self.sum_in(*at, domains).is_some_and(|sum| sum > 0);
        if self.anti.iter().any(conflicts) {
            return Some(self.reasons.anti_affinity);
        }
        self.existing
            .iter()
            .any(conflicts)
            .then_some(self.reasons.existing)
    }

    fn spread_verdict(&self, domains: &CellDomains) -> Option<ReasonId> {
        for spread in &self.spread {
            let Some(sum) = self.sum_in(spread.sum, domains) else {
                return Some(self.reasons.spread_label);
            };
            let least = self.sums[spread.sum].least(spread.min_domains);
            if sum + spread.self_match - least > spread.max_skew {
                return Some(self.reasons.spread);
            }
        }
        None
    }
}
