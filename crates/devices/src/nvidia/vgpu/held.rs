//! What a placed pod holds (spec/04 §11.2, R25, R27): its annotation says which cards, its request how much of
//! each.
//!
//! A partition that is none closes its card, and a device that is missing is charged to every card it could be on.

use std::sync::Arc;

use crate::facts::{Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::ledger::{Allocation, Allocations, NodeCards, Partition, charge_peak, share_out};
use crate::nvidia::vgpu::allocation::{Read, decode, layout, packed, split_id, unit};
use crate::nvidia::vgpu::config::VgpuConfig;
use crate::nvidia::vgpu::containers::{ContainerRequest, needs_at_most};
use crate::nvidia::vgpu::partitions::PartitionTable;
use crate::nvidia::vgpu::sharing::{Sharing, SharingMode, mode};
use crate::part::CardPart;
use crate::text::{Bounded, clip};

/// Pod annotation with the cards it has.
pub const IDS: &str = "volcano.sh/vgpu-ids-new";

/// What a pod holds on a node.
pub fn held(config: &VgpuConfig, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let text = lookup(records, IDS).map(String::as_str);
    let needs = needs_at_most(&pod.containers, config);
    let elements = decode(text.unwrap_or_default());
    let containers = containers_of(&elements, &needs, pod);
    let elements = elements.iter().zip(containers);
    let told =
        elements.flat_map(|(element, container)| element.iter().map(move |one| (one, container)));
    let holder = Holder { config, cards };
    let mut problems = Bounded::default();
    let (told, odd): (Vec<_>, Vec<_>) = told.partition(|(device, _)| holder.is_device(device));
    for (device, _) in odd {
        problems.tell(|| format!("annotation {IDS}: {:?} is no device", clip(device.piece)));
    }
    let of: Vec<u16> = told.iter().map(|(_, container)| *container).collect();
    let counts: Vec<(u16, u32)> = needs
        .iter()
        .map(|need| (need.container, need.count))
        .collect();
    let mut allocations = Allocations::new();
    let mut beyond = 0;
    for ((device, _), share) in told.iter().zip(share_out(&of, &counts)) {
        match share {
            Some(at) => holder.take(device, &needs[at], &mut allocations, &mut problems),
            None => beyond += 1,
        }
    }
    if beyond > 0 {
        problems.tell(|| format!(
            "annotation {IDS} names {beyond} GPUs more than the pod asks: they do not count, as whoever may \
             change the pod may have written them"
        ));
    }
    for need in &needs {
        let known = allocations
            .iter()
            .filter(|one| one.container == need.container);
        let known: Vec<Option<u16>> = known.map(|one| one.card).collect();
        let has = known.len();
        if (has as u64) < u64::from(need.count) {
            guess(need, cards, &known, &mut allocations);
            problems.tell(|| format!(
                "annotation {IDS} {}: it tells {has} of {} GPUs of {}; until the pod ends, every \
                 GPU of the node it could have counts as used",
                text.map_or("is missing".to_owned(), |text| format!(
                    "is {:?}",
                    clip(text)
                )),
                need.count,
                container_name(&pod.containers, usize::from(need.container))
            ));
        }
    }
    charge_peak(&mut allocations, |container| pod.runs(container));
    cards.suspect(&mut allocations, |stray, at| {
        let need = needs
            .iter()
            .find(|need| need.container == stray.container)?;
        Some(on_card(need, cards, at))
    });
    let is_off = !config.enabled && text.is_some() && !needs.is_empty();
    Decoded {
        allocations,
        problems: match is_off {
            true => vec![format!(
                "annotation {IDS}: the pod holds GPUs, which are not counted because {}",
                config.off()
            )],
            false => problems.into_texts("more problems"),
        },
    }
}

/// The container of each element: as this crate writes them if that agrees with what the containers
/// ask, else as Volcano does.
fn containers_of(elements: &[Vec<Read>], needs: &[ContainerRequest], pod: &PodFacts) -> Vec<u16> {
    let count = |container: Option<u16>| {
        let need = needs.iter().find(|need| Some(need.container) == container);
        need.map_or(0, |need| need.count as usize)
    };
    let agrees = |layout: &Vec<Option<u16>>| {
        let most = elements.len().max(layout.len());
        (0..most).all(|at| {
            let devices = elements.get(at).map_or(0, Vec::len);
            devices == count(layout.get(at).copied().flatten())
        })
    };
    let own = layout(needs, &pod.containers).ok();
    let packed = packed(needs, &pod.containers);
    let found = match own.filter(&agrees) {
        Some(own) => own,
        None => packed,
    };
    let container = |at: usize| found.get(at).copied().flatten().unwrap_or(at as u16);
    (0..elements.len()).map(container).collect()
}

struct Holder<'a> {
    config: &'a VgpuConfig,
    cards: &'a NodeCards,
}

