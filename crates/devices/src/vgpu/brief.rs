//! One card for one container, told from cards in brief: what most pods ask, thousands of times.
//!
//! It says what [`crate::vgpu::place`] says, faster; a test holds both together.

use crate::cards::Brief;
use crate::settings::Policy;
use crate::vgpu::plan::MODES;
use crate::vgpu::request::Need;

/// The score of the best card; `None` if there is none.
pub fn place(need: &Need, mode: Option<u8>, policy: Policy, cards: &[Brief]) -> Option<f64> {
    // By mode: what the policy looks for first, larger is better, and the card.
    let mut best: [Option<(i32, &Brief)>; MODES] = [None; MODES];
    for card in cards {
        if !card.usable || mode.is_some_and(|mode| mode != card.mode) || !has_room(need, card) {
            continue;
        }
        let worth = match policy {
            Policy::None => 0,
            Policy::Binpack => card.used,
            Policy::Spread => -i32::from(card.slots_used),
        };
        let best = &mut best[usize::from(card.mode)];
        if best.is_none_or(|(known, _)| worth > known) {
            *best = Some((worth, card));
        }
    }
    let scores = best
        .iter()
        .flatten()
        .map(|(_, card)| score(need, policy, card));
    scores.reduce(|one, other| if other > one { other } else { one })
}

fn has_room(need: &Need, card: &Brief) -> bool {
    let memory = i64::from(card.memory);
    let cores = u32::from(card.cores_left);
    card.slots_left > 0
        && memory - i64::from(card.used) >= need.of_memory(memory)
        && need.cores <= cores
        && !(need.cores == 100 && card.slots_used > 0)
        && !(need.cores == 0 && cores == 0)
}

fn score(need: &Need, policy: Policy, card: &Brief) -> f64 {
    let memory = i64::from(card.memory);
    match policy {
        Policy::None => 0.0,
        Policy::Binpack => {
            let used = i64::from(card.used) + need.of_memory(memory);
            100.0 * used as f64 / memory as f64
        }
        Policy::Spread if card.slots_used == 0 => 100.0,
        Policy::Spread => 0.0,
    }
}
