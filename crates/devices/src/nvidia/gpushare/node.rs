//! The cards of a node, and what a placed pod holds of them.

use std::sync::Arc;

use crate::facts::{NodeFacts, Pairs, PodFacts, lookup};
use crate::family::Decoded;
use crate::ledger::{Allocation, Allocations, Card, FamilyCode, MAX_AMOUNT, NodeCards, UNLIMITED};
use crate::nvidia::indices::{INDEX, UNHEALTHY, indices, set_aside};
use crate::part::{CardPart, DIMENSIONS};
use crate::text::shorten;

use super::request::{Request, first_that_asks};
use super::{MEMORY, NUMBER, WHOLE};

/// Most cards of a node; no real one comes near.
const MAX_CARDS: i64 = 1024;

/// Why a node has no cards: what [`NodeCards::absent`] means for this family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoSharedGpus {
    /// It says nothing of cards. The default, so that a node without cards stores nothing.
    NoCards,
    /// It has cards but does not say how much memory they have.
    WithoutMemory,
    /// The number of cards cannot be true.
    TooMany,
}

impl NoSharedGpus {
    fn of(cards: &NodeCards) -> Self {
        match cards.absent.get() {
            1 => Self::WithoutMemory,
            2 => Self::TooMany,
            _ => Self::NoCards,
        }
    }
}

/// The cards of a node (spec/04 §14.1). Only where cards are shared do nodes have to tell their
/// memory.
pub(super) fn cards(node: &NodeFacts, is_shared: bool) -> NodeCards {
    let whole = |name| node.capacity_milli(name).map(|milli| milli / 1000);
    let Some(count) = whole(NUMBER).filter(|count| *count > 0) else {
        return none(NoSharedGpus::NoCards, Vec::new());
    };
    let memory = whole(MEMORY).map(|memory| memory.max(0));
    if is_shared && memory.is_none() {
        return none(NoSharedGpus::WithoutMemory, Vec::new());
    }
    if count > MAX_CARDS {
        let problem = format!(
            "capacity {NUMBER} is {count}: more than {MAX_CARDS} GPUs on a node cannot be; none \
             of them is used"
        );
        return none(NoSharedGpus::TooMany, vec![problem]);
    }
    let all = CardPart {
        memory: (memory.unwrap_or(0) / count).min(MAX_AMOUNT),
        sharers: if is_shared { UNLIMITED } else { 1 },
        cores: WHOLE,
    };
    let mut cards = NodeCards::new(DIMENSIONS);
    for index in 0..count as u32 {
        let card = Card {
            index,
            id: Arc::from(index.to_string()),
            ..Card::default()
        };
        cards.add(card, &all.row());
    }
    set_unhealthy_aside(&mut cards, node.annotation(UNHEALTHY).unwrap_or_default());
    cards
}

fn none(absent: NoSharedGpus, problems: Vec<String>) -> NodeCards {
    let mut cards = NodeCards::new(DIMENSIONS);
    cards.absent = FamilyCode::new(absent as u16);
    cards.problems = problems;
    cards
}

/// Why a node has no cards, if it has none.
pub(super) fn absence(node: &str, cards: &NodeCards) -> Option<String> {
    let why = match NoSharedGpus::of(cards) {
        NoSharedGpus::WithoutMemory => format!("no {MEMORY} in the capacity of node {node}"),
        NoSharedGpus::TooMany => format!("{NUMBER} of node {node} cannot be true"),
        NoSharedGpus::NoCards => format!("no {NUMBER} in the capacity of node {node}"),
    };
    cards.cards.is_empty().then_some(why)
}

/// Marks cards named as unhealthy. They have no other identity than their index.
fn set_unhealthy_aside(cards: &mut NodeCards, list: &str) {
    let last = cards.cards.len() - 1;
    let why = format!("unhealthy ({UNHEALTHY})");
    let unknown = set_aside(&mut cards.cards, list, &why);
    if !unknown.is_empty() {
        cards.problems.push(format!(
            "{UNHEALTHY} of the node: `{}` is none of its GPUs; GPUs with {NUMBER} have no UUIDs, \
             write indices from 0 to {last}",
            shorten(&unknown.join(","))
        ));
    }
}

