//! Devices of AWS Neuron and their cores (spec/04 §23.13).
//!
//! A container has whole devices, or one core or two of a device. Which of its cores are taken a list of cards says
//! by a bit each. Several devices of a container are next to each other.

use std::fmt::Write as _;

use smallvec::SmallVec;

use crate::binding::{Annotation, AnnotationValue};
use crate::facts::{ContainerFacts, PodFacts, container_name};
use crate::ledger::{Allocation, Card, CardSplit, Partition, SplitPlace};
use crate::part::CardPart;

use super::kind::{CardKind, Marking, OwnRules};
use super::mig;
use super::place::CardOrder;
use super::share::{CardCores, CardMemory, CardNeed, CardShare};
use super::vendor_cards::PodOnCards;
use super::wire::ReadDevice;

/// Cores of a device of which pods get single ones.
const SINGLE: u16 = 2;
/// What a device tells of a node whose devices are a ring.
pub const RING: u16 = 1;
/// Numbers of devices that make a row where rows begin at multiples of them.
const ROWS: [u32; 3] = [4, 8, 16];

/// Pod annotation: indices of its devices, or of its cores.
const IDS: &str = "AWS_NEURON_IDS";
/// Pod annotation: the resource that the indices are of, where they are of cores.
const RESOURCE: &str = "NEURON_RESOURCE_TYPE";
/// Pod annotation: the device plugin has served the pod.
pub const ALLOCATED: &str = "NEURON_ALLOCATED";
/// Pod annotation: its node.
pub const NODE: &str = "aws.amazon.com/predicate-node";
/// Pod annotation: when its devices were chosen.
const TIME: &str = "NEURON_ALLOC_TIME";

impl CardShare {
    /// So many cores of one device, of which pods get single ones.
    fn of_cores(cores: i64) -> Self {
        Self {
            memory: CardMemory::Mib(cores),
            cores: CardCores::Units(cores),
            named: None,
        }
    }

    /// Whether cores are asked, and not devices.
    pub fn is_by_cores(self) -> bool {
        matches!(self.cores, CardCores::Units(_))
    }
}

/// What a container asks of devices.
///
/// # Errors
/// The resource that cannot be, and what to write.
pub fn ask(
    container: &ContainerFacts,
    kind: &CardKind,
) -> Result<Option<(u32, CardShare)>, String> {
    let names = &kind.names;
    let most = i64::from(i32::MAX);
    let devices = container.whole(&names.count, most)?;
    let cores = container.whole(&names.cores, most)?;
    let cores = cores.filter(|cores| *cores > 0);
    let of_devices = |cores: i64, share: CardShare| {
        let count = u32::try_from(cores / i64::from(SINGLE)).unwrap_or(u32::MAX);
        Ok(Some((count, share)))
    };
    match (devices, cores) {
        (Some(0), _) | (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(format!(
            "asks {} and {}: name devices or cores, not both",
            names.count, names.cores
        )),
        (Some(count), None) => {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            Ok(Some((count, CardShare::WHOLE)))
        }
        (None, Some(cores @ 1..=2)) => Ok(Some((1, CardShare::of_cores(cores)))),
        (None, Some(cores)) if cores % i64::from(SINGLE) == 0 => {
            let share = CardShare {
                cores: CardCores::Units(SINGLE.into()),
                ..CardShare::WHOLE
            };
            of_devices(cores, share)
        }
        (None, Some(cores)) => Err(format!(
            "{} is {cores}: write 1, or a multiple of {SINGLE}",
            names.cores
        )),
    }
}

/// Why a container cannot ask so, after what containers before ask: indices of a pod are of devices or of cores.
pub fn refuses(
    pod: &PodFacts,
    kind: &CardKind,
    needs: &[CardNeed],
    next: &CardNeed,
) -> Option<String> {
    let is_other = |need: &&CardNeed| {
        need.kind == next.kind && need.share.is_by_cores() != next.share.is_by_cores()
    };
    let is_mixed = kind.rules == OwnRules::Neuron && needs.iter().any(|need| is_other(&need));
    let (own, other) = match next.share.is_by_cores() {
        true => (&kind.names.cores, &kind.names.count),
        false => (&kind.names.count, &kind.names.cores),
    };
    is_mixed.then(|| {
        format!(
            "{}: asks {own}, and a container before {other}: the device plugin is told devices of a pod or \
             cores, so ask one of both, or in pods of their own",
            container_name(&pod.containers, usize::from(next.container))
        )
    })
}

/// Whether the devices of an instance of this type are a ring, in which rows begin anywhere.
pub fn is_ring(instance: &str) -> bool {
    instance.contains("inf") || instance.contains("Inf")
}

/// What a device with so many cores can be split into.
pub fn splits(cores: u16) -> Vec<CardSplit> {
    let split = |size: u16, starts: std::ops::Range<u16>| CardSplit {
        name: match size {
            1 => "1 core".to_owned(),
            _ => format!("{size} cores"),
        },
        memory: size.into(),
        cores: size.into(),
        places: starts.map(|start| SplitPlace { start, size }).collect(),
    };
    let mut all = vec![split(1, 0..cores.min(SINGLE))];
    for size in [SINGLE, cores] {
        if all.last().is_some_and(|last| last.cores < size.into()) && size <= cores {
            all.push(split(size, 0..1));
        }
    }
    all
}

/// A bit for each core of a part.
fn bits(part: Partition) -> i64 {
    ((1_i64 << part.group.min(32)) - 1) << part.position.min(16)
}

/// The cores that a list tells of a device, and what the device calls so many.
pub fn told<'c>(device: &ReadDevice, card: &'c Card) -> Option<(Partition, Option<&'c CardSplit>)> {
    let bits = device.cores.filter(|bits| *bits > 0)?;
    card.splits.iter().find_map(|split| {
        let mut places = split.places.iter().map(|place| mig::at_place(*place));
        let place = places.find(|place| self::bits(*place) == bits)?;
        Some((place, Some(split)))
    })
}

