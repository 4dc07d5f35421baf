//! What a placed pod holds, read from its annotations (spec/04 §23.5).
//!
//! What cannot be read counts as used: a number that is none takes the whole card, and a card that is
//! missing is charged to every card it could be.

use crate::facts::{Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::ledger::{Allocation, Allocations, Card, FamilyCode, NodeCards, Partition, charge_peak};
use crate::part::CardPart;
use crate::text::{Bounded, clip};

use super::check::PodOnCards;
use super::holding::HeldDevices;
use super::kind::CardKind;
use super::limits::CardLimits;
use super::mig::{self, ToldInstance};
use super::needs::{CardNeed, needs};
use super::variant::CardVariant;
use super::wire::{ReadDevice, elements};

/// What a pod holds on a node.
pub fn held(kinds: &[CardKind], records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let wanted = needs(pod, kinds);
    let devices = HeldDevices {
        cards,
        noun: "card",
    };
    let holder = CardHolder {
        kinds,
        pod,
        cards,
        devices,
    };
    let mut allocations = Allocations::new();
    let mut problems = Bounded::default();
    let all = 0..kinds.len() as u16;
    let unread: Vec<u16> = all
        .filter(|of| !holder.read(*of, records, &mut allocations, &mut problems))
        .collect();
    if wanted.is_err() {
        holder.unreadable(&mut allocations, &mut problems);
    }
    let needs = wanted.as_deref().unwrap_or_default().iter();
    for need in needs.filter(|need| !unread.contains(&need.kind)) {
        let of_kind = |card: &Card| CardVariant::of(card).kind == need.kind;
        let known = devices.known(&allocations, need.container, of_kind);
        let has = known.len() as u32;
        if has >= need.count {
            continue;
        }
        holder.guess(need, &known, &mut allocations);
        let key = &kinds[usize::from(need.kind)].keys.allocated;
        let name = container_name(&pod.containers, usize::from(need.container));
        problems.tell(|| devices.too_few(key, (has, need.count), &name));
    }
    charge_peak(&mut allocations, |container| pod.runs(container));
    Decoded {
        allocations,
        problems: problems.into_texts("more problems"),
    }
}

struct CardHolder<'a> {
    kinds: &'a [CardKind],
    pod: &'a PodFacts,
    cards: &'a NodeCards,
    devices: HeldDevices<'a>,
}

