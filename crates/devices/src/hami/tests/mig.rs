//! Cards in MIG mode (spec/04 §23.8).

use proptest::prelude::*;

use super::{VendorNode, family, place, pod, request, text};
use crate::facts::{Pairs, PodFacts};
use crate::family::Family;
use crate::ledger::{Allocations, LedgerTime, Load, NodeCards, Partition, Tags};
use crate::part::CardPart;
use crate::request::FamilyRequest;
use crate::settings::Policy;

const LIST: &str = "hami.io/vgpu-devices-allocated";
const INSTANCES: &str = "hami.io/vgpu-mig-allocations";

/// The profiles of an A100 of 40 GB, as its driver tells them, in no order.
const PROFILES: &str = r#"[
    {"name":"7g.40gb","memoryMB":40448,"core":100,"sliceCount":7,"placements":[{"start":0,"size":8}]},
    {"name":"1g.5gb","memoryMB":4864,"core":14,"sliceCount":1,"placements":[{"start":0,"size":1},
        {"start":1,"size":1},{"start":2,"size":1},{"start":3,"size":1},{"start":4,"size":1},
        {"start":5,"size":1},{"start":6,"size":1}]},
    {"name":"3g.20gb","memoryMB":20096,"core":42,"sliceCount":3,"placements":[{"start":0,"size":4},
        {"start":4,"size":4}]},
    {"name":"2g.10gb","memoryMB":9984,"core":28,"sliceCount":2,"placements":[{"start":0,"size":2},
        {"start":2,"size":2},{"start":4,"size":2}]}]"#;

/// A node with so many such cards.
fn split(cards: usize) -> VendorNode {
    let card = |at: usize| {
        format!(
            r#"{{"id":"M{at}","index":{at},"count":7,"devmem":40960,"devcore":100,
            "type":"NVIDIA A100","mode":"mig","health":true,"migProfiles":{PROFILES}}}"#
        )
    };
    let cards: Vec<String> = (0..cards).map(card).collect();
    let register = format!("[{}]", cards.join(","));
    VendorNode::new(
        &[("hami.io/node-nvidia-register", &register)],
        &[("nvidia.com/gpu", 14)],
    )
}

/// A pod of containers that ask so many instances, and MiB of each; 0 for all.
fn asks(containers: &[(i64, i64)]) -> PodFacts {
    let limits = |(count, memory): &(i64, i64)| {
        let mut limits = vec![("nvidia.com/gpu", *count)];
        limits.extend((*memory > 0).then_some(("nvidia.com/gpumem", *memory)));
        limits
    };
    let containers: Vec<Vec<super::Limit>> = containers.iter().map(limits).collect();
    let containers: Vec<&[super::Limit]> = containers.iter().map(Vec::as_slice).collect();
    pod(&containers, &[])
}

/// Profiles and where they begin, of what a pod got.
fn written(
    family: &dyn Family,
    cards: &mut NodeCards,
    number: u32,
    containers: &[(i64, i64)],
) -> Result<(String, String), String> {
    let written = place(family, cards, (number, &asks(containers)))?;
    let list = text(&written, LIST).expect("written");
    let instances = text(&written, INSTANCES).expect("written");
    let entries: serde_json::Value = serde_json::from_str(&instances).expect("JSON");
    let entry = |one: &serde_json::Value| {
        format!(
            "{}.{} {} {}@{}+{}",
            one["containerIndex"],
            one["deviceIndex"],
            one["gpuUUID"].as_str().expect("an id"),
            one["profile"].as_str().expect("a name"),
            one["placement"]["start"],
            one["placement"]["size"]
        )
    };
    let entries = entries.as_array().expect("a list").iter().map(entry);
    Ok((list, entries.collect::<Vec<_>>().join(", ")))
}

