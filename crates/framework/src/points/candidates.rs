//! Scores that compare all candidates with each other: preferred inter-pod affinity, soft topology
//! spread. One placement may move them for every node, so they are computed afresh over the candidates
//! each time a node is chosen (*candidates*); nothing is kept but what the score itself counts.

use pumice_model::NodeIx;

use super::class::Class;
use super::domain::{CountedCluster, Counting};

/// A plugin's scores that compare candidates.
pub trait CandidateScores {
    /// Adds the scores of a class; none when they could not tell nodes apart.
    fn candidate_scores(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        scores: &mut Vec<Box<dyn CandidateScore>>,
    );
}

/// A score of one class over its candidates.
pub trait CandidateScore {
    /// Takes touched nodes into account.
    fn catch_up(&mut self, now: CountedCluster<'_>, touched: &[NodeIx]);

    /// Adds the scores of the candidates, given by node index in name order.
    fn add(&mut self, now: CountedCluster<'_>, candidates: &[u32], scores: &mut [i64]);

    /// How many counts it keeps: a measure of the work a node.
    fn sums(&self) -> usize;
}