/// What a pod on the node holds. What its annotation does not tell is held on every card.
pub(super) fn held(records: &Pairs, pod: &PodFacts, cards: &NodeCards, is_shared: bool) -> Decoded {
    let part = match Request::of(pod) {
        Ok(None) => return Decoded::default(),
        Ok(Some(request)) if request.number == 0 || (is_shared && request.memory > 0) => Share {
            container: request.container,
            memory: Some(request.memory),
            count: 1,
        },
        Ok(Some(request)) => Share {
            container: request.container,
            memory: None,
            count: usize::try_from(request.number).unwrap_or(usize::MAX),
        },
        // An amount nobody can make sense of.
        Err(_) => {
            let counted = pod.containers.iter().map(|one| one.counted(NUMBER, MEMORY));
            let count = counted.fold(0, u32::saturating_add);
            Share {
                container: first_that_asks(pod),
                memory: None,
                count: usize::try_from(count).unwrap_or(usize::MAX),
            }
        }
    };
    let text = lookup(records, INDEX).map(String::as_str);
    let problem = match text.map(indices) {
        Some(Ok(indices)) if !indices.is_empty() => return part.on(&indices, cards),
        None => format!("the pod uses GPUs of its node without annotation {INDEX}"),
        _ => {
            let text = shorten(text.unwrap_or_default());
            format!("{INDEX} `{text}` of the pod on its node cannot be read")
        }
    };
    Decoded {
        allocations: part.anywhere(cards, &[]),
        problems: vec![format!(
            "{problem}; what it asks counts on every GPU there until it ends or the annotation \
             names its GPUs, as in 0,2"
        )],
    }
}

/// What a pod holds of each of its cards.
struct Share {
    container: u16,
    /// Memory; `None` for whole cards.
    memory: Option<i64>,
    /// Cards it asks.
    count: usize,
}

impl Share {
    fn on(&self, indices: &[u32], cards: &NodeCards) -> Decoded {
        let mut held = Decoded::default();
        let mut outside = Vec::new();
        for index in &indices[..indices.len().min(self.count)] {
            let at = cards.cards.iter().position(|card| card.index == *index);
            if at.is_none() {
                outside.push(index.to_string());
            }
            if i64::from(*index) < MAX_CARDS {
                held.allocations
                    .push(self.allocation(*index, at, cards, true));
            }
        }
        if !outside.is_empty() && !cards.cards.is_empty() {
            held.problems.push(format!(
                "{INDEX} of the pod names GPU {}, but its node has {} GPUs, counted from 0; what \
                 is not there is not counted",
                shorten(&outside.join(",")),
                cards.cards.len()
            ));
        }
        if indices.len() > self.count {
            held.problems.push(format!(
                "{INDEX} of the pod on its node names {} GPUs and the pod asks {}: the first ones count, as \
                 whoever may change the pod may have written it",
                indices.len(),
                self.count
            ));
        }
        if indices.len() < self.count {
            held.allocations.extend(self.anywhere(cards, indices));
            held.problems.push(format!(
                "{INDEX} of the pod on its node names {} of {} GPUs; until the pod ends, every GPU of the node \
                 it could have counts as used",
                indices.len(),
                self.count
            ));
        }
        held
    }

    /// What it asks, on every card but those it has for sure.
    fn anywhere(&self, cards: &NodeCards, known: &[u32]) -> Allocations {
        let all = cards.cards.iter().enumerate();
        let others = all.filter(|(_, card)| !known.contains(&card.index));
        let of = |(at, card): (usize, &Card)| self.allocation(card.index, Some(at), cards, false);
        others.map(of).collect()
    }

    fn allocation(
        &self,
        index: u32,
        at: Option<usize>,
        cards: &NodeCards,
        certain: bool,
    ) -> Allocation {
        let whole = at.map_or(0, |at| CardPart::capacity(cards, at).memory);
        let id = match at {
            Some(at) => Arc::clone(&cards.cards[at].id),
            None => Arc::from(index.to_string()),
        };
        let asked = CardPart {
            memory: self.memory.unwrap_or(0),
            sharers: 1,
            cores: if self.memory.is_none() { WHOLE } else { 0 },
        };
        let charged = CardPart {
            memory: self.memory.unwrap_or(whole),
            ..asked
        };
        Allocation {
            container: self.container,
            card: at.and_then(|at| u16::try_from(at).ok()),
            id,
            partition: None,
            asked: asked.portion(),
            charged: charged.portion(),
            share: FamilyCode::default(),
            certain,
            suspect: false,
        }
    }
}