#[test]
fn the_smallest_profile_with_a_free_place_is_taken_and_written() {
    let family = family(Policy::Binpack);
    let mut cards = split(1).cards(&*family);
    for (number, (asked, list, instances)) in [
        // 1g from the end, which is slice 6.
        ((1, 3000), "M0,NVIDIA,3000,0:;", "0.0 M0 1g.5gb@6+1"),
        // 2g from the beginning.
        ((1, 5000), "M0,NVIDIA,5000,0:;", "0.0 M0 2g.10gb@0+2"),
        // Two of one card for one container.
        (
            (2, 4000),
            "M0,NVIDIA,4000,0:M0,NVIDIA,4000,0:;",
            "0.0 M0 1g.5gb@5+1, 0.1 M0 1g.5gb@4+1",
        ),
        // 3g has no place any more: neither 0 nor 4 is free.
        ((1, 9000), "M0,NVIDIA,9000,0:;", "0.0 M0 2g.10gb@2+2"),
    ]
    .into_iter()
    .enumerate()
    {
        let found = written(&*family, &mut cards, number as u32, &[asked]);
        assert_eq!(found, Ok((list.to_owned(), instances.to_owned())));
    }
    // Charged is what the profiles have.
    assert_eq!(
        CardPart::used(&cards, 0, LedgerTime::Now).row(),
        [3 * 4864 + 2 * 9984, 5, 3 * 14 + 2 * 28]
    );
    let request = request(&*family, &asks(&[(1, 3000)]));
    let miss = request
        .explain("n1", &cards, LedgerTime::Now)
        .expect("full");
    assert_eq!(
        miss.text,
        "n1: not enough nvidia.com/gpu: M0: no free place for an instance as large"
    );
}

#[test]
fn who_asks_all_gets_the_largest_profile_and_nobody_more_than_that() {
    let family = family(Policy::None);
    let all = |asked| {
        let mut cards = split(1).cards(&*family);
        written(&*family, &mut cards, 1, &[asked]).map(|(_, instances)| instances)
    };
    assert_eq!(all((1, 0)).as_deref(), Ok("0.0 M0 7g.40gb@0+8"));
    assert_eq!(all((1, 20_097)).as_deref(), Ok("0.0 M0 7g.40gb@0+8"));
    assert_eq!(
        all((2, 10_000)).as_deref(),
        Ok("0.0 M0 3g.20gb@4+4, 0.1 M0 3g.20gb@0+4")
    );
    let too_large = Err("not enough nvidia.com/gpu (more memory than a card has)".to_owned());
    assert_eq!(all((1, 40_449)), too_large);
    assert_eq!(
        all((3, 10_000)),
        Err("not enough nvidia.com/gpu (too few cards)".to_owned())
    );
}

#[test]
fn an_instance_is_of_the_profile_it_was_chosen_for_though_others_are_as_large() {
    let family = family(Policy::None);
    let profile = |name: &str, cores: i64, places: &str| {
        format!(
            r#"{{"name":"{name}","memoryMB":4864,"core":{cores},"sliceCount":2,"placements":[{places}]}}"#
        )
    };
    let (first, both) = (
        r#"{"start":0,"size":2}"#,
        r#"{"start":0,"size":2},{"start":2,"size":2}"#,
    );
    let profiles = [
        profile("2g.a", 14, first),
        profile("2g.b", 28, both),
        profile("2g.b+me", 28, both),
    ];
    let register = format!(
        r#"[{{"id":"M0","count":7,"devmem":40960,"devcore":100,"mode":"mig","health":true,
            "migProfiles":[{}]}}]"#,
        profiles.join(",")
    );
    let node = VendorNode::new(
        &[("hami.io/node-nvidia-register", &register)],
        &[("nvidia.com/gpu", 7)],
    );
    let mut cards = node.cards(&*family);
    for (number, (memory, expected)) in [(0, "0.0 M0 2g.b@0+2"), (4000, "0.0 M0 2g.b@2+2")]
        .into_iter()
        .enumerate()
    {
        let found = written(&*family, &mut cards, number as u32, &[(1, memory)]);
        assert_eq!(
            found.map(|(_, instances)| instances).as_deref(),
            Ok(expected)
        );
    }
    cards = node.cards(&*family);
    let found = written(&*family, &mut cards, 1, &[(2, 4000)]);
    let (_, instances) = found.expect("fits");
    assert_eq!(instances, "0.0 M0 2g.a@0+2, 0.1 M0 2g.b@2+2");
    assert_eq!(
        CardPart::used(&cards, 0, LedgerTime::Now).row(),
        [2 * 4864, 2, 14 + 28]
    );
}