impl Holder<'_> {
    /// A piece of text that is no device at all names no card that could come back.
    fn is_device(&self, device: &Read) -> bool {
        let (uuid, _) = split_id(device.id);
        let names_one = device.piece.contains(',') && !uuid.is_empty();
        names_one || self.cards.find(uuid).is_some()
    }

    /// Charges a device that is told to the container that asks it.
    fn take(
        &self,
        device: &Read,
        need: &ContainerRequest,
        to: &mut Allocations,
        problems: &mut Bounded,
    ) {
        let (uuid, partition) = split_id(device.id);
        let (taken, problem) = match self.cards.find(uuid) {
            Some(at) => self.of_card(need, partition, at),
            None => {
                let why = " is no card of the node: it counts on every card it could be";
                (self.of_absent(device, need), Some(why))
            }
        };
        let is_twice = |one: &Allocation| {
            let is_same = (one.container, &one.id) == (taken.container, &taken.id);
            is_same
                && one.partition == taken.partition
                && taken.partition != Some(Partition::UNKNOWN)
        };
        let problem = match to.iter().any(is_twice) {
            true => Some(": it is told twice"),
            false => {
                to.push(taken);
                problem
            }
        };
        if let Some(problem) = problem {
            problems.tell(|| format!("annotation {IDS}: {:?}{problem}", clip(device.piece)));
        }
    }

    /// What a container asks, of a card of the node, and what is wrong with the partition that is told.
    fn of_card(
        &self,
        need: &ContainerRequest,
        partition: Option<&str>,
        at: usize,
    ) -> (Allocation, Option<&'static str>) {
        let mut taken = on_card(need, self.cards, at);
        let sharing = Sharing::of(&self.cards.cards[at]);
        let table = match sharing {
            Sharing::Mig(Some(table)) => self.config.tables.get(usize::from(table)),
            Sharing::Mig(None) | Sharing::HamiCore | Sharing::Mps => None,
        };
        let read = |(text, table): (&str, &PartitionTable)| unit(table, text);
        match partition.zip(table).and_then(read) {
            Some((partition, mib)) => {
                taken.partition = Some(partition);
                let charged = CardPart {
                    memory: mib / self.config.factor,
                    ..CardPart::of(&taken.charged)
                };
                taken.charged = charged.portion();
                (taken, None)
            }
            None if sharing.mode() == SharingMode::Mig => (
                taken,
                Some(": no MIG instance of the card: nothing more of it is given out"),
            ),
            None if partition.is_some() => (
                taken,
                Some(": a MIG instance of a card that is not in mode mig"),
            ),
            None => (taken, None),
        }
    }

    /// What a container asks, of a card that the node does not have: how large that is nobody knows.
    fn of_absent(&self, device: &Read, need: &ContainerRequest) -> Allocation {
        let (uuid, partition) = split_id(device.id);
        let sizes = (0..self.cards.cards.len()).map(|at| CardPart::capacity(self.cards, at).memory);
        let memory = match sizes.max() {
            Some(largest) => Some(need.of(largest)),
            None => need.exact().or(device.memory.map(i64::from)),
        };
        let part = CardPart {
            memory: memory.unwrap_or(i32::MAX.into()),
            sharers: 1,
            cores: need.cores,
        };
        Allocation {
            partition: partition.map(|_| Partition::UNKNOWN),
            certain: memory.is_some(),
            ..Allocation::of_absent(Arc::from(uuid), need.container, part.portion())
        }
    }
}

/// What a container asks, of a card; nobody knows of which partition.
fn on_card(need: &ContainerRequest, cards: &NodeCards, at: usize) -> Allocation {
    let part = CardPart {
        memory: need.of(CardPart::capacity(cards, at).memory),
        sharers: 1,
        cores: need.cores,
    };
    Allocation {
        partition: (mode(&cards.cards[at]) == SharingMode::Mig).then_some(Partition::UNKNOWN),
        ..Allocation::of(cards, at, need.container, part.portion())
    }
}

/// Charges one device of a container to every card it does not have for sure.
fn guess(
    need: &ContainerRequest,
    cards: &NodeCards,
    known: &[Option<u16>],
    allocations: &mut Allocations,
) {
    for at in 0..cards.cards.len() {
        if !known.contains(&Some(at as u16)) {
            allocations.push(on_card(need, cards, at).guessed());
        }
    }
}
