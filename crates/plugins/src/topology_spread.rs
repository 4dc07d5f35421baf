//! Topology spread: the filter of `predicates` and the score of `nodeorder` (spec/02 §6.8, §8.6).
//!
//! Both count, by domain of a constraint's key, the pods of the namespace that its selector matches, on
//! nodes the constraint admits. The filter compares a domain with the emptiest one; the score prefers
//! domains with few, and compares all candidates.

use std::sync::Arc;

use pumice_framework::points::{
    CandidateScore, Cell, ChangedDomains, Class, CountedCluster, Counting, DomainFilter, KeySet,
};
use pumice_framework::{DomainSum, ReasonId, ReasonKind, ReasonTable};
use pumice_model::domains::Domains;
use pumice_model::object::{Selector, SpreadConstraint, Unsatisfiable};
use pumice_model::selector::{node_affinity_holds, selects, tolerates_filtering};
use pumice_model::topology::{PodCounters, Query};
use pumice_model::{LoadMoment, NodeIx, State};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Node label whose domains are single nodes for the score.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Node label of the second default constraint.
const ZONE: &str = "topology.kubernetes.io/zone";

/// Reasons of the filter (spec/02 §6.7).
#[derive(Clone, Copy, Debug)]
pub struct SpreadReasons {
    spread: ReasonId,
    label: ReasonId,
}

impl SpreadReasons {
    /// Interns the reasons.
    pub fn new(table: &mut ReasonTable) -> Self {
        let spread = "node(s) didn't match pod topology spread constraints";
        let label = format!("{spread} (missing required label)");
        Self {
            spread: table.intern(spread, ReasonKind::Unschedulable),
            label: table.intern(&label, ReasonKind::Unresolvable),
        }
    }
}

/// Selectors of a constraint as a counter wants them: a missing selector counts nothing.
fn constraint_selectors(constraint: &SpreadConstraint) -> Vec<Selector> {
    vec![constraint.selector.clone().unwrap_or_default()]
}

/// Nodes that count for the constraints of a class: they have every key, and the policies of the
/// constraint admit them.
struct Eligible {
    has_keys: Vec<bool>,
    /// By policy, whether affinity and taints are honoured, once asked for.
    by_policy: [Option<Arc<[bool]>>; 4],
}

