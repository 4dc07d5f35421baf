//! Which pods sit where, as far as other pods care: what inter-pod affinity and topology spread go by.
//!
//! ```text
//!  Topology, in the state: what is so                    Counters, of who searches: what was asked
//!
//!  rules ─► terms they carry, pods with them by node ─┐
//!                                                     ├─ anchor ─► Counter: per node, for a Query
//!  appearances ─────────────── pods of each by node ──┘               ▲
//!  NewsLog: each pod that came or left, rules that came or went ──────┘ catches up
//! ```
//!
//! A `Counter` adds up, per node, what the placed pods weigh for one [`Query`]. Counters are made
//! when a class first asks, and catch up with the log when it asks again. Who asks sums them up by
//! topology domain and catches up through the nodes' touch log. Which pods a term selects is found
//! through its labels (`anchor`), so terms that select nobody cost nothing but themselves.

mod anchor;
mod counter;
mod counts;
mod follow;
mod learn;
mod news;

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::intern::{Interner, Sym};
use crate::ix::{AppearanceIx, RulesIx};
use crate::object::{Pairs, PodTerm, Selector, WorkloadObject};
use crate::selector::{Labels, selects, term_selects};
use crate::task::{Task, TaskStatus};

use anchor::Anchored;
pub use counter::{KeyCounter, MAX_COUNTERS, PodCounters, Pull, Query};
pub use counts::CountTable;
pub use learn::Carried;
use learn::{CarriedTerm, Carrier};
pub use news::PodShift;
use news::{NewsLog, TopologyNews};

/// What a pod looks like to selectors: its namespace and those of its labels that any selector in
/// the cluster reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Appearance {
    /// Namespace of the pod.
    pub namespace: Sym,
    /// Labels some selector reads, sorted by key symbol.
    pub labels: Box<Labels>,
    /// Owner reference (kind/name) when it is a known workload, else empty.
    pub owner: Sym,
}

/// How long a pod stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// For all that is known.
    Stays,
    /// Marked as being deleted, it keeps its room, as far as is known.
    Deleted,
    /// The pod's room is being released, and it is marked as being deleted.
    Releasing,
    /// The pod's room is being released, since its eviction was decided; nothing marks it yet.
    Evicted,
}

impl Stay {
    /// How long a task stays on its node.
    pub fn of(task: &Task) -> Self {
        match task.status {
            TaskStatus::Releasing if !task.deleting => Self::Evicted,
            TaskStatus::Releasing => Self::Releasing,
            _ if task.deleting => Self::Deleted,
            _ => Self::Stays,
        }
    }

    fn is_marked(self) -> bool {
        matches!(self, Self::Deleted | Self::Releasing)
    }

    fn is_releasing(self) -> bool {
        matches!(self, Self::Releasing | Self::Evicted)
    }
}

/// What is known of an appearance.
#[derive(Clone)]
struct Look {
    appearance: Arc<Appearance>,
    /// Placed pods by node.
    placed: CountTable,
    /// Those of them that are marked as being deleted.
    marked: Option<Box<CountTable>>,
    /// Those of them that are being released.
    releasing: Option<Box<CountTable>>,
    /// Those of these that nothing marks yet.
    evicted: Option<Box<CountTable>>,
}

/// Who stands where, and which terms are carried there.
#[derive(Clone, Default)]
pub struct Topology {
    keys_read: FxHashSet<Sym>,
    active: bool,
    looks: Vec<Look>,
    look_index: FxHashMap<Arc<Appearance>, AppearanceIx>,
    /// Appearances by what they show.
    looks_at: Anchored,
    terms: Vec<CarriedTerm>,
    term_index: FxHashMap<Arc<(PodTerm, Carried)>, u32>,
    /// Terms by anchor.
    terms_at: Anchored,
    terms_free: Vec<u32>,
    terms_unused: usize,
    carriers: FxHashMap<RulesIx, Carrier>,
    namespaces: FxHashMap<String, Pairs>,
    workloads: FxHashMap<(String, String, String), WorkloadObject>,
    epoch: u64,
    news: NewsLog,
}

impl Topology {
    /// Whether any pod has affinity terms or spread constraints, or any workload is known.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Changes whenever appearances, terms or nodes known so far may mean something else.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What was counted so far means nothing any more.
    fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.news.forget();
    }

    /// Drops every appearance; the caller gives all tasks new appearances, and counts
    /// the placed ones anew.
    pub fn forget_appearances(&mut self) {
        self.looks.clear();
        self.look_index.clear();
        self.looks_at.clear();
        self.begin_epoch();
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
        if let Some(&ix) = self.look_index.get(&appearance) {
            return ix;
        }
        let ix = AppearanceIx(self.looks.len() as u32);
        if self.active {
            self.looks_at.add(&anchor::shown(names, &appearance), ix.0);
        }
        let appearance = Arc::new(appearance);
        self.look_index.insert(appearance.clone(), ix);
        self.looks.push(Look {
            appearance,
            placed: CountTable::default(),
            marked: None,
            releasing: None,
            evicted: None,
        });
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
        &self.looks[ix.0 as usize].appearance
    }

    /// Adds or replaces a namespace's labels; `None` removes it. True when something changed, and
    /// the caller must rebuild the counts.
    pub fn set_namespace(&mut self, name: &str, labels: Option<Pairs>) -> bool {
        let changed = match labels {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels.clone()) != Some(labels),
            None => self.namespaces.remove(name).is_some(),
        };
        if changed {
            self.begin_epoch();
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

    /// Kind and name of what made a workload.
    pub fn controller_of(&self, kind: &str, namespace: &str, name: &str) -> Option<(&str, &str)> {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        let (kind, name) = self.workloads.get(&key)?.controller.as_ref()?;
        Some((kind, name))
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

    /// Number of appearances known.
    pub fn appearance_count(&self) -> usize {
        self.looks.len()
    }

    /// A pod was put on a node, or taken off it.
    pub fn shift(&mut self, shift: PodShift) {
        if !self.active {
            return;
        }
        let (node, by) = (shift.node.0, i64::from(shift.by));
        if let Some(carrier) = self.carriers.get_mut(&shift.rules) {
            carrier.placed.add(node, by);
            if shift.stay.is_releasing() {
                carrier.releasing.get_or_insert_default().add(node, by);
            }
        }
        let look = &mut self.looks[shift.look.0 as usize];
        look.placed.add(node, by);
        if shift.stay.is_marked() {
            look.marked.get_or_insert_default().add(node, by);
        }
        if shift.stay.is_releasing() {
            look.releasing.get_or_insert_default().add(node, by);
        }
        if shift.stay == Stay::Evicted {
            look.evicted.get_or_insert_default().add(node, by);
        }
        self.news.push(TopologyNews::Pod(shift));
    }

    /// Forgets every count by node, when node indices moved.
    pub fn forget_counts(&mut self) {
        for carrier in self.carriers.values_mut() {
            (carrier.placed, carrier.releasing) = (CountTable::default(), None);
        }
        for look in &mut self.looks {
            look.placed = CountTable::default();
            (look.marked, look.releasing, look.evicted) = (None, None, None);
        }
        self.begin_epoch();
    }
}
