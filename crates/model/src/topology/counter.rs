//! Counters: made when a class first asks, kept in step with every pod that is placed.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::learn::Carried;
use super::{CountTable, Stay, Topology, anchor};
use crate::intern::Interner;
use crate::ix::{AppearanceIx, CounterIx, NodeIx, RulesIx};
use crate::object::{PodTerm, Selector};
use crate::selector::selects;

/// Most counters kept at a time; beyond it all are dropped and made again when asked for.
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

impl Topology {
    /// The counter of terms or of a spread constraint.
    pub fn counter(&mut self, names: &Interner, query: Query) -> CounterIx {
        let (counter, new) = self.find_or_make(query);
        if new {
            self.fill_plain(names, counter);
        }
        counter
    }

    /// Counters of the terms that pods with these rules have themselves, by topology key.
    pub fn own_counters(
        &mut self,
        names: &Interner,
        rules: RulesIx,
        pull: Pull,
    ) -> Vec<KeyCounter> {
        let mut by_key = ByKey::new();
        for term in self.carriers.get(&rules).iter().flat_map(|c| &c.terms) {
            self.sort_in(&mut by_key, *term, pull);
        }
        let counters = by_key.into_iter().map(|(key, mut terms)| {
            terms.sort_unstable();
            let (counter, new) = self.find_or_make(Query::Own(terms.clone()));
            if new {
                self.fill_own(names, counter, &terms);
            }
            (key, counter)
        });
        counters.collect()
    }

    /// Counters of the terms of other pods that select pods of this appearance, by topology key.
    pub fn carried_counters(
        &mut self,
        names: &Interner,
        ix: AppearanceIx,
        pull: Pull,
    ) -> Vec<KeyCounter> {
        if let Some(known) = self.asked.get(&(ix, pull)) {
            return known.clone();
        }
        let mut by_key = ByKey::new();
        for term in self.terms_selecting(names, ix) {
            self.sort_in(&mut by_key, term, pull);
        }
        let counters = by_key.into_iter().map(|(key, terms)| {
            let (counter, _) = self.find_or_make(Query::Carried(ix, pull, key.clone()));
            self.fill_carried(counter, &terms);
            (key, counter)
        });
        let counters: Vec<KeyCounter> = counters.collect();
        self.asked.insert((ix, pull), counters.clone());
        counters
    }

