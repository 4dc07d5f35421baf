//! Which pods sit where, as far as other pods care: the counters behind inter-pod affinity and
//! topology spread.
//!
//! * A [`Counter`] counts, per node, the placed pods that a *query* of some pending class selects.
//! * An [`OwnedTerm`] counts, per node, the placed pods that *carry* an affinity term.
//!
//! Both are kept by node and exact under undo. Who asks sums them up by topology domain and catches
//! up through the nodes' touch log. Counters are made when a class first asks.

mod learn;

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::intern::{Interner, Sym};
use crate::node::NodeIx;
use crate::object::{Pairs, PodTerm, Selector, WorkloadObject};
use crate::selector::{Labels, selects, term_selects};
use crate::shape::RulesIx;

/// Most counters kept at a time; beyond it all are dropped and made again when asked for.
pub const MAX_COUNTERS: usize = 4096;

/// What a pod looks like to selectors: its namespace and those of its labels that any selector in
/// the cluster reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Appearance {
    /// Namespace.
    pub namespace: Sym,
    /// Labels some selector reads, sorted by key symbol.
    pub labels: Box<Labels>,
    /// Owner reference (kind/name) when it is a known workload, else empty.
    pub owner: Sym,
}

/// Dense index of an [`Appearance`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AppearanceIx(pub u32);

/// Dense index of a [`Counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterIx(pub u32);

/// Which pods a counter counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Query {
    /// Pods that every one of these terms selects.
    Terms(Vec<PodTerm>),
    /// Non-terminating pods of a namespace that a selector selects; an empty selector counts none.
    Spread {
        /// Namespace.
        namespace: String,
        /// All of these must select the pod.
        selectors: Vec<Selector>,
    },
}

/// Per-node counts of the pods of one query.
#[derive(Debug)]
pub struct Counter {
    query: Query,
    per_node: FxHashMap<u32, i64>,
}

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

/// A term that placed pods carry, with their number per node.
#[derive(Debug)]
pub struct OwnedTerm {
    /// The term.
    pub term: PodTerm,
    /// How it is carried.
    pub carried: Carried,
    per_node: FxHashMap<u32, i64>,
    /// Rules in use that carry it.
    uses: u32,
}

/// A count that differs from zero on one node.
pub type NodeCount = (NodeIx, i64);

/// All counters of a cluster.
#[derive(Default)]
pub struct Topology {
    keys_read: FxHashSet<Sym>,
    active: bool,
    appearances: Vec<Appearance>,
    appearance_index: FxHashMap<Appearance, AppearanceIx>,
    counters: Vec<Counter>,
    counter_index: FxHashMap<Query, CounterIx>,
    counted_by: Vec<Option<Vec<CounterIx>>>,
    owned: Vec<OwnedTerm>,
    owned_index: FxHashMap<(PodTerm, Carried), u32>,
    owned_free: Vec<u32>,
    owned_unused: usize,
    carried_by: FxHashMap<RulesIx, Vec<u32>>,
    namespaces: FxHashMap<String, Pairs>,
    workloads: FxHashMap<(String, String, String), WorkloadObject>,
    epoch: u64,
}

impl Topology {
    /// Whether any pod has affinity terms or spread constraints, or any workload is known.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Changes whenever appearances, terms or counters known so far may mean something else.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Drops every appearance and counter; the caller gives all tasks new appearances.
    pub fn forget_appearances(&mut self) {
        self.appearances.clear();
        self.appearance_index.clear();
        self.forget_counters();
    }

    /// Drops all counters; they are made again when asked for.
    pub fn forget_counters(&mut self) {
        self.counters.clear();
        self.counter_index.clear();
        self.counted_by.clear();
        self.counted_by.resize(self.appearances.len(), None);
        self.epoch += 1;
    }

    /// The appearance of a pod. `owner` is its controller as (kind, name).
    pub fn appearance(
        &mut self,
        names: &mut Interner,
        namespace: Sym,
        labels: &Labels,
        owners: &[(Sym, Sym)],
    ) -> AppearanceIx {
        let mut appearance = Appearance {
            namespace: Sym::default(),
            labels: Box::default(),
            owner: Sym::default(),
        };
        if self.active {
            appearance.namespace = namespace;
            appearance.labels = labels
                .iter()
                .filter(|(key, _)| self.keys_read.contains(key))
                .copied()
                .collect();
            appearance.owner = self.known_owner(names, namespace, owners);
        }
        if let Some(&ix) = self.appearance_index.get(&appearance) {
            return ix;
        }
        let ix = AppearanceIx(self.appearances.len() as u32);
        self.appearances.push(appearance.clone());
        self.counted_by.push(None);
        self.appearance_index.insert(appearance, ix);
        ix
    }

