//! What a placed pod holds, read from its annotation (spec/04 §11.2, R25, R27).
//!
//! What cannot be read counts as used: a number that is none takes the whole card, a partition that
//! is none closes the card, and a device that is missing is charged to every card it could be on.

use std::rc::Rc;

use crate::facts::{ContainerKind, Pairs, PodFacts, container_name, lookup};
use crate::family::Decoded;
use crate::ledger::{Allocation, Allocations, FamilyCode, NodeCards, Partition, charge_peak};
use crate::nvidia::vgpu::allocation::{Read, decode, layout, packed, split_id, unit};
use crate::nvidia::vgpu::config::{Table, VgpuConfig};
use crate::nvidia::vgpu::containers::{ContainerRequest, Memory, needs};
use crate::nvidia::vgpu::sharing::{Sharing, SharingMode, mode};
use crate::part::CardPart;
use crate::text::{Bounded, clip};

/// Pod annotation with the cards it has.
pub const IDS: &str = "volcano.sh/vgpu-ids-new";

/// What a pod holds on a node.
pub fn held(config: &VgpuConfig, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let mut allocations = Allocations::new();
    let mut problems = Bounded::default();
    let text = lookup(records, IDS).map(String::as_str);
    let off = !config.enabled && text.is_some();
    let wanted = needs(&pod.containers, config);
    let needs = wanted.as_deref().unwrap_or_default();
    let elements = decode(text.unwrap_or_default());
    let containers = containers_of(&elements, needs, pod);
    for (element, container) in elements.iter().zip(containers) {
        for device in element {
            allocations.extend(known(config, device, container, cards, &mut problems));
        }
    }
    let asked = pod.units(&config.nvidia.count_name).max(1);
    let whole = ContainerRequest {
        container: 0,
        runs: ContainerKind::Regular,
        count: u32::try_from(asked).unwrap_or(u32::MAX),
        memory: Memory::Percent(100),
        cores: 0,
    };
    // A request that cannot be read may be for anything, of as many GPUs as it counts.
    let whole = (wanted.is_err() && asked > allocations.len() as u64).then_some(whole);
    for need in needs.iter().chain(&whole) {
        let is_own = |one: &Allocation| whole.is_some() || one.container == need.container;
        let known = allocations.iter().filter(|one| is_own(one));
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
    let counted = needs.iter().map(|need| u64::from(need.count)).sum();
    cards.suspect(
        &mut allocations,
        pod.units(&config.nvidia.count_name).max(counted),
        |_, _| true,
        |stray, at| Allocation {
            partition: (mode(&cards.cards[at]) == SharingMode::Mig).then_some(Partition::UNKNOWN),
            ..Allocation::of(cards, at, stray.container, stray.charged.clone())
        },
    );
    Decoded {
        allocations,
        problems: match off {
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

fn known(
    config: &VgpuConfig,
    device: &Read,
    container: u16,
    cards: &NodeCards,
    problems: &mut Bounded,
) -> Option<Allocation> {
    let (uuid, partition) = split_id(device.id);
    let at = cards.find(uuid);
    let part = CardPart {
        memory: device.memory.map_or(0, i64::from),
        sharers: 1,
        cores: device.cores.map_or(0, i64::from),
    };
    let mut charge = DeviceCharge {
        asked: part,
        charged: part,
        partition: partition.map(|_| Partition::UNKNOWN),
    };
    let numbers = device.memory.is_some() && device.cores.is_some();
    let problem = match at {
        Some(at) => charge.of_card(config, device, partition, cards, at),
        None => Some("is no card of the node: it counts on every card it could be".to_owned()),
    };
    if at.is_none() && !numbers {
        // Should the card come back, all of it is in use, however large it is.
        charge.charged.memory = i64::from(i32::MAX);
        charge.charged.cores = 100;
    }
    if let Some(problem) = problem {
        problems.tell(|| {
            let piece = clip(device.piece);
            format!(
                "annotation {IDS}: {piece:?}{} {problem}",
                if at.is_some() { ":" } else { "" }
            )
        });
    }
    // A piece of text that is no device at all names no card that could come back.
    let is_device = at.is_some() || (device.piece.contains(',') && !uuid.is_empty());
    is_device.then(|| Allocation {
        container,
        card: at.and_then(|at| u16::try_from(at).ok()),
        id: at.map_or_else(|| Rc::from(uuid), |at| Rc::clone(&cards.cards[at].id)),
        partition: charge.partition,
        asked: charge.asked.portion(),
        charged: charge.charged.portion(),
        share: FamilyCode::default(),
        certain: at.is_some() || numbers,
        suspect: false,
    })
}

/// What a device is charged.
struct DeviceCharge {
    asked: CardPart,
    charged: CardPart,
    partition: Option<Partition>,
}

impl DeviceCharge {
    /// Charges a device of a known card; the answer is what could not be read.
    fn of_card(
        &mut self,
        config: &VgpuConfig,
        device: &Read,
        partition: Option<&str>,
        cards: &NodeCards,
        at: usize,
    ) -> Option<String> {
        let sharing = Sharing::of(&cards.cards[at]);
        let table = match sharing {
            Sharing::Mig(Some(table)) => config.tables.get(usize::from(table)),
            Sharing::Mig(None) | Sharing::HamiCore | Sharing::Mps => None,
        };
        let all = CardPart::capacity(cards, at);
        let memory = device.memory.map(i64::from);
        let memory = memory.filter(|memory| *memory <= all.memory);
        let numbers = memory.is_some() && device.cores.is_some();
        if !numbers {
            self.asked = CardPart { sharers: 1, ..all };
            self.charged = self.asked;
        }
        let mut problem = match (numbers, device.vendor) {
            (false, _) => Some(
                "memory or cores are missing or no possible amounts: the whole card counts as used",
            ),
            (true, false) => Some("the vendor is not NVIDIA: it counts as used all the same"),
            (true, true) => None,
        };
        let read = |partition: &str, table: &Table| unit(table, partition);
        match partition
            .zip(table)
            .and_then(|(text, table)| read(text, table))
        {
            Some((partition, mib)) => {
                self.partition = Some(partition);
                self.charged.memory = mib / config.factor;
            }
            None if sharing.mode() == SharingMode::Mig => {
                self.partition = Some(Partition::UNKNOWN);
                problem
                    .get_or_insert("no MIG instance of the card: nothing more of it is given out");
            }
            None if partition.is_some() => {
                problem.get_or_insert("a MIG instance of a card that is not in mode mig");
            }
            None => {}
        }
        problem.map(str::to_owned)
    }
}

/// Charges one device of a container to every card it does not have for sure.
fn guess(
    need: &ContainerRequest,
    cards: &NodeCards,
    known: &[Option<u16>],
    allocations: &mut Allocations,
) {
    for (at, card) in cards.cards.iter().enumerate() {
        if known.contains(&Some(at as u16)) {
            continue;
        }
        let part = CardPart {
            memory: need.of(CardPart::capacity(cards, at).memory),
            sharers: 1,
            cores: need.cores,
        };
        allocations.push(Allocation {
            partition: (mode(card) == SharingMode::Mig).then_some(Partition::UNKNOWN),
            ..Allocation::of(cards, at, need.container, part.portion()).guessed()
        });
    }
}
