//! What a placed pod holds, read from its annotations (spec/04 §23.5).
//!
//! What cannot be read counts as used: a number that is none takes the whole card, and a card that is
//! missing is charged to every card it could be.

use std::rc::Rc;

use crate::facts::{Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::ledger::{Allocation, Allocations, MAX_AMOUNT, NodeCards};
use crate::part::CardPart;
use crate::text::{Bounded, clip};

use super::check::PodOnCards;
use super::kind::CardKind;
use super::limits::CardLimits;
use super::needs::{CardNeed, needs};
use super::variant::CardVariant;
use super::wire::{ReadDevice, elements};

/// What a pod holds on a node.
pub fn held(kinds: &[CardKind], records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let wanted = needs(pod, kinds);
    let holder = CardHolder { kinds, pod, cards };
    let mut allocations = Allocations::new();
    let mut problems = Bounded::default();
    for of in 0..kinds.len() as u16 {
        holder.read(of, records, &mut allocations, &mut problems);
    }
    if wanted.is_err() && allocations.is_empty() {
        holder.unreadable(pod, &mut allocations, &mut problems);
    }
    for need in wanted.as_deref().unwrap_or_default() {
        let known = holder.known_cards(&allocations, need);
        let has = known.len() as u32;
        if has >= need.count {
            continue;
        }
        holder.guess(need, &known, &mut allocations);
        let key = &kinds[usize::from(need.kind)].keys.allocated;
        let name = container_name(&pod.containers, usize::from(need.container));
        problems.tell(|| {
            format!(
                "annotation {key} tells {has} of {} cards of {name}; until the pod ends, every card \
                 of the node it could have counts as used",
                need.count
            )
        });
    }
    Decoded {
        allocations,
        problems: problems.into_texts("more problems"),
    }
}

struct CardHolder<'a> {
    kinds: &'a [CardKind],
    pod: &'a PodFacts,
    cards: &'a NodeCards,
}

impl CardHolder<'_> {
    /// Cards that a container is known to hold of what it asks. Those that are not on the node count.
    fn known_cards(&self, allocations: &Allocations, need: &CardNeed) -> Vec<Option<u16>> {
        let own = allocations.iter().filter(|one| {
            let card = one
                .card
                .and_then(|at| self.cards.cards.get(usize::from(at)));
            let of = card.map(|card| CardVariant::of(card).kind);
            one.certain && one.container == need.container && of.is_none_or(|of| of == need.kind)
        });
        own.map(|one| one.card).collect()
    }

    /// What the annotation of a kind says.
    fn read(&self, of: u16, records: &Pairs, to: &mut Allocations, problems: &mut Bounded) {
        let kind = &self.kinds[usize::from(of)];
        let key = &kind.keys.allocated;
        let Some(text) = lookup(records, key) else {
            return;
        };
        for (container, element) in elements(text, i64::from(i32::MAX)).enumerate() {
            let container = u16::try_from(container).unwrap_or(u16::MAX);
            for device in &element {
                let (allocation, problem) = self.known(of, container, device);
                to.extend(allocation);
                if let Some(why) = problem {
                    problems.tell(|| format!("annotation {key}: {:?} {why}", clip(device.piece)));
                }
            }
        }
    }

    /// One card; with a problem, what counts all the same.
    fn known(
        &self,
        of: u16,
        container: u16,
        device: &ReadDevice,
    ) -> (Option<Allocation>, Option<&'static str>) {
        let is_own = |at: &usize| CardVariant::of(&self.cards.cards[*at]).kind == of;
        let at = self.cards.find(device.id).filter(is_own);
        let numbers = device.memory.zip(device.cores);
        let charged = match (numbers, at) {
            (Some((memory, cores)), _) => CardPart {
                memory,
                sharers: 1,
                cores,
            },
            (None, Some(at)) => CardPart {
                sharers: 1,
                ..CardPart::capacity(self.cards, at)
            },
            // Should the card come back, all of it is in use, however large it is.
            (None, None) => CardPart {
                memory: MAX_AMOUNT,
                sharers: 1,
                cores: MAX_AMOUNT,
            },
        };
        let allocation = Allocation {
            container,
            card: at.and_then(|at| u16::try_from(at).ok()),
            id: match at {
                Some(at) => Rc::clone(&self.cards.cards[at].id),
                None => Rc::from(device.id),
            },
            partition: None,
            asked: charged.portion(),
            charged: charged.portion(),
            share: self.kinds[usize::from(of)].share(self.pod),
            certain: at.is_some() || numbers.is_some(),
        };
        let problem = match (at, numbers) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => Some("has no possible amounts: the whole card counts as used"),
            (None, Some(_)) => Some("is no card of the node"),
            (None, None) => return (None, Some("is no card")),
        };
        (Some(allocation), problem)
    }

    /// Charges one card of a container to every card it does not have for sure.
    fn guess(&self, need: &CardNeed, known: &[Option<u16>], to: &mut Allocations) {
        let limits = CardLimits::default();
        let on_node = PodOnCards {
            limits: &limits,
            cards: self.cards,
            view: crate::ledger::LedgerTime::Now,
        };
        for (at, card) in self.cards.cards.iter().enumerate() {
            let is_known = known.contains(&Some(at as u16));
            if CardVariant::of(card).kind == need.kind && !is_known {
                to.push(self.guessed(need.container, at, on_node.part(need, at)));
            }
        }
    }

    /// A request that cannot be read may be for any cards.
    fn unreadable(&self, pod: &PodFacts, to: &mut Allocations, problems: &mut Bounded) {
        for (at, card) in self.cards.cards.iter().enumerate() {
            let kind = CardVariant::of(card).kind;
            let name = &self.kinds[usize::from(kind)].names.count;
            let mut counts = pod.containers.iter().map(|one| one.milli(name));
            if counts.any(|count| count.is_some_and(|milli| milli > 0)) {
                let part = CardPart {
                    sharers: 1,
                    ..CardPart::capacity(self.cards, at)
                };
                to.push(self.guessed(0, at, part));
            }
        }
        if !to.is_empty() {
            problems.tell(|| {
                "what the pod asks of cards cannot be read, nor what it has: until it ends, every \
                 card of the node it could have counts as used"
                    .to_owned()
            });
        }
    }

    fn guessed(&self, container: u16, at: usize, part: CardPart) -> Allocation {
        let of = CardVariant::of(&self.cards.cards[at]).kind;
        Allocation {
            container,
            card: u16::try_from(at).ok(),
            id: Rc::clone(&self.cards.cards[at].id),
            partition: None,
            asked: part.portion(),
            charged: part.portion(),
            share: self.kinds[usize::from(of)].share(self.pod),
            certain: false,
        }
    }
}