#[test]
fn a_card_without_profiles_or_with_broken_ones_is_given_to_nobody() {
    let family = family(Policy::None);
    for (profiles, cards, told) in [
        ("", 1, ""),
        (r#","migProfiles":[]"#, 1, ""),
        (r#","migProfiles":3"#, 0, "migProfiles is no list"),
        (
            r#","migProfiles":[{}]"#,
            0,
            "migProfiles[0]: name \"\" is none",
        ),
        (
            r#","migProfiles":[{"name":"1g","memoryMB":0}]"#,
            0,
            "memoryMB is no number",
        ),
        (
            r#","migProfiles":[{"name":"1g","memoryMB":1,"placements":[{"start":0}]}]"#,
            0,
            "size is no number",
        ),
        (
            r#","migProfiles":[{"name":"1g","memoryMB":1,"placements":[{"start":9999,"size":1}]}]"#,
            0,
            "start of a placement is above 1024",
        ),
    ] {
        let json = format!(
            r#"[{{"id":"M","count":7,"devmem":9,"devcore":100,"mode":"mig","health":true{profiles}}}]"#
        );
        let node = VendorNode::new(
            &[("hami.io/node-nvidia-register", &json)],
            &[("nvidia.com/gpu", 7)],
        );
        let found = node.cards(&*family);
        assert_eq!(found.cards.len(), cards, "{profiles}");
        let problems = found.problems.join("; ");
        assert!(problems.contains(told), "{problems}");
        for card in &found.cards {
            let why = card.unusable.as_deref().unwrap_or_default();
            assert!(why.contains("without migProfiles"), "{why}");
        }
    }
}

#[test]
fn instances_that_cannot_be_read_close_their_card() {
    let family = family(Policy::None);
    let cards = split(2).cards(&*family);
    let pod = asks(&[(1, 3000)]);
    let good = r#"[{"containerIndex":0,"deviceIndex":0,"gpuUUID":"M1","profile":"1g.5gb",
        "placement":{"start":6,"size":1},"migUUID":"MIG-1","gpuInstanceID":3,"computeInstanceID":0}]"#;
    let known = Partition {
        group: 1,
        position: 6,
    };
    for (instances, partition, memory, problems) in [
        (good, known, 4864, 0),
        // A profile nobody knows still has its place.
        (&good.replace("1g.5gb", "1g.9gb"), known, 3000, 1),
        (&good.replace("M1", "M0"), Partition::UNKNOWN, 3000, 1),
        (
            &good.replace("\"size\":1", "\"size\":0"),
            Partition::UNKNOWN,
            3000,
            2,
        ),
        ("[]", Partition::UNKNOWN, 3000, 1),
        ("{", Partition::UNKNOWN, 3000, 2),
    ] {
        let records: Pairs = vec![
            (LIST.to_owned(), "M1,NVIDIA,3000,0:;".to_owned()),
            (INSTANCES.to_owned(), instances.to_owned()),
        ];
        let decoded = family.decode(&records, &pod, &cards);
        assert_eq!(decoded.problems.len(), problems, "{:?}", decoded.problems);
        let one = &decoded.allocations[0];
        assert_eq!(
            (one.card, one.partition),
            (Some(1), Some(partition)),
            "{instances}"
        );
        assert_eq!(CardPart::of(&one.charged).memory, memory, "{instances}");
        let mut cards = cards.clone();
        cards.charge(1, Tags::default(), Load::Held, &decoded.allocations);
        let small = request(&*family, &asks(&[(1, 3000)]));
        let next = small.choose(&cards, LedgerTime::Now).expect("fits");
        let card = if partition == known { 1 } else { 0 };
        assert_eq!(next[0].card, Some(card), "{instances}");
    }
}

