//! What a node tells so many of its cards together are worth (spec/04 §23.10).

use serde_json::Value;

use crate::facts::NodeFacts;
use crate::ledger::{FamilyCode, SetRating};
use crate::settings::Policy;
use crate::text::{Bounded, clip};

use super::registered_card::MAX_CARDS;
use super::share::CardNeed;
use super::vendor_cards::PodOnCards;

/// Node annotation: by number of cards, how much is lost of the links of those that are left.
pub const LOSSES: &str = "metax-tech.com/gpu.topology.losses";
/// Node annotation: by number of cards, how well those are linked that are taken.
pub const SCORES: &str = "metax-tech.com/gpu.topology.scores";
/// Points of cards that cost nothing.
const NO_LOSS: i64 = 2000;

/// What is told of cards of a kind, for a policy.
fn topic(kind: u16, key: &str) -> FamilyCode {
    FamilyCode::new(kind << 1 | u16::from(key == SCORES))
}

/// What a node tells of cards of a kind.
pub fn read(kind: u16, node: &NodeFacts, problems: &mut Bounded) -> Vec<SetRating> {
    let mut ratings = Vec::new();
    for key in [LOSSES, SCORES] {
        let Some(text) = node.annotation(key) else {
            continue;
        };
        let Ok(Value::Object(told)) = serde_json::from_str(text) else {
            problems.tell(|| {
                let text = clip(text);
                format!(
                    "{key}: {text:?} is no JSON object and counts as absent; restart the device \
                     plugin"
                )
            });
            continue;
        };
        for (count, value) in told.iter().take(MAX_CARDS) {
            let cards = count
                .parse()
                .ok()
                .filter(|cards| (1..=MAX_CARDS as u32).contains(cards));
            let points = value.as_i64().and_then(|points| i32::try_from(points).ok());
            match (cards, points) {
                (Some(cards), Some(points)) => ratings.push(SetRating {
                    topic: topic(kind, key),
                    cards,
                    points: points.into(),
                }),
                _ => problems.tell(|| {
                    let (count, value) = (clip(count), clip(&value.to_string()));
                    format!(
                        "{key}: {count:?}: {value} is no number of cards with a whole number, and \
                         counts as absent; restart the device plugin"
                    )
                }),
            }
        }
    }
    ratings
}

impl PodOnCards<'_> {
    /// What the node tells the cards of a pod are worth together; more is better.
    pub fn rating(&self, needs: &[CardNeed]) -> i64 {
        let told = &self.cards.ratings;
        if told.is_empty() {
            return 0;
        }
        let preference = &self.limits.preference;
        let key = match preference.node.unwrap_or(preference.policy) {
            Policy::None | Policy::Fragmentation => return 0,
            Policy::Binpack => LOSSES,
            Policy::Spread => SCORES,
        };
        let of_kind = |(at, need): (usize, &CardNeed)| {
            let is_known = needs[..at].iter().any(|other| other.kind == need.kind);
            let own = needs.iter().filter(|other| other.kind == need.kind);
            let cards: u32 = own.map(|need| need.count).sum();
            let topic = topic(need.kind, key);
            let is_it = |told: &&SetRating| (told.topic, told.cards) == (topic, cards);
            let found = told.iter().find(is_it).filter(|_| !is_known)?;
            Some(match key {
                LOSSES => NO_LOSS - found.points,
                _ => found.points,
            })
        };
        needs.iter().enumerate().filter_map(of_kind).sum()
    }
}
