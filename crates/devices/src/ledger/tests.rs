//! The ledger, with cards no family here has: chips with AI cores, AI CPUs and units of a decoder.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::facts::NodeFacts;
use crate::{Devices, FAMILIES, NodeDevices};

const fn physical(name: &'static str) -> Dimension {
    Dimension {
        name,
        is_physical: true,
    }
}

const CHIP: &[Dimension] = &[
    physical("aicore"),
    physical("aicpu"),
    physical("vpc"),
    physical("memory"),
    Dimension {
        name: "sharers",
        is_physical: false,
    },
];

const CAPACITY: [i64; 5] = [8, 7, 12, 21_527, UNLIMITED];

fn chips(count: u32) -> NodeCards {
    let mut cards = NodeCards::new(CHIP);
    for index in 0..count {
        let card = Card {
            index,
            id: Arc::from(format!("chip-{index}")),
            ..Card::default()
        };
        cards.add(card, &CAPACITY);
    }
    cards
}

fn allocation(card: u16, part: [i64; 5]) -> Allocation {
    Allocation {
        container: 0,
        card: Some(card),
        id: Arc::from(format!("chip-{card}")),
        partition: None,
        asked: part.into_iter().collect(),
        charged: part.into_iter().collect(),
        share: FamilyCode::default(),
        certain: true,
        suspect: false,
    }
}

#[test]
fn every_dimension_is_counted_by_itself() {
    let mut cards = chips(2);
    let template = [4, 3, 6, 12_288, 1];
    cards.charge(7, Tags::default(), Load::Held, &[allocation(1, template)]);
    assert_eq!(cards.used(1, LedgerTime::Now), template);
    assert_eq!(cards.used(0, LedgerTime::Now), [0; 5]);
    assert_eq!(cards.dimension("vpc"), Some(2));
    assert!(cards.is_in_use(1) && !cards.is_in_use(0));
    assert!(cards.is_balanced(0) && cards.is_balanced(1));
}

#[test]
fn of_alike_parts_of_a_card_the_partition_goes_that_is_given_back() {
    let mut cards = chips(1);
    let part = |position| Allocation {
        partition: Some(Partition { group: 1, position }),
        ..allocation(0, [1, 1, 1, 1, 1])
    };
    let (first, second) = ([part(0), part(1)], [part(2)]);
    cards.charge(7, Tags::default(), Load::Held, &first);
    cards.charge(8, Tags::default(), Load::Held, &second);
    cards.charge(7, Tags::default(), Load::Held, &second);
    cards.discharge(7, Load::Held, &first);
    let left = cards.entries(LedgerTime::Now);
    let left: Vec<_> = left.map(|entry| (entry.pod, entry.partition)).collect();
    let partition = second[0].partition;
    assert_eq!(left.len(), 2);
    assert!(left.contains(&(7, partition)) && left.contains(&(8, partition)));
    assert!(cards.is_balanced(0));
}

#[test]
fn a_card_that_shrank_is_named_with_what_it_lacks() {
    let mut cards = chips(1);
    let whole = allocation(0, [8, 7, 12, 21_527, 1]);
    cards.charge(1, Tags::default(), Load::Held, std::slice::from_ref(&whole));
    assert_eq!(cards.lacks(&whole), None);
    let more = allocation(0, [0, 1, 0, 0, 1]);
    cards.charge(2, Tags::default(), Load::Held, std::slice::from_ref(&more));
    let lacks = cards.lacks(&more).expect("too few CPUs");
    assert_eq!(lacks, "card chip-0 has less aicpu than it had");
}

#[test]
fn cards_that_are_counted_in_other_ways_have_no_summary() {
    let plain = Card {
        is_plain: true,
        ..Card::default()
    };
    let mut cards = NodeCards::new(CHIP);
    cards.add(plain, &CAPACITY);
    assert_eq!(CardSummary::of(&cards, 0), None);
    assert_eq!(NodeDevices::new(vec![cards]).summaries(0), None);
}

