//! One card for one container, told from summaries of cards: what most pods ask, thousands of times.
//!
//! It says what [`crate::nvidia::vgpu::place`] says, faster; a test holds both together.

use crate::ledger::CardSummary;
use crate::mix::pieces::{MAX_PIECES, Pieces, thousandths_up};
use crate::nvidia::vgpu::containers::ContainerRequest;
use crate::nvidia::vgpu::sharing::{MODES, SharingMode};
use crate::settings::Policy;

/// The score of the best card; `None` if there is none.
pub fn place(
    need: &ContainerRequest,
    mode: Option<SharingMode>,
    policy: Policy,
    cards: &[CardSummary],
) -> Option<f64> {
    // Cards with tables have no summary, so the code of a card is its mode.
    let mode = mode.map(|mode| mode as u8);
    match policy {
        // The one order matters where two cards do equally well.
        Policy::Fragmentation => place_by(need, mode, cards, |card| card.used, |_| 0.0),
        Policy::None => place_by(need, mode, cards, |_| 0, |_| 0.0),
        Policy::Binpack => {
            let score = |card: &CardSummary| {
                let memory = i64::from(card.capacity);
                let used = i64::from(card.used) + need.of(memory);
                100.0 * used as f64 / memory as f64
            };
            place_by(need, mode, cards, |card| card.used, score)
        }
        Policy::Spread => {
            let score = |card: &CardSummary| if card.sharers == 0 { 100.0 } else { 0.0 };
            place_by(need, mode, cards, |card| -i32::from(card.sharers), score)
        }
    }
}

/// The best score among the cards that have the largest worth of their mode, the first of each mode.
#[inline(always)]
fn place_by(
    need: &ContainerRequest,
    mode: Option<u8>,
    cards: &[CardSummary],
    worth: impl Fn(&CardSummary) -> i32,
    score: impl Fn(&CardSummary) -> f64,
) -> Option<f64> {
    let (mut best, mut modes) = (None::<&CardSummary>, [None::<&CardSummary>; MODES]);
    let mut most = i32::MIN;
    for card in cards {
        if !has_room(need, card) || mode.is_some_and(|mode| mode != card.variant) {
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

#[inline(always)]
fn has_room(need: &ContainerRequest, card: &CardSummary) -> bool {
    let memory = i64::from(card.capacity);
    let cores = i64::from(card.percent_left);
    card.usable
        && card.sharers_left > 0
        && memory - i64::from(card.used) >= need.of(memory)
        && need.cores <= cores
        && !(need.cores == 100 && card.sharers > 0)
        && !(need.cores == 0 && cores == 0)
}

/// How often a card could serve a container, one after the other.
pub fn pieces(need: &ContainerRequest, mode: Option<SharingMode>, card: &CardSummary) -> Pieces {
    if !serves(need, mode, card) {
        return Pieces::default();
    }
    let all = i64::from(card.capacity);
    let memory = need.of(all);
    let of_memory = (all - i64::from(card.used)) / memory;
    let of_cores = match need.cores {
        0 => i64::MAX,
        100 => 1,
        cores => i64::from(card.percent_left) / cores,
    };
    let count = of_memory.min(of_cores).min(card.sharers_left.into());
    Pieces {
        count: count.min(MAX_PIECES.into()) as u32,
        usable: thousandths_up(all, count.min(MAX_PIECES.into()) * memory, true),
    }
}

/// The card once a container has some of it; `None` if it may not have any.
pub fn after(
    need: &ContainerRequest,
    mode: Option<SharingMode>,
    card: &CardSummary,
) -> Option<CardSummary> {
    serves(need, mode, card).then(|| CardSummary {
        used: card.used + need.of(card.capacity.into()) as i32,
        sharers: card.sharers + 1,
        sharers_left: card.sharers_left - 1,
        percent_left: card.percent_left.saturating_sub(need.cores as u16),
        ..*card
    })
}

#[inline]
fn serves(need: &ContainerRequest, mode: Option<SharingMode>, card: &CardSummary) -> bool {
    has_room(need, card) && mode.is_none_or(|mode| mode as u8 == card.variant)
}
