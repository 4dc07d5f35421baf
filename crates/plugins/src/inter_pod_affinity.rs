//! Inter-pod affinity: the filter of `predicates` and the score of `nodeorder` (spec/02 §6.8, §8.5).
//!
//! | part | looks at |
//! |---|---|
//! | required affinity | one counter for all terms of the pod, summed by each of their keys |
//! | required anti-affinity | own terms against pods that are there, and terms of those against it |
//! | preferred terms | own and others', with their weights, compared over the candidates |

use pumice_framework::points::{
    CandidateScore, Cell, ChangedDomains, Class, CountedCluster, Counting, DomainFilter, KeySet,
};
use pumice_framework::{DomainSum, ReasonId, ReasonKind, ReasonTable};
use pumice_model::CounterIx;
use pumice_model::domains::Domains;
use pumice_model::object::PodTerm;
use pumice_model::topology::{Pull, Query};
use pumice_model::{LoadMoment, NodeIx};
use rustc_hash::FxHashSet;

/// Reasons of the filter (spec/02 §6.7).
#[derive(Clone, Copy, Debug)]
pub struct AffinityReasons {
    affinity: ReasonId,
    anti_affinity: ReasonId,
    existing: ReasonId,
}

impl AffinityReasons {
    /// Interns the reasons.
    pub fn new(table: &mut ReasonTable) -> Self {
        use ReasonKind::{Unresolvable, Unschedulable};
        let anti_affinity = "node(s) didn't match pod anti-affinity rules";
        let existing = "node(s) didn't satisfy existing pods anti-affinity rules";
        Self {
            affinity: table.intern("node(s) didn't match pod affinity rules", Unresolvable),
            anti_affinity: table.intern(anti_affinity, Unschedulable),
            existing: table.intern(existing, Unschedulable),
        }
    }
}

/// The filter of one class and the sums it needs.
#[derive(Debug)]
struct AffinityFilter {
    keys: KeySet,
    sums: Vec<DomainSum>,
    affinity: Vec<usize>,
    first_of_its_kind: bool,
    anti: Vec<usize>,
    existing: Vec<usize>,
    reasons: AffinityReasons,
}

/// The filter of a class; `None` when no other pod has a say.
pub fn filter(
    with: &mut Counting<'_>,
    class: &Class,
    reasons: AffinityReasons,
) -> Option<Box<dyn DomainFilter>> {
    if !with.state().ground().topology().is_active() {
        return None;
    }
    let mut filter = AffinityFilter {
        keys: KeySet::default(),
        sums: Vec::new(),
        affinity: Vec::new(),
        first_of_its_kind: false,
        anti: Vec::new(),
        existing: Vec::new(),
        reasons,
    };
    filter.add_affinity(with, class, &class.rules.affinity);
    for (key, counter) in with.own_counters(class.shape.rules, Pull::Barred) {
        let sum = filter.add_counter(with, counter, &key);
        filter.anti.extend(sum);
    }
    for (key, counter) in with.carried_counters(class.key.appearance, Pull::Barred) {
        let sum = filter.add_counter(with, counter, &key);
        filter.existing.extend(sum);
    }
    match filter.sums.is_empty() {
        true => None,
        false => Some(Box::new(filter)),
    }
}

impl AffinityFilter {
    fn add_sum(&mut self, with: &mut Counting<'_>, counter: CounterIx, key: &str) -> usize {
        let (at, domains) = self.keys.add(with, key);
        let sum = DomainSum::new(with.counters(), counter, domains, at, None);
        self.sums.push(sum);
        self.sums.len() - 1
    }

    /// A sum that bars a node where it is not zero; none when no node has the key.
    fn add_counter(
        &mut self,
        with: &mut Counting<'_>,
        counter: CounterIx,
        key: &str,
    ) -> Option<usize> {
        let somewhere = with.domains(key).count > 0;
        somewhere.then(|| self.add_sum(with, counter, key))
    }

    fn add_affinity(&mut self, with: &mut Counting<'_>, class: &Class, terms: &[PodTerm]) {
        if terms.is_empty() {
            return;
        }
        let counter = with.counter(Query::Terms(terms.to_vec()));
        let mut known: FxHashSet<&str> = FxHashSet::default();
        for term in terms {
            if known.insert(&term.topology_key) {
                let at = self.add_sum(with, counter, &term.topology_key);
                self.affinity.push(at);
            }
        }
        let state = with.state();
        let look = class.key.appearance;
        let selects_itself = |term: &PodTerm| {
            state
                .ground()
                .topology()
                .term_selects(state.names(), term, look)
        };
        self.first_of_its_kind = terms.iter().all(selects_itself);
    }

