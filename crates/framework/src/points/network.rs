//! Which domain of the network is better (HyperNodeOrder): asked while a job looks for a domain, for the
//! domains of one tier that may hold it. Nothing is kept.

use pumice_model::{DomainIx, ResVec, State};

/// A score of domains.
pub trait DomainScore {
    /// How good a domain is for pods that ask so much in all, in stored units; higher is better.
    fn domain_score(&self, state: &State, domain: DomainIx, asked: &ResVec) -> f64;
}

/// What a plugin says of the network as a whole; the first one that says anything decides.
pub trait NetworkSettings {
    /// At most so many domains are looked at when others are evicted for a job that asks for one; 1 or more.
    fn most_for_evictions(&self) -> usize;

    /// Keys of node labels that make domains while there are no HyperNodes, lowest tier first.
    fn labels(&self) -> &[String];
}
