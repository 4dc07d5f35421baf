//! What classes of a mix ask of cards. Many ask the same of these and differ in cpu and memory, so what cards are to
//! them is found once for all of them.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ledger::PlainAsk;
use crate::request::FamilyRequest;

use super::pieces::CardNow;
use super::{MixClass, Pieces};

/// What some classes ask of cards.
#[derive(Clone)]
pub(super) struct MixAsk {
    pub family: u8,
    /// What is asked of cards that have summaries, where these tell enough.
    pub plain: Option<PlainAsk>,
    pub request: Arc<dyn FamilyRequest>,
    /// Cards that each task asks at once.
    pub cards: i64,
    /// Who asks it, by position.
    pub classes: SmallVec<[u32; 4]>,
}

/// What all cards of a node are to those who ask so.
#[derive(Clone, Copy, Default)]
pub(super) struct CardSums {
    /// Tasks of one card each that would find one.
    pub count: i32,
    /// Thousandths that these would take.
    pub usable: i32,
    /// Thousandths that are free on cards that serve at least one.
    pub serving: i32,
}

impl CardSums {
    /// So many cards more that give these pieces.
    #[inline]
    pub fn add(&mut self, pieces: Pieces, free: i64, cards: i64) {
        self.count += cards as i32 * i32::from(pieces.count);
        self.usable += cards as i32 * i32::from(pieces.usable);
        if pieces.count > 0 {
            self.serving += (cards * free) as i32;
        }
    }
}

impl MixAsk {
    #[inline]
    pub fn is_for_several(&self) -> bool {
        self.cards > 1
    }

    /// How often a card could serve a task.
    #[inline]
    pub fn pieces(&self, card: &CardNow) -> Pieces {
        card.pieces(self.plain.as_ref(), self.request.as_ref())
    }
}

/// What the classes of a mix ask, each once, those of a family together.
pub(super) fn asks(classes: &[MixClass]) -> Vec<MixAsk> {
    let mut asks: Vec<MixAsk> = Vec::new();
    for (at, class) in classes.iter().enumerate() {
        let is_known = |ask: &&mut MixAsk| {
            ask.family == class.family && ask.plain.is_some() && ask.plain == class.plain
        };
        match asks.iter_mut().find(is_known) {
            Some(ask) => ask.classes.push(at as u32),
            None => asks.push(MixAsk {
                family: class.family,
                plain: class.plain,
                request: Arc::clone(&class.request),
                cards: class.request.cards_at_once().max(1).into(),
                classes: SmallVec::from_iter([at as u32]),
            }),
        }
    }
    asks.sort_by_key(|ask| ask.family);
    asks
}