/// An instance: card, first slice, slices.
type Place = (usize, u16, u16);

/// The instance a card gives by the rules alone: profile and place.
fn naive_instance(card: usize, memory: i64, live: &[Place]) -> Option<(i64, Place)> {
    let ones: Vec<u16> = (0..7).rev().collect();
    let profiles: [(i64, u16, &[u16]); 4] = [
        (4864, 1, &ones),
        (9984, 2, &[0, 2, 4]),
        (20_096, 4, &[4, 0]),
        (40_448, 8, &[0]),
    ];
    let is_free = |start: u16, size: u16| {
        let mut others = live.iter().filter(|(other, ..)| *other == card);
        others.all(|(_, from, long)| start + size <= *from || from + long <= start)
    };
    let enough = |least: i64| match memory {
        0 => least == 40_448,
        memory => least >= memory,
    };
    let large = profiles.iter().filter(|(least, ..)| enough(*least));
    large.clone().find_map(|(least, size, starts)| {
        let start = starts.iter().find(|start| is_free(**start, *size))?;
        Some((*least, (card, *start, *size)))
    })
}

/// Whether there are instances for all of these, each container's in ascending order of cards.
fn naive_fits(cards: usize, asks: &[(i64, i64)], first: usize, live: &mut Vec<Place>) -> bool {
    let Some(((count, memory), rest)) = asks.split_first() else {
        return true;
    };
    if *count == 0 {
        return naive_fits(cards, rest, 0, live);
    }
    (first..cards).any(|card| {
        let Some((_, place)) = naive_instance(card, *memory, live) else {
            return false;
        };
        live.push(place);
        let mut left = vec![(count - 1, *memory)];
        left.extend(rest);
        let found = naive_fits(cards, &left, card, live);
        live.pop();
        found
    })
}

struct SplitLedger {
    family: Box<dyn Family>,
    cards: NodeCards,
    held: Vec<(u32, Allocations)>,
}

impl SplitLedger {
    fn live(&self) -> Vec<Place> {
        let all = self.held.iter().flat_map(|(_, allocations)| allocations);
        all.map(|one| {
            let place = one.partition.expect("an instance");
            let card = usize::from(one.card.expect("a card"));
            (card, place.position, place.group)
        })
        .collect()
    }

    fn place(&mut self, number: u32, asked: &[(i64, i64)]) {
        let pod = asks(asked);
        let Some(request) = self.family.request(&pod, Tags::default()) else {
            return;
        };
        let request = request.expect("can be");
        let chosen = request.choose(&self.cards, LedgerTime::Now);
        assert_eq!(
            request.fit(&self.cards, LedgerTime::Now).is_ok(),
            chosen.is_some()
        );
        // A walk of cards in the order of a policy finds no fewer than one in ascending order only where
        // one container asks: what a later one asks may depend on the order within a card.
        if let [one] = asked {
            let mut live = self.live();
            let fits = naive_fits(self.cards.cards.len(), &[*one], 0, &mut live);
            assert_eq!(fits, chosen.is_some(), "{asked:?} beside {live:?}");
        }
        if let Some(allocations) = chosen {
            self.reads_back(&pod, &*request, &allocations);
            self.cards
                .charge(number, Tags::default(), Load::Held, &allocations);
            self.held.push((number, allocations));
        }
    }

