//! Counters: made when a class first asks, in step with the pods that were placed when they last caught up.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::anchor::Anchored;
use super::learn::Carried;
use super::{CountTable, Stay, Topology, anchor};
use crate::intern::Interner;
use crate::ix::{AppearanceIx, CounterIx, NodeIx, RulesIx};
use crate::object::{PodTerm, Selector};
use crate::selector::selects;

/// Most counters kept from one cycle to the next; beyond it all are dropped and made again when asked for.
pub const MAX_COUNTERS: usize = 1 << 14;

/// A counter, and what one pod weighs for it.
pub(super) type Weighed = (CounterIx, i64);

/// A topology key, and the counter to be summed up by it.
pub type KeyCounter = (String, CounterIx);

/// Terms by topology key.
type ByKey = BTreeMap<String, Vec<u32>>;

/// How terms work on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pull {
    /// They keep it away: required anti-affinity.
    Barred,
    /// They count for or against a node: preferred affinity and anti-affinity.
    Preferred,
}

/// What a counter adds up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Query {
    /// Pods that every one of these terms selects.
    Terms(Vec<PodTerm>),
    /// Pods of a namespace that are not marked as being deleted and that a selector selects; an empty selector counts none.
    Spread {
        /// Namespace whose pods are counted.
        namespace: String,
        /// All of these must select the pod.
        selectors: Vec<Selector>,
    },
    /// For every one of these known terms the pods it selects, times its weight.
    Own(Vec<u32>),
    /// The placed pods that carry terms of a topology key which select pods of an appearance,
    /// each times the weight of those terms.
    Carried(AppearanceIx, Pull, String),
}

/// Numbers by node for one query.
#[derive(Clone)]
pub(super) struct Counter {
    query: Arc<Query>,
    per_node: CountTable,
    /// What of these is being released.
    releasing: Option<Box<CountTable>>,
}

impl Counter {
    /// A pod weighs so much more, or less.
    pub(super) fn add(&mut self, node: NodeIx, stay: Stay, by: i64) {
        if stay.is_marked() && self.leaves_out_marked() {
            return;
        }
        self.per_node.add(node.0, by);
        if stay.is_releasing() {
            self.releasing.get_or_insert_default().add(node.0, by);
        }
    }

    /// Takes in what has been counted before: pods on nodes, and those of them that leave.
    fn take_in(&mut self, placed: &CountTable, releasing: Option<&CountTable>, weight: i64) {
        for (node, count) in placed.iter() {
            self.per_node.add(node, weight * count);
        }
        for (node, count) in releasing.iter().flat_map(|counts| counts.iter()) {
            let all = self.releasing.get_or_insert_default();
            all.add(node, weight * count);
        }
    }

    /// Whether pods that are marked as being deleted count for nothing.
    fn leaves_out_marked(&self) -> bool {
        matches!(*self.query, Query::Spread { .. })
    }
}

/// Counters of the placed pods: a cache of what a [`Topology`] tells, which whoever searches has for themselves. It
/// is good for the moment of the last [`PodCounters::follow`].
#[derive(Default)]
pub struct PodCounters {
    pub(super) counters: Vec<Counter>,
    counter_index: FxHashMap<Arc<Query>, CounterIx>,
    /// Counters of queries that do not stand for carried terms, by anchor.
    plain_at: Anchored,
    /// Counters of terms pods have themselves, by term.
    of_term: FxHashMap<u32, SmallVec<[CounterIx; 1]>>,
    /// Appearances somebody has asked for the terms that select them.
    pub(super) asked: FxHashMap<(AppearanceIx, Pull), Vec<KeyCounter>>,
    /// By appearance, once a pod of it was placed while there were counters: those its pods weigh something for.
    pub(super) by_look: Vec<Option<Vec<Weighed>>>,
    /// By rules: counters of carried terms for which pods with them weigh something.
    pub(super) by_rules: FxHashMap<RulesIx, Vec<Weighed>>,
    /// Epoch of the topology, and how far its log was read.
    pub(super) seen: (u64, u64),
    pub(super) epoch: u64,
    effort: u64,
}

/// What counters are made of.
#[derive(Clone, Copy)]
pub(super) struct CounterSource<'a> {
    pub(super) topology: &'a Topology,
    pub(super) names: &'a Interner,
}

