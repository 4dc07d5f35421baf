//! How counters catch up with what has changed since they were last asked.

use super::counter::{CounterSource, PodCounters, Pull, Query};
use super::learn::Carried;
use super::{PodShift, Topology, TopologyNews, anchor};
use crate::intern::Interner;
use crate::ix::{AppearanceIx, CounterIx, RulesIx};
use crate::object::PodTerm;

/// Appearances a new term may select, beyond which everybody asks again instead of being told.
const MAX_TOLD: usize = 1024;

impl PodCounters {
    /// Takes in every pod that came or left, and rules that came or went, since this was last called; drops all
    /// counters where more has changed than is told one by one. To be called before anything is asked.
    #[inline]
    pub fn follow(&mut self, topology: &Topology, names: &Interner) {
        let now = (topology.epoch, topology.news.end());
        let before = std::mem::replace(&mut self.seen, now);
        let is_asked = !(self.counters.is_empty() && self.asked.is_empty());
        if is_asked && before != now {
            self.catch_up(topology, names, before);
        }
    }

    fn catch_up(&mut self, topology: &Topology, names: &Interner, (epoch, cursor): (u64, u64)) {
        let news = topology.news.since(cursor);
        let Some(news) = news.filter(|_| epoch == topology.epoch) else {
            self.forget();
            return;
        };
        let told = CounterSource { topology, names };
        for news in news {
            match news {
                TopologyNews::Pod(shift) => self.shift(told, *shift),
                TopologyNews::Learnt(rules) => self.learn(told, *rules),
                TopologyNews::Unlearnt(rules) => drop(self.by_rules.remove(rules)),
            }
        }
    }

    /// A pod was put on a node, or taken off it.
    fn shift(&mut self, told: CounterSource<'_>, shift: PodShift) {
        let PodShift { node, stay, .. } = shift;
        let by = i64::from(shift.by);
        for (counter, weight) in self.by_rules.get(&shift.rules).into_iter().flatten() {
            self.counters[counter.0 as usize].add(node, stay, by * weight);
        }
        if self.counters.is_empty() {
            return;
        }
        let look = shift.look.0 as usize;
        if self.by_look.len() <= look {
            self.by_look.resize(told.topology.looks.len(), None);
        }
        if self.by_look[look].is_none() {
            self.by_look[look] = Some(self.counters_that_count(told, shift.look));
        }
        for (counter, weight) in self.by_look[look].iter().flatten() {
            self.counters[counter.0 as usize].add(node, stay, by * weight);
        }
    }

    /// Somebody may have asked already which terms select a pod; those of new rules do now as well, or more pods
    /// carry them. The log may tell of rules that are gone, or of others in their place: pods that had them have
    /// left, so that what they weighed comes to nothing.
    fn learn(&mut self, told: CounterSource<'_>, rules: RulesIx) {
        if self.asked.is_empty() {
            return;
        }
        let carrier = told.topology.carriers.get(&rules);
        for term in carrier.iter().flat_map(|carrier| &carrier.terms) {
            let known = &*told.topology.terms[*term as usize].known;
            let looks = told.topology.looks_at.under(&anchor::of_term(&known.0));
            if looks.len() > MAX_TOLD {
                self.forget();
                return;
            }
            let pull = known.1.pull();
            for look in looks.into_iter().map(AppearanceIx) {
                if self.asked.contains_key(&(look, pull)) && told.selects(&known.0, look) {
                    let counter = self.asked_counter((look, pull), known);
                    let weighed = (counter, known.1.weight());
                    self.by_rules.entry(rules).or_default().push(weighed);
                }
            }
        }
    }

    /// The counter a term belongs to for an appearance somebody has asked for. Who asked did not
    /// know of a new one.
    fn asked_counter(
        &mut self,
        (look, pull): (AppearanceIx, Pull),
        (term, _): &(PodTerm, Carried),
    ) -> CounterIx {
        let key = &term.topology_key;
        let (counter, _) = self.find_or_make(Query::Carried(look, pull, key.clone()));
        let counters = self.asked.entry((look, pull)).or_default();
        if !counters.iter().any(|(_, other)| *other == counter) {
            counters.push((key.clone(), counter));
            self.epoch += 1;
        }
        counter
    }
}
