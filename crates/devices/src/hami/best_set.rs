//! The best linked of some cards, where each two are linked (spec/04 §23.11).
//!
//! The sets of cards are tried in order, sets with earlier cards first, but for those of which a bound says that
//! none of them is better than the best so far. The bound gives each card that may still come its points with
//! the chosen ones, and half of the most that the card can have with so many others.

use smallvec::SmallVec;

/// Steps after which the best set so far will do. Of 16 cards no set takes more than 12,869, so theirs is always
/// the best.
const STEPS: u32 = 1 << 14;
/// Steps that all containers of a pod may take together on a node; after them they take cards in their order.
pub const STEPS_OF_POD: u32 = 4 * STEPS;
/// Cards up to which there are so few sets that it does not pay to leave some out.
const FEW: usize = 6;

/// Places of cards in their order, a bit each.
pub type PlaceSet = u64;

/// So many cards that have the most points with each other, the first of equal sets, of at most 64 in their order; for a
/// single card the one that has the fewest points with the others. Takes from the steps that are left; without any
/// the first cards.
pub fn best_set(
    cards: usize,
    count: usize,
    steps: &mut u32,
    between: impl Fn(usize, usize) -> u32,
) -> PlaceSet {
    if count == 0 || count > cards {
        return 0;
    }
    if *steps == 0 {
        return PlaceSet::MAX >> (PlaceSet::BITS as usize - count);
    }
    if count == 1 {
        let with_others = |one: &usize| -> u64 {
            let others = (0..cards).filter(|other| other != one);
            others.map(|other| u64::from(between(*one, other))).sum()
        };
        return (0..cards).min_by_key(with_others).map_or(0, bit);
    }
    LinkedCards::new(cards, between).best(count, steps)
}

/// So many cards with the points of each two of them.
struct LinkedCards {
    cards: usize,
    points: SmallVec<[u32; 64]>,
}

impl LinkedCards {
    fn new(cards: usize, between: impl Fn(usize, usize) -> u32) -> Self {
        let mut points = SmallVec::with_capacity(cards * cards);
        for one in 0..cards {
            points.extend((0..cards).map(|other| between(one, other)));
        }
        Self { cards, points }
    }

    fn row(&self, card: usize) -> &[u32] {
        &self.points[card * self.cards..][..self.cards]
    }

    /// The cards, so many of at least as many, that have the most points with each other, the first of equal sets.
    fn best(&self, count: usize, steps: &mut u32) -> PlaceSet {
        let may_take = STEPS.min(*steps);
        let mut search = SetSearch {
            of: self,
            gains: SmallVec::from_elem(0, self.cards),
            tops: self.tops(count),
            count,
            steps: may_take,
            best: None,
        };
        search.extend(0, 0, (count, 0));
        *steps -= may_take - search.steps;
        search.best.map_or(0, |(_, best)| best)
    }

    /// For each card the most points that it can have with so many others, from none on.
    fn tops(&self, count: usize) -> SmallVec<[u64; 64]> {
        let mut tops = SmallVec::new();
        if self.cards <= FEW {
            return tops;
        }
        for card in 0..self.cards {
            let mut row: SmallVec<[u32; 16]> = SmallVec::from_slice(self.row(card));
            row.remove(card);
            row.sort_unstable_by(|one, other| other.cmp(one));
            let mut sum = 0;
            tops.push(sum);
            for points in &row[..count - 1] {
                sum += u64::from(*points);
                tops.push(sum);
            }
        }
        tops
    }
}

fn bit(at: usize) -> PlaceSet {
    1 << at
}

/// The search over the sets of cards.
struct SetSearch<'a> {
    of: &'a LinkedCards,
    /// Points of each card with those that are chosen.
    gains: SmallVec<[u64; 16]>,
    /// See [`LinkedCards::tops`]; empty where nothing is left out.
    tops: SmallVec<[u64; 64]>,
    count: usize,
    steps: u32,
    /// The best set so far with its points.
    best: Option<(u64, PlaceSet)>,
}

impl SetSearch<'_> {
    /// Adds cards from a place on to those that are chosen, which have so many points; so many are missing.
    fn extend(&mut self, chosen: PlaceSet, sum: u64, (left, from): (usize, usize)) {
        if left == 1 {
            for last in from..self.of.cards {
                let all = sum + self.gains[last];
                if self.best.is_none_or(|(most, _)| all > most) {
                    self.best = Some((all, chosen | bit(last)));
                }
            }
            return;
        }
        for next in from..=self.of.cards - left {
            if let Some((most, _)) = self.best
                && (self.steps == 0 || self.bound(sum, left, next) <= 2 * most)
            {
                return;
            }
            self.steps = self.steps.saturating_sub(1);
            let with = sum + self.gains[next];
            self.link(next, u64::wrapping_add);
            self.extend(chosen | bit(next), with, (left - 1, next + 1));
            self.link(next, u64::wrapping_sub);
        }
    }

    /// Counts a card as chosen, or no more.
    fn link(&mut self, card: usize, step: impl Fn(u64, u64) -> u64) {
        for (gain, points) in self.gains.iter_mut().zip(self.of.row(card)) {
            *gain = step(*gain, u64::from(*points));
        }
    }

    /// Twice the points that no set has more of which takes so many cards from a place on.
    fn bound(&self, sum: u64, left: usize, from: usize) -> u64 {
        if self.tops.is_empty() {
            return u64::MAX;
        }
        let mut best: SmallVec<[u64; 16]> = SmallVec::new();
        for card in from..self.of.cards {
            let worth = 2 * self.gains[card] + self.tops[card * self.count + left - 1];
            let at = best.iter().position(|other| worth > *other);
            let at = at.unwrap_or(best.len());
            if at < left {
                best.truncate(left - usize::from(best.len() == left));
                best.insert(at, worth);
            }
        }
        2 * sum + best.iter().sum::<u64>()
    }
}