    /// Some pod matches the required terms: while none does, the first of its kind may go anywhere.
    fn any_match(&self, moment: LoadMoment) -> bool {
        let mut sums = self.affinity.iter().map(|at| &self.sums[*at]);
        sums.any(|sum| sum.total(moment) > 0)
    }

    fn matches_at_any_moment(&self) -> [bool; 2] {
        [LoadMoment::Now, LoadMoment::Released].map(|moment| self.any_match(moment))
    }

    fn sum_in(&self, at: usize, cell: Cell<'_>, moment: LoadMoment) -> Option<i64> {
        let sum = &self.sums[at];
        let domain = cell.domain(sum.key);
        (domain != Domains::NONE).then(|| sum.of_domain(domain, moment))
    }
}

impl DomainFilter for AffinityFilter {
    fn keys(&self) -> &[String] {
        self.keys.names()
    }

    fn catch_up(
        &mut self,
        now: CountedCluster<'_>,
        touched: &[NodeIx],
        changed: &mut ChangedDomains,
    ) {
        let before = self.matches_at_any_moment();
        for sum in &mut self.sums {
            for node in touched {
                if let Some(domain) = sum.update(now.counters, *node) {
                    changed.some.push((sum.key, domain));
                }
            }
        }
        changed.all |= self.matches_at_any_moment() != before;
    }

    fn reject(&self, cell: Cell<'_>, moment: LoadMoment) -> Option<ReasonId> {
        if !self.affinity.is_empty() {
            let mut all_positive = true;
            for at in &self.affinity {
                match self.sum_in(*at, cell, moment) {
                    None => return Some(self.reasons.affinity),
                    Some(sum) => all_positive &= sum > 0,
                }
            }
            let first_of_its_kind = self.first_of_its_kind && !self.any_match(moment);
            if !(all_positive || first_of_its_kind) {
                return Some(self.reasons.affinity);
            }
        }
        let conflicts = |at: &usize| self.sum_in(*at, cell, moment).is_some_and(|sum| sum > 0);
        if self.anti.iter().any(conflicts) {
            return Some(self.reasons.anti_affinity);
        }
        self.existing
            .iter()
            .any(conflicts)
            .then_some(self.reasons.existing)
    }

    fn sums(&self) -> usize {
        self.sums.len()
    }

    fn counts_released(&self) -> bool {
        self.sums.iter().any(DomainSum::differs)
    }

    fn is_lasting(&self) -> bool {
        // A pod that is placed may be the one that others want to be near.
        self.affinity.is_empty()
    }
}

/// The score of one class and the sums it needs.
#[derive(Debug)]
struct AffinityScore {
    sums: Vec<DomainSum>,
    weight: i64,
    raw: Vec<i64>,
}

/// The score of a class: what its own preferred terms say of the placed pods, and theirs of it. `None`
/// when no node has their keys, so that they cannot tell nodes apart.
pub fn score(
    with: &mut Counting<'_>,
    class: &Class,
    weight: i64,
) -> Option<Box<dyn CandidateScore>> {
    if weight == 0 || !with.state().ground().topology().is_active() {
        return None;
    }
    let mut counters = with.own_counters(class.shape.rules, Pull::Preferred);
    counters.extend(with.carried_counters(class.key.appearance, Pull::Preferred));
    let mut sums = Vec::new();
    for (key, counter) in counters {
        let domains = with.domains(&key);
        if domains.count > 0 {
            sums.push(DomainSum::new(with.counters(), counter, domains, 0, None));
        }
    }
    if sums.is_empty() {
        return None;
    }
    let raw = Vec::new();
    Some(Box::new(AffinityScore { sums, weight, raw }))
}

impl CandidateScore for AffinityScore {
    fn catch_up(&mut self, now: CountedCluster<'_>, touched: &[NodeIx]) {
        for sum in &mut self.sums {
            for node in touched {
                sum.update(now.counters, *node);
            }
        }
    }

    fn add(&mut self, _: CountedCluster<'_>, candidates: &[u32], scores: &mut [i64]) {
        self.raw.clear();
        for node in candidates {
            let parts = self.sums.iter();
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
            *score += self.weight * normalised as i64;
        }
    }

    fn sums(&self) -> usize {
        self.sums.len()
    }
}
