//! Cards by what the rest is of use (spec/10 §3).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use pumice_model::object::NodeObject;

use super::measure::waste;
use crate::naive::cycle::Cycle;
use crate::naive::devices::{CardChoice, CardFamily, View};
use crate::naive::state::{Task, sub};

/// All sets of so many of these.
fn sets(all: &[usize], count: usize) -> Vec<Vec<usize>> {
    let Some((first, later)) = all.split_first().filter(|_| count > 0) else {
        return match count {
            0 => vec![Vec::new()],
            _ => Vec::new(),
        };
    };
    let with = sets(later, count - 1).into_iter();
    let with = with.map(|rest| [vec![*first], rest].concat());
    with.chain(sets(later, count)).collect()
}

/// What makes least useless, of the family's own choice and all other sets of as many cards that each give a piece.
/// The score of the node is that of its own choice.
pub fn choose(
    cycle: &Cycle,
    task: &Task,
    (family, node, view): (CardFamily, &NodeObject, View),
    own: CardChoice,
) -> CardChoice {
    let shelf = family.shelf(&cycle.world, node, view);
    let uses = shelf.uses();
    let gives = |at: &usize| shelf.only(*at).piece(cycle, task).is_some();
    let giving: Vec<usize> = (0..uses.len()).filter(gives).collect();
    let distinct: BTreeSet<usize> = own.cards.iter().copied().collect();
    let mut idle = view.idle(&cycle.world, node);
    sub(&mut idle, &task.request());
    let others = sets(&giving, distinct.len()).into_iter();
    let others = others.filter(|set| !set.iter().all(|at| distinct.contains(at)));
    let others = others.filter_map(|set| {
        let choice = shelf.choose(cycle, task, Some(&set))?;
        Some((set, choice))
    });
    let own_set = distinct.iter().copied().collect();
    let found = others.chain([(own_set, own.clone())]).map(|(set, choice)| {
        let of = |at: &usize| (Reverse(uses[*at].used), *at);
        let mut order: Vec<(Reverse<i64>, usize)> = set.iter().map(of).collect();
        order.sort_unstable();
        let after = shelf.with(&task.having(choice.held.clone()));
        let waste = waste(cycle, family, (node, &*after), &idle);
        let is_own = set.iter().all(|at| distinct.contains(at));
        ((waste, !is_own, order), choice)
    });
    let best = found.min_by(|(one, _), (other, _)| one.cmp(other));
    let score = own.score;
    let choice = best.map_or(own, |(_, choice)| choice);
    CardChoice { score, ..choice }
}
