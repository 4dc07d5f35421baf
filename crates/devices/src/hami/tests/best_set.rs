//! The best sets of linked cards, beside a search that tries all of them (spec/04 §23.11).

use proptest::prelude::*;

use super::{VendorNode, family, pod, settings};
use crate::binding::BindProtocol;
use crate::config::DeviceConfig;
use crate::hami::best_set::{STEPS_OF_POD, best_set};
use crate::hami::limits::CardLimits;
use crate::hami::own::{HamiRules, PodOnDevices};
use crate::hami::place::TriesLeft;
use crate::hami::vendor_cards::VendorCards;
use crate::hami::{kinds, needs, protocol};
use crate::ledger::LedgerTime;
use crate::settings::Policy;

/// Points of each two of so many cards, the same both ways.
type Points = Vec<Vec<u32>>;

/// The set by the rule alone: all sets, the one with the most points, of equal ones the one with the
/// earliest cards.
fn by_rule(points: &Points, count: usize) -> u64 {
    let cards = points.len();
    let places = |set: u64| (0..cards).filter(move |at| set >> at & 1 == 1);
    if count == 1 {
        let of = |at: &usize| points[*at].iter().map(|one| u64::from(*one)).sum::<u64>();
        let fewest = (0..cards).min_by_key(of).expect("a card");
        return 1 << fewest;
    }
    let mut best: Option<(u64, Vec<usize>, u64)> = None;
    for set in (0..1u64 << cards).filter(|set| set.count_ones() as usize == count) {
        let own: Vec<usize> = places(set).collect();
        let mut sum = 0;
        for (at, one) in own.iter().enumerate() {
            for other in &own[at + 1..] {
                sum += u64::from(points[*one][*other]);
            }
        }
        let is_better = best
            .as_ref()
            .is_none_or(|(most, first, _)| sum > *most || sum == *most && own < *first);
        if is_better {
            best = Some((sum, own, set));
        }
    }
    best.expect("a set").2
}

/// The set that is found, and the steps it took.
fn found(points: &Points, count: usize) -> (u64, u32) {
    let mut steps = STEPS_OF_POD;
    let between = |one: usize, other: usize| points[one][other];
    let set = best_set(points.len(), count, &mut steps, between);
    (set, STEPS_OF_POD - steps)
}

fn table(cards: usize, between: impl Fn(usize, usize) -> u32) -> Points {
    let of = |one: usize, other: usize| match one == other {
        true => 0,
        false => between(one.min(other), one.max(other)),
    };
    let row = |one| (0..cards).map(|other| of(one, other)).collect();
    (0..cards).map(row).collect()
}

