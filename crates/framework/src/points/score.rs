//! Scores of one node. The kernel collects them when it meets a class for the first time, and keeps
//! answers like those of filters: *static* ones until nodes change, *node* ones until the node is
//! touched. Scores add up; the highest sum wins, the first name among equals.

use std::ops::Range;

use pumice_model::State;

use super::class::{Class, StaticClass};
use crate::reason::ReasonId;
use crate::verdict::Verdict;

/// A plugin's scores of one node.
pub trait NodeScores {
    /// Why no node is taken before more is known of its scores; found by looking at the class alone.
    fn awaits(&self, _state: &State, _class: &Class) -> Option<String> {
        None
    }

    /// Adds scores that depend on node objects alone to `part.score` and `part.normalised`.
    fn static_score(&self, _state: &State, _class: StaticClass<'_>, _part: &mut StaticPart) {}

    /// Scores on node load, and fractional ones.
    fn node_scores(&self, _state: &State, _class: &Class) -> Vec<Box<dyn NodeScore>> {
        Vec::new()
    }
}

/// A score of one class that depends on a node's current load.
pub trait NodeScore {
    /// Adds the integer scores of the nodes of `range` to `out[node - range.start]`.
    fn add_whole(&self, _state: &State, _range: Range<usize>, _out: &mut [i64]) {}

    /// Adds the fractional scores of the nodes of `range` to `out[node - range.start]`. A score may remember
    /// what it has found: what it says follows from the state alone.
    fn add_fraction(&mut self, _state: &State, _range: Range<usize>, _out: &mut [f64]) {}

    /// As [`NodeScore::add_fraction`], for a score that depends on whether a node has room now: `verdicts` say of each
    /// node of `range` whether the class fits there, and when. Those that say no may get any points.
    fn add_fraction_when(
        &mut self,
        state: &State,
        range: Range<usize>,
        _verdicts: &[Verdict],
        out: &mut [f64],
    ) {
        self.add_fraction(state, range, out);
    }

    /// Whether [`NodeScore::add_fraction`] does anything.
    fn has_fraction(&self) -> bool {
        false
    }
}

/// What depends on the node object alone; shared by all classes with the same rules and signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticPart {
    /// First static reason against each node; `None` when there is none.
    pub verdict: Vec<Option<ReasonId>>,
    /// Sum of integer scores per node.
    pub score: Vec<i64>,
    /// Scores normalised over the candidates.
    pub normalised: Vec<Normalised>,
}

/// A score that is spread over 0 … 100 by its largest value among the candidates
/// (spec/02 §8: `N(reverse)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalised {
    /// Raw value per node, at least 0.
    pub raw: Vec<i64>,
    /// Weight of the result.
    pub weight: i64,
    /// A large raw value is bad.
    pub reverse: bool,
}

impl Normalised {
    /// The weighted score of a raw value when `max` is the largest one among the candidates.
    pub fn score(&self, raw: i64, max: i64) -> i64 {
        let spread = if max == 0 { 0 } else { 100 * raw / max };
        self.weight * if self.reverse { 100 - spread } else { spread }
    }
}
