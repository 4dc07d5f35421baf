//! Kunlun's cards in two wings, by the rules alone (spec/04 §23.12): all sets of cards are looked at.

use super::asks::Ask;
use super::vendor_cards::Card;

pub const UUIDS: (&str, &str) = ("hami.io/use-xpu-uuid", "hami.io/no-use-xpu-uuid");

/// Cards of a container have to be linked.
pub fn has(ask: &Ask) -> bool {
    ["kunlun", "XPU"].contains(&ask.maker.word)
}

/// Number of a card on its node.
fn number(card: &Card) -> usize {
    let last = card.id.rsplit('-').next().expect("a number");
    last.parse().expect("a number")
}

fn wing(at: usize) -> usize {
    at / 4
}

/// How many of these are in a wing.
fn in_wing(cards: &[usize], of: usize) -> usize {
    cards.iter().filter(|at| wing(**at) == of).count()
}

fn linked(one: usize, other: usize) -> bool {
    wing(one) == wing(other) || one % 4 == other % 4
}

/// The places of the cards that a container gets, of those that fit.
pub fn chosen(cards: &[Card], fitting: &[usize], count: usize) -> Option<Vec<usize>> {
    let mut free: Vec<usize> = fitting.iter().map(|at| number(&cards[*at])).collect();
    free.sort_unstable();
    let numbers = numbers(&free, count)?;
    let mut places: Vec<usize> = fitting.to_vec();
    places.retain(|at| numbers.contains(&number(&cards[*at])));
    places.sort_unstable();
    Some(places)
}

fn numbers(free: &[usize], count: usize) -> Option<Vec<usize>> {
    if count == 8 {
        return (free.len() == 8).then(|| free.to_vec());
    }
    // How well a wing suits that has so many free.
    let rank = |of: &usize| match (count, in_wing(free, *of)) {
        (1, left) => [1, 3, 2, 4].iter().position(|known| *known == left),
        (_, left) => Some(left),
    };
    let wings = (0..2).filter(|of| in_wing(free, *of) >= count);
    if let Some(best) = wings.min_by_key(rank) {
        let own = free.iter().filter(|at| wing(**at) == best);
        return Some(own.take(count).copied().collect());
    }
    let is_free = |set: &[usize]| set.iter().all(|at| free.contains(at));
    match (count, free.len()) {
        (2, _) => (0..4).map(|at| vec![at, at + 4]).find(|pair| is_free(pair)),
        (4, 4..=6) => {
            let quads = [
                [0, 1, 4, 5],
                [2, 3, 6, 7],
                [0, 2, 4, 6],
                [1, 3, 5, 7],
                [0, 3, 4, 7],
                [1, 2, 5, 6],
            ];
            let mut may: Vec<_> = quads.into_iter().filter(|quad| is_free(quad)).collect();
            if free.len() == 6 {
                let rest = |quad: &[usize; 4]| -> Vec<usize> {
                    free.iter()
                        .filter(|at| !quad.contains(at))
                        .copied()
                        .collect()
                };
                let leaves_linked = |quad: &[usize; 4]| match rest(quad)[..] {
                    [one, other] => linked(one, other),
                    _ => false,
                };
                let best = may.iter().position(leaves_linked);
                let best = best.or(may.len().checked_sub(1))?;
                may.swap(0, best);
            }
            may.first().map(|quad| quad.to_vec())
        }
        _ => None,
    }
}

/// What whole cards add to the score of their node.
pub fn score(cards: &[Card], chosen: &[(&Ask, &Vec<usize>)]) -> i64 {
    let own = chosen.iter().filter(|(ask, _)| ask.maker.word == "kunlun");
    let own: Vec<usize> = own
        .flat_map(|(_, way)| way.iter().map(|at| number(&cards[*at])))
        .collect();
    if own.is_empty() {
        return 0;
    }
    let used = cards
        .iter()
        .filter(|card| card.word == "kunlun" && card.used_slots > 0);
    let used: Vec<usize> = used.map(number).collect();
    let broken = |set: &[usize]| -> i64 {
        let of = |of: usize| match in_wing(set, of) {
            1 => 2,
            4 => 0,
            _ => 1,
        };
        if set.is_empty() { 1 } else { of(0) + of(1) }
    };
    match broken(&own) - broken(&used) {
        -1 => 3000,
        0 => 2000,
        2 => 0,
        _ => 1000,
    }
}
