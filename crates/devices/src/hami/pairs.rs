//! What a node tells of the links between its cards, each with each (spec/04 §23.4).

use serde_json::Value;

use crate::facts::NodeFacts;
use crate::ledger::{CardLink, NodeCards};
use crate::text::{Bounded, clip};

/// Node annotation: by card, its points with others. HAMi's device plugin writes it where its chart is
/// set to topology-aware.
pub const LINKS: &str = "hami.io/node-nvidia-score";

/// Reads the links between the cards of a node, which are known already.
pub fn read(cards: &mut NodeCards, node: &NodeFacts, problems: &mut Bounded) {
    let Some(text) = node.annotation(LINKS).filter(|text| !text.is_empty()) else {
        return;
    };
    let Ok(Value::Array(told)) = serde_json::from_str(text) else {
        problems.tell(|| {
            let text = clip(text);
            format!(
                "{LINKS}: {text:?} is no JSON list and counts as absent; restart the device plugin"
            )
        });
        return;
    };
    let mut links = Vec::new();
    for one in &told {
        let id = one.get("uuid").and_then(Value::as_str).unwrap_or_default();
        let others = one.get("score").and_then(Value::as_object);
        let Some(of) = cards.find(id) else {
            problems.tell(|| format!("{LINKS}: {:?} is no card of the node", clip(id)));
            continue;
        };
        for (other, points) in others.into_iter().flatten() {
            let points_of = points
                .as_i64()
                .and_then(|points| i32::try_from(points).ok());
            match (cards.find(other), points_of) {
                (Some(with), Some(points)) => links.push(CardLink {
                    cards: (of as u16, with as u16),
                    points: points.into(),
                }),
                _ => problems.tell(|| {
                    let (id, other) = (clip(id), clip(other));
                    let points = clip(&points.to_string()).to_owned();
                    format!(
                        "{LINKS}: {id:?} with {other:?}: {points} is no whole number of a card of the \
                         node, and counts as 0; restart the device plugin"
                    )
                }),
            }
        }
    }
    links.sort_unstable();
    links.dedup_by_key(|link| link.cards);
    cards.links = links;
}