    fn known_owner(&self, names: &mut Interner, namespace: Sym, owners: &[(Sym, Sym)]) -> Sym {
        if self.workloads.is_empty() {
            return Sym::default();
        }
        for (kind, name) in owners {
            let key = (
                names.text(*kind).to_owned(),
                names.text(namespace).to_owned(),
                names.text(*name).to_owned(),
            );
            if self.workloads.contains_key(&key) {
                return names.intern(&format!("{}/{}", key.0, key.2));
            }
        }
        Sym::default()
    }

    /// What an index stands for.
    pub fn look_of(&self, ix: AppearanceIx) -> &Appearance {
        &self.appearances[ix.0 as usize]
    }

    /// Adds or replaces a namespace's labels; `None` removes it. True when something changed, and
    /// the caller must rebuild the counts.
    pub fn set_namespace(&mut self, name: &str, labels: Option<Pairs>) -> bool {
        let changed = match labels {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels.clone()) != Some(labels),
            None => self.namespaces.remove(name).is_some(),
        };
        if changed {
            self.forget_counters();
        }
        changed
    }

    /// Adds or replaces a workload; true when appearances must be made anew.
    pub fn set_workload(&mut self, names: &mut Interner, workload: WorkloadObject) -> bool {
        let key = (
            workload.kind.clone(),
            workload.namespace.clone(),
            workload.name.clone(),
        );
        if self.workloads.get(&key) == Some(&workload) {
            return false;
        }
        let selector = workload.selector.clone();
        self.workloads.insert(key, workload);
        self.read_keys(names, selector.iter());
        true
    }

    /// Removes a workload; true when appearances must be made anew.
    pub fn remove_workload(&mut self, kind: &str, namespace: &str, name: &str) -> bool {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.workloads.remove(&key).is_some()
    }

    /// Selectors of the default spread constraints of a pod: of every Service that selects it and
    /// of its owning workload. Empty when there are none (spec/02 §8.6).
    pub fn default_selectors(&self, names: &Interner, ix: AppearanceIx) -> Vec<Selector> {
        if self.workloads.is_empty() {
            return Vec::new();
        }
        let look = self.look_of(ix);
        let namespace = names.text(look.namespace);
        let mut found: Vec<_> =
            self.workloads
                .values()
                .filter(|w| w.namespace == namespace)
                .filter(|w| match w.kind.as_str() {
                    "Service" => w.selector.as_ref().is_some_and(|s| {
                        !s.requirements.is_empty() && selects(names, s, &look.labels)
                    }),
                    _ => names.text(look.owner) == format!("{}/{}", w.kind, w.name),
                })
                .filter_map(|w| w.selector.clone())
                .filter(|s| !s.requirements.is_empty())
                .collect();
        found.sort();
        found.dedup();
        found
    }

    /// Labels of the namespaces that are known, by name.
    pub fn namespaces(&self) -> Vec<(&String, &Pairs)> {
        let mut all: Vec<_> = self.namespaces.iter().collect();
        all.sort();
        all
    }

    /// Services and workloads, by kind, namespace and name.
    pub fn workloads(&self) -> Vec<&WorkloadObject> {
        let mut all: Vec<_> = self.workloads.iter().collect();
        all.sort_by_key(|(key, _)| *key);
        all.into_iter().map(|(_, workload)| workload).collect()
    }

    fn namespace_labels(&self, namespace: &str) -> Cow<'_, Pairs> {
        // Every API server labels a namespace with its name; an unlisted one has at least that.
        match self.namespaces.get(namespace) {
            Some(labels) => Cow::Borrowed(labels),
            None => Cow::Owned(vec![(
                "kubernetes.io/metadata.name".to_owned(),
                namespace.to_owned(),
            )]),
        }
    }

    /// Whether a term selects pods of this appearance.
    pub fn term_selects(&self, names: &Interner, term: &PodTerm, ix: AppearanceIx) -> bool {
        let look = self.look_of(ix);
        let namespace = names.text(look.namespace);
        let labels = self.namespace_labels(namespace);
        term_selects(names, term, namespace, &labels, &look.labels)
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
        }
    }

    /// The counter of a query; true when it is new, and the caller must count the placed pods into
    /// it through [`Topology::count_in`].
    pub fn counter(&mut self, names: &Interner, query: Query) -> (CounterIx, bool) {
        if let Some(&ix) = self.counter_index.get(&query) {
            return (ix, false);
        }
        let ix = CounterIx(self.counters.len() as u32);
        self.counters.push(Counter {
            query: query.clone(),
            per_node: FxHashMap::default(),
        });
        self.counter_index.insert(query, ix);
        let mut counted_by = std::mem::take(&mut self.counted_by);
        for (at, known) in counted_by.iter_mut().enumerate() {
            if let Some(known) = known
                && self.selects(names, ix, AppearanceIx(at as u32))
            {
                known.push(ix);
            }
        }
        self.counted_by = counted_by;
        (ix, true)
    }

    /// Number of appearances known.
    pub fn appearance_count(&self) -> usize {
        self.appearances.len()
    }

    /// Whether so many counters are known that all should be dropped ([`MAX_COUNTERS`]).
    pub fn is_full(&self) -> bool {
        self.counters.len() >= MAX_COUNTERS
    }

    /// Whether the query of a counter selects pods of this appearance.
    pub fn selects(&self, names: &Interner, counter: CounterIx, ix: AppearanceIx) -> bool {
        self.query_selects(names, &self.counters[counter.0 as usize].query, ix)
    }

    /// Counts one placed pod that a new counter selects.
    pub fn count_in(&mut self, counter: CounterIx, terminating: bool, node: NodeIx) {
        let counter = &mut self.counters[counter.0 as usize];
        if !(terminating && matches!(counter.query, Query::Spread { .. })) {
            bump(&mut counter.per_node, node, 1);
        }
    }

    /// A pod was put on (`by` = 1) or taken off (`by` = −1) a node.
    pub fn shift(
        &mut self,
        names: &Interner,
        rules: RulesIx,
        ix: AppearanceIx,
        terminating: bool,
        node: NodeIx,
        by: i64,
    ) {
        if !self.active {
            return;
        }
        for term in self.carried_by.get(&rules).into_iter().flatten() {
            bump(&mut self.owned[*term as usize].per_node, node, by);
        }
        if self.counters.is_empty() {
            return;
        }
        if self.counted_by[ix.0 as usize].is_none() {
            let matching = (0..self.counters.len() as u32)
                .map(CounterIx)
                .filter(|c| self.query_selects(names, &self.counters[c.0 as usize].query, ix))
                .collect();
            self.counted_by[ix.0 as usize] = Some(matching);
        }
        for counter in self.counted_by[ix.0 as usize].iter().flatten() {
            let counter = &mut self.counters[counter.0 as usize];
            if !(terminating && matches!(counter.query, Query::Spread { .. })) {
                bump(&mut counter.per_node, node, by);
            }
        }
    }

    /// Non-zero counts of a counter, in no particular order.
    pub fn counts(&self, counter: CounterIx) -> impl Iterator<Item = NodeCount> + '_ {
        self.counters[counter.0 as usize]
            .per_node
            .iter()
            .map(|(n, count)| (NodeIx(*n), *count))
    }

    /// Count of one node.
    pub fn count(&self, counter: CounterIx, node: NodeIx) -> i64 {
        self.counters[counter.0 as usize]
            .per_node
            .get(&node.0)
            .copied()
            .unwrap_or(0)
    }

    /// Terms carried by pods, by index.
    pub fn owned_terms(&self) -> &[OwnedTerm] {
        &self.owned
    }

    /// Forgets every count by node and every counter, when node indices moved.
    pub fn forget_counts(&mut self) {
        for term in &mut self.owned {
            term.per_node.clear();
        }
        self.forget_counters();
    }
}

impl OwnedTerm {
    /// Non-zero counts, in no particular order.
    pub fn counts(&self) -> impl Iterator<Item = NodeCount> + '_ {
        self.per_node
            .iter()
            .map(|(node, count)| (NodeIx(*node), *count))
    }

    /// Pods on a node that carry the term.
    pub fn count(&self, node: NodeIx) -> i64 {
        self.per_node.get(&node.0).copied().unwrap_or(0)
    }
}

fn bump(counts: &mut FxHashMap<u32, i64>, node: NodeIx, by: i64) {
    let count = counts.entry(node.0).or_insert(0);
    *count += by;
    if *count == 0 {
        counts.remove(&node.0);
    }
}
