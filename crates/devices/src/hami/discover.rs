//! The cards of a node, as its device plugins tell them.

use std::sync::Arc;

use crate::facts::NodeFacts;
use crate::ledger::{Card, NodeCards};
use crate::text::{Bounded, clip};

use super::kind::{CardKind, OwnRules};
use super::own::{HamiFamily, HamiRules};
use super::register::CORDON;
use super::registered_card::HamiCard;
use super::variant::{CardMode, CardVariant};
use super::{pairs, ratings};

/// The cards of a node.
pub fn cards<F: HamiFamily>(rules: &HamiRules<F>, node: &NodeFacts) -> NodeCards {
    let mut cards = NodeCards::new(F::DIMENSIONS);
    let mut problems = Bounded::default();
    for kind in rules.kinds.iter().enumerate() {
        add(&rules.own, kind, node, &mut cards, &mut problems);
    }
    cards.problems = problems.into_texts("more problems");
    cards.offered = rules.own.offered(&rules.kinds, node, &cards);
    cards
}

/// Adds the cards of a kind.
fn add<F: HamiFamily>(
    own: &F,
    (of, kind): (usize, &CardKind),
    node: &NodeFacts,
    cards: &mut NodeCards,
    problems: &mut Bounded,
) {
    let mut found = (kind.discover)(kind, node, problems);
    let name = &kind.names.count;
    if !found.is_empty() && node.allocatable_milli(name).unwrap_or(0) <= 0 {
        let source = &kind.source;
        problems.tell(|| format!("{source}: not used, as the node has no {name} allocatable"));
        return;
    }
    found.sort_by_key(|card| card.index);
    if kind.rules == OwnRules::Rated && !found.is_empty() {
        cards.ratings = ratings::read(of as u16, node, problems);
    }
    let cordoned = node.annotation(CORDON).unwrap_or_default();
    for (at, card) in found.iter().enumerate() {
        if let Some(first) = cards.find(&card.id) {
            let is_alike = found[..at].iter().any(|one| one.is_alike(card));
            let (source, id, noun) = (&kind.source, clip(&card.id), F::NOUN);
            let what = match is_alike {
                true => "counts once",
                false => "nobody gets it, as what is told of it differs",
            };
            problems.tell(|| format!("{source}: {noun} {id} is listed twice: {what}"));
            if !is_alike {
                let why = "listed twice with different amounts: restart the device plugin";
                cards.cards[first].unusable.get_or_insert(why.into());
            }
            continue;
        }
        let is_cordoned = cordoned.split(',').any(|id| id.trim() == card.id);
        add_card(own, (of, kind), card, is_cordoned, cards);
    }
    if kind.rules == OwnRules::Paired && !found.is_empty() {
        pairs::read(cards, node, problems);
    }
}

fn add_card<F: HamiFamily>(
    own: &F,
    kind: (usize, &CardKind),
    card: &HamiCard,
    is_cordoned: bool,
    cards: &mut NodeCards,
) {
    let mode = CardMode::named(&card.mode);
    let variant = CardVariant {
        kind: kind.0 as u16,
        mode,
    };
    let (unusable, all) = own.card(kind, card, is_cordoned);
    let card = Card {
        id: Arc::from(card.id.as_str()),
        kind: Arc::from(card.kind.as_str()),
        unusable: unusable.map(Box::from),
        index: card.index,
        variant: variant.code(),
        numa: card.numa,
        splits: match (mode, kind.1.rules) {
            (CardMode::Mig | CardMode::Slices, _) | (_, OwnRules::Neuron) => {
                card.splits.clone().into_boxed_slice()
            }
            _ => Box::default(),
        },
        // What a summary says of cores is in percent, and of what the node tells nothing.
        is_plain: card.cores == 100
            && !matches!(mode, CardMode::Mig | CardMode::Slices)
            && cards.ratings.is_empty()
            && !matches!(kind.1.rules, OwnRules::Wings { .. }),
        details: card.details,
        only_rest: false,
    };
    cards.add(card, &all);
}
