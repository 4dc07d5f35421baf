//! One card for one container, told from summaries of cards: what most pods ask, thousands of times.
//!
//! It says what [`crate::nvidia::vgpu::place`] says, faster; a test holds both together.

use crate::ledger::{AskedPart, CardSummary, PlainAsk};
use crate::nvidia::vgpu::containers::{ContainerRequest, Memory};
use crate::nvidia::vgpu::sharing::{MODES, SharingMode};
use crate::settings::Policy;

/// What a container asks of cards of a mode, in the words of summaries.
pub fn ask(need: &ContainerRequest, mode: Option<SharingMode>) -> PlainAsk {
    PlainAsk {
        part: match need.memory {
            Memory::Units(units) => AskedPart::Amount(units),
            Memory::Percent(percent) => AskedPart::Percent(percent),
        },
        percent: need.cores,
        // Cards with tables have no summary, so the code of a card is its mode.
        variant: mode.map(|mode| mode as u8),
        cards: need.count,
    }
}

/// The score of the best card; `None` if there is none.
pub fn place(need: &PlainAsk, policy: Policy, cards: &[CardSummary]) -> Option<f64> {
    match policy {
        // The one order matters where two cards do equally well.
        Policy::Fragmentation => place_by(need, cards, |card| card.used, |_| 0.0),
        Policy::None => place_by(need, cards, |_| 0, |_| 0.0),
        Policy::Binpack => {
            let score = |card: &CardSummary| {
                let memory = i64::from(card.capacity);
                let used = i64::from(card.used) + need.amount(memory);
                100.0 * used as f64 / memory as f64
            };
            place_by(need, cards, |card| card.used, score)
        }
        Policy::Spread => {
            let score = |card: &CardSummary| if card.sharers == 0 { 100.0 } else { 0.0 };
            place_by(need, cards, |card| -i32::from(card.sharers), score)
        }
    }
}

/// The best score among the cards that have the largest worth of their mode, the first of each mode.
#[inline(always)]
fn place_by(
    need: &PlainAsk,
    cards: &[CardSummary],
    worth: impl Fn(&CardSummary) -> i32,
    score: impl Fn(&CardSummary) -> f64,
) -> Option<f64> {
    let (mut best, mut modes) = (None::<&CardSummary>, [None::<&CardSummary>; MODES]);
    let mut most = i32::MIN;
    for card in cards {
        if !need.fits(card) {
            continue;
        }
        match best {
            // Nodes have seldom cards of several modes.
            Some(other) if other.variant != card.variant => {
                modes[usize::from(other.variant)] = Some(other);
                best = modes[usize::from(card.variant)].take();
                most = best.map_or(i32::MIN, &worth);
            }
            _ => {}
        }
        if best.is_none() || worth(card) > most {
            (best, most) = (Some(card), worth(card));
        }
    }
    let others = modes.iter().flatten().copied().chain(best);
    let scores = others.map(score);
    scores.reduce(|one, other| if other > one { other } else { one })
}
