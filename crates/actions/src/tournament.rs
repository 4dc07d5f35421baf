//! A knock-out among queues: who is first is known, and after a change only the matches are played again
//! whose outcome it may alter.

use std::cmp::Ordering;
use std::ops::Range;

use pumice_model::QueueIx;

/// Queues at positions of their own. The winner of a range of positions is the one that goes first of those
/// that take part there; `matches[1]` is the final, the players of match `m` are the winners of `2m` and `2m + 1`.
#[derive(Debug)]
pub struct Tournament {
    /// Positions, a power of two.
    size: usize,
    matches: Vec<Option<QueueIx>>,
}

impl Tournament {
    /// Nobody takes part yet; positions are below `size`.
    pub fn new(size: usize) -> Self {
        let size = size.next_power_of_two();
        Self {
            size,
            matches: vec![None; 2 * size],
        }
    }

    /// Who goes first of all.
    pub fn winner(&self) -> Option<QueueIx> {
        self.matches[1]
    }

    /// From now on this one takes part at a position, or nobody.
    pub fn seat(
        &mut self,
        at: usize,
        queue: Option<QueueIx>,
        order: impl Fn(QueueIx, QueueIx) -> Ordering,
    ) {
        self.matches[self.size + at] = queue;
        self.play_again(std::iter::once(at..at + 1), order);
    }

    /// Those in each of these ranges may go earlier or later than before compared with those outside of it.
    pub fn play_again(
        &mut self,
        moved: impl Iterator<Item = Range<usize>>,
        order: impl Fn(QueueIx, QueueIx) -> Ordering,
    ) {
        // A match of somebody within and somebody without is above one end of the range.
        let ends = moved.flat_map(|range| [range.start, range.end - 1]);
        let above = |end: usize| std::iter::successors(Some(self.size + end), |at| Some(at / 2));
        let mut again: Vec<usize> = ends
            .flat_map(|end| above(end).skip(1).take_while(|at| *at > 0))
            .collect();
        again.sort_unstable_by(|l, r| r.cmp(l));
        again.dedup();
        for at in again {
            self.matches[at] = match (self.matches[2 * at], self.matches[2 * at + 1]) {
                (Some(l), Some(r)) => Some(if order(l, r).is_le() { l } else { r }),
                (l, r) => l.or(r),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Queues in three branches, each with a rank of its own; a queue goes by the rank of its branch, then by its own.
        #[test]
        fn the_first_one_wins_whatever_moves(
            size in 1usize..40,
            moves in prop::collection::vec((0usize..40, 0u8..9, 0u8..9, any::<bool>()), 0..60),
        ) {
            let branch = |at: usize| at * 3 / size;
            let range = |of: usize| {
                let within: Vec<usize> = (0..size).filter(|at| branch(*at) == of).collect();
                within[0]..within[within.len() - 1] + 1
            };
            let (mut branches, mut own) = ([0u8; 3], vec![0u8; size]);
            let mut present = vec![false; size];
            let mut tournament = Tournament::new(size);
            for (at, of_branch, of_own, takes_part) in moves {
                let at = at % size;
                branches[branch(at)] = of_branch;
                own[at] = of_own;
                present[at] = takes_part;
                let key = |at: usize| (branches[branch(at)], branch(at), own[at], at);
                let order = |l: QueueIx, r: QueueIx| key(l.at()).cmp(&key(r.at()));
                tournament.seat(at, takes_part.then_some(QueueIx(at as u32)), order);
                tournament.play_again([at..at + 1, range(branch(at))].into_iter(), order);
                let first = (0..size).filter(|at| present[*at]).min_by_key(|at| key(*at));
                prop_assert_eq!(tournament.winner().map(QueueIx::at), first);
            }
        }
    }
}