impl Eligible {
    /// The nodes with every key.
    fn new(state: &State, keys: &[Arc<Domains>]) -> Self {
        let mut has_keys = vec![true; state.nodes().len()];
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
    fn nodes(
        &mut self,
        state: &State,
        class: &Class,
        constraint: &SpreadConstraint,
    ) -> Arc<[bool]> {
        let (affinity, taints) = (constraint.honor_affinity, constraint.honor_taints);
        let rules = &class.rules;
        let admits = |(at, has_keys): (usize, &bool)| {
            let object = state.nodes().object(NodeIx(at as u32));
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

/// The query of a constraint, or of the default ones with their selectors.
fn query(state: &State, class: &Class, selectors: Vec<Selector>) -> Query {
    let look = state.ground().topology().look_of(class.key.appearance);
    Query::Spread {
        namespace: state.names().text(look.namespace).to_owned(),
        selectors,
    }
}

/// One constraint of a filter.
#[derive(Debug)]
struct Spread {
    sum: usize,
    max_skew: i64,
    min_domains: i32,
    self_match: i64,
}

/// The filter of one class and the sums it needs.
#[derive(Debug)]
struct SpreadFilter {
    keys: KeySet,
    sums: Vec<DomainSum>,
    constraints: Vec<Spread>,
    reasons: SpreadReasons,
}

/// The filter of a class; `None` when it has no constraint with `DoNotSchedule`.
pub fn filter(
    with: &mut Counting<'_>,
    class: &Class,
    reasons: SpreadReasons,
) -> Option<Box<dyn DomainFilter>> {
    let constraints = class.rules.spread.iter();
    let hard: Vec<&SpreadConstraint> = constraints
        .filter(|c| c.when == Unsatisfiable::DoNotSchedule)
        .collect();
    if hard.is_empty() {
        return None;
    }
    let mut filter = SpreadFilter {
        keys: KeySet::default(),
        sums: Vec::new(),
        constraints: Vec::new(),
        reasons,
    };
    let mut all_keys = Vec::new();
    for constraint in &hard {
        all_keys.push(filter.keys.add(with, &constraint.topology_key).1);
    }
    let mut eligible = Eligible::new(with.state(), &all_keys);
    for constraint in hard {
        let query = query(with.state(), class, constraint_selectors(constraint));
        let counter = with.counter(query);
        let eligible = eligible.nodes(with.state(), class, constraint);
        let (at, domains) = filter.keys.add(with, &constraint.topology_key);
        let state = with.state();
        let sum = DomainSum::new(with.counters(), counter, domains, at, Some(eligible));
        filter.sums.push(sum);
        let look = state.ground().topology().look_of(class.key.appearance);
        let matches = |s: &Selector| selects(state.names(), s, &look.labels);
        filter.constraints.push(Spread {
            sum: filter.sums.len() - 1,
            max_skew: i64::from(constraint.max_skew),
            min_domains: constraint.min_domains,
            self_match: i64::from(constraint.selector.as_ref().is_some_and(matches)),
        });
    }
    Some(Box::new(filter))
}

impl SpreadFilter {
    /// Pods in the emptiest domain now and later, by constraint: when one moves, so may every verdict.
    fn least(&self) -> SmallVec<[[i64; 2]; 2]> {
        let least = |spread: &Spread| {
            let sum = &self.sums[spread.sum];
            let moments = [LoadMoment::Now, LoadMoment::Released];
            moments.map(|moment| sum.least(spread.min_domains, moment))
        };
        self.constraints.iter().map(least).collect()
    }
}

impl DomainFilter for SpreadFilter {
    fn keys(&self) -> &[String] {
        self.keys.names()
    }

    fn catch_up(
        &mut self,
        now: CountedCluster<'_>,
        touched: &[NodeIx],
        changed: &mut ChangedDomains,
    ) {
        let before = self.least();
        for sum in &mut self.sums {
            for node in touched {
                if let Some(domain) = sum.update(now.counters, *node) {
                    changed.some.push((sum.key, domain));
                }
            }
        }
        changed.all |= self.least() != before;
    }

    fn reject(&self, cell: Cell<'_>, moment: LoadMoment) -> Option<ReasonId> {
        for spread in &self.constraints {
            let sum = &self.sums[spread.sum];
            let domain = cell.domain(sum.key);
            if domain == Domains::NONE {
                return Some(self.reasons.label);
            }
            let there = sum.of_domain(domain, moment) + spread.self_match;
            if there - sum.least(spread.min_domains, moment) > spread.max_skew {
                return Some(self.reasons.spread);
            }
        }
        None
    }

    fn counts_released(&self) -> bool {
        self.sums.iter().any(DomainSum::differs)
    }

    fn sums(&self) -> usize {
        self.sums.len()
    }
}

/// One constraint of a score.
#[derive(Debug)]
struct Soft {
    sum: DomainSum,
    hostname: bool,
    max_skew: i64,
}

/// The score of one class and the sums it needs.
#[derive(Debug)]
struct SpreadScore {
    soft: Vec<Soft>,
    weight: i64,
    /// Nodes without all keys are left out (the pod lists its constraints itself).
    require_all_keys: bool,
    raw: Vec<i64>,
}

/// The score of a class; `None` when it has no constraint with `ScheduleAnyway`.
pub fn score(
    with: &mut Counting<'_>,
    class: &Class,
    weight: i64,
) -> Option<Box<dyn CandidateScore>> {
    if weight == 0 {
        return None;
    }
    let mut score = SpreadScore {
        soft: Vec::new(),
        weight,
        require_all_keys: !class.rules.spread.is_empty(),
        raw: Vec::new(),
    };
    let (soft, selectors) = if score.require_all_keys {
        let own = class.rules.spread.iter().cloned();
        let soft: Vec<SpreadConstraint> = own
            .filter(|c| c.when == Unsatisfiable::ScheduleAnyway)
            .collect();
        (soft, None)
    } else {
        let (topology, names) = (with.state().ground().topology(), with.state().names());
        let selectors = topology.default_selectors(names, class.key.appearance);
        if selectors.is_empty() {
            return None;
        }
        (default_constraints(), Some(selectors))
    };
    let mut all_keys = Vec::new();
    if score.require_all_keys {
        all_keys.extend(soft.iter().map(|c| with.domains(&c.topology_key)));
    }
    let mut eligible = Eligible::new(with.state(), &all_keys);
    for constraint in &soft {
        let selectors = selectors.clone();
        let selectors = selectors.unwrap_or_else(|| constraint_selectors(constraint));
        let query = query(with.state(), class, selectors);
        let counter = with.counter(query);
        let eligible = eligible.nodes(with.state(), class, constraint);
        let domains = with.domains(&constraint.topology_key);
        score.soft.push(Soft {
            sum: DomainSum::new(with.counters(), counter, domains, 0, Some(eligible)),
            hostname: constraint.topology_key == HOSTNAME,
            max_skew: i64::from(constraint.max_skew),
        });
    }
    match score.soft.is_empty() {
        true => None,
        false => Some(Box::new(score)),
    }
}

impl CandidateScore for SpreadScore {
    fn catch_up(&mut self, now: CountedCluster<'_>, touched: &[NodeIx]) {
        for sum in self.soft.iter_mut().map(|soft| &mut soft.sum) {
            for node in touched {
                sum.update(now.counters, *node);
            }
        }
    }

    fn add(&mut self, now: CountedCluster<'_>, candidates: &[u32], scores: &mut [i64]) {
        let ignored = |soft: &[Soft], node: u32| {
            self.require_all_keys
                && soft
                    .iter()
                    .any(|s| s.sum.domains.of_node[node as usize] == Domains::NONE)
        };
        let counted: Vec<bool> = candidates
            .iter()
            .map(|node| !ignored(&self.soft, *node))
            .collect();
        let weights: Vec<f64> = self
            .soft
            .iter()
            .map(|soft| weight(soft, candidates, &counted))
            .collect();
        self.raw.clear();
        for (node, counted) in candidates.iter().zip(&counted) {
            if !counted {
                self.raw.push(-1);
                continue;
            }
            let mut raw = 0.0;
            for (soft, weight) in self.soft.iter().zip(&weights) {
                if let Some(count) = soft.count(now.counters, *node as usize) {
                    raw += count as f64 * weight + (soft.max_skew - 1) as f64;
                }
            }
            // Go's math.Round: halves away from zero, as f64::round.
            self.raw.push(raw.round() as i64);
        }
        let valid = || self.raw.iter().filter(|raw| **raw >= 0);
        let max = valid().max().copied().unwrap_or(0);
        let min = valid().min().copied().unwrap_or(0);
        for (score, raw) in scores.iter_mut().zip(&self.raw) {
            let normalised = match (*raw, max) {
                (..=-1, _) => 0,
                (_, 0) => 100,
                (raw, max) => 100 * (max + min - raw) / max,
            };
            *score += self.weight * normalised;
        }
    }

    fn sums(&self) -> usize {
        self.soft.len()
    }
}

impl Soft {
    /// Matching pods in the domain of a node; `None` when the node lacks the key.
    fn count(&self, counters: &PodCounters, node: usize) -> Option<i64> {
        if self.sum.domains.of_node[node] == Domains::NONE {
            None
        } else if self.hostname {
            Some(self.sum.on_node(counters, node))
        } else {
            self.sum.of_node(node)
        }
    }
}

/// ln(size + 2), size being the number of domains among the candidates that count.
fn weight(soft: &Soft, candidates: &[u32], counted: &[bool]) -> f64 {
    let counting = candidates
        .iter()
        .zip(counted)
        .filter(|(_, counted)| **counted);
    let size = if soft.hostname {
        counting.count()
    } else {
        // A missing label counts as one more value, as in Kubernetes.
        let domains: FxHashSet<u32> = counting
            .map(|(node, _)| soft.sum.domains.of_node[*node as usize])
            .collect();
        domains.len()
    };
    ((size + 2) as f64).ln()
}

fn default_constraints() -> Vec<SpreadConstraint> {
    let constraint = |key: &str, max_skew| SpreadConstraint {
        max_skew,
        topology_key: key.to_owned(),
        when: Unsatisfiable::ScheduleAnyway,
        selector: None,
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    vec![constraint(HOSTNAME, 3), constraint(ZONE, 5)]
}
