//! What a class can be asked besides its best node: the questions of actions that evict, and of those
//! that choose among some nodes.
//!
//! They take the index of the class, which has caught up, and look at the nodes in question by
//! themselves: scores that depend on who the candidates are, are those among the candidates in question.

use pumice_framework::points::CountedCluster;
use pumice_framework::{FitError, ReasonId, ReasonTable, Verdict};
use pumice_model::node::BLOCK;
use pumice_model::{NodeIx, State};
use smallvec::SmallVec;

use super::ChosenNode;
use super::evaluate::Block;
use super::index::{ClassIndex, first_best};

/// A node that a task could have, perhaps after evictions.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Node that the task could have.
    pub node: NodeIx,
    /// The task fits, now or once resources are released; otherwise everything that stands against it.
    pub verdict: Verdict,
    /// Score of the node among the candidates, higher is better.
    pub score: f64,
}

/// Whether evictions can help against the reasons a node has.
pub type CanHelp<'a> = &'a dyn Fn(&ReasonTable, &[ReasonId]) -> bool;

impl ClassIndex {
    /// The best of some nodes.
    ///
    /// # Errors
    /// Why none of them fits.
    pub(super) fn best_among(
        &mut self,
        now: CountedCluster<'_>,
        table: &mut ReasonTable,
        scratch: &mut Block,
        nodes: &[NodeIx],
    ) -> Result<ChosenNode, FitError> {
        let mut nodes: Vec<u32> = nodes.iter().map(|node| node.0).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for wanted in [Verdict::IDLE, Verdict::FUTURE] {
            let fitting = nodes.iter().copied().filter(|node| self.is(*node, wanted));
            let fitting: Vec<u32> = fitting.collect();
            let keys = self.keys_of(now, table, scratch, &fitting);
            if let Some(node) = first_best(&fitting, &keys) {
                return Ok(ChosenNode {
                    node: NodeIx(node),
                    idle: wanted == Verdict::IDLE,
                });
            }
        }
        Err(FitError {
            nodes: nodes.len() as u32,
            counts: self.count_reasons(table, nodes.into_iter()),
            ..FitError::default()
        })
    }

    /// All nodes that fit, or against which there are only reasons that evictions can help, best first.
    pub(super) fn candidates(
        &mut self,
        now: CountedCluster<'_>,
        table: &mut ReasonTable,
        scratch: &mut Block,
        can_help: CanHelp<'_>,
    ) -> Vec<Candidate> {
        let count = self.nodes();
        let mut verdicts: Vec<Verdict> = Vec::new();
        let mut nodes: Vec<u32> = Vec::new();
        for start in (0..count).step_by(BLOCK) {
            let range = start..(start + BLOCK).min(count);
            let reasons = self.all_reasons(now.state, table, range.clone(), scratch);
            for (node, reasons) in range.zip(reasons) {
                let verdict = match reasons.as_slice() {
                    [] => self.verdict(node),
                    against if can_help(table, against) => Verdict::unfit(table.set(against)),
                    _ => continue,
                };
                nodes.push(node as u32);
                verdicts.push(verdict);
            }
        }
        self.effort += 2 * count as u64;
        let keys = self.keys_of(now, table, scratch, &nodes);
        let found = nodes.into_iter().zip(verdicts).zip(keys);
        let mut candidates: Vec<Candidate> = found
            .map(|((node, verdict), score)| Candidate {
                node: NodeIx(node),
                verdict,
                score,
            })
            .collect();
        // A stable sort: the first name goes first among equals.
        candidates.sort_by(|l, r| r.score.total_cmp(&l.score));
        candidates
    }

    /// Everything against the nodes of a range, filters by topology domain included.
    fn all_reasons(
        &self,
        state: &State,
        table: &mut ReasonTable,
        range: std::ops::Range<usize>,
        scratch: &mut Block,
    ) -> Vec<SmallVec<[ReasonId; 4]>> {
        let mut all = self
            .evaluator()
            .all_reasons(state, table, range.clone(), scratch);
        for (reasons, node) in all.iter_mut().zip(range) {
            reasons.extend(self.domain_reasons(table, node));
        }
        all
    }

    /// Final scores of candidates, each evaluated by itself and compared with the others.
    fn keys_of(
        &mut self,
        now: CountedCluster<'_>,
        table: &mut ReasonTable,
        scratch: &mut Block,
        candidates: &[u32],
    ) -> Vec<f64> {
        self.effort += (candidates.len() * (1 + self.candidate_sums())) as u64;
        let mut scores = Vec::with_capacity(candidates.len());
        // Neighbours are evaluated in one go.
        for run in candidates.chunk_by(|l, r| l + 1 == *r) {
            for run in run.chunks(BLOCK) {
                let (from, count) = (run[0] as usize, run.len());
                self.evaluator_mut()
                    .evaluate(now.state, table, from..from + count, scratch);
                scores.extend((0..count).map(|at| scratch.scores(at)));
            }
        }
        self.keys_among(now, candidates, scores)
    }
}
