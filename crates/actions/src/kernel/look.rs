//! The nodes that a task could have as things stand, for somebody who only asks: nothing is kept, and nothing is
//! decided by it.

use std::sync::Arc;

use pumice_framework::points::ClassKey;
use pumice_framework::{Class, Plugins, ReasonTable, Verdict};
use pumice_model::node::BLOCK;
use pumice_model::{NodeIx, State, TaskIx};

use super::evaluate::{Block, ClassEvaluator};
use super::shard;

/// Nodes with room for a task at this moment, best first, each with its score. What depends on other nodes is left
/// out: filters by topology domain, and scores that compare candidates.
pub fn nodes_with_room(state: &State, plugins: &Plugins, task: TaskIx) -> Vec<(NodeIx, f64)> {
    let signature = plugins.signature(state, task).unwrap_or_default();
    let class = Class::new(state, ClassKey::of(state, task), Arc::new(signature));
    if plugins.prefilter(state, &class).is_some() {
        return Vec::new();
    }
    // Nobody reads what stands against a node.
    let mut scratch = ReasonTable::default();
    let other_shard = shard::reason(&mut scratch);
    let mut part = plugins.static_part(state, class.fixed(), &mut scratch);
    shard::overlay(state, other_shard, &mut part);
    let mut evaluator = ClassEvaluator::new(state, plugins, &mut scratch, &class, Arc::new(part));
    let mut block = Box::<Block>::default();
    let mut found: Vec<(NodeIx, i64, f64)> = Vec::new();
    for start in (0..state.nodes().len()).step_by(BLOCK) {
        let range = start..(start + BLOCK).min(state.nodes().len());
        evaluator.evaluate_roughly(state, &mut scratch, range.clone(), &mut block);
        for at in (0..range.len()).filter(|at| block.verdict[*at] == Verdict::IDLE) {
            let (whole, fraction) = block.scores(at);
            found.push((NodeIx((start + at) as u32), whole, fraction));
        }
    }
    for normalised in &evaluator.static_part.normalised {
        let raw = |node: NodeIx| normalised.raw[node.at()];
        let max = found.iter().map(|(node, ..)| raw(*node)).max().unwrap_or(0);
        for (node, whole, _) in &mut found {
            *whole += normalised.score(raw(*node), max);
        }
    }
    let scored = found.into_iter();
    let mut scored: Vec<(NodeIx, f64)> = scored
        .map(|(node, whole, fraction)| (node, whole as f64 + fraction))
        .collect();
    // A stable sort: the first name goes first among equals.
    scored.sort_by(|l, r| r.1.total_cmp(&l.1));
    scored
}