impl CardKind {
    /// What a list tells of a part of a card, of which so much was asked.
    pub fn listed(&self, part: Partition, asked: CardPart) -> CardPart {
        match self.rules {
            OwnRules::Neuron => CardPart {
                memory: 0,
                sharers: 1,
                cores: bits(part),
            },
            _ => asked,
        }
    }
}

/// What the device plugin reads of a pod that has these devices.
pub fn marks(kind: &CardKind, needs: &[CardNeed], of: u16, pod: &Marking) -> Vec<Annotation> {
    let is_by_cores = |need: &CardNeed| need.kind == of && need.share.is_by_cores();
    let by_cores = needs.iter().any(is_by_cores);
    let mut ids = String::new();
    let of_one = |one: &&Allocation| match by_cores {
        true => cores_of(pod, one),
        false => SmallVec::from_iter([pod.index(one)]),
    };
    for id in pod.own.iter().flat_map(of_one) {
        let comma = if ids.is_empty() { "" } else { "," };
        // A text takes whatever is written.
        let _ = write!(ids, "{comma}{id}");
    }
    let text = AnnotationValue::Text;
    let mut marks = vec![
        Annotation::new(IDS, text(ids)),
        Annotation::new(TIME, AnnotationValue::NanoSequence),
        Annotation::new(ALLOCATED, text("false".to_owned())),
        Annotation::new(NODE, text(pod.node.to_owned())),
    ];
    if by_cores {
        marks.push(Annotation::new(RESOURCE, text(kind.names.cores.clone())));
    }
    marks
}

/// Indices of the cores that an allocation has, of those of which pods get single ones.
fn cores_of(pod: &Marking, one: &Allocation) -> SmallVec<[u32; 2]> {
    let at = one.card.map(usize::from).unwrap_or_default();
    let all = CardPart::capacity(pod.cards, at).cores;
    let first = u32::try_from(all).unwrap_or(0) * pod.index(one);
    let Some(part) = one.partition else {
        return SmallVec::new();
    };
    let end = SINGLE.min(part.position.saturating_add(part.group));
    (part.position..end)
        .map(|core| first + u32::from(core))
        .collect()
}

impl PodOnCards<'_> {
    /// A container asks devices of AWS Neuron, or cores of one.
    pub fn is_neuron(&self, need: &CardNeed) -> bool {
        self.rules.kinds[usize::from(need.kind)].rules == OwnRules::Neuron
    }

    /// Several devices of a container are next to each other.
    pub fn is_in_a_row(&self, need: &CardNeed) -> bool {
        self.is_neuron(need) && need.count > 1
    }

    fn is_of_ring(&self, at: u16) -> bool {
        self.cards.cards[usize::from(at)].details.get() == RING
    }

    /// How devices have to be where enough fit that are not next to each other, and that one is missing at least.
    pub fn rows(&self, need: &CardNeed, order: &[u16]) -> Option<(String, u32)> {
        let first = order
            .first()
            .filter(|_| order.len() >= need.count as usize)?;
        let count = need.count;
        let text = match (self.is_of_ring(*first), ROWS.contains(&count)) {
            (true, _) => format!("{count} next to each other asked"),
            (false, true) => {
                format!("{count} next to each other asked, the first a multiple of {count}")
            }
            (false, false) => format!("{count} asked, devices of the node come in 1, 4, 8 or 16"),
        };
        Some((text, count - 1))
    }

    /// The devices for a need, of those that fit: several are next to each other.
    pub fn in_a_row(&self, need: &CardNeed, order: CardOrder) -> Option<CardOrder> {
        if !self.is_in_a_row(need) {
            return Some(order);
        }
        let index = |at: &u16| self.cards.cards[usize::from(*at)].index;
        let mut free = order;
        free.sort_unstable_by_key(index);
        let first = free.first()?;
        let is_ring = self.is_of_ring(*first);
        if !is_ring && !ROWS.contains(&need.count) {
            return None;
        }
        let count = need.count as usize;
        let is_row = |row: &&[u16]| {
            let (start, end) = (index(&row[0]), index(&row[count - 1]));
            end - start == need.count - 1 && (is_ring || start % need.count == 0)
        };
        let row = free.windows(count).find(is_row)?;
        Some(CardOrder::from_slice(row))
    }
}