    fn reads_back(&self, pod: &PodFacts, request: &dyn FamilyRequest, allocations: &Allocations) {
        let written = request.annotations("n1", &self.cards, allocations);
        let record = |key: &str| Some((key.to_owned(), text(&written, key)?));
        let records: Pairs = [LIST, INSTANCES].into_iter().filter_map(record).collect();
        let decoded = self.family.decode(&records, pod, &self.cards);
        assert_eq!(decoded.problems, Vec::<String>::new());
        assert_eq!(&decoded.allocations, allocations);
    }

    /// No two instances overlap, and no card gives more than it has.
    fn check(&self) {
        let live = self.live();
        for (at, (card, start, size)) in live.iter().enumerate() {
            for (other, from, long) in &live[at + 1..] {
                let apart = start + size <= *from || from + long <= *start;
                assert!(card != other || apart, "{live:?}");
            }
        }
        for at in 0..self.cards.cards.len() {
            let used = self.cards.used(at, LedgerTime::Now);
            let within = self.cards.capacity(at).iter().zip(used);
            assert!(within.clone().all(|(all, used)| (0..=*all).contains(used)));
            assert!(self.cards.is_balanced(at));
        }
    }
}

proptest! {
    #[test]
    fn instances_hold_their_laws_through_any_sequence(
        policy in prop::sample::select(Policy::ALL.to_vec()),
        cards in 1..3usize,
        steps in prop::collection::vec(
            prop_oneof![
                4 => prop::collection::vec(
                    (
                        prop::sample::select(vec![0, 1, 1, 2, 3]),
                        prop::sample::select(vec![0, 3000, 4864, 5000, 9984, 15_000, 30_000, 41_000]),
                    ),
                    1..4,
                ).prop_map(Ok),
                2 => any::<usize>().prop_map(Err),
            ],
            1..16,
        ),
    ) {
        let family = family(policy);
        let cards = split(cards).cards(&*family);
        prop_assert!(cards.problems.is_empty(), "{:?}", cards.problems);
        let idle = cards.clone();
        let mut ledger = SplitLedger { family, cards, held: Vec::new() };
        for (number, step) in steps.iter().enumerate() {
            match step {
                Ok(asked) => ledger.place(number as u32, asked),
                Err(at) if !ledger.held.is_empty() => {
                    let (number, allocations) = ledger.held.remove(at % ledger.held.len());
                    ledger.cards.discharge(number, Load::Held, &allocations);
                }
                Err(_) => {}
            }
            ledger.check();
        }
        while let Some((number, allocations)) = ledger.held.pop() {
            ledger.cards.discharge(number, Load::Held, &allocations);
        }
        prop_assert_eq!(&ledger.cards, &idle);
    }

    #[test]
    fn decoders_of_instances_take_any_text(
        text in "[\\[\\]{}\",:a-zA-Z0-9 .-]{0,60}",
        json in "\\[(\\{\"(containerIndex|gpuUUID|profile|placement)\":(\"M0\"|0|true|\\{\"start\":1\\})\\},?){0,3}\\]?",
    ) {
        let family = family(Policy::None);
        let cards = split(1).cards(&*family);
        for text in [text, json] {
            let records: Pairs = vec![
                (LIST.to_owned(), "M0,NVIDIA,3000,0:;".to_owned()),
                (INSTANCES.to_owned(), text.clone()),
            ];
            let decoded = family.decode(&records, &asks(&[(1, 3000)]), &cards);
            prop_assert_eq!(decoded.allocations.len(), 1);
            prop_assert!(decoded.allocations[0].partition.is_some());
            let node = format!(r#"[{{"id":"M","count":1,"devmem":9,"mode":"mig","migProfiles":{text}}}]"#);
            let node = VendorNode::new(&[("hami.io/node-nvidia-register", &node)], &[("nvidia.com/gpu", 1)]);
            prop_assert!(node.cards(&*family).cards.len() <= 1);
        }
    }
}