    /// Puts a term that works in a way, and that somebody carries, beside those of its key.
    fn sort_in(&self, by_key: &mut ByKey, term: u32, pull: Pull) {
        let entry = &self.terms[term as usize];
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

    fn fill_plain(&mut self, names: &Interner, ix: CounterIx) {
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
        let looks = self.looks_at.under(&anchors);
        self.effort += looks.len() as u64;
        for look in looks.into_iter().map(AppearanceIx) {
            if self.query_selects(names, &query, look) {
                self.count_look(look, ix, 1);
            }
        }
    }

    fn fill_own(&mut self, names: &Interner, ix: CounterIx, terms: &[u32]) {
        let mut weights: FxHashMap<AppearanceIx, i64> = FxHashMap::default();
        for term in terms {
            self.counters_of_term.entry(*term).or_default().push(ix);
            let known = self.terms[*term as usize].known.clone();
            let looks = self.looks_at.under(&anchor::of_term(&known.0));
            self.effort += 1 + looks.len() as u64;
            for look in looks.into_iter().map(AppearanceIx) {
                if self.term_selects(names, &known.0, look) {
                    *weights.entry(look).or_insert(0) += known.1.weight();
                }
            }
        }
        for (look, weight) in weights {
            self.count_look(look, ix, weight);
        }
    }

    /// Lets the pods of an appearance weigh something for a counter that did not know them.
    fn count_look(&mut self, look: AppearanceIx, ix: CounterIx, weight: i64) {
        let look = &mut self.looks[look.0 as usize];
        if let Some(counted_by) = &mut look.counted_by {
            counted_by.push((ix, weight));
        }
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

    fn fill_carried(&mut self, ix: CounterIx, terms: &[u32]) {
        let mut weights: FxHashMap<RulesIx, i64> = FxHashMap::default();
        for term in terms {
            let term = &self.terms[*term as usize];
            self.effort += term.carriers.len() as u64;
            for (rules, times) in term.carriers.iter() {
                *weights.entry(RulesIx(rules)).or_insert(0) += times * term.known.1.weight();
            }
        }
        for (rules, weight) in weights {
            self.count_carrier(rules, ix, weight);
        }
    }

    /// Lets the pods with some rules weigh something for a counter that did not know them.
    pub(super) fn count_carrier(&mut self, rules: RulesIx, ix: CounterIx, weight: i64) {
        let Some(carrier) = self.carriers.get_mut(&rules) else {
            return;
        };
        carrier.counted_by.push((ix, weight));
        self.effort += carrier.placed.len() as u64;
        let counter = &mut self.counters[ix.0 as usize];
        counter.take_in(&carrier.placed, carrier.releasing.as_deref(), weight);
    }

    /// Counters for which a pod of this appearance weighs something.
    pub(super) fn counters_that_count(
        &mut self,
        names: &Interner,
        ix: AppearanceIx,
    ) -> Vec<Weighed> {
        let shown = anchor::shown(names, self.look_of(ix));
        let plain = self.plain_at.under(&shown);
        self.effort += plain.len() as u64;
        let mut found: Vec<Weighed> = Vec::new();
        for counter in plain {
            if self.query_selects(names, &self.counters[counter as usize].query, ix) {
                found.push((CounterIx(counter), 1));
            }
        }
        if self.counters_of_term.is_empty() {
            return found;
        }
        let mut weights: FxHashMap<CounterIx, i64> = FxHashMap::default();
        for term in self.terms_selecting(names, ix) {
            let weight = self.terms[term as usize].known.1.weight();
            for counter in self.counters_of_term.get(&term).into_iter().flatten() {
                *weights.entry(*counter).or_insert(0) += weight;
            }
        }
        found.extend(weights);
        found
    }

    /// Known terms that select pods of this appearance.
    fn terms_selecting(&mut self, names: &Interner, ix: AppearanceIx) -> Vec<u32> {
        let shown = anchor::shown(names, self.look_of(ix));
        let mut terms = self.terms_at.under(&shown);
        self.effort += (shown.len() + terms.len()) as u64;
        terms.retain(|term| {
            let known = &self.terms[*term as usize].known;
            self.term_selects(names, &known.0, ix)
        });
        terms
    }

    fn query_selects(&self, names: &Interner, query: &Query, ix: AppearanceIx) -> bool {
        match query {
            Query::Terms(terms) => terms.iter().all(|term| self.term_selects(names, term, ix)),
            Query::Spread {
                namespace,
                selectors,
            } => {
                let look = self.look_of(ix);
                names.text(look.namespace) == namespace
                    && selectors.iter().all(|selector| {
                        !selector.requirements.is_empty() && selects(names, selector, &look.labels)
                    })
            }
            Query::Own(_) | Query::Carried(..) => false,
        }
    }

    /// Drops all counters; they are made again when asked for.
    pub fn forget_counters(&mut self) {
        self.counters.clear();
        self.counter_index.clear();
        self.plain_at.clear();
        self.counters_of_term.clear();
        self.asked.clear();
        self.looks
            .iter_mut()
            .for_each(|look| look.counted_by = None);
        for carrier in self.carriers.values_mut() {
            carrier.counted_by = Vec::new();
        }
        self.epoch += 1;
    }

    /// Whether so many counters are known that all should be dropped ([`MAX_COUNTERS`]).
    pub fn is_full(&self) -> bool {
        self.counters.len() >= MAX_COUNTERS
    }

    /// Counters kept now.
    pub fn counter_count(&self) -> usize {
        self.counters.len()
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
