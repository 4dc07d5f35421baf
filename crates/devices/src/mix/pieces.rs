//! How often a card could serve a task of a class.

use crate::ledger::{CardSummary, LedgerTime, Load, NodeCards, PlainAsk, Tags};
use crate::request::FamilyRequest;

use super::asks::MixAsk;
use super::{NOBODY, WHOLE};

/// Most pieces of one card that are counted.
pub(crate) const MAX_PIECES: i64 = 64;

/// How often a card could serve a task of a class, one after the other, in few bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// How often.
    pub count: u16,
    /// Thousandths of the card that they take together.
    pub usable: u16,
}

/// A card as the measure sees it.
#[derive(Clone)]
pub(super) enum CardNow {
    /// Told by its summary.
    Plain(CardSummary),
    /// Alone in a ledger of its own.
    Alone(Box<NodeCards>, LedgerTime),
}

impl CardNow {
    /// Thousandths of it that nobody has; none of a card that is not given out.
    pub fn free(&self) -> i64 {
        match self {
            Self::Plain(card) if card.usable => {
                WHOLE - thousandths_up(card.capacity.into(), card.used.into(), card.sharers > 0)
            }
            Self::Alone(cards, view) if cards.is_given_out(0) => {
                let used = cards.used(0, *view);
                let is_used = used.iter().any(|amount| *amount != 0);
                WHOLE - thousandths_up(first(cards.capacity(0)), first(used), is_used)
            }
            Self::Plain(_) | Self::Alone(..) => 0,
        }
    }

    /// How often it could serve a task that asks so; `plain` is the request in the words of summaries.
    #[inline]
    pub fn pieces(&self, plain: Option<&PlainAsk>, request: &dyn FamilyRequest) -> Pieces {
        match (self, plain) {
            (Self::Plain(card), Some(ask)) => {
                let (count, all) = (ask.times(card, MAX_PIECES), i64::from(card.capacity));
                let usable = match count {
                    0 => 0,
                    _ => thousandths_up(all, count * ask.amount(all), true),
                };
                Pieces {
                    count: count as u16,
                    usable: usable as u16,
                }
            }
            // Cards are told by summaries only where all classes are plain.
            (Self::Plain(_), None) => Pieces::default(),
            (Self::Alone(cards, view), _) => by_trial(request, cards, *view),
        }
    }

    /// Whether it could serve a task that asks so.
    pub fn serves(&self, ask: &MixAsk) -> bool {
        match self {
            Self::Plain(_) => ask.pieces(self).count > 0,
            Self::Alone(cards, view) => ask.request.piece(cards, 0, *view).is_some(),
        }
    }

    /// Whether they are of one kind, and as much of each is held in the same way.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(one), Self::Plain(other)) => one == other,
            (Self::Alone(one, _), Self::Alone(other, _)) => one.is_held_like(other),
            (Self::Plain(_), Self::Alone(..)) | (Self::Alone(..), Self::Plain(_)) => false,
        }
    }
}

/// What a row of amounts says of the first dimension.
fn first(row: &[i64]) -> i64 {
    row.first().copied().unwrap_or(0)
}

/// A part of a card in thousandths of it, rounded up. Of a card of which there is nothing to count a part is
/// all.
#[inline]
pub(crate) fn thousandths_up(all: i64, part: i64, is_some: bool) -> i64 {
    match all > 0 {
        true => (part.clamp(0, all).saturating_mul(WHOLE) + all - 1) / all,
        false => WHOLE * i64::from(is_some),
    }
}

/// Gives pieces of a card away until there is none left for another task.
pub(crate) fn by_trial(asked: &dyn FamilyRequest, card: &NodeCards, view: LedgerTime) -> Pieces {
    let mut pieces = Pieces::default();
    let mut taken = 0;
    let mut card = card.clone();
    while i64::from(pieces.count) < MAX_PIECES
        && let Some(piece) = asked.piece(&card, 0, view)
    {
        taken += first(&piece.charged);
        pieces.count += 1;
        card.charge(NOBODY, Tags::default(), Load::Held, &[piece]);
    }
    let usable = thousandths_up(first(card.capacity(0)), taken, pieces.count > 0);
    pieces.usable = usable as u16;
    pieces
}
