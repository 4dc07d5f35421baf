//! What a placed pod holds (spec/05 §3.11, P-13): its annotations say which chips, its requests how much of each.
//!
//! A chip that is missing is charged to every chip it could be.

use std::sync::Arc;

use crate::facts::{Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::hami::holding::{Counts, HeldDevices};
use crate::hami::protocol::allocated;
use crate::hami::wire::ReadDevice;
use crate::ledger::{Allocation, Allocations, Card, NodeCards, charge_peak};
use crate::text::Bounded;

use super::allocation::decode;
use super::check::part;
use super::chips::VnpuConfig;
use super::needs::{ChipRequest, needs_at_most};
use super::part::ChipPart;
use super::register::ChipVariant;

/// What a pod holds on a node.
pub fn held(config: &VnpuConfig, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let needs = needs_at_most(pod, config);
    let devices = HeldDevices {
        cards,
        noun: "chip",
    };
    let holder = PlacedPod {
        config,
        cards,
        devices,
        needs: &needs,
    };
    let mut allocations = Allocations::new();
    let mut problems = Bounded::default();
    for of in 0..config.types.len() as u16 {
        let own = holder.read(of, records, &mut problems);
        allocations.extend(own);
    }
    for need in &needs {
        let of_type = |card: &Card| ChipVariant::of(card).of == need.of;
        let known = devices.known(&allocations, need.container, of_type);
        let has = known.len() as u32;
        if has < need.count {
            holder.guess(need, &known, &mut allocations);
            let word = &config.types[usize::from(need.of)].word;
            let name = container_name(&pod.containers, usize::from(need.container));
            problems.tell(|| devices.too_few(&allocated(word), (has, need.count), &name));
        }
    }
    charge_peak(&mut allocations, |container| pod.runs(container));
    Decoded {
        allocations,
        problems: problems.into_texts("more problems"),
    }
}

struct PlacedPod<'a> {
    config: &'a VnpuConfig,
    cards: &'a NodeCards,
    devices: HeldDevices<'a>,
    needs: &'a [ChipRequest],
}

impl PlacedPod<'_> {
    /// What the annotation of a type says.
    fn read(&self, of: u16, records: &Pairs, problems: &mut Bounded) -> Allocations {
        let key = allocated(&self.config.types[usize::from(of)].word);
        let Some(text) = lookup(records, &key) else {
            return Allocations::new();
        };
        let elements = match decode(text) {
            Ok(elements) => elements,
            Err(why) => {
                problems.tell(|| format!("annotation {key} {why}"));
                return Allocations::new();
            }
        };
        let own: Vec<&ChipRequest> = self.needs.iter().filter(|need| need.of == of).collect();
        let counts: Counts = own
            .iter()
            .map(|need| (need.container, need.count))
            .collect();
        // Only containers with chips have an element.
        let of_container = |(at, element): (usize, Vec<_>)| {
            let container = own.get(at).map_or(u16::MAX, |need| need.container);
            element.into_iter().map(move |device| (container, device))
        };
        let told = elements.into_iter().enumerate().flat_map(of_container);
        let told: Vec<(u16, ReadDevice)> = told.collect();
        let mut taken = self.devices.take(
            &key,
            &told,
            &counts,
            |card| ChipVariant::of(card).of == of,
            |need, _, device, at| {
                let one = match at {
                    Some(at) => self.on_chip(own[need], at),
                    None => self.absent(own[need], device),
                };
                (one, None)
            },
            problems,
        );
        self.cards.suspect(&mut taken, |stray, at| {
            let is_own = ChipVariant::of(&self.cards.cards[at]).of == of;
            let need = own.iter().find(|need| need.container == stray.container)?;
            is_own.then(|| self.on_chip(need, at))
        });
        taken
    }

    /// What a container asks, of a chip with so much memory.
    fn part(&self, need: &ChipRequest, memory: i64) -> ChipPart {
        part(&self.config.types[usize::from(need.of)], need.share, memory)
    }

    /// What a container asks, of a chip.
    fn on_chip(&self, need: &ChipRequest, at: usize) -> Allocation {
        let part = self.part(need, ChipPart::capacity(self.cards, at).memory);
        Allocation::of(self.cards, at, need.container, part.portion())
    }

    /// What a container asks, of a chip that the node does not have: how large that is nobody knows. It
    /// may be as the largest of its type.
    fn absent(&self, need: &ChipRequest, device: &ReadDevice) -> Allocation {
        let cards = self.cards.cards.iter().enumerate();
        let own = cards.filter(|(_, card)| ChipVariant::of(card).of == need.of);
        let sizes = own.map(|(at, _)| ChipPart::capacity(self.cards, at).memory);
        let told = || device.amounts().map_or(0, |(memory, _)| memory);
        let part = self.part(need, sizes.max().unwrap_or_else(told));
        Allocation::of_absent(Arc::from(device.id), need.container, part.portion())
    }

    /// Charges one chip of a container to every chip it does not have for sure.
    fn guess(&self, need: &ChipRequest, known: &[Option<u16>], to: &mut Allocations) {
        for (at, card) in self.cards.cards.iter().enumerate() {
            if ChipVariant::of(card).of == need.of && !known.contains(&Some(at as u16)) {
                to.push(self.on_chip(need, at).guessed());
            }
        }
    }
}