impl CounterSource<'_> {
    pub(super) fn selects(self, term: &PodTerm, look: AppearanceIx) -> bool {
        self.topology.term_selects(self.names, term, look)
    }

    fn query_selects(self, query: &Query, ix: AppearanceIx) -> bool {
        match query {
            Query::Terms(terms) => terms.iter().all(|term| self.selects(term, ix)),
            Query::Spread {
                namespace,
                selectors,
            } => {
                let look = self.topology.look_of(ix);
                let names = self.names;
                names.text(look.namespace) == namespace
                    && selectors.iter().all(|selector| {
                        !selector.requirements.is_empty() && selects(names, selector, &look.labels)
                    })
            }
            Query::Own(_) | Query::Carried(..) => false,
        }
    }

    /// Puts a term that works in a way, and that somebody carries, beside those of its key.
    fn sort_in(self, by_key: &mut ByKey, term: u32, pull: Pull) {
        let entry = &self.topology.terms[term as usize];
        let (known, carried) = &*entry.known;
        if carried.pull() != pull || entry.carriers.is_empty() {
            return;
        }
        let key = &known.topology_key;
        match by_key.get_mut(key) {
            Some(terms) => terms.push(term),
            None => drop(by_key.insert(key.clone(), vec![term])),
        }
    }
}

impl PodCounters {
    /// The counter of terms or of a spread constraint.
    pub fn counter(&mut self, topology: &Topology, names: &Interner, query: Query) -> CounterIx {
        let (counter, new) = self.find_or_make(query);
        if new {
            self.fill_plain(CounterSource { topology, names }, counter);
        }
        counter
    }

    /// Counters of the terms that pods with these rules have themselves, by topology key.
    pub fn own(
        &mut self,
        topology: &Topology,
        names: &Interner,
        (rules, pull): (RulesIx, Pull),
    ) -> Vec<KeyCounter> {
        let told = CounterSource { topology, names };
        let mut by_key = ByKey::new();
        for term in topology.carriers.get(&rules).iter().flat_map(|c| &c.terms) {
            told.sort_in(&mut by_key, *term, pull);
        }
        let counters = by_key.into_iter().map(|(key, mut terms)| {
            terms.sort_unstable();
            let (counter, new) = self.find_or_make(Query::Own(terms.clone()));
            if new {
                self.fill_own(told, counter, &terms);
            }
            (key, counter)
        });
        counters.collect()
    }

    /// Counters of the terms of other pods that select pods of this appearance, by topology key.
    pub fn carried(
        &mut self,
        topology: &Topology,
        names: &Interner,
        (ix, pull): (AppearanceIx, Pull),
    ) -> Vec<KeyCounter> {
        if let Some(known) = self.asked.get(&(ix, pull)) {
            return known.clone();
        }
        let told = CounterSource { topology, names };
        let mut by_key = ByKey::new();
        for term in self.terms_selecting(told, ix) {
            told.sort_in(&mut by_key, term, pull);
        }
        let counters = by_key.into_iter().map(|(key, terms)| {
            let (counter, _) = self.find_or_make(Query::Carried(ix, pull, key.clone()));
            self.fill_carried(topology, counter, &terms);
            (key, counter)
        });
        let counters: Vec<KeyCounter> = counters.collect();
        self.asked.insert((ix, pull), counters.clone());
        counters
    }

    /// The counter of a query; true when it is new and empty.
    pub(super) fn find_or_make(&mut self, query: Query) -> (CounterIx, bool) {
        if let Some(&ix) = self.counter_index.get(&query) {
            return (ix, false);
        }
        let ix = CounterIx(self.counters.len() as u32);
        let query = Arc::new(query);
        self.counters.push(Counter {
            query: query.clone(),
            per_node: CountTable::default(),
            releasing: None,
        });
        self.counter_index.insert(query, ix);
        (ix, true)
    }

    fn fill_plain(&mut self, told: CounterSource<'_>, ix: CounterIx) {
        let query = self.counters[ix.0 as usize].query.clone();
        let anchors = match &*query {
            Query::Terms(terms) => terms.first().map(anchor::of_term).unwrap_or_default(),
            Query::Spread {
                namespace,
                selectors,
            } => anchor::of_selectors(namespace, selectors),
            Query::Own(_) | Query::Carried(..) => return,
        };
        self.plain_at.add(&anchors, ix.0);
        let looks = told.topology.looks_at.under(&anchors);
        self.effort += looks.len() as u64;
        for look in looks.into_iter().map(AppearanceIx) {
            if told.query_selects(&query, look) {
                self.count_look(told.topology, look, (ix, 1));
            }
        }
    }

    fn fill_own(&mut self, told: CounterSource<'_>, ix: CounterIx, terms: &[u32]) {
        let mut weights: FxHashMap<AppearanceIx, i64> = FxHashMap::default();
        for term in terms {
            self.of_term.entry(*term).or_default().push(ix);
            let known = &told.topology.terms[*term as usize].known;
            let looks = told.topology.looks_at.under(&anchor::of_term(&known.0));
            self.effort += 1 + looks.len() as u64;
            for look in looks.into_iter().map(AppearanceIx) {
                if told.selects(&known.0, look) {
                    *weights.entry(look).or_insert(0) += known.1.weight();
                }
            }
        }
        for (look, weight) in weights {
            self.count_look(told.topology, look, (ix, weight));
        }
    }