impl CardHolder<'_> {
    /// What the annotation of a kind says; whether it can be read at all.
    fn read(&self, of: u16, records: &Pairs, to: &mut Allocations, problems: &mut Bounded) -> bool {
        let kind = &self.kinds[usize::from(of)];
        let key = &kind.keys.allocated;
        let Some(text) = lookup(records, key) else {
            return true;
        };
        let elements = match elements(text, i64::from(i32::MAX)) {
            Ok(elements) => elements,
            Err(why) => {
                problems.tell(|| format!("annotation {key} {why}"));
                self.guess_all(of, &[], to);
                return false;
            }
        };
        let mut instances = self.instances(kind, records, problems);
        let mut own = Allocations::new();
        for (container, element) in elements.enumerate() {
            let container = u16::try_from(container).unwrap_or(u16::MAX);
            for device in &element {
                let (mut allocation, mut problem) = self.known(of, container, device);
                if let Some(one) = &mut allocation {
                    problem = problem.or(self.put_in_place(one, &mut instances));
                }
                own.extend(allocation);
                if let Some(why) = problem {
                    problems.tell(|| format!("annotation {key}: {:?} {why}", clip(device.piece)));
                }
            }
        }
        self.cards.suspect(
            &mut own,
            self.pod.units(&kind.names.count),
            |_, card| CardVariant::of(card).kind == of,
            |stray, at| self.guessed(stray.container, at, CardPart::of(&stray.charged)),
        );
        to.extend(own);
        true
    }

    /// Instances that the annotations of a pod tell.
    fn instances(
        &self,
        kind: &CardKind,
        records: &Pairs,
        problems: &mut Bounded,
    ) -> Vec<ToldInstance> {
        let told = kind
            .keys
            .instances
            .and_then(|key| Some((key, lookup(records, key)?)));
        let Some((key, text)) = told else {
            return Vec::new();
        };
        let (instances, problem) = mig::read(text);
        if let Some(why) = problem {
            problems.tell(|| format!("annotation {key} {why}"));
        }
        instances
    }

    /// The instance of a device on a card that is split; what is wrong with it.
    fn put_in_place(
        &self,
        one: &mut Allocation,
        instances: &mut Vec<ToldInstance>,
    ) -> Option<String> {
        let at = usize::from(one.card?);
        let card = &self.cards.cards[at];
        if card.splits.is_empty() {
            return None;
        }
        let found = mig::next(instances, one.container, card);
        let (instance, profile) = found.unwrap_or((Partition::UNKNOWN, None));
        one.partition = Some(instance);
        let Some(profile) = profile else {
            return Some(match instance {
                Partition::UNKNOWN => {
                    "has no MIG instance: nothing more of the card is given out".to_owned()
                }
                _ => "has a MIG profile that the card does not tell".to_owned(),
            });
        };
        let part = CardPart {
            memory: profile.memory,
            sharers: 1,
            cores: profile.cores,
        };
        one.charged = part.portion();
        None
    }

    /// A part of a card that may be another one.
    fn guessed(&self, container: u16, at: usize, part: CardPart) -> Allocation {
        let card = &self.cards.cards[at];
        let is_split = !card.splits.is_empty();
        Allocation {
            partition: is_split.then_some(Partition::UNKNOWN),
            share: self.share(CardVariant::of(card).kind),
            ..Allocation::of(self.cards, at, container, part.portion()).guessed()
        }
    }

    /// One card; with a problem, what counts all the same.
    fn known(
        &self,
        of: u16,
        container: u16,
        device: &ReadDevice,
    ) -> (Option<Allocation>, Option<String>) {
        let is_own = |at: &usize| CardVariant::of(&self.cards.cards[*at]).kind == of;
        let at = self.cards.find(device.id).filter(is_own);
        let all = at.map(|at| CardPart::capacity(self.cards, at));
        let device = device.within(all.map(|all| all.memory));
        let charged = match device.amounts() {
            Some((memory, cores)) => Some(CardPart {
                memory,
                sharers: 1,
                cores,
            }),
            None => all.map(|all| CardPart { sharers: 1, ..all }),
        };
        let charged = charged.map(CardPart::portion);
        let (allocation, problem) = self.devices.told(container, (&device, at), charged);
        let share = self.share(of);
        let allocation = allocation.map(|one| Allocation { share, ..one });
        (allocation, problem)
    }

    /// How the pod shares cards of a kind.
    fn share(&self, of: u16) -> FamilyCode {
        self.kinds[usize::from(of)].share(self.pod)
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
            // Of a card that is split a container may have several instances.
            let is_known = card.splits.is_empty() && known.contains(&Some(at as u16));
            if CardVariant::of(card).kind == need.kind && !is_known {
                to.push(self.guessed(need.container, at, on_node.part(need, at)));
            }
        }
    }

    /// A request that cannot be read may be for any cards.
    fn unreadable(&self, to: &mut Allocations, problems: &mut Bounded) {
        let known: Vec<Option<u16>> = to.iter().map(|one| one.card).collect();
        for (of, kind) in self.kinds.iter().enumerate() {
            let is_own = |card: &Card| usize::from(CardVariant::of(card).kind) == of;
            let name = &kind.names.count;
            if self.devices.may_have_more(self.pod, name, to, is_own) {
                self.guess_all(of as u16, &known, to);
            }
        }
        if to.len() > known.len() {
            problems.tell(|| self.devices.unreadable("cards"));
        }
    }

    /// Charges all of every card of a kind that the pod does not have for sure.
    fn guess_all(&self, of: u16, known: &[Option<u16>], to: &mut Allocations) {
        for (at, card) in self.cards.cards.iter().enumerate() {
            let is_known = card.splits.is_empty() && known.contains(&Some(at as u16));
            if CardVariant::of(card).kind == of && !is_known {
                let part = CardPart {
                    sharers: 1,
                    ..CardPart::capacity(self.cards, at)
                };
                to.push(self.guessed(0, at, part));
            }
        }
    }
}
