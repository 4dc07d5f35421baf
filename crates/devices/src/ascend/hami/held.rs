//! What a placed pod holds, read from its annotations (spec/05 §3.11, P-13).
//!
//! What cannot be read counts as used: a number that is none takes the whole chip, and a chip that is
//! missing is charged to every chip it could be.

use std::rc::Rc;

use crate::facts::{Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::hami::protocol::allocated;
use crate::hami::wire::ReadDevice;
use crate::ledger::{Allocation, Allocations, FamilyCode, MAX_AMOUNT, NodeCards};
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
    let holder = PlacedPod {
        config,
        cards,
        soft: pod.annotation(MODE) == Some(HAMI_CORE),
        needs: wanted.as_deref().unwrap_or_default(),
    };
    let mut allocations = Allocations::new();
    let mut problems = Bounded::default();
    for of in 0..config.types.len() as u16 {
        holder.read(of, records, &mut allocations, &mut problems);
    }
    if wanted.is_err() && allocations.is_empty() {
        holder.unreadable(pod, &mut allocations, &mut problems);
    }
    for need in holder.needs {
        let known = of(cards, &allocations, need);
        let has = known.len() as u32;
        if has < need.count {
            holder.guess(need, &known, &mut allocations);
            let word = &config.types[usize::from(need.of)].word;
            let name = container_name(&pod.containers, usize::from(need.container));
            problems.tell(|| {
                format!(
                    "annotation {} tells {has} of {} chips of {name}; until the pod ends, every \
                     chip of the node it could have counts as used",
                    allocated(word),
                    need.count
                )
            });
        }
    }
    Decoded {
        allocations,
        problems: problems.into_texts("more problems"),
    }
}

/// Chips that a container is known to hold of what it asks. Those that are not on the node count.
fn of(cards: &NodeCards, allocations: &Allocations, need: &ChipRequest) -> Vec<Option<u16>> {
    let own = allocations.iter().filter(|one| {
        let card = one.card.and_then(|at| cards.cards.get(usize::from(at)));
        let of = card.map(|card| ChipVariant::of(card).of);
        one.certain && one.container == need.container && of.is_none_or(|of| of == need.of)
    });
    own.map(|one| one.card).collect()
}

struct PlacedPod<'a> {
    config: &'a VnpuConfig,
    cards: &'a NodeCards,
    soft: bool,
    needs: &'a [ChipRequest],
}

impl PlacedPod<'_> {
    /// What the annotation of a type says.
    fn read(&self, of: u16, records: &Pairs, to: &mut Allocations, problems: &mut Bounded) {
        let key = allocated(&self.config.types[usize::from(of)].word);
        let Some(text) = lookup(records, &key) else {
            return;
        };
        let elements = decode(text);
        let mut own = self.needs.iter().filter(|need| need.of == of);
        for (at, element) in elements.iter().enumerate() {
            let container = own.next().map_or(at as u16, |need| need.container);
            for device in element {
                let (allocation, problem) = self.known(of, container, device);
                to.extend(allocation);
                if let Some(why) = problem {
                    problems.tell(|| format!("annotation {key}: {:?} {why}", clip(device.piece)));
                }
            }
        }
    }

    /// One chip; with a problem, what counts all the same.
    fn known(
        &self,
        of: u16,
        container: u16,
        device: &ReadDevice,
    ) -> (Option<Allocation>, Option<&'static str>) {
        let at = self.cards.find(device.id);
        let whole = match at {
            Some(at) => ChipPart::capacity(self.cards, at).memory,
            // Should the chip come back, all of it is in use, however large it is.
            None => MAX_AMOUNT,
        };
        let numbers = device.memory.zip(device.cores);
        let charged = match numbers {
            Some((memory, cores)) => self.amount(of, memory, cores, whole),
            None => part(&self.config.types[usize::from(of)], ChipShare::Whole, whole),
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
            share: FamilyCode::default(),
            certain: at.is_some() || numbers.is_some(),
        };
        let problem = match (at, numbers) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => Some("has no possible amounts: the whole chip counts as used"),
            (None, Some(_)) => Some("is no chip of the node"),
            (None, None) => return (None, Some("is no chip")),
        };
        (Some(allocation), problem)
    }

    /// What is charged for amounts that are written.
    fn amount(&self, of: u16, memory: i64, cores: i64, whole: i64) -> ChipPart {
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
            to.push(self.guessed(need.container, at, part(chip, need.share, whole)));
        }
    }

    /// A request that cannot be read may be for any chips.
    fn unreadable(&self, pod: &PodFacts, to: &mut Allocations, problems: &mut Bounded) {
        for (at, card) in self.cards.cards.iter().enumerate() {
            let chip = &self.config.types[usize::from(ChipVariant::of(card).of)];
            let mut counts = pod.containers.iter().map(|one| one.milli(&chip.count_name));
            if counts.any(|count| count.is_some_and(|milli| milli > 0)) {
                let whole = ChipPart::capacity(self.cards, at).memory;
                to.push(self.guessed(0, at, part(chip, ChipShare::Whole, whole)));
            }
        }
        if !to.is_empty() {
            problems.tell(|| {
                "what the pod asks of NPUs cannot be read, nor what it has: until it ends, every \
                 chip of the node it could have counts as used"
                    .to_owned()
            });
        }
    }

    fn guessed(&self, container: u16, at: usize, part: ChipPart) -> Allocation {
        Allocation {
            container,
            card: u16::try_from(at).ok(),
            id: Rc::clone(&self.cards.cards[at].id),
            partition: None,
            asked: part.portion(),
            charged: part.portion(),
            share: FamilyCode::default(),
            certain: false,
        }
    }
}
