//! What a node tells of the links between its cards, each with each (spec/04 §23.11).
//!
//! What cannot be right is told on the node, and costs nobody more than the links it is about.

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::facts::NodeFacts;
use crate::ledger::{CardLinks, NodeCards};
use crate::text::{Bounded, clip};

/// Node annotation: by card, its points with others. HAMi's device plugin writes it where its chart is
/// set to topology-aware.
pub const LINKS: &str = "hami.io/node-nvidia-score";

/// What is told of one card with another, by their positions.
type ToldLinks = FxHashMap<(usize, usize), u32>;

/// Reads the links between the cards of a node, which are known already.
pub fn read(cards: &mut NodeCards, node: &NodeFacts, problems: &mut Bounded) {
    let Some(text) = node.annotation(LINKS).filter(|text| !text.is_empty()) else {
        return;
    };
    let Ok(Value::Array(rows)) = serde_json::from_str(text) else {
        problems.tell(|| {
            let text = clip(text);
            format!(
                "{LINKS}: {text:?} is no JSON list and counts as absent; restart the device plugin"
            )
        });
        return;
    };
    let count = cards.cards.len();
    if count > CardLinks::MAX_CARDS {
        problems.tell(|| {
            let most = CardLinks::MAX_CARDS;
            format!("{LINKS}: not used: the node has {count} cards, and links are read of {most}")
        });
        return;
    }
    let told = told(cards, &rows, problems);
    for one in 0..count {
        for other in one + 1..count {
            let (there, back) = (told.get(&(one, other)), told.get(&(other, one)));
            if there.unwrap_or(&0) != back.unwrap_or(&0) {
                let ids = (&*cards.cards[one].id, &*cards.cards[other].id);
                problems.tell(|| uneven(ids, (there, back)));
            }
        }
    }
    let points = |one: usize, other: usize| {
        let there = told.get(&(one, other)).copied().unwrap_or(0);
        there.min(told.get(&(other, one)).copied().unwrap_or(0))
    };
    if told.values().any(|points| *points > 0) {
        cards.links = CardLinks::new(count, points);
    }
}

/// The points that the rows of the list have, of cards of the node.
fn told(cards: &NodeCards, rows: &[Value], problems: &mut Bounded) -> ToldLinks {
    let position = |id: &str| cards.find(id);
    let mut told = ToldLinks::default();
    let mut known = [false; CardLinks::MAX_CARDS];
    for row in rows {
        let id = row.get("uuid").and_then(Value::as_str).unwrap_or_default();
        let Some(of) = position(id) else {
            problems.tell(|| format!("{LINKS}: {:?} is no card of the node", clip(id)));
            continue;
        };
        if std::mem::replace(&mut known[of], true) {
            problems.tell(|| {
                let id = clip(id);
                format!("{LINKS}: {id:?} is listed twice, and the first counts")
            });
            continue;
        }
        let others = row.get("score").and_then(Value::as_object);
        for (other, points) in others.into_iter().flatten() {
            let least = points
                .as_i64()
                .and_then(|points| u32::try_from(points).ok());
            match (position(other), least.filter(|points| *points <= i32::MAX as u32)) {
                (Some(with), Some(points)) => _ = told.insert((of, with), points),
                _ => problems.tell(|| {
                    let (id, other) = (clip(id), clip(other));
                    let points = points.to_string();
                    let points = clip(&points);
                    format!(
                        "{LINKS}: {id:?} with {other:?}: {points} is no whole number from 0 on of a \
                         card of the node, and counts as 0; restart the device plugin"
                    )
                }),
            }
        }
    }
    told
}

/// Two cards of which one tells other points than the other.
fn uneven(ids: (&str, &str), points: (Option<&u32>, Option<&u32>)) -> String {
    let says = |points: Option<&u32>| points.map_or("nothing".to_owned(), u32::to_string);
    let (one, other) = (clip(ids.0), clip(ids.1));
    format!(
        "{LINKS}: {one:?} with {other:?} has {}, and the other way {}: the smaller counts; look at the \
         links of the node, then restart the device plugin",
        says(points.0),
        says(points.1)
    )
}
