//! Cards with fast links: each is in one zone, or in none (spec/04 §23.9).

use smallvec::SmallVec;

/// Points of two cards that are linked.
const LINKED: i64 = 10;

/// A zone, and how many cards of it there are.
type ZoneCount = (u16, usize);

/// The zones of cards with their sizes, in their order; 0 is none and left out.
pub fn zones(cards: impl Iterator<Item = u16>) -> SmallVec<[ZoneCount; 8]> {
    let mut counts: SmallVec<[ZoneCount; 8]> = SmallVec::new();
    for zone in cards.filter(|zone| *zone != 0) {
        match counts.iter_mut().find(|(known, _)| *known == zone) {
            Some((_, count)) => *count += 1,
            None => counts.push((zone, 1)),
        }
    }
    counts
}

/// The number of a zone, counted from 1 in the order they are told; `known` are those so far.
pub fn number(told: i64, known: &mut Vec<i64>) -> u16 {
    let at = known.iter().position(|zone| *zone == told);
    let at = at.unwrap_or_else(|| {
        known.push(told);
        known.len() - 1
    });
    at as u16 + 1
}

/// Points of cards in these zones, for each two that are linked.
pub fn points(cards: impl Iterator<Item = u16>) -> i64 {
    let pairs = |(_, count): &ZoneCount| (count * (count - 1) / 2) as i64;
    LINKED * zones(cards).iter().map(pairs).sum::<i64>()
}

/// Orders cards for somebody who takes so many: those of the smallest zone that has enough, then
/// zone by zone from the smallest on, at last those without a zone.
pub fn by_zone(order: &mut [u16], count: usize, zone: impl Fn(u16) -> u16) {
    let mut zones = zones(order.iter().map(|card| zone(*card)));
    zones.sort_by_key(|(_, cards)| (*cards < count, *cards));
    // Those with enough first, the smallest of them before all; then what is left, by size.
    if let Some((_, rest)) = zones.split_first_mut() {
        rest.sort_by_key(|(_, cards)| *cards);
    }
    let rank = |card: &u16| {
        let own = zone(*card);
        let at = zones.iter().position(|(known, _)| *known == own);
        at.unwrap_or(zones.len())
    };
    order.sort_by_key(rank);
}