#[test]
fn families_make_cards_of_the_dimensions_they_name() {
    let node = NodeFacts {
        name: "n",
        labels: &[],
        annotations: &[],
        allocatable: &[],
        capacity: &[],
        reports: &[],
    };
    for spec in FAMILIES {
        assert!(spec.dimensions.len() <= MAX_DIMENSIONS, "{}", spec.name);
        let devices = Devices::default();
        let family = (spec.make)(devices.settings(), devices.config());
        assert_eq!(family.cards(&node).dimensions(), spec.dimensions);
    }
}

const PLAIN: &[Dimension] = &[physical("memory"), physical("sharers"), physical("cores")];

/// More memory than a summary tells.
const BIG: i64 = 3 << 30;

/// A node of one family with plain cards.
fn plain_cards(count: u32) -> NodeDevices {
    let mut cards = NodeCards::new(PLAIN);
    for index in 0..count {
        let card = Card {
            index,
            id: Arc::from(format!("chip-{index}")),
            is_plain: true,
            ..Card::default()
        };
        cards.add(card, &[16_384, 10, 100]);
    }
    NodeDevices::new(vec![cards])
}

fn load() -> impl Strategy<Value = Load> {
    prop::sample::select(vec![Load::Held, Load::Releasing, Load::Pipelined])
}

/// An allocation of one of three chips, or of one the node does not have.
fn allocation_or_stray(card: u16, part: [i64; 5]) -> Allocation {
    Allocation {
        card: (card < 3).then_some(card),
        ..allocation(card, part)
    }
}

proptest! {
    #[test]
    fn giving_back_is_the_exact_inverse_in_any_order(
        pods in prop::collection::vec((load(), 0..4u16, prop::array::uniform5(0..100i64)), 1..12),
        order in any::<u64>(),
    ) {
        let idle = chips(3);
        let mut cards = idle.clone();
        for (pod, (load, card, part)) in pods.iter().enumerate() {
            let own = allocation_or_stray(*card, *part);
            cards.charge(pod as u32, Tags::default(), *load, &[own]);
            prop_assert!((0..3).all(|card| cards.is_balanced(card)));
        }
        let mut left: Vec<usize> = (0..pods.len()).collect();
        let mut seed = order;
        while !left.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pod = left.swap_remove((seed >> 33) as usize % left.len());
            let (load, card, part) = &pods[pod];
            cards.discharge(pod as u32, *load, &[allocation_or_stray(*card, *part)]);
            prop_assert!((0..3).all(|card| cards.is_balanced(card)));
        }
        prop_assert_eq!(cards, idle);
    }

    #[test]
    fn summaries_follow_what_is_charged_and_discharged(
        pods in prop::collection::vec(
            (load(), prop::collection::vec((0..5u16, 0..100i64), 0..3), any::<bool>()),
            1..12,
        ),
    ) {
        let idle = plain_cards(4);
        let mut devices = idle.clone();
        let mut charged: Vec<(u32, Load, Allocations)> = Vec::new();
        for (pod, (load, parts, goes)) in pods.into_iter().enumerate() {
            let part = |(card, amount): (u16, i64)| {
                // Sometimes more than a summary tells: then there is none until it is given back.
                let memory = if amount > 90 { BIG } else { amount };
                Allocation {
                    charged: [memory, 1, amount].into_iter().collect(),
                    ..allocation(card, [0; 5])
                }
            };
            let mut own: Allocations = parts.into_iter().map(part).collect();
            devices.charge(0, pod as u32, Tags::default(), load, &mut own);
            charged.push((pod as u32, load, own));
            if goes {
                let (pod, load, own) = charged.swap_remove(0);
                devices.discharge(0, pod, load, &own);
            }
            let cards = devices.family(0).expect("cards");
            let all: Option<Vec<CardSummary>> =
                (0..4).map(|at| CardSummary::of(cards, at)).collect();
            prop_assert_eq!(devices.summaries(0), all.as_deref());
        }
        for (pod, load, own) in charged {
            devices.discharge(0, pod, load, &own);
        }
        prop_assert_eq!(devices, idle);
    }
}
