//! How well the cards of a node are linked, each with each.

/// What a node tells of each two of its cards, the same both ways; the larger, the faster what they tell
/// each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardLinks {
    cards: usize,
    /// A row for each card.
    points: Box<[u32]>,
}

impl CardLinks {
    /// Most cards of a node of whose links anything is known.
    pub const MAX_CARDS: usize = 64;

    /// The links of so many cards, of which each two have these points; asked with the lower card first.
    pub fn new(cards: usize, points: impl Fn(usize, usize) -> u32) -> Self {
        debug_assert!(cards <= Self::MAX_CARDS);
        let of = |at: usize| {
            let (one, other) = (at / cards, at % cards);
            match one == other {
                true => 0,
                false => points(one.min(other), one.max(other)),
            }
        };
        Self {
            cards,
            points: (0..cards * cards).map(of).collect(),
        }
    }

    /// Nothing is known of them.
    pub fn is_empty(&self) -> bool {
        self.cards == 0
    }

    /// Points of a card with each of the others and with itself, with which it has none; of none where none are known.
    #[inline]
    pub fn of(&self, card: u16) -> &[u32] {
        let card = usize::from(card);
        match card < self.cards {
            true => &self.points[card * self.cards..][..self.cards],
            false => &[],
        }
    }

    /// Points of two cards, by their positions; 0 where none are known.
    #[inline]
    pub fn between(&self, one: u16, other: u16) -> u32 {
        let points = self.of(one).get(usize::from(other));
        points.copied().unwrap_or(0)
    }
}