    /// Lets the pods of an appearance weigh something for a counter that did not know them.
    fn count_look(&mut self, topology: &Topology, look: AppearanceIx, (ix, weight): Weighed) {
        if let Some(Some(counted_by)) = self.by_look.get_mut(look.0 as usize) {
            counted_by.push((ix, weight));
        }
        let look = &topology.looks[look.0 as usize];
        let counter = &mut self.counters[ix.0 as usize];
        self.effort += look.placed.len() as u64;
        if !counter.leaves_out_marked() {
            counter.take_in(&look.placed, look.releasing.as_deref(), weight);
            return;
        }
        counter.take_in(&look.placed, look.evicted.as_deref(), weight);
        if let Some(marked) = &look.marked {
            counter.take_in(marked, None, -weight);
        }
    }

    fn fill_carried(&mut self, topology: &Topology, ix: CounterIx, terms: &[u32]) {
        let mut weights: FxHashMap<RulesIx, i64> = FxHashMap::default();
        for term in terms {
            let term = &topology.terms[*term as usize];
            self.effort += term.carriers.len() as u64;
            for (rules, times) in term.carriers.iter() {
                *weights.entry(RulesIx(rules)).or_insert(0) += times * term.known.1.weight();
            }
        }
        for (rules, weight) in weights {
            let Some(carrier) = topology.carriers.get(&rules) else {
                continue;
            };
            self.by_rules.entry(rules).or_default().push((ix, weight));
            self.effort += carrier.placed.len() as u64;
            let counter = &mut self.counters[ix.0 as usize];
            counter.take_in(&carrier.placed, carrier.releasing.as_deref(), weight);
        }
    }

    /// Counters for which a pod of this appearance weighs something.
    pub(super) fn counters_that_count(
        &mut self,
        told: CounterSource<'_>,
        ix: AppearanceIx,
    ) -> Vec<Weighed> {
        let shown = anchor::shown(told.names, told.topology.look_of(ix));
        let plain = self.plain_at.under(&shown);
        self.effort += plain.len() as u64;
        let mut found: Vec<Weighed> = Vec::new();
        for counter in plain {
            if told.query_selects(&self.counters[counter as usize].query, ix) {
                found.push((CounterIx(counter), 1));
            }
        }
        if self.of_term.is_empty() {
            return found;
        }
        let mut weights: FxHashMap<CounterIx, i64> = FxHashMap::default();
        for term in self.terms_selecting(told, ix) {
            let weight = told.topology.terms[term as usize].known.1.weight();
            for counter in self.of_term.get(&term).into_iter().flatten() {
                *weights.entry(*counter).or_insert(0) += weight;
            }
        }
        found.extend(weights);
        found
    }

    /// Known terms that select pods of this appearance.
    fn terms_selecting(&mut self, told: CounterSource<'_>, ix: AppearanceIx) -> Vec<u32> {
        let topology = told.topology;
        let shown = anchor::shown(told.names, topology.look_of(ix));
        let mut terms = topology.terms_at.under(&shown);
        self.effort += (shown.len() + terms.len()) as u64;
        terms.retain(|term| told.selects(&topology.terms[*term as usize].known.0, ix));
        terms
    }

    /// Drops all counters; they are made again when asked for.
    pub fn forget(&mut self) {
        let (seen, epoch, effort) = (self.seen, self.epoch + 1, self.effort);
        *self = Self {
            seen,
            epoch,
            effort,
            ..Self::default()
        };
    }

    /// Changes whenever counters known so far may mean something else, or are not all that count.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How much has been looked at to fill counters: grows with every selector tried and every
    /// number added up.
    pub fn effort(&self) -> u64 {
        self.effort
    }

    /// Whether so many counters are known that all should be dropped ([`MAX_COUNTERS`]).
    pub fn is_full(&self) -> bool {
        self.counters.len() >= MAX_COUNTERS
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    /// Numbers of a counter that are not zero, in no particular order.
    pub fn counts(&self, counter: CounterIx) -> &CountTable {
        &self.counters[counter.0 as usize].per_node
    }

    /// The number of one node.
    pub fn count(&self, counter: CounterIx, node: NodeIx) -> i64 {
        self.counts(counter).get(node.0)
    }

    /// What of the numbers of a counter is being released; `None` while nothing ever was.
    pub fn releasing(&self, counter: CounterIx) -> Option<&CountTable> {
        self.counters[counter.0 as usize].releasing.as_deref()
    }
}

impl Carried {
    /// How it works on the pods it selects.
    pub(super) fn pull(self) -> Pull {
        match self {
            Self::RequiredAnti => Pull::Barred,
            Self::Preferred(_) | Self::PreferredAnti(_) => Pull::Preferred,
        }
    }

    /// What one pod weighs.
    pub(super) fn weight(self) -> i64 {
        match self {
            Self::RequiredAnti => 1,
            Self::Preferred(weight) => i64::from(weight),
            Self::PreferredAnti(weight) => -i64::from(weight),
        }
    }
}
