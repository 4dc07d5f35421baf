//! Per-node counts of pods summed up by topology domain, kept in step by looking at touched nodes: what
//! filters by domain and scores of candidates are made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use pumice_model::CounterIx;
use pumice_model::LoadMoment;
use pumice_model::NodeIx;
use pumice_model::domains::Domains;
use pumice_model::topology::{CountTable, PodCounters};

/// Topology keys with up to this many domains have a number for each.
const FEW_DOMAINS: usize = 64;

/// From one domain in this many that is not zero on, each has a number.
const DENSE: usize = 16;

/// Sums by domain: only those that are not zero while they are few.
#[derive(Debug, Default)]
struct Sums {
    sparse: CountTable,
    dense: Vec<i64>,
}

impl Sums {
    fn new(domains: usize) -> Self {
        let dense = if domains <= FEW_DOMAINS { domains } else { 0 };
        Self {
            sparse: CountTable::default(),
            dense: vec![0; dense],
        }
    }

    fn get(&self, domain: u32) -> i64 {
        match self.dense.get(domain as usize) {
            Some(sum) => *sum,
            None => self.sparse.get(domain),
        }
    }

    fn set(&mut self, domain: u32, new: i64, domains: usize) {
        if let Some(sum) = self.dense.get_mut(domain as usize) {
            *sum = new;
            return;
        }
        self.sparse.set(domain, new);
        if self.sparse.len() * DENSE > domains {
            self.dense = vec![0; domains];
            for (domain, sum) in std::mem::take(&mut self.sparse).iter() {
                self.dense[domain as usize] = sum;
            }
        }
    }
}

/// What of the sums is being released.
#[derive(Debug, Default)]
struct Leaving {
    seen: CountTable,
    by_domain: CountTable,
    total: i64,
}

/// Sums by domain, now and once what is being released is gone.
#[derive(Debug)]
pub struct DomainSum {
    counter: CounterIx,
    /// Domains of the topology key.
    pub domains: Arc<Domains>,
    /// Number of the topology key among the class's keys.
    pub key: usize,
    sums: Sums,
    seen: CountTable,
    eligible: Option<Arc<[bool]>>,
    /// With eligible nodes: how many domains have each sum, over domains with an eligible node.
    levels: BTreeMap<i64, u32>,
    domain_counts: Vec<bool>,
    counting: u32,
    total: i64,
    /// Made when something is being released for the first time.
    leaving: Option<Box<Leaving>>,
}

impl DomainSum {
    /// Sums up the present counts. With `eligible`, other nodes are left out, and the least sum over
    /// domains that have an eligible node is kept.
    pub fn new(
        counters: &PodCounters,
        counter: CounterIx,
        domains: Arc<Domains>,
        key: usize,
        eligible: Option<Arc<[bool]>>,
    ) -> Self {
        let with_eligible = eligible.as_ref().map_or(0, |_| domains.count);
        let mut domain_counts = vec![false; with_eligible];
        for (node, ok) in eligible.iter().flat_map(|ok| ok.iter()).enumerate() {
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
        let mut sum = Self {
            counter,
            key,
            sums: Sums::new(domains.count),
            domains,
            seen: CountTable::default(),
            eligible,
            levels,
            domain_counts,
            counting,
            total: 0,
            leaving: None,
        };
        for (node, _) in counters.counts(counter).iter() {
            sum.update(counters, NodeIx(node));
        }
        sum
    }

    /// Looks at a node again; the domain whose sum changed, now or later, if any.
    pub fn update(&mut self, counters: &PodCounters, node: NodeIx) -> Option<u32> {
        let domain = self.domains.of_node[node.at()];
        if domain == Domains::NONE || self.eligible.as_ref().is_some_and(|ok| !ok[node.at()]) {
            return None;
        }
        let stays_alike = !self.update_leaving(counters, node, domain);
        let now = counters.count(self.counter, node);
        let before = self.seen.set(node.0, now);
        if now == before {
            return (!stays_alike).then_some(domain);
        }
        let sum = self.sums.get(domain);
        let new = sum + now - before;
        self.sums.set(domain, new, self.domains.count);
        self.total += now - before;
        if !self.domain_counts.is_empty() && self.domain_counts[domain as usize] {
            self.level(sum, -1);
            self.level(new, 1);
        }
        Some(domain)
    }

    /// Looks again at what is being released on a node; whether that has changed.
    fn update_leaving(&mut self, counters: &PodCounters, node: NodeIx, domain: u32) -> bool {
        let releasing = counters.releasing(self.counter);
        let now = releasing.map_or(0, |counts| counts.get(node.0));
        if now == 0 && self.leaving.is_none() {
            return false;
        }
        let leaving = self.leaving.get_or_insert_default();
        let before = leaving.seen.set(node.0, now);
        leaving.by_domain.add(domain, now - before);
        leaving.total += now - before;
        if leaving.seen.is_empty() {
            self.leaving = None;
        }
        now != before
    }

    /// Whether sums are others once what is being released is gone.
    pub fn differs(&self) -> bool {
        self.leaving.is_some()
    }

    /// Sum over all domains.
    pub fn total(&self, moment: LoadMoment) -> i64 {
        self.total - self.leaves(moment, |leaving| leaving.total)
    }

    fn leaves(&self, moment: LoadMoment, count: impl Fn(&Leaving) -> i64) -> i64 {
        match (moment, &self.leaving) {
            (LoadMoment::Released, Some(leaving)) => count(leaving),
            _ => 0,
        }
    }

    fn level(&mut self, sum: i64, by: i32) {
        let count = self.levels.entry(sum).or_insert(0);
        *count = count.strict_add_signed(by);
        if *count == 0 {
            self.levels.remove(&sum);
        }
    }

    /// The least sum over domains with an eligible node; 0 when fewer than `min_domains` have one. What is
    /// released only makes sums smaller.
    pub fn least(&self, min_domains: i32, moment: LoadMoment) -> i64 {
        if i64::from(self.counting) < i64::from(min_domains) {
            return 0;
        }
        let now = self.levels.first_key_value().map_or(0, |(sum, _)| *sum);
        let (LoadMoment::Released, Some(leaving)) = (moment, &self.leaving) else {
            return now;
        };
        let domains = leaving.by_domain.iter().map(|(domain, _)| domain);
        let counting = domains.filter(|domain| self.domain_counts[*domain as usize]);
        let later = counting.map(|domain| self.of_domain(domain, moment));
        later.fold(now, i64::min)
    }

    /// Sum of a domain.
    pub fn of_domain(&self, domain: u32, moment: LoadMoment) -> i64 {
        self.sums.get(domain) - self.leaves(moment, |leaving| leaving.by_domain.get(domain))
    }

    /// Sum of now of the domain of a node; `None` when the node lacks the key.
    pub fn of_node(&self, node: usize) -> Option<i64> {
        let domain = self.domains.of_node[node];
        (domain != Domains::NONE).then(|| self.sums.get(domain))
    }

    /// The present count of one node, eligible or not.
    pub fn on_node(&self, counters: &PodCounters, node: usize) -> i64 {
        counters.count(self.counter, NodeIx(node as u32))
    }
}
