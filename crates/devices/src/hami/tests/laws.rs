//! Laws that hold for any node and any sequence of pods, and decoders that take any text.

use std::sync::Arc;

use proptest::prelude::*;

use super::{VendorNode, family, pod, text};
use crate::facts::{Pairs, PodFacts};
use crate::family::Family;
use crate::fixture::laws::assert_pieces;
use crate::ledger::{Allocations, LedgerTime, Load, NodeCards, Tags};
use crate::node::NodeDevices;
use crate::part::CardPart;
use crate::request::FamilyRequest;
use crate::settings::Policy;

/// Resources of a vendor: count, memory, cores; MiB in a unit of memory; cores that make a card.
const VENDORS: [(&str, &str, &str, &str, i64); 6] = [
    (
        "hygon.com/dcunum",
        "hygon.com/dcumem",
        "hygon.com/dcucores",
        "hami.io/dcu-devices-allocated",
        1,
    ),
    (
        "nvidia.com/gpu",
        "nvidia.com/gpumem",
        "nvidia.com/gpucores",
        "hami.io/vgpu-devices-allocated",
        1,
    ),
    (
        "iluvatar.ai/MR-V50-vgpu",
        "iluvatar.ai/MR-V50.vMem",
        "iluvatar.ai/MR-V50.vCore",
        "hami.io/MR-V50-devices-allocated",
        256,
    ),
    (
        "cambricon.com/vmlu",
        "cambricon.com/mlu.smlu.vmemory",
        "cambricon.com/mlu.smlu.vcore",
        "hami.io/cambricon-mlu-devices-allocated",
        256,
    ),
    (
        "metax-tech.com/gpu",
        "",
        "",
        "hami.io/metax-gpu-devices-allocated",
        1,
    ),
    (
        "amd.com/gpu",
        "amd.com/gpumem",
        "amd.com/gpucores",
        "hami.io/amd-devices-allocated",
        1,
    ),
];

/// MiB of each card but MetaX's.
const MEMORY: i64 = 8192;

/// AMD's cards count cores in units of their own.
fn cores_of_card(vendor: usize) -> i64 {
    if vendor == 5 { 30 } else { 100 }
}

/// A node with so many cards of a vendor, each for so many containers.
fn node(vendor: usize, cards: i64, slots: i64) -> VendorNode {
    let (count, memory, cores, ..) = VENDORS[vendor];
    let units = cores_of_card(vendor);
    let line = |at: i64| {
        format!(
            "C{at},{slots},{MEMORY},{units},T{},{},true:",
            at % 2,
            at / 2
        )
    };
    let register: String = (0..cards).map(line).collect();
    let key = ["dcu", "nvidia", "MR-V50", "", "", "amd"][vendor];
    let key = Some(key).filter(|key| !key.is_empty());
    let key = key.map(|stem| format!("hami.io/node-{stem}-register"));
    let annotations: Vec<(&str, &str)> = key
        .iter()
        .map(|key| (key.as_str(), register.as_str()))
        .collect();
    let mut amounts = vec![(count, cards * slots)];
    if vendor == 3 {
        amounts.extend([(cores, 100 * cards), (memory, MEMORY / 256 * cards)]);
    }
    if vendor == 4 {
        amounts = vec![(count, cards)];
    }
    VendorNode::new(&annotations, &amounts)
}

/// Cards, eighths of the memory (0: not named) and cores (none: not named) of a container.
type Ask = (i64, i64, Option<i64>);

/// Which cards the annotations of a pod leave to it.
#[derive(Clone, Copy, Debug, Default)]
struct PodLimits {
    uuids: bool,
    one_numa: bool,
}

