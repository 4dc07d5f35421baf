//! Which terms pods carry and which labels selectors read: learnt from rules as they come,
//! forgotten when nobody has them any more.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Carried, OwnedTerm, Topology};
use crate::intern::{Interner, Sym};
use crate::object::{PodTerm, Selector};
use crate::shape::{Rules, RulesIx};

/// Terms nobody carries that are kept beyond the number of those in use.
const SPARE_TERMS: usize = 1024;

/// Label keys nobody reads that are kept beyond the number of those in use.
const SPARE_KEYS: usize = 64;

/// A term that selects nothing, in a slot that waits for the next one.
const NO_TERM: PodTerm = PodTerm {
    namespaces: Vec::new(),
    namespace_selector: None,
    selector: None,
    topology_key: String::new(),
};

impl Topology {
    /// Takes note of rules seen for the first time: the label keys they read and the terms their
    /// pods carry. True when pods must get new appearances ([`Topology::forget_appearances`]).
    pub fn learn(&mut self, names: &mut Interner, ix: RulesIx, rules: &Rules) -> bool {
        let mut terms = Vec::new();
        let anti = rules
            .anti_affinity
            .iter()
            .map(|term| (term, Carried::RequiredAnti));
        let preferred = rules
            .preferred_affinity
            .iter()
            .map(|(w, term)| (term, Carried::Preferred(*w)));
        let preferred_anti = rules
            .preferred_anti_affinity
            .iter()
            .map(|(w, term)| (term, Carried::PreferredAnti(*w)));
        for (term, carried) in anti.chain(preferred).chain(preferred_anti) {
            terms.push(self.own(term, carried));
        }
        if !terms.is_empty() {
            self.carried_by.insert(ix, terms);
        }
        if !rules.looks_at_pods() {
            return false;
        }
        self.read_keys(names, selectors_of(rules))
    }

    /// Nobody has these rules any more. No pod that carries their terms is placed.
    pub fn unlearn(&mut self, ix: RulesIx) {
        for term in self.carried_by.remove(&ix).into_iter().flatten() {
            let owned = &mut self.owned[term as usize];
            owned.uses -= 1;
            self.owned_unused += usize::from(owned.uses == 0);
        }
    }

    fn own(&mut self, term: &PodTerm, carried: Carried) -> u32 {
        let key = (term.clone(), carried);
        if let Some(&at) = self.owned_index.get(&key) {
            let owned = &mut self.owned[at as usize];
            self.owned_unused -= usize::from(owned.uses == 0);
            owned.uses += 1;
            return at;
        }
        let owned = OwnedTerm {
            term: key.0.clone(),
            carried,
            per_node: FxHashMap::default(),
            uses: 1,
        };
        let at = match self.owned_free.pop() {
            Some(at) => {
                self.owned[at as usize] = owned;
                at
            }
            None => {
                self.owned.push(owned);
                (self.owned.len() - 1) as u32
            }
        };
        self.owned_index.insert(key, at);
        self.epoch += 1;
        at
    }

    pub(super) fn read_keys<'a>(
        &mut self,
        names: &mut Interner,
        selectors: impl Iterator<Item = &'a Selector>,
    ) -> bool {
        let mut changed = !std::mem::replace(&mut self.active, true);
        for requirement in selectors.flat_map(|selector| &selector.requirements) {
            changed |= self.keys_read.insert(names.intern(&requirement.key));
        }
        changed
    }

    /// Drops terms nobody carries, at once or when they are the larger part. Their counts are
    /// zero, so whoever sums them up need not know.
    pub fn forget_terms(&mut self, at_once: bool) {
        if !at_once && self.owned_unused <= self.term_count() / 2 + SPARE_TERMS {
            return;
        }
        self.owned_unused = 0;
        for (at, owned) in self.owned.iter_mut().enumerate() {
            if owned.uses > 0 || owned.term == NO_TERM {
                continue;
            }
            let term = std::mem::replace(&mut owned.term, NO_TERM);
            self.owned_index.remove(&(term, owned.carried));
            owned.per_node = FxHashMap::default();
            self.owned_free.push(at as u32);
        }
    }

    /// Drops label keys that none of the rules in use and no workload reads, at once or when they
    /// are the larger part. True when pods must get new appearances.
    pub fn forget_keys<'a>(
        &mut self,
        names: &Interner,
        rules: impl Iterator<Item = &'a Rules>,
        at_once: bool,
    ) -> bool {
        let mut read: FxHashSet<Sym> = FxHashSet::default();
        let mut note = |selector: &Selector| {
            let keys = selector.requirements.iter();
            read.extend(keys.filter_map(|requirement| names.get(&requirement.key)));
        };
        rules.flat_map(selectors_of).for_each(&mut note);
        let of_workloads = self.workloads.values();
        of_workloads
            .filter_map(|workload| workload.selector.as_ref())
            .for_each(&mut note);
        let spare = if at_once { 0 } else { read.len() + SPARE_KEYS };
        if self.keys_read.len() <= read.len() + spare {
            return false;
        }
        self.keys_read = read;
        true
    }

    /// Terms that are told apart, those nobody carries now included.
    pub fn term_count(&self) -> usize {
        self.owned.len() - self.owned_free.len()
    }

    /// Counters kept now.
    pub fn counter_count(&self) -> usize {
        self.counters.len()
    }

    /// Label keys some selector reads.
    pub fn key_count(&self) -> usize {
        self.keys_read.len()
    }

    /// Every symbol this module holds.
    pub fn symbols(&self) -> impl Iterator<Item = Sym> + '_ {
        let of_appearances = self.appearances.iter().flat_map(|look| {
            let labels = look.labels.iter().flat_map(|(key, value)| [*key, *value]);
            labels.chain([look.namespace, look.owner])
        });
        of_appearances.chain(self.keys_read.iter().copied())
    }
}

/// Selectors by which pods with these rules look at other pods.
fn selectors_of(rules: &Rules) -> impl Iterator<Item = &Selector> {
    let terms = rules
        .affinity
        .iter()
        .chain(&rules.anti_affinity)
        .chain(rules.preferred_affinity.iter().map(|(_, term)| term))
        .chain(rules.preferred_anti_affinity.iter().map(|(_, term)| term));
    terms
        .filter_map(|term| term.selector.as_ref())
        .chain(rules.spread.iter().filter_map(|c| c.selector.as_ref()))
}