/// Random points of up to 16 cards: of few values, as hardware has them, or of many.
fn random() -> impl Strategy<Value = (Points, usize)> {
    let values = prop_oneof![
        Just(vec![10]),
        Just(vec![10, 20, 50]),
        Just(vec![0, 110, 220, 430]),
        Just((0..1000).collect()),
        Just(vec![0, i32::MAX as u32]),
    ];
    (2..=16usize, values).prop_flat_map(|(cards, values)| {
        let pairs = prop::collection::vec(prop::sample::select(values), cards * cards);
        (pairs, 1..=cards).prop_map(move |(pairs, count)| {
            let points = table(cards, |one, other| pairs[one * cards + other]);
            (points, count)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_set_is_the_best_of_all((points, count) in random()) {
        prop_assert_eq!(found(&points, count).0, by_rule(&points, count));
    }
}

/// How the cards of machines are linked: pairs, a cube of eight, two sockets, all alike.
fn machines() -> Vec<(&'static str, Points)> {
    let cube: [&[usize]; 8] = [
        &[1, 2, 3, 4],
        &[0, 2, 3, 5],
        &[0, 1, 3, 6],
        &[0, 1, 2, 7],
        &[0, 5, 6, 7],
        &[1, 4, 6, 7],
        &[2, 4, 5, 7],
        &[3, 4, 5, 6],
    ];
    let two = |a: usize, b: usize| u32::from(a % 4 + b % 4 == 3 || b == a + 4);
    vec![
        (
            "cube",
            table(8, |a, b| {
                if cube[a].contains(&b) {
                    110 + 100 * two(a, b)
                } else {
                    10
                }
            }),
        ),
        (
            "pairs",
            table(16, |a, b| {
                if a / 2 == b / 2 {
                    450
                } else {
                    10 + 10 * u32::from(a / 8 == b / 8)
                }
            }),
        ),
        (
            "sockets",
            table(16, |a, b| if a / 8 == b / 8 { 20 } else { 10 }),
        ),
        (
            "switches",
            table(16, |a, b| {
                [10, 20, 30, 50][usize::from(a / 8 == b / 8)
                    + usize::from(a / 4 == b / 4)
                    + usize::from(a / 2 == b / 2)]
            }),
        ),
        ("alike", table(16, |_, _| 1850)),
    ]
}

#[test]
fn on_machines_as_there_are_the_best_set_takes_few_steps() {
    for (name, points) in machines() {
        for count in 1..=points.len() {
            // With cards in use too, which breaks the symmetry.
            for gone in [None, Some(0), Some(5)] {
                let left: Vec<usize> = (0..points.len()).filter(|at| Some(*at) != gone).collect();
                if count > left.len() {
                    continue;
                }
                let points = table(left.len(), |a, b| points[left[a]][left[b]]);
                let (set, steps) = found(&points, count);
                assert_eq!(
                    set,
                    by_rule(&points, count),
                    "{name} {count} without {gone:?}"
                );
                assert!(steps <= 600, "{name} {count} without {gone:?}: {steps}");
            }
        }
    }
}

/// Numbers that look like chance.
fn noise(one: usize, other: usize) -> u32 {
    let mixed = (one * 64 + other + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as u32 % 1000
}

#[test]
fn steps_are_bounded_however_many_cards_there_are_and_however_they_are_linked() {
    for cards in [8, 16] {
        let points = table(cards, noise);
        for count in 1..=cards {
            let (set, steps) = found(&points, count);
            assert_eq!(set, by_rule(&points, count), "{count} of {cards}");
            assert!(steps <= 12_869, "{count} of {cards}: {steps}");
        }
    }
    for cards in [17, 33, 64] {
        let points = table(cards, noise);
        for count in [2, cards / 2, cards - 1, cards] {
            let (set, steps) = found(&points, count);
            assert_eq!(set.count_ones() as usize, count, "{count} of {cards}");
            assert!(steps <= 16_384, "{count} of {cards}: {steps}");
        }
    }
}

#[test]
fn without_steps_the_first_cards_are_taken() {
    let points = table(16, noise);
    let mut steps = 0;
    let set = best_set(16, 5, &mut steps, |one, other| points[one][other]);
    assert_eq!(set, 0b11111);
    assert_eq!(steps, 0);
}

/// A node of so many GPUs of 1000 MiB, linked by chance.
pub fn linked_node(cards: usize) -> VendorNode {
    let (mut register, mut rows) = (String::new(), Vec::new());
    for one in 0..cards {
        register += &format!("G{one},10,1000,100,A,0,true:");
        let others = (0..cards).filter(|other| *other != one);
        let points = |other: usize| noise(one.min(other), one.max(other));
        let others: Vec<String> = others
            .map(|other| format!(r#""G{other}":{}"#, points(other)))
            .collect();
        let others = others.join(",");
        rows.push(format!(r#"{{"uuid":"G{one}","score":{{{others}}}}}"#));
    }
    let links = format!("[{}]", rows.join(","));
    let annotations = [
        ("hami.io/node-nvidia-register", &*register),
        ("hami.io/node-nvidia-score", &*links),
    ];
    VendorNode::new(&annotations, &[("nvidia.com/gpu", 640)])
}

#[test]
fn containers_of_a_pod_share_their_steps() {
    let settings = settings(Policy::None);
    let rules = HamiRules {
        kinds: kinds(&settings, &DeviceConfig::default()),
        own: VendorCards,
        policy: Policy::None,
        protocol: BindProtocol::of(&settings, protocol::LOCK),
        locks: false,
    };
    let cards = linked_node(60).cards(&*family(Policy::None));
    assert_eq!(cards.problems, Vec::<String>::new());
    let left = |asked: &[[(&str, i64); 2]], fits: bool| {
        let asked: Vec<&[(&str, i64)]> = asked.iter().map(|one| &one[..]).collect();
        let pod = pod(
            &asked,
            &[("hami.io/gpu-scheduler-policy", "topology-aware")],
        );
        let needs = needs::needs(&pod, &rules).expect("can be");
        let on_node = PodOnDevices {
            rules: &rules,
            limits: &CardLimits::of(&pod, &rules.kinds, Policy::None).expect("can be"),
            cards: &cards,
            view: LedgerTime::Now,
        };
        let mut left = TriesLeft::default();
        assert_eq!(on_node.choose(&needs, &mut left).is_some(), fits);
        (left.links, left.cards)
    };
    let part = [("nvidia.com/gpu", 10), ("nvidia.com/gpumem", 100)];
    let (links, cards) = left(&[part; 3], true);
    assert!(links > 0 && cards > 0, "{links} {cards}");
    // The first four have used up what there is; the last two take cards in their order.
    let (links, cards) = left(&[part; 6], true);
    assert!(links == 0 && cards > 0, "{links} {cards}");
    // Each alone would fit. That they do not together is found in as many tries as without links.
    let many = [("nvidia.com/gpu", 15), ("nvidia.com/gpumem", 600)];
    let whole = [("nvidia.com/gpu", 16), ("nvidia.com/gpumem", 1000)];
    let (_, cards) = left(&[many, many, many, whole], false);
    assert_eq!(cards, 0);
}
