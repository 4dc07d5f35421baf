//! How well two cards of a node are linked.

use super::NodeCards;

/// What a node tells of two of its cards; the larger, the faster what they tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CardLink {
    /// Positions of the cards: of which, and with which.
    pub cards: (u16, u16),
    /// What is told.
    pub points: i64,
}

impl NodeCards {
    /// Points of one card with another; 0 where none are told.
    pub fn link(&self, of: u16, with: u16) -> i64 {
        let links = &self.links;
        let found = links.binary_search_by_key(&(of, with), |link| link.cards);
        found.map_or(0, |at| links[at].points)
    }
}
