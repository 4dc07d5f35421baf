//! Which of Kunlun's cards belong together (spec/04 §23.12).
//!
//! Eight cards of a node are in two wings of four. Within a wing each is linked with each, and between the wings
//! each with the one opposite.

use crate::part::CardPart;

use super::check::Taken;
use super::kind::{CardKind, OwnRules};
use super::place::CardOrder;
use super::share::CardNeed;
use super::variant::CardVariant;
use super::vendor_cards::PodOnCards;

/// Cards of a node.
pub const CARDS: u32 = 8;
/// Cards of a wing.
const WING: u32 = 4;
/// How many cards a container may have.
const COUNTS: [u32; 4] = [1, 2, 4, 8];

/// Cards by index, a bit each.
type WingSet = u8;

/// Cards of the first wing.
const LEFT: WingSet = 0x0f;
/// Cards of the other one.
const RIGHT: WingSet = 0xf0;

/// For a single card the wing comes first that has so many free: those are taken first that are no pair.
const FOR_ONE: [u32; 4] = [1, 3, 2, 4];
/// Four cards over both wings, in the order in which they are tried.
const QUADS: [WingSet; 6] = [
    0b0011_0011,
    0b1100_1100,
    0b0101_0101,
    0b1010_1010,
    0b1001_1001,
    0b0110_0110,
];

/// Those of the free cards that a container gets which asks so many; none where no such are free together.
fn choose(free: WingSet, count: u32) -> Option<WingSet> {
    match count {
        8 => (free == WingSet::MAX).then_some(free),
        1 | 2 | 4 => in_a_wing(free, count).or_else(|| across(free, count)),
        _ => None,
    }
}

/// The first cards of the wing that is left with the fewest.
fn in_a_wing(free: WingSet, count: u32) -> Option<WingSet> {
    let numbers = (count..=WING).map(|slots| match count {
        1 => FOR_ONE[slots as usize - 1],
        _ => slots,
    });
    let wings = [free & LEFT, free & RIGHT];
    let mut wings = numbers.flat_map(|number| wings.map(|wing| (number, wing)));
    let (_, wing) = wings.find(|(number, wing)| wing.count_ones() == *number)?;
    let mut left = wing;
    for _ in 0..count {
        left &= left - 1;
    }
    Some(wing & !left)
}

/// Cards of both wings that are linked.
fn across(free: WingSet, count: u32) -> Option<WingSet> {
    // Of which the one opposite is free too.
    let opposite = free & free.rotate_left(WING);
    if count == 2 {
        let first = opposite & LEFT;
        let first = first & first.wrapping_neg();
        return (first != 0).then_some(first | first << WING);
    }
    let mut quads = QUADS.into_iter().filter(|quad| free & quad == *quad);
    match (count, free.count_ones()) {
        (4, 4 | 5) => quads.next(),
        (4, 6) => {
            let leaves_linked = |quad: &WingSet| is_linked(free & !quad);
            let mut all = quads.clone();
            quads.find(leaves_linked).or(all.next_back())
        }
        _ => None,
    }
}

/// Why a container cannot have so many cards of a kind.
pub fn refuses(kind: &CardKind, need: &CardNeed) -> Option<String> {
    let has_wings = matches!(kind.rules, OwnRules::Wings { .. });
    (has_wings && !COUNTS.contains(&need.count)).then(|| {
        let name = &kind.names.count;
        format!("{name} {}: cards come in 1, 2, 4 or 8", need.count)
    })
}

/// Two cards are linked.
fn is_linked(pair: WingSet) -> bool {
    let in_a_wing = pair & LEFT == 0 || pair & RIGHT == 0;
    in_a_wing || pair.rotate_left(WING) == pair
}

/// What a pod with these whole cards adds to the score of its node, of whose cards these are in use: wings that are
/// broken into cost points.
fn points(used: WingSet, own: WingSet) -> i64 {
    let broken = |cards: WingSet| -> i64 {
        let of = |wing: WingSet| match wing.count_ones() {
            4 => 0,
            1 => 2,
            _ => 1,
        };
        match cards {
            0 => 1,
            cards => of(cards & LEFT) + of(cards & RIGHT),
        }
    };
    match broken(own) - broken(used) {
        -1 => 3000,
        0 => 2000,
        2 => 0,
        _ => 1000,
    }
}