fn facts(vendor: usize, asks: &[Ask], limits: PodLimits) -> PodFacts {
    let (count, memory, cores, _, unit) = VENDORS[vendor];
    let container = |(cards, eighths, percent): &Ask| {
        let mut limits = vec![(count, *cards)];
        if *cards == 1 && *eighths > 0 && !memory.is_empty() {
            limits.push((memory, eighths * MEMORY / 8 / unit));
        }
        let is_possible =
            |percent: &i64| *cards == 1 && !cores.is_empty() && (vendor, *percent) != (5, 0);
        if let Some(percent) = percent.filter(is_possible) {
            limits.push((cores, percent));
        }
        limits
    };
    let containers: Vec<Vec<super::Limit>> = asks.iter().map(container).collect();
    let containers: Vec<&[super::Limit]> = containers.iter().map(Vec::as_slice).collect();
    let mut annotations = Vec::new();
    if limits.uuids {
        annotations.push(("hygon.com/nouse-gpuuuid", "C0"));
        annotations.push(("nvidia.com/use-gpuuuid", "C1, C2"));
    }
    if limits.one_numa {
        annotations.push(("nvidia.com/numa-bind", "true"));
    }
    pod(&containers, &annotations)
}

#[derive(Clone, Debug)]
enum Step {
    Place(Vec<Ask>, PodLimits, bool),
    Evict(usize),
    Remove(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let cores = prop::sample::select(vec![None, Some(0), Some(20), Some(50), Some(100)]);
    let ask = (prop::sample::select(vec![0, 1, 1, 1, 2, 3]), 0..9i64, cores);
    let asks = prop::collection::vec(ask, 1..4);
    let step = prop_oneof![
        6 => (asks, any::<(bool, bool)>(), prop::sample::select(vec![false, false, false, true]))
            .prop_map(|(asks, (uuids, one_numa), later)| {
                Step::Place(asks, PodLimits { uuids, one_numa }, later)
            }),
        1 => any::<usize>().prop_map(Step::Evict),
        2 => any::<usize>().prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 1..14)
}

/// Whether there are cards for all containers: tries every choice.
fn fits_naively(
    free: &mut Vec<(CardPart, CardPart)>,
    asks: &[(u32, Vec<Option<CardPart>>)],
    one_numa: bool,
) -> bool {
    let Some(((count, parts), rest)) = asks.split_first() else {
        return true;
    };
    (0..1u32 << free.len())
        .filter(|set| set.count_ones() == *count)
        // Cards 0 and 1 are near NUMA node 0, the others near 1.
        .filter(|set| !one_numa || set & 0b11 == 0 || set & !0b11 == 0)
        .any(|set| {
            let before = free.clone();
            let mut all = true;
            for at in (0..before.len()).filter(|at| set & (1 << at) != 0) {
                let (capacity, used) = &mut free[at];
                let Some(part) = parts[at] else {
                    all = false;
                    continue;
                };
                all &= used.sharers < capacity.sharers
                    && used.memory + part.memory <= capacity.memory
                    && used.cores + part.cores <= capacity.cores
                    && !(capacity.cores == 100 && part.cores == 100 && used.sharers > 0)
                    && !(part.cores == 0 && used.cores == capacity.cores);
                used.sharers += 1;
                used.memory += part.memory;
                used.cores += part.cores;
            }
            let found = all && fits_naively(free, rest, one_numa);
            *free = before;
            found
        })
}

/// What the containers of a pod take, by the rules alone; none of a card the lists forbid.
fn naive_asks(
    vendor: usize,
    asks: &[Ask],
    uuids: bool,
    cards: &NodeCards,
) -> Vec<(u32, Vec<Option<CardPart>>)> {
    let taken = asks.iter().filter(|(count, ..)| *count > 0);
    let of = |(count, eighths, cores): &Ask| {
        let named = *count == 1 && *eighths > 0 && vendor != 4;
        let default = match vendor {
            0 | 3 | 4 | 5 => 100,
            1 if !named || *eighths == 0 => 100,
            _ => 0,
        };
        let whole = *count > 1 && vendor != 1 && vendor != 5;
        let cores =
            match cores.filter(|cores| *count == 1 && vendor != 4 && (vendor, *cores) != (5, 0)) {
                _ if whole => 100,
                Some(cores) => cores,
                None => default,
            };
        let cores = match vendor {
            5 => (cores * cores_of_card(5) / 100).max(1),
            _ => cores,
        };
        let part = |at: usize| {
            let id = &*cards.cards[at].id;
            let allowed = match vendor {
                0 => !uuids || id != "C0",
                1 => !uuids || ["C1", "C2"].contains(&id),
                _ => true,
            };
            let all = CardPart::capacity(cards, at).memory;
            allowed.then_some(CardPart {
                memory: if named { eighths * MEMORY / 8 } else { all },
                sharers: 1,
                cores,
            })
        };
        (*count as u32, (0..cards.cards.len()).map(part).collect())
    };
    taken.map(of).collect()
}

struct Ledger {
    vendor: usize,
    family: Box<dyn Family>,
    cards: NodeCards,
    held: Vec<(u32, Load, Allocations)>,
}

impl Ledger {
    fn place(&mut self, number: u32, (asks, limits, later): (&[Ask], PodLimits, bool)) {
        let pod = facts(self.vendor, asks, limits);
        let Some(request) = self.family.request(&pod, Tags::default()) else {
            assert!(asks.iter().all(|(count, ..)| *count == 0));
            return;
        };
        let asking = asks.iter().filter(|(count, ..)| *count > 0).count();
        // Cambricon's plugin serves one container of a pod.
        assert_eq!(request.is_err(), self.vendor == 3 && asking > 1);
        let Ok(request) = request else {
            return;
        };
        let (view, load) = match later {
            true => (LedgerTime::Future, Load::Pipelined),
            false => (LedgerTime::Now, Load::Held),
        };
        assert_pieces(&*request, &self.cards, view);
        let chosen = request.choose(&self.cards, view);
        assert_eq!(request.fit(&self.cards, view).is_ok(), chosen.is_some());
        assert_eq!(
            request.explain("n1", &self.cards, view).is_none(),
            chosen.is_some()
        );
        let mut free: Vec<_> = (0..self.cards.cards.len())
            .map(|at| {
                (
                    CardPart::capacity(&self.cards, at),
                    CardPart::used(&self.cards, at, view),
                )
            })
            .collect();
        let naive = naive_asks(self.vendor, asks, limits.uuids, &self.cards);
        let one_numa = limits.one_numa && self.vendor == 1;
        assert_eq!(
            fits_naively(&mut free, &naive, one_numa),
            chosen.is_some(),
            "{asks:?}"
        );
        self.summary_agrees(&*request);
        if let Some(allocations) = chosen {
            self.reads_back(&pod, &*request, &allocations);
            self.cards
                .charge(number, Tags::default(), load, &allocations);
            self.held.push((number, load, allocations));
        }
    }

