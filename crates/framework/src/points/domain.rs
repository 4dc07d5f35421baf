//! Filters that say the same of all nodes of a topology domain: inter-pod affinity, topology spread,
//! limits by group of nodes. The kernel collects them when it meets a class for the first time and
//! tells them of every node that was touched since it last asked; they answer which domains that may
//! have changed, and only the nodes there are judged anew (*domain*).
//!
//! Nodes that share their domains under all keys of a class form a *cell*; a filter is asked once a
//! cell.

use std::sync::Arc;

use pumice_model::domains::Domains;
use pumice_model::topology::{KeyCounter, PodCounters, Pull, Query};
use pumice_model::{AppearanceIx, CounterIx};
use pumice_model::{LoadMoment, NodeIx, RulesIx, State};

use super::class::Class;
use crate::reason::ReasonId;
use crate::topology_keys::TopologyKeys;

/// A plugin's filters by topology domain.
pub trait DomainFilters {
    /// Adds the filters of a class, in the order they are to be asked; none when they could reject
    /// nothing.
    fn domain_filters(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        filters: &mut Vec<Box<dyn DomainFilter>>,
    );
}

/// The domains of a cell, as one filter numbers its keys.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    /// Domain under each key of the class.
    pub domains: &'a [u32],
    /// By number of the filter's key, its number among the keys of the class.
    pub keys: &'a [usize],
}

impl Cell<'_> {
    /// The domain under a key of the filter, [`Domains::NONE`] on nodes without the label.
    pub fn domain(&self, key: usize) -> u32 {
        self.domains[self.keys[key]]
    }
}

/// What a filter says has changed.
#[derive(Default)]
pub struct ChangedDomains {
    /// Number of the filter's key, and domain under it.
    pub some: Vec<(usize, u32)>,
    /// The verdict on every cell may differ.
    pub all: bool,
}

/// A filter of one class over topology domains.
pub trait DomainFilter {
    /// Label keys it tells nodes apart by, each once.
    fn keys(&self) -> &[String];

    /// Takes touched nodes into account, and tells where its verdict on any moment may differ from before.
    fn catch_up(
        &mut self,
        now: CountedCluster<'_>,
        touched: &[NodeIx],
        changed: &mut ChangedDomains,
    );

    /// The reason against the nodes of a cell, if there is one: now, or once what is being released is gone.
    fn reject(&self, cell: Cell<'_>, moment: LoadMoment) -> Option<ReasonId>;

    /// Whether what it says now and what it says of later may differ as things stand.
    fn counts_released(&self) -> bool {
        false
    }

    /// How many counts it keeps: a measure of the work of [`DomainFilter::catch_up`] a node.
    fn sums(&self) -> usize;

    /// A domain it rejects stays rejected whatever else is placed anywhere; something has to leave.
    fn is_lasting(&self) -> bool {
        false
    }
}

/// The cluster as it stands, and counters of its pods that have caught up with it.
#[derive(Clone, Copy)]
pub struct CountedCluster<'a> {
    /// The cluster.
    pub state: &'a State,
    /// Counters of pods per node.
    pub counters: &'a PodCounters,
}

/// What filters by domain and scores of candidates are made with: counters of pods per node and domains of
/// label keys, kept by the kernel and shared by all classes.
pub struct Counting<'a> {
    /// The cluster.
    state: &'a State,
    counters: &'a mut PodCounters,
    /// Domains of label keys.
    keys: &'a mut TopologyKeys,
}

impl<'a> Counting<'a> {
    /// For the kernel. The counters have caught up with the cluster.
    pub fn new(
        state: &'a State,
        counters: &'a mut PodCounters,
        keys: &'a mut TopologyKeys,
    ) -> Self {
        Self {
            state,
            counters,
            keys,
        }
    }

    /// The cluster.
    pub fn state(&self) -> &'a State {
        self.state
    }

    /// Counters made so far.
    pub fn counters(&self) -> &PodCounters {
        self.counters
    }

    /// The cluster with these counters.
    pub fn now(&self) -> CountedCluster<'_> {
        CountedCluster {
            state: self.state,
            counters: self.counters,
        }
    }

    /// Domains of a label key.
    pub fn domains(&mut self, key: &str) -> Arc<Domains> {
        self.keys.domains(self.state, key)
    }

    /// The counter of terms or of a spread constraint.
    pub fn counter(&mut self, query: Query) -> CounterIx {
        let (topology, names) = (self.state.ground().topology(), self.state.names());
        self.counters.counter(topology, names, query)
    }

    /// Counters of the terms that pods with these rules have themselves.
    pub fn own_counters(&mut self, rules: RulesIx, pull: Pull) -> Vec<KeyCounter> {
        let (topology, names) = (self.state.ground().topology(), self.state.names());
        self.counters.own(topology, names, (rules, pull))
    }

    /// Counters of the terms of other pods that select pods of this appearance.
    pub fn carried_counters(&mut self, look: AppearanceIx, pull: Pull) -> Vec<KeyCounter> {
        let (topology, names) = (self.state.ground().topology(), self.state.names());
        self.counters.carried(topology, names, (look, pull))
    }
}

/// Label keys of one filter, each once, in order of first use.
#[derive(Debug, Default)]
pub struct KeySet(Vec<String>);

impl KeySet {
    /// Number and domains of a key.
    pub fn add(&mut self, with: &mut Counting<'_>, key: &str) -> (usize, Arc<Domains>) {
        let domains = with.domains(key);
        let at = match self.0.iter().position(|name| name == key) {
            Some(at) => at,
            None => {
                self.0.push(key.to_owned());
                self.0.len() - 1
            }
        };
        (at, domains)
    }

    /// The keys.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}
