//! What a placed pod holds, read from its annotations (spec/05 §3.11, P-13).
//!
//! What cannot be read counts as used: a number that is none takes the whole chip, and a chip that is
//! missing is charged to every chip it could be.

use crate::facts::{Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::hami::holding::HeldDevices;
use crate::hami::protocol::allocated;
use crate::hami::wire::ReadDevice;
use crate::ledger::{Allocation, Allocations, Card, MAX_AMOUNT, NodeCards, charge_peak};
use crate::text::{Bounded, clip};

use super::allocation::decode;
use super::check::part;
use super::chips::{RoundedMemory, VnpuConfig};
use super::needs::{ChipRequest, ChipShare, HAMI_CORE, MODE, needs};
use super::part::ChipPart;
use super::register::ChipVariant;

/// What a pod holds on a node.
pub fn held(config: &VnpuConfig, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let wanted = needs(pod, config);
    let devices = HeldDevices {
        cards,
        noun: "chip",
    };
    let holder = PlacedPod {
        config,
        cards,
        devices,
        soft: pod.annotation(MODE) == Some(HAMI_CORE),
        needs: wanted.as_deref().unwrap_or_default(),
        asked: config
            .types
            .iter()
            .map(|chip| pod.units(&chip.count_name))
            .collect(),
    };
    let mut allocations = Allocations::new();
    let mut problems = Bounded::default();
    let all = 0..config.types.len() as u16;
    let unread: Vec<u16> = all
        .filter(|of| !holder.read(*of, records, &mut allocations, &mut problems))
        .collect();
    if wanted.is_err() {
        holder.unreadable(pod, &mut allocations, &mut problems);
    }
    let needs = holder.needs.iter();
    for need in needs.filter(|need| !unread.contains(&need.of)) {
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
    soft: bool,
    needs: &'a [ChipRequest],
    /// Chips that the pod asks of each type.
    asked: Vec<u64>,
}

impl PlacedPod<'_> {
    /// What the annotation of a type says; whether it can be read at all.
    fn read(&self, of: u16, records: &Pairs, to: &mut Allocations, problems: &mut Bounded) -> bool {
        let key = allocated(&self.config.types[usize::from(of)].word);
        let Some(text) = lookup(records, &key) else {
            return true;
        };
        let elements = match decode(text) {
            Ok(elements) => elements,
            Err(why) => {
                problems.tell(|| format!("annotation {key} {why}"));
                self.guess_all(of, &[], to);
                return false;
            }
        };
        let mut own = self.needs.iter().filter(|need| need.of == of);
        let mut told = Allocations::new();
        for (at, element) in elements.iter().enumerate() {
            let container = own.next().map_or(at as u16, |need| need.container);
            for device in element {
                let (allocation, problem) = self.known(of, container, device);
                told.extend(allocation);
                if let Some(why) = problem {
                    problems.tell(|| format!("annotation {key}: {:?} {why}", clip(device.piece)));
                }
            }
        }
        self.cards.suspect(
            &mut told,
            self.asked[usize::from(of)],
            |_, card| ChipVariant::of(card).of == of,
            |stray, at| Allocation::of(self.cards, at, stray.container, stray.charged.clone()),
        );
        to.extend(told);
        true
    }

    /// One chip; with a problem, what counts all the same.
    fn known(
        &self,
        of: u16,
        container: u16,
        device: &ReadDevice,
    ) -> (Option<Allocation>, Option<String>) {
        let at = self.cards.find(device.id);
        let whole = at.map(|at| ChipPart::capacity(self.cards, at).memory);
        let device = device.within(whole);
        let charged = match (device.amounts(), whole) {
            (Some((memory, cores)), _) => Some(self.amount(of, memory, cores, whole)),
            (None, Some(whole)) => {
                let chip = &self.config.types[usize::from(of)];
                Some(part(chip, ChipShare::Whole, whole))
            }
            (None, None) => None,
        };
        let charged = charged.map(ChipPart::portion);
        self.devices.told(container, (&device, at), charged)
    }

    /// What is charged for amounts that are written; `whole` is the memory of the chip, if known.
    fn amount(&self, of: u16, memory: i64, cores: i64, whole: Option<i64>) -> ChipPart {
        // Should the chip come back, all of it is in use, however large it is.
        let whole = whole.unwrap_or(MAX_AMOUNT);
        let chip = &self.config.types[usize::from(of)];
        if self.soft || cores > 0 {
            let memory = Some(memory);
            return part(chip, ChipShare::Soft { memory, cores }, whole);
        }
        let share = match chip.round(memory) {
            RoundedMemory::Template(at) => ChipShare::Template(at),
            RoundedMemory::Whole | RoundedMemory::TooMuch => ChipShare::Whole,
        };
        ChipPart {
            memory,
            ..part(chip, share, whole)
        }
    }

    /// Charges one chip of a container to every chip it does not have for sure.
    fn guess(&self, need: &ChipRequest, known: &[Option<u16>], to: &mut Allocations) {
        for (at, card) in self.cards.cards.iter().enumerate() {
            if ChipVariant::of(card).of != need.of || known.contains(&Some(at as u16)) {
                continue;
            }
            let chip = &self.config.types[usize::from(need.of)];
            let whole = ChipPart::capacity(self.cards, at).memory;
            let part = part(chip, need.share, whole).portion();
            to.push(Allocation::of(self.cards, at, need.container, part).guessed());
        }
    }

    /// A request that cannot be read may be for any chips.
    fn unreadable(&self, pod: &PodFacts, to: &mut Allocations, problems: &mut Bounded) {
        let known: Vec<Option<u16>> = to.iter().map(|one| one.card).collect();
        for (of, chip) in self.config.types.iter().enumerate() {
            let is_own = |card: &Card| usize::from(ChipVariant::of(card).of) == of;
            let name = &chip.count_name;
            if self.devices.may_have_more(pod, name, to, is_own) {
                self.guess_all(of as u16, &known, to);
            }
        }
        if to.len() > known.len() {
            problems.tell(|| self.devices.unreadable("NPUs"));
        }
    }

    /// Charges all of every chip of a type that the pod does not have for sure.
    fn guess_all(&self, of: u16, known: &[Option<u16>], to: &mut Allocations) {
        let chip = &self.config.types[usize::from(of)];
        for (at, card) in self.cards.cards.iter().enumerate() {
            if ChipVariant::of(card).of == of && !known.contains(&Some(at as u16)) {
                let whole = ChipPart::capacity(self.cards, at).memory;
                let part = part(chip, ChipShare::Whole, whole).portion();
                to.push(Allocation::of(self.cards, at, 0, part).guessed());
            }
        }
    }
}