    /// A summary says what a fit says.
    fn summary_agrees(&self, request: &dyn FamilyRequest) {
        let devices = NodeDevices::new(vec![self.cards.clone()]);
        let Some(summaries) = devices.summaries(0) else {
            return;
        };
        if let Some(told) = request.fit_summary(summaries) {
            assert_eq!(told, request.fit(&self.cards, LedgerTime::Now).ok());
        }
    }

    /// What is written says what is charged.
    fn reads_back(&self, pod: &PodFacts, request: &dyn FamilyRequest, allocations: &Allocations) {
        let written = request.annotations("n1", &self.cards, allocations);
        let key = VENDORS[self.vendor].3;
        let records: Pairs = vec![(key.to_owned(), text(&written, key).expect("written"))];
        let decoded = self.family.decode(&records, pod, &self.cards);
        assert_eq!(decoded.problems, Vec::<String>::new());
        assert_eq!(&decoded.allocations, allocations);
    }

    fn check(&self) {
        for at in 0..self.cards.cards.len() {
            let (all, used) = (
                self.cards.capacity(at),
                self.cards.used(at, LedgerTime::Now),
            );
            let within = all
                .iter()
                .zip(used)
                .all(|(all, used)| (0..=*all).contains(used));
            assert!(within, "{used:?} of {all:?}");
            assert!(self.cards.is_balanced(at));
        }
    }
}

proptest! {
    #[test]
    fn ledgers_hold_their_laws_through_any_sequence(
        vendor in 0..VENDORS.len(),
        policy in prop::sample::select(Policy::ALL.to_vec()),
        (cards, slots) in (1..5i64, 1..4i64),
        steps in steps(),
    ) {
        let family = family(policy);
        let cards = node(vendor, cards, slots).cards(&*family);
        prop_assert!(cards.problems.is_empty(), "{:?}", cards.problems);
        let idle = cards.clone();
        let mut ledger = Ledger { vendor, family, cards, held: Vec::new() };
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Place(asks, limits, later) => {
                    ledger.place(number as u32, (asks, *limits, *later));
                }
                Step::Evict(at) if !ledger.held.is_empty() => {
                    let at = at % ledger.held.len();
                    let (number, load, allocations) = ledger.held[at].clone();
                    if load == Load::Held {
                        ledger.cards.discharge(number, load, &allocations);
                        let load = Load::Releasing;
                        ledger.cards.charge(number, Tags::default(), load, &allocations);
                        ledger.held[at].1 = load;
                    }
                }
                Step::Remove(at) if !ledger.held.is_empty() => {
                    let (number, load, allocations) = ledger.held.remove(at % ledger.held.len());
                    ledger.cards.discharge(number, load, &allocations);
                }
                _ => {}
            }
            ledger.check();
        }
        while let Some((number, load, allocations)) = ledger.held.pop() {
            ledger.cards.discharge(number, load, &allocations);
        }
        prop_assert_eq!(&ledger.cards, &idle);
    }

    #[test]
    fn decoders_take_any_text(
        text in "[\\[\\]{}\",:;a-zA-Z0-9 .-]{0,80}",
        json in "\\[(\\{\"(id|uuid|count|health)\":(\"a\"|1|true|null)\\},?){0,3}\\]?",
    ) {
        let family = family(Policy::None);
        let asks = facts(0, &[(1, 2, None)], PodLimits::default());
        for text in [text, json] {
            for key in [
                "hami.io/node-dcu-register",
                "hami.io/node-nvidia-register",
                "hami.io/node-va-register",
                "metax-tech.com/node-gpu-devices",
            ] {
                let amounts = [("hygon.com/dcunum", 1), ("nvidia.com/gpu", 1), ("metax-tech.com/sgpu", 1)];
                let cards = VendorNode::new(&[(key, &text)], &amounts).cards(&*family);
                prop_assert!(cards.cards.iter().all(|card| !card.id.is_empty()));
            }
            let cards = node(0, 2, 2).cards(&*family);
            let records = vec![("hami.io/dcu-devices-allocated".to_owned(), text)];
            let decoded = family.decode(&records, &asks, &cards);
            prop_assert!(!decoded.allocations.is_empty(), "what it asks is charged somewhere");
        }
    }
}

/// Two requests of the same pod are the same.
#[test]
fn a_choice_depends_on_nothing_else() {
    let family = family(Policy::Binpack);
    let cards = node(1, 4, 3).cards(&*family);
    let asks = facts(1, &[(2, 3, Some(20)), (1, 1, None)], PodLimits::default());
    let choose = || -> Arc<str> {
        let request = family
            .request(&asks, Tags::default())
            .expect("asks")
            .expect("can be");
        let found = request.choose(&cards, LedgerTime::Now).expect("fits");
        found
            .iter()
            .map(|one| one.id.to_string())
            .collect::<String>()
            .into()
    };
    assert_eq!(choose(), choose());
}
