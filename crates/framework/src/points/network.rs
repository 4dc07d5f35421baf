//! Which domain of the network is better (HyperNodeOrder): asked while a job looks for a domain, for the
//! domains of one tier that may hold it; and how many are looked at. Nothing is kept.

use pumice_model::{DomainIx, ResVec, State};

/// A score of domains.
pub trait DomainScore {
    /// How good a domain is for pods that ask so much in all, in stored units; higher is better.
    fn domain_score(&self, state: &State, domain: DomainIx, asked: &ResVec) -> f64;
}

/// How many domains are looked at when others are evicted for a job that asks for a place in the network
/// (HyperNodeGradient); the first plugin that says it decides.
pub trait EvictionDomains {
    /// At most so many, 1 or more.
    fn most(&self) -> usize;
}
