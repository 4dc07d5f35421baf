//! What nodes say of cards in the formats that vendors share (spec/04 §18.4).

use crate::text::{Bounded, clip};

use super::json;
use super::registered_card::{HamiCard, MAX_CARDS, breaks_lists};

/// Node annotation: UUIDs that are not given out any more.
pub const CORDON: &str = "hami.io/device-cordon";

/// The cards of an annotation in either format: JSON begins with `[`.
pub fn read(text: &str, key: &str, problems: &mut Bounded) -> Vec<HamiCard> {
    match text.trim_start().starts_with('[') {
        true => json::read(text, key, None, problems),
        false => lines(text, key, problems),
    }
}

/// `register = 1*( card ":" )`; a card has seven fields, or nine with index and mode.
fn lines(text: &str, key: &str, problems: &mut Bounded) -> Vec<HamiCard> {
    let pieces = text.split(':').map(str::trim);
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    let count = pieces.len();
    if count > MAX_CARDS {
        problems.tell(|| format!("{key}: of {count} cards only {MAX_CARDS} are used"));
    }
    let mut cards = Vec::new();
    for (at, piece) in pieces.into_iter().enumerate().take(MAX_CARDS) {
        match line(piece, at) {
            Ok(card) => cards.push(card),
            Err(why) => problems.tell(|| {
                let piece = clip(piece);
                format!("{key}: {piece:?} is left out: {why}; restart or update the device plugin")
            }),
        }
    }
    cards
}

fn line(piece: &str, at: usize) -> Result<HamiCard, String> {
    let fields: Vec<&str> = piece.split(',').map(str::trim).collect();
    let [id, slots, memory, cores, kind, numa, health, rest @ ..] = &fields[..] else {
        return Err(format!("{} fields, not 7 or 9", fields.len()));
    };
    if id.is_empty() || breaks_lists(id) {
        return Err("it has no id".to_owned());
    }
    let number = |what: &str, text: &str, least: i64| {
        let number = text.parse::<i64>().ok();
        let possible = number.filter(|number| (least..=i64::from(i32::MAX)).contains(number));
        possible.ok_or_else(|| format!("{what} is no number from {least} to {}", i32::MAX))
    };
    let (index, mode) = match rest {
        [] => (at as i64, "hami-core"),
        [index, mode] => (number("index", index, 0)?, *mode),
        _ => return Err(format!("{} fields, not 7 or 9", fields.len())),
    };
    let healthy = match *health {
        "true" => true,
        "false" => false,
        _ => return Err("health is neither true nor false".to_owned()),
    };
    Ok(HamiCard {
        id: (*id).to_owned(),
        index: index as u32,
        slots: number("count", slots, 1)?,
        memory: number("memory", memory, 1)?,
        cores: number("cores", cores, 0)?,
        kind: (*kind).to_owned(),
        mode: mode.to_owned(),
        healthy,
        numa: numa.parse().ok(),
        ..HamiCard::default()
    })
}
