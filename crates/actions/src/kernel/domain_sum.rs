//! Per-node counts of pods summed up by topology domain, kept in step by looking at touched nodes.

use std::collections::BTreeMap;
use std::rc::Rc;

use pumice_model::NodeIx;
use pumice_model::domains::Domains;
use pumice_model::topology::{CounterIx, Topology};
use rustc_hash::FxHashMap;

/// Where the per-node counts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Pods a query selects.
    Counter(CounterIx),
    /// Pods that carry a term, by its index in [`Topology::owned_terms`].
    Carried(u32),
}

impl Source {
    fn count(self, topology: &Topology, node: NodeIx) -> i64 {
        match self {
            Self::Counter(counter) => topology.count(counter, node),
            Self::Carried(term) => topology.owned_terms()[term as usize].count(node),
        }
    }

    fn counts(self, topology: &Topology) -> Vec<(NodeIx, i64)> {
        match self {
            Self::Counter(counter) => topology.counts(counter).collect(),
            Self::Carried(term) => topology.owned_terms()[term as usize].counts().collect(),
        }
    }
}

/// Sums by domain.
#[derive(Debug)]
pub struct DomainSum {
    source: Source,
    /// Domains of the topology key.
    pub domains: Rc<Domains>,
    /// Number of the topology key among the class's keys.
    pub key: usize,
    /// Sum per domain.
    pub sums: Vec<i64>,
    seen: FxHashMap<u32, i64>,
    eligible: Option<Vec<bool>>,
    /// With eligible nodes: how many domains have each sum, over domains with an eligible node.
    levels: BTreeMap<i64, u32>,
    domain_counts: Vec<bool>,
    counting: u32,
    /// Sum over all domains.
    pub total: i64,
}

impl DomainSum {
    /// Sums up the present counts. With `eligible`, other nodes are left out, and the least sum over
    /// domains that have an eligible node is kept.
    pub fn new(
        topology: &Topology,
        source: Source,
        domains: Rc<Domains>,
        key: usize,
        eligible: Option<Vec<bool>>,
    ) -> Self {
        let mut domain_counts = vec![false; domains.count];
        for (node, ok) in eligible.iter().flatten().enumerate() {
            let domain = domains.of_node[node];
            if *ok && domain != Domains::NONE {
                domain_counts[domain as usize] = true;
            }
        }
        let counting = domain_counts.iter().filter(|counts| **counts).count() as u32;
        let mut levels = BTreeMap::new();
        if counting > 0 {
            levels.insert(0, counting);
        }
        let sums = vec![0; domains.count];
        let seen = FxHashMap::default();
        let mut sum = Self {
            source,
            domains,
            key,
            sums,
            seen,
            eligible,
            levels,
            domain_counts,
            counting,
            total: 0,
        };
        for (node, _) in source.counts(topology) {
            sum.update(topology, node);
        }
        sum
    }

    /// Looks at a node again; the domain whose sum changed, if any.
    pub fn update(&mut self, topology: &Topology, node: NodeIx) -> Option<u32> {
        let domain = self.domains.of_node[node.at()];
        if domain == Domains::NONE || self.eligible.as_ref().is_some_and(|ok| !ok[node.at()]) {
            return None;
        }
        let now = self.source.count(topology, node);
        let before = if now == 0 {
            self.seen.remove(&node.0).unwrap_or(0)
        } else {
            self.seen.insert(node.0, now).unwrap_or(0)
        };
        if now == before {
            return None;
        }
        let sum = self.sums[domain as usize];
        let new = sum + now - before;
        self.sums[domain as usize] = new;
        self.total += now - before;
        if self.domain_counts[domain as usize] {
            self.level(sum, -1);
            self.level(new, 1);
        }
        Some(domain)
    }

    fn level(&mut self, sum: i64, by: i32) {
        let count = self.levels.entry(sum).or_insert(0);
        *count = count.wrapping_add_signed(by);
        if *count == 0 {
            self.levels.remove(&sum);
        }
    }

    /// The least sum over domains with an eligible node; 0 when fewer than `min_domains` have one.
    pub fn least(&self, min_domains: i32) -> i64 {
        if i64::from(self.counting) < i64::from(min_domains) {
            return 0;
        }
        self.levels.first_key_value().map_or(0, |(sum, _)| *sum)
    }

    /// Sum of the domain of a node; `None` when the node lacks the key.
    pub fn of_node(&self, node: usize) -> Option<i64> {
        let domain = self.domains.of_node[node];
        (domain != Domains::NONE).then(|| self.sums[domain as usize])
    }

    /// The present count of one node, eligible or not.
    pub fn on_node(&self, topology: &Topology, node: usize) -> i64 {
        self.source.count(topology, NodeIx(node as u32))
    }
}
