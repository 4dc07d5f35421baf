//! Which domain of the network is better (HyperNodeOrder): asked while a job looks for a domain, for the
//! domains of one tier that may hold it. Nothing is kept.

use pumice_model::{DomainIx, NodeIx, ResVec, State};

/// A score of domains.
pub trait DomainScore {
    /// How good a domain is for pods that ask so much in all, in stored units; higher is better.
    fn domain_score(&self, state: &State, domain: DomainIx, asked: &ResVec) -> f64;
}

/// What is left for others where a unit was placed (spec/10 §3): asked while domains of one tier in which it is ready are
/// compared. Nothing is kept.
pub trait NodesRest {
    /// How good what is left of these nodes is for those to come, in parts of a point of a domain
    /// ([`POINT`]); only differences count, higher is better.
    fn nodes_rest(&self, state: &State, nodes: &[NodeIx]) -> i128;
}

/// A point of the score of a domain, in parts of one.
pub const POINT: i128 = 1 << 16;

/// What a plugin says of the network as a whole; the first one that says anything decides.
pub trait NetworkSettings {
    /// At most so many domains are looked at when others are evicted for a job that asks for one; 1 or more.
    fn most_for_evictions(&self) -> usize;

    /// Keys of node labels that make domains while there are no HyperNodes, lowest tier first.
    fn labels(&self) -> &[String];
}
