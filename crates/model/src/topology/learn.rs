//! Which terms pods carry and which labels selectors read: learnt from rules as they come,
//! forgotten when nobody has them any more.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{CountTable, Topology, TopologyNews, anchor};
use crate::intern::{Interner, Sym};
use crate::ix::RulesIx;
use crate::object::{PodTerm, Selector};
use crate::shape::Rules;

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

/// How a pod carries a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carried {
    /// Required anti-affinity.
    RequiredAnti,
    /// Preferred affinity with this weight.
    Preferred(i32),
    /// Preferred anti-affinity with this weight.
    PreferredAnti(i32),
}

/// A term that pods carry.
#[derive(Clone)]
pub(super) struct CarriedTerm {
    pub(super) known: Arc<(PodTerm, Carried)>,
    /// Rules in use that carry it, by index, and how often each does.
    pub(super) carriers: CountTable,
}

/// What pods with the same rules carry.
#[derive(Clone, Default)]
pub(super) struct Carrier {
    /// In the order of the rules, as often as each is there.
    pub(super) terms: Box<[u32]>,
    /// Placed pods with these rules, by node.
    pub(super) placed: CountTable,
    /// Those of them that are being released.
    pub(super) releasing: Option<Box<CountTable>>,
}

impl Topology {
    /// Takes note of rules seen for the first time: the label keys they read and the terms their
    /// pods carry. True when pods must get new appearances ([`Topology::forget_appearances`]).
    pub fn learn(&mut self, names: &mut Interner, ix: RulesIx, rules: &Rules) -> bool {
        if !rules.looks_at_pods() {
            return false;
        }
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
        let carried = anti.chain(preferred).chain(preferred_anti);
        let terms: Box<[u32]> = carried
            .map(|(term, carried)| self.carry(term, carried, ix))
            .collect();
        if !terms.is_empty() {
            let carrier = Carrier {
                terms,
                ..Carrier::default()
            };
            self.carriers.insert(ix, carrier);
            self.news.push(TopologyNews::Learnt(ix));
        }
        self.read_keys(names, selectors_of(rules))
    }

    /// Nobody has these rules any more. No pod that carries their terms is placed.
    pub fn unlearn(&mut self, ix: RulesIx) {
        let Some(carrier) = self.carriers.remove(&ix) else {
            return;
        };
        self.news.push(TopologyNews::Unlearnt(ix));
        for term in carrier.terms {
            let term = &mut self.terms[term as usize];
            term.carriers.add(ix.0, -1);
            self.terms_unused += usize::from(term.carriers.is_empty());
        }
    }

    fn carry(&mut self, term: &PodTerm, carried: Carried, ix: RulesIx) -> u32 {
        let key = Arc::new((term.clone(), carried));
        if let Some(&at) = self.term_index.get(&key) {
            let known = &mut self.terms[at as usize];
            self.terms_unused -= usize::from(known.carriers.is_empty());
            known.carriers.add(ix.0, 1);
            return at;
        }
        let mut new = CarriedTerm {
            known: key.clone(),
            carriers: CountTable::default(),
        };
        new.carriers.add(ix.0, 1);
        let at = match self.terms_free.pop() {
            Some(at) => {
                self.terms[at as usize] = new;
                at
            }
            None => {
                self.terms.push(new);
                (self.terms.len() - 1) as u32
            }
        };
        self.terms_at.add(&anchor::of_term(term), at);
        self.term_index.insert(key, at);
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

    /// Drops terms nobody carries, at once or when they are the larger part.
    pub fn forget_terms(&mut self, at_once: bool) {
        if !at_once && self.terms_unused <= self.term_count() / 2 + SPARE_TERMS {
            return;
        }
        if std::mem::take(&mut self.terms_unused) == 0 {
            return;
        }
        let nothing = Arc::new((NO_TERM, Carried::RequiredAnti));
        self.terms_at.clear();
        for (at, term) in (0..).zip(&mut self.terms) {
            if !term.carriers.is_empty() {
                self.terms_at.add(&anchor::of_term(&term.known.0), at);
            } else if self.term_index.remove(&term.known).is_some() {
                term.known = nothing.clone();
                self.terms_free.push(at);
            }
        }
        // Counters name terms by index.
        self.begin_epoch();
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
        self.terms.len() - self.terms_free.len()
    }

    /// Label keys some selector reads.
    pub fn key_count(&self) -> usize {
        self.keys_read.len()
    }

    /// Every symbol this module holds.
    pub fn symbols(&self) -> impl Iterator<Item = Sym> + '_ {
        let appearances = self.looks.iter().map(|look| &look.appearance);
        let of_appearances = appearances.flat_map(|look| {
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
