//! What a placed pod holds (spec/04 §23.5, spec/05 §3.11): its annotations say which cards, its requests how much of each.
//!
//! A card that is missing is charged to every card it could be.

use std::sync::Arc;

use crate::facts::{Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::ledger::{
    Allocation, Allocations, Card, FamilyCode, LedgerTime, NodeCards, Partition, charge_peak,
};
use crate::part::CardPart;
use crate::text::Bounded;

use super::check::is_split;
use super::holding::{Counts, HeldDevices};
use super::kind::{CardKind, OwnRules};
use super::limits::CardLimits;
use super::mig::{self, ToldInstance};
use super::needs::needs_at_most;
use super::neuron;
use super::own::{HamiFamily, HamiRules, NeedOf, PodOnDevices};
use super::variant::CardVariant;
use super::wire::{ReadDevice, elements};

/// What a pod holds on a node.
pub fn held<F: HamiFamily>(
    rules: &HamiRules<F>,
    records: &Pairs,
    pod: &PodFacts,
    cards: &NodeCards,
) -> Decoded {
    let kinds = &rules.kinds;
    let needs = needs_at_most(pod, rules);
    let devices = HeldDevices {
        cards,
        noun: F::NOUN,
    };
    let limits = CardLimits::default();
    let holder = CardHolder {
        pod,
        on_node: PodOnDevices {
            rules,
            limits: &limits,
            cards,
            view: LedgerTime::Now,
        },
        devices,
        needs: &needs,
    };
    let mut allocations = Allocations::new();
    let mut problems = Bounded::default();
    for of in 0..kinds.len() as u16 {
        let own = holder.read(of, records, &mut problems);
        allocations.extend(own);
    }
    for need in &needs {
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

struct CardHolder<'a, F: HamiFamily> {
    pod: &'a PodFacts,
    on_node: PodOnDevices<'a, F>,
    devices: HeldDevices<'a>,
    needs: &'a [NeedOf<F>],
}

impl<F: HamiFamily> CardHolder<'_, F> {
    /// What the annotation of a kind says.
    fn read(&self, of: u16, records: &Pairs, problems: &mut Bounded) -> Allocations {
        let kind = &self.on_node.rules.kinds[usize::from(of)];
        let key = &kind.keys.allocated;
        let Some(text) = lookup(records, key) else {
            return Allocations::new();
        };
        let elements = match elements(text, F::MAX_CORES) {
            Ok(elements) => elements,
            Err(why) => {
                problems.tell(|| format!("annotation {key} {why}"));
                return Allocations::new();
            }
        };
        let own: Vec<&NeedOf<F>> = self.needs.iter().filter(|need| need.kind == of).collect();
        let counts: Counts = own
            .iter()
            .map(|need| (need.container, need.count))
            .collect();
        let of_container = |(at, element): (usize, Vec<_>)| {
            let container = match F::LISTS_ALL_CONTAINERS {
                true => u16::try_from(at).unwrap_or(u16::MAX),
                false => own.get(at).map_or(u16::MAX, |need| need.container),
            };
            element.into_iter().map(move |device| (container, device))
        };
        let elements = elements.filter(|one| F::LISTS_ALL_CONTAINERS || !one.is_empty());
        let told: Vec<(u16, ReadDevice)> = elements.enumerate().flat_map(of_container).collect();
        let mut instances = match own.is_empty() {
            true => Vec::new(),
            false => self.instances(kind, records, problems),
        };
        let mut taken = self.devices.take(
            key,
            &told,
            &counts,
            |card| CardVariant::of(card).kind == of,
            |need, container, device, at| match at {
                Some(at) => {
                    let mut one = self.on_card(own[need], at);
                    let told = (container, device, at);
                    let problem = self.put_in_place(&mut one, own[need], told, &mut instances);
                    (one, problem)
                }
                None => (self.absent(own[need], device), None),
            },
            problems,
        );
        let cards = self.on_node.cards;
        cards.suspect(&mut taken, |stray, at| {
            let is_own = CardVariant::of(&cards.cards[at]).kind == of;
            let need = own.iter().find(|need| need.container == stray.container)?;
            is_own.then(|| self.on_card(need, at))
        });
        taken
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
        need: &NeedOf<F>,
        (container, device, at): (u16, &ReadDevice, usize),
        instances: &mut Vec<ToldInstance>,
    ) -> Option<String> {
        let card = &self.on_node.cards.cards[at];
        let kind = &self.on_node.rules.kinds[usize::from(CardVariant::of(card).kind)];
        let is_neuron = kind.rules == OwnRules::Neuron;
        if let Some((charged, asked, why)) = F::as_told(&self.on_node, need, at, device) {
            (one.charged, one.asked) = (charged, asked);
            return Some(why);
        }
        if !is_split(card) {
            return None;
        }
        let found = match is_neuron {
            true => neuron::told(device, card),
            false => mig::next(instances, container, card),
        };
        let (instance, profile) = found.unwrap_or((Partition::UNKNOWN, None));
        one.partition = Some(instance);
        let Some(profile) = profile else {
            return Some(match instance {
                Partition::UNKNOWN if is_neuron => {
                    "tells no cores of the device: nothing more of that is given out".to_owned()
                }
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
        if is_neuron {
            one.asked = kind.listed(instance, part).portion();
        }
        None
    }

    /// What a container asks, of a card; nobody knows of which instance of one that is split.
    fn on_card(&self, need: &NeedOf<F>, at: usize) -> Allocation {
        let cards = self.on_node.cards;
        let part = F::part(&self.on_node, need, at);
        let mut one = Allocation {
            partition: is_split(&cards.cards[at]).then_some(Partition::UNKNOWN),
            share: self.share(need.kind),
            ..Allocation::of(cards, at, need.container, part)
        };
        if let Some(listed) = F::listed(&self.on_node, need, at) {
            one.asked = listed;
        }
        one
    }

    /// What a container asks, of a card that the node does not have: how large that is nobody knows. It
    /// may be as the largest of its kind.
    fn absent(&self, need: &NeedOf<F>, device: &ReadDevice) -> Allocation {
        let cards = &self.on_node.cards.cards;
        let is_own = |at: &usize| CardVariant::of(&cards[*at]).kind == need.kind;
        let own = (0..cards.len()).filter(is_own);
        let parts = own.map(|at| F::part(&self.on_node, need, at));
        let part = parts.max_by_key(|part| part[0]).unwrap_or_else(|| {
            let (memory, cores) = device.amounts().unwrap_or_default();
            let rules = self.on_node.rules;
            rules.own.part_as_told(need, memory, cores)
        });
        Allocation {
            share: self.share(need.kind),
            ..Allocation::of_absent(Arc::from(device.id), need.container, part)
        }
    }

    /// How the pod shares cards of a kind.
    fn share(&self, of: u16) -> FamilyCode {
        self.on_node.rules.kinds[usize::from(of)].share(self.pod)
    }

    /// Charges one card of a container to every card it does not have for sure.
    fn guess(&self, need: &NeedOf<F>, known: &[Option<u16>], to: &mut Allocations) {
        for (at, card) in self.on_node.cards.cards.iter().enumerate() {
            // Of a card that is split a container may have several instances.
            let is_known = !is_split(card) && known.contains(&Some(at as u16));
            if CardVariant::of(card).kind == need.kind && !is_known {
                to.push(self.on_card(need, at).guessed());
            }
        }
    }
}
