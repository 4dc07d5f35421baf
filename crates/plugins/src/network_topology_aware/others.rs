//! Nodes for pods that ask for no place in the network: by how full the domains of a node would be
//! (spec/08 §6.2).

use pumice_framework::points::{CandidateScore, CountedCluster};
use pumice_model::{DomainIx, NodeIx, State};
use smallvec::SmallVec;

use super::fill::fill;
use crate::resource_weights::WeightedResource;

/// How full domains are, for one class of pods.
pub struct FillOfDomains {
    parts: SmallVec<[WeightedResource; 4]>,
    weight: i64,
    /// Tiers that there are, from the lowest, each with its weight.
    tiers: Vec<(i64, f64)>,
    /// Weight of all tiers between the lowest and that of the cluster.
    all: f64,
    /// Used and total amounts of each domain, part by part.
    sums: Vec<SmallVec<[(i64, i64); 4]>>,
    /// Used amounts of each node as they are in `sums`, part by part.
    known: Vec<SmallVec<[i64; 4]>>,
}

/// Sum of `fading^n` for n from 0 up to a height.
fn weight_of_all(fading: f64, height: i64) -> f64 {
    let count = height.saturating_add(1) as f64;
    match fading {
        1.0 => count,
        _ => (1.0 - fading.powf(count)) / (1.0 - fading),
    }
}

impl FillOfDomains {
    pub fn new(
        state: &State,
        parts: SmallVec<[WeightedResource; 4]>,
        fading: f64,
        weight: i64,
    ) -> Self {
        let (network, nodes) = (state.ground().network(), state.nodes());
        let mut tiers: Vec<i64> = network.domains().iter().map(|domain| domain.tier).collect();
        tiers.dedup();
        let lowest = tiers.first().copied().unwrap_or_default();
        let height = |tier: i64| tier.saturating_sub(lowest);
        let all = tiers
            .last()
            .map_or(0.0, |top| weight_of_all(fading, height(*top)));
        // 0⁰ is 1.
        let weight_of = |tier| fading.powf(height(tier) as f64);
        let tiers = tiers.into_iter().map(|tier| (tier, weight_of(tier)));
        let mut score = Self {
            weight,
            tiers: tiers.collect(),
            all,
            sums: vec![SmallVec::from_elem((0, 0), parts.len()); network.domains().len()],
            known: vec![SmallVec::from_elem(0, parts.len()); nodes.len()],
            parts,
        };
        for node in nodes.indices() {
            for (at, part) in score.parts.iter().enumerate() {
                let total = nodes.total.get(part.resource, node);
                for domain in network.of_node(node) {
                    let sum = &mut score.sums[domain.at()][at];
                    sum.1 = sum.1.saturating_add(total);
                }
            }
            score.follow(state, node);
        }
        score
    }

    /// Takes in what a node holds now.
    fn follow(&mut self, state: &State, node: NodeIx) {
        for (at, part) in self.parts.iter().enumerate() {
            let used = state.nodes().used.get(part.resource, node);
            let known = std::mem::replace(&mut self.known[node.at()][at], used);
            if used != known {
                for domain in state.ground().network().of_node(node) {
                    let sum = &mut self.sums[domain.at()][at];
                    sum.0 = sum.0.saturating_add(used.saturating_sub(known));
                }
            }
        }
    }

    fn fill_of(&self, domain: DomainIx) -> f64 {
        let sums = self.sums[domain.at()].iter();
        let parts = self.parts.iter().zip(sums);
        fill(parts.map(|(part, (used, total))| (*part, *used, *total)))
    }
}

impl CandidateScore for FillOfDomains {
    fn catch_up(&mut self, CountedCluster { state, .. }: CountedCluster<'_>, touched: &[NodeIx]) {
        for node in touched {
            self.follow(state, *node);
        }
    }

    fn add(
        &mut self,
        CountedCluster { state, .. }: CountedCluster<'_>,
        candidates: &[u32],
        scores: &mut [i64],
    ) {
        let network = state.ground().network();
        if !(self.all > 0.0 && self.all.is_finite()) {
            return;
        }
        let count = self.sums.len() as u32;
        let fills: Vec<f64> = (0..count).map(|at| self.fill_of(DomainIx(at))).collect();
        let in_tiers: f64 = self.tiers.iter().map(|(_, weight)| weight).sum();
        for (score, node) in scores.iter_mut().zip(candidates) {
            // Tiers without a domain of the node count as full.
            let mut sum = self.all - in_tiers;
            let mut domains = network.of_node(NodeIx(*node)).iter().peekable();
            for (tier, weight) in &self.tiers {
                let mut found = None;
                while let Some(domain) =
                    domains.next_if(|domain| network.domain(**domain).tier == *tier)
                {
                    found.get_or_insert(*domain);
                }
                sum += weight * found.map_or(1.0, |domain| fills[domain.at()]);
            }
            *score += (sum / self.all * 100.0 * self.weight as f64) as i64;
        }
    }

    fn sums(&self) -> usize {
        self.tiers.len()
    }
}
