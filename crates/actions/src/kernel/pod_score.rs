//! Preferred inter-pod affinity and soft topology spread for one class (spec/02 §8.5, §8.6).
//!
//! These scores are normalised over all candidates and may move for every node when one pod is
//! placed, so they are computed afresh, over the candidates, each time a node is chosen.

use std::rc::Rc;

use pumice_framework::{Class, PodPoints};
use pumice_model::domains::Domains;
use pumice_model::object::{SpreadConstraint, Unsatisfiable};
use pumice_model::topology::{Pull, Query};
use pumice_model::{NodeIx, State};
use rustc_hash::FxHashSet;

use super::domain_sum::DomainSum;
use super::pod_filter::{Eligible, TopologyKeys, constraint_selectors};

/// Node label whose domains are single nodes for the spread score.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Node label of the second default constraint.
const ZONE: &str = "topology.kubernetes.io/zone";

#[derive(Debug)]
struct Soft {
    sum: DomainSum,
    hostname: bool,
    max_skew: i64,
}

/// The scores of one class and the sums they need.
#[derive(Debug)]
pub struct PodScore {
    affinity: Vec<DomainSum>,
    affinity_weight: i64,
    spread: Vec<Soft>,
    spread_weight: i64,
    /// Nodes without all keys are left out (the pod lists its constraints itself).
    require_all_keys: bool,
    raw: Vec<i64>,
}

impl PodScore {
    /// The scores of a class; `None` when they cannot tell nodes apart.
    pub fn new(
        state: &mut State,
        class: &Class,
        points: &PodPoints,
        keys: &mut TopologyKeys,
    ) -> Option<Self> {
        let mut score = Self {
            affinity: Vec::new(),
            affinity_weight: points.affinity_weight,
            spread: Vec::new(),
            spread_weight: points.spread_weight,
            require_all_keys: true,
            raw: Vec::new(),
        };
        if points.affinity_weight != 0 && state.topology.is_active() {
            score.add_affinity(state, class, keys);
        }
        if points.spread_weight != 0 {
            score.add_spread(state, class, keys);
        }
        (!score.affinity.is_empty() || !score.spread.is_empty()).then_some(score)
    }

    /// What its own terms say of the placed pods, and theirs of it. Where no node has the key they
    /// cannot tell nodes apart.
    fn add_affinity(&mut self, state: &mut State, class: &Class, keys: &mut TopologyKeys) {
        let mut counters = state.own_counters(class.shape.rules, Pull::Preferred);
        counters.extend(state.carried_counters(class.key.appearance, Pull::Preferred));
        for (key, counter) in counters {
            let domains = keys.domains(state, &key);
            if domains.count > 0 {
                let sum = DomainSum::new(&state.topology, counter, domains, 0, None);
                self.affinity.push(sum);
            }
        }
    }

    fn add_spread(&mut self, state: &mut State, class: &Class, keys: &mut TopologyKeys) {
        let look = state.topology.look_of(class.key.appearance).clone();
        let namespace = state.names.text(look.namespace).to_owned();
        let (soft, selectors) = if class.rules.spread.is_empty() {
            self.require_all_keys = false;
            let selectors = state
                .topology
                .default_selectors(&state.names, class.key.appearance);
            if selectors.is_empty() {
                return;
            }
            (default_constraints(), Some(selectors))
        } else {
            let soft = class.rules.spread.iter();
            (
                soft.filter(|c| c.when == Unsatisfiable::ScheduleAnyway)
                    .cloned()
                    .collect(),
                None,
            )
        };
        let all_keys: Vec<Rc<Domains>> = if self.require_all_keys {
            soft.iter()
                .map(|c| keys.domains(state, &c.topology_key))
                .collect()
        } else {
            Vec::new()
        };
        let mut eligible = Eligible::new(state, &all_keys);
        for constraint in &soft {
            let selectors = selectors
                .clone()
                .unwrap_or_else(|| constraint_selectors(constraint));
            let query = Query::Spread {
                namespace: namespace.clone(),
                selectors,
            };
            let counter = state.counter(query);
            let eligible = eligible.nodes(state, class, constraint);
            let domains = keys.domains(state, &constraint.topology_key);
            self.spread.push(Soft {
                sum: DomainSum::new(&state.topology, counter, domains, 0, Some(eligible)),
                hostname: constraint.topology_key == HOSTNAME,
                max_skew: i64::from(constraint.max_skew),
            });
        }
    }

    /// Number of sums it keeps.
    pub fn sums(&self) -> usize {
        self.affinity.len() + self.spread.len()
    }

    /// Takes touched nodes into account.
    pub fn catch_up(&mut self, state: &State, touched: &[NodeIx]) {
        let spread = self.spread.iter_mut().map(|soft| &mut soft.sum);
        for sum in self.affinity.iter_mut().chain(spread) {
            for node in touched {
                sum.update(&state.topology, *node);
            }
        }
    }

    /// Adds the weighted scores of the candidates to `scores`, one for one.
    pub fn add(&mut self, state: &State, candidates: &[u32], scores: &mut [i64]) {
        if !self.affinity.is_empty() {
            self.add_affinity_scores(candidates, scores);
        }
        if !self.spread.is_empty() {
            self.add_spread_scores(state, candidates, scores);
        }
    }

    fn add_affinity_scores(&mut self, candidates: &[u32], scores: &mut [i64]) {
        self.raw.clear();
        for node in candidates {
            let parts = self.affinity.iter();
            let raw = parts
                .map(|sum| sum.of_node(*node as usize).unwrap_or(0))
                .sum();
            self.raw.push(raw);
        }
        let (Some(min), Some(max)) = (self.raw.iter().min(), self.raw.iter().max()) else {
            return;
        };
        let (min, spread) = (*min, max - min);
        if spread == 0 {
            return;
        }
        for (score, raw) in scores.iter_mut().zip(&self.raw) {
            let normalised = 100.0 * ((raw - min) as f64 / spread as f64);
            *score += self.affinity_weight * normalised as i64;
        }
    }

    fn add_spread_scores(&mut self, state: &State, candidates: &[u32], scores: &mut [i64]) {
        let ignored = |soft: &[Soft], node: u32| {
            self.require_all_keys
                && soft
                    .iter()
                    .any(|s| s.sum.domains.of_node[node as usize] == Domains::NONE)
        };
        let counted: Vec<bool> = candidates
            .iter()
            .map(|node| !ignored(&self.spread, *node))
            .collect();
        let weights: Vec<f64> = self
            .spread
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
            for (soft, weight) in self.spread.iter().zip(&weights) {
                if let Some(count) = soft.count(state, *node as usize) {
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
            *score += self.spread_weight * normalised;
        }
    }
}

impl Soft {
    /// Matching pods in the domain of a node; `None` when the node lacks the key.
    fn count(&self, state: &State, node: usize) -> Option<i64> {
        if self.sum.domains.of_node[node] == Domains::NONE {
            None
        } else if self.hostname {
            Some(self.sum.on_node(&state.topology, node))
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