impl PodOnCards<'_> {
    /// Cards of a kind have wings.
    pub fn has_wings(&self, kind: u16) -> bool {
        let kind = &self.rules.kinds[usize::from(kind)];
        matches!(kind.rules, OwnRules::Wings { .. })
    }

    /// Whether all that have parts of a card have as much as a need takes, where that has to be so.
    pub fn is_of_one_size(&self, need: &CardNeed, used: CardPart, part: CardPart) -> bool {
        let kind = &self.rules.kinds[usize::from(need.kind)];
        let is_shared = kind.rules == (OwnRules::Wings { whole: false });
        !is_shared || used.memory == used.sharers * part.memory
    }

    fn bit(&self, at: u16) -> WingSet {
        let index = self.cards.cards[usize::from(at)].index;
        1_u8.checked_shl(index).unwrap_or(0)
    }

    fn set(&self, cards: impl Iterator<Item = u16>) -> WingSet {
        cards.fold(0, |set, at| set | self.bit(at))
    }

    /// The cards for a need, of those that fit; as they are where cards of the kind have no wings.
    pub fn of_wings(&self, need: &CardNeed, order: CardOrder) -> Option<CardOrder> {
        if !self.has_wings(need.kind) {
            return Some(order);
        }
        let chosen = choose(self.set(order.iter().copied()), need.count)?;
        let is_chosen = |at: &u16| self.bit(*at) & chosen != 0;
        let mut cards: CardOrder = order.into_iter().filter(is_chosen).collect();
        cards.sort_unstable();
        Some(cards)
    }

    /// How many cards of each wing fit, and the most of them that are linked, where as many fit as are asked but are not linked.
    pub fn linked(&self, need: &CardNeed, own: &[Taken]) -> Option<(String, u32)> {
        let order = self.order(need, own);
        if order.len() < need.count as usize {
            return None;
        }
        let free = self.set(order.iter().copied());
        let (left, right) = ((free & LEFT).count_ones(), (free & RIGHT).count_ones());
        let last = CARDS - 1;
        let text = format!(
            "{} linked ones asked, of cards 0 to {} fit {left}, of {WING} to {last} fit {right}",
            need.count,
            WING - 1,
        );
        let most = COUNTS
            .into_iter()
            .rev()
            .find(|count| choose(free, *count).is_some());
        Some((text, most.unwrap_or(0)))
    }

    /// What whole cards with wings add to the score of their node.
    pub fn wing_score(&self, needs: &[CardNeed], taken: &[Taken]) -> i64 {
        let is_whole = |kind: u16| {
            let kind = &self.rules.kinds[usize::from(kind)];
            kind.rules == (OwnRules::Wings { whole: true })
        };
        let Some(need) = needs.iter().find(|need| is_whole(need.kind)) else {
            return 0;
        };
        let is_own =
            |at: u16| CardVariant::of(&self.cards.cards[usize::from(at)]).kind == need.kind;
        let all = (0..self.cards.cards.len() as u16).filter(|at| is_own(*at));
        let used = self.set(all.filter(|at| self.used(usize::from(*at), &[]).sharers > 0));
        let own = taken.iter().map(|one| one.card);
        points(used, self.set(own.filter(|at| is_own(*at))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_of_one_wing_come_first_the_fuller_wing_before_the_other() {
        for (free, count, expected) in [
            (0b1111_1111, 1, 0b0000_0001),
            // A card alone, then of three, then of a pair, at last of a whole wing.
            (0b0001_0111, 1, 0b0001_0000),
            (0b0011_0111, 1, 0b0000_0001),
            (0b0011_1111, 1, 0b0001_0000),
            (0b1111_1111, 2, 0b0000_0011),
            (0b0011_0111, 2, 0b0011_0000),
            (0b1111_0110, 2, 0b0000_0110),
            (0b1111_0111, 4, 0b1111_0000),
            (0b1111_1111, 8, 0b1111_1111),
        ] {
            assert_eq!(choose(free, count), Some(expected), "{count} of {free:08b}");
        }
    }

    #[test]
    fn where_no_wing_has_enough_cards_opposite_each_other_are_taken() {
        for (free, count, expected) in [
            (0b0010_0010, 2, Some(0b0010_0010)),
            (0b0100_0010, 2, None),
            (0b0011_0011, 4, Some(0b0011_0011)),
            (0b0111_0011, 4, Some(0b0011_0011)),
            (0b0110_0011, 4, None),
            // Of six the four whose other two are linked.
            (0b0111_0111, 4, Some(0b0011_0011)),
            (0b1110_0111, 4, Some(0b0110_0110)),
            (0b0111_1110, 4, Some(0b0110_0110)),
            (0b0111_1111, 8, None),
            (0b1111_1111, 3, None),
            (0, 1, None),
        ] {
            assert_eq!(choose(free, count), expected, "{count} of {free:08b}");
        }
    }

    #[test]
    fn whoever_breaks_into_no_wing_has_the_most_points() {
        for (used, own, expected) in [
            (0, 0b0000_1111, 2000),
            (0, 0b0000_0001, 0),
            (0, 0b0000_0011, 1000),
            (0b0000_0001, 0b0000_0010, 2000),
            (0b0000_0011, 0b1111_0000, 3000),
            (0b0000_0001, 0b1111_0000, 1000),
        ] {
            assert_eq!(points(used, own), expected, "{own:08b} beside {used:08b}");
        }
    }
}
