//! Right requests on right nodes.

use super::*;
use crate::binding::NodeLock;
use crate::part::CardPart;

fn fits(index: &str, score: i64) -> Result<(String, i64), (String, bool)> {
    Ok((index.to_owned(), score))
}

fn fails(text: &str, evictions_help: bool) -> Result<(String, i64), (String, bool)> {
    Err((text.to_owned(), evictions_help))
}

const NO_MEMORY: &str = "GpuShare no enough gpu memory";
const NO_NUMBER: &str = "GpuNumber no enough gpu number";

#[test]
fn row_31_policies_choose_among_cards_with_enough_memory() {
    let before: &[(&str, &[(&str, i64)])] = &[("0", &[(MEMORY, 8192)]), ("3", &[(MEMORY, 6000)])];
    for (policy, before, expected) in [
        (Policy::None, &before[..1], fits("1", 0)),
        (Policy::Binpack, before, fits("3", 90)),
        (Policy::Spread, before, fits("1", 100)),
    ] {
        let family = family(&memory_mode(policy));
        let mut cards = node(&*family, N6, None);
        load(&*family, &mut cards, before);
        let request = request(&*family, &pod(&[&[(MEMORY, 4096)]], None));
        assert_eq!(outcome(&*request, &cards), expected, "{policy:?}");
    }
}

#[test]
fn spread_takes_the_card_with_the_fewest_pods_then_the_least_used_one() {
    let family = family(&memory_mode(Policy::Spread));
    let mut cards = node(&*family, &[(MEMORY, 3000), (NUMBER, 3)], None);
    let small: &[(&str, i64)] = &[(MEMORY, 10)];
    let pods = [
        ("0", small),
        ("0", small),
        ("1", &[(MEMORY, 500)]),
        ("2", &[(MEMORY, 400)]),
    ];
    load(&*family, &mut cards, &pods);
    let request = request(&*family, &pod(&[&[(MEMORY, 100)]], None));
    assert_eq!(outcome(&*request, &cards), fits("2", 0));
}

#[test]
fn row_32_containers_of_a_pod_share_one_card() {
    for policy in [Policy::None, Policy::Binpack, Policy::Spread] {
        let family = family(&memory_mode(policy));
        let cards = node(&*family, N6, None);
        let two = request(
            &*family,
            &pod(&[&[(MEMORY, 6000)], &[(MEMORY, 6000)]], None),
        );
        let expected = fails("GpuShare no enough gpu memory on any idle GPU", false);
        assert_eq!(outcome(&*two, &cards), expected);
        let text = two
            .explain("n1", &cards, LedgerTime::Now)
            .expect("a miss")
            .text;
        assert!(
            text.starts_with("GpuShare no enough gpu memory on node n1"),
            "{text}"
        );
        assert!(text.contains("GPU 7: 822 MiB short"), "{text}");
        let fitting = request(
            &*family,
            &pod(&[&[(MEMORY, 6000)], &[(MEMORY, 5178)]], None),
        );
        assert_eq!(
            outcome(&*fitting, &cards).map(|(index, _)| index),
            Ok("0".to_owned())
        );
    }
}

#[test]
fn row_33_unhealthy_cards_are_not_given_out() {
    let family = family(&memory_mode(Policy::Binpack));
    let cards = node(&*family, N6, Some("0, 2,"));
    assert_eq!(cards.problems, Vec::<String>::new());
    let request = request(&*family, &pod(&[&[(MEMORY, 4096)]], None));
    assert_eq!(outcome(&*request, &cards), fits("1", 37));
    assert_eq!(
        CardPart::capacity(&cards, 1).memory,
        11_178,
        "divided among all cards"
    );
}

#[test]
fn row_34_whole_cards_are_the_lowest_idle_ones() {
    let one: &[(&str, i64)] = &[(NUMBER, 1)];
    let before = [("0", one), ("2", one), ("4", one), ("6", one), ("7", one)];
    for (policy, score) in [
        (Policy::None, 0),
        (Policy::Binpack, 88),
        (Policy::Spread, 13),
    ] {
        let family = family(&number_mode(policy));
        let mut cards = node(&*family, N6, None);
        load(&*family, &mut cards, &before);
        let two = request(&*family, &pod(&[&[(NUMBER, 2)]], None));
        assert_eq!(outcome(&*two, &cards), fits("1,3", score), "{policy:?}");
        let four = request(&*family, &pod(&[&[(NUMBER, 4)]], None));
        assert_eq!(outcome(&*four, &cards), fails(NO_NUMBER, true));
        let miss = four.explain("n1", &cards, LedgerTime::Now).expect("a miss");
        assert!(
            miss.text
                .starts_with("GpuNumber no enough gpu number on node n1")
        );
        assert!(miss.text.contains("GPU 7: in use"), "{}", miss.text);
        assert_eq!(miss.distance, (1, 0));
        let nine = request(&*family, &pod(&[&[(NUMBER, 9)]], None));
        assert_eq!(
            outcome(&*nine, &cards).map_err(|(_, help)| help),
            Err(false)
        );
    }
}

#[test]
fn row_35_the_index_annotation_of_a_waiting_pod_limits_its_cards() {
    let one: &[(&str, i64)] = &[(NUMBER, 1)];
    let family_of_numbers = family(&number_mode(Policy::None));
    let mut cards = node(&*family_of_numbers, N6, None);
    let pair = pod(&[&[(NUMBER, 2)]], Some("0,2"));
    let wish = request(&*family_of_numbers, &pair);
    assert_eq!(outcome(&*wish, &cards), fits("0,2", 0));
    load(&*family_of_numbers, &mut cards, &[("2", one)]);
    assert_eq!(outcome(&*wish, &cards), fails(NO_NUMBER, true));
    let wide = request(&*family_of_numbers, &pod(&[&[(NUMBER, 2)]], Some("4, 2,0")));
    assert_eq!(outcome(&*wide, &cards), fits("0,4", 0));

    let sharing = family(&memory_mode(Policy::None));
    let cards = node(&*sharing, N6, None);
    let wish = request(&*sharing, &pod(&[&[(MEMORY, 4096)]], Some("5")));
    assert_eq!(outcome(&*wish, &cards), fits("5", 0));
    let beyond = request(&*sharing, &pod(&[&[(MEMORY, 4096)]], Some("8")));
    assert_eq!(
        outcome(&*beyond, &cards).map_err(|(_, help)| help),
        Err(false)
    );
    let blank = request(&*sharing, &pod(&[&[(MEMORY, 4096)]], Some(" ")));
    assert_eq!(outcome(&*blank, &cards), fits("0", 0));
}

#[test]
fn requests_add_up_over_containers_that_run_at_the_same_time() {
    use ContainerKind::{Init, Regular, Sidecar};
    let gpus = |amount| -> Vec<(&str, i64)> { vec![(NUMBER, amount)] };
    let (one, two, three) = (gpus(1), gpus(2), gpus(3));
    for (containers, expected) in [
        (vec![(Regular, &one[..]), (Regular, &two)], "0,1,2"),
        (
            vec![(Init, &three[..]), (Init, &two), (Regular, &one)],
            "0,1,2",
        ),
        (vec![(Init, &one[..]), (Regular, &two)], "0,1"),
        (vec![(Sidecar, &one[..]), (Regular, &two)], "0,1,2"),
        (
            vec![(Sidecar, &one[..]), (Init, &two), (Regular, &one)],
            "0,1,2",
        ),
        (
            vec![(Init, &two[..]), (Sidecar, &one), (Regular, &one)],
            "0,1",
        ),
    ] {
        let family = family(&number_mode(Policy::None));
        let cards = node(&*family, N6, None);
        let request = request(&*family, &pod_of(&containers));
        assert_eq!(
            outcome(&*request, &cards),
            fits(expected, 0),
            "{containers:?}"
        );
    }
}

#[test]
fn number_mode_does_not_need_memory_on_the_node() {
    let capacity: &[(&str, i64)] = &[(NUMBER, 2)];
    let family_of_numbers = family(&number_mode(Policy::None));
    let mut cards = node(&*family_of_numbers, capacity, None);
    let one = request(&*family_of_numbers, &pod(&[&[(NUMBER, 1)]], None));
    for (number, expected) in [
        (1, fits("0", 0)),
        (2, fits("1", 0)),
        (3, fails(NO_NUMBER, true)),
    ] {
        assert_eq!(outcome(&*one, &cards), expected);
        if let Some(allocations) = one.choose(&cards, LedgerTime::Now) {
            cards.charge(number, Tags::default(), Load::Held, &allocations);
        }
    }
    let sharing = family(&memory_mode(Policy::None));
    let cards = node(&*sharing, capacity, None);
    let one = request(&*sharing, &pod(&[&[(MEMORY, 1)]], None));
    assert_eq!(outcome(&*one, &cards).map_err(|(_, help)| help), Err(false));
    let text = one
        .explain("n1", &cards, LedgerTime::Now)
        .expect("a miss")
        .text;
    assert_eq!(text, "no volcano.sh/gpu-memory in the capacity of node n1");
}

#[test]
fn what_is_chosen_is_what_its_annotation_tells_after_a_restart() {
    for settings in [memory_mode(Policy::Binpack), number_mode(Policy::Spread)] {
        let family = family(&settings);
        let mut cards = node(&*family, N6, Some("1"));
        let both = pod(&[&[], &[(MEMORY, 3000), (NUMBER, 2)]], None);
        let request = request(&*family, &both);
        for number in 0..3 {
            let allocations = request.choose(&cards, LedgerTime::Now).expect("room");
            assert_eq!(allocations[0].container, 1);
            let index = index_written(&*request, &cards, &allocations);
            let held = family.decode(&pairs(&[(INDEX, &index)]), &both, &cards);
            assert_eq!(held.problems, Vec::<String>::new());
            for (chosen, read) in allocations.iter().zip(&held.allocations) {
                let sums = |one: &Allocation| (one.card, one.charged.clone());
                assert_eq!(sums(chosen), sums(read));
                assert!(read.certain);
            }
            assert_eq!(allocations.len(), held.allocations.len());
            cards.charge(number, Tags::default(), Load::Held, &allocations);
        }
    }
}

#[test]
fn a_card_held_whole_has_no_free_memory_after_the_mode_changes() {
    let family = family(&memory_mode(Policy::None));
    let mut cards = node(&*family, &[(MEMORY, 2000), (NUMBER, 2)], None);
    load(&*family, &mut cards, &[("0", &[(NUMBER, 1)])]);
    let request = request(
        &*family,
        &pod(&[&[(MEMORY, 0), (NUMBER, 0)], &[(MEMORY, 1)]], None),
    );
    assert_eq!(outcome(&*request, &cards), fits("1", 0));
}

#[test]
fn terminating_pods_hold_their_cards_now_and_not_in_future() {
    let family = family(&memory_mode(Policy::Binpack));
    let mut cards = node(&*family, &[(MEMORY, 1000), (NUMBER, 1)], None);
    let all = pod(&[&[(MEMORY, 1000)]], None);
    let request = request(&*family, &all);
    let allocations = request.choose(&cards, LedgerTime::Now).expect("room");
    cards.charge(7, Tags::default(), Load::Releasing, &allocations);
    assert_eq!(outcome(&*request, &cards), fails(NO_MEMORY, true));
    assert_eq!(request.fit(&cards, LedgerTime::Future), Ok(100.0));
    assert_eq!(
        request.choose(&cards, LedgerTime::Future),
        Some(allocations)
    );
    assert_eq!(
        request
            .explain("n1", &cards, LedgerTime::Now)
            .expect("a miss")
            .distance,
        (1, 1000)
    );
}

#[test]
fn the_lock_is_taken_for_memory_only_and_only_if_configured() {
    for (mut settings, amounts, locked) in [
        (memory_mode(Policy::None), (MEMORY, 1), Some("gpu")),
        (number_mode(Policy::None), (NUMBER, 1), None),
    ] {
        for on in [true, false] {
            settings.node_lock = on;
            let family = family(&settings);
            let cards = node(&*family, N6, None);
            let request = request(&*family, &pod(&[&[amounts]], None));
            let allocations = request.choose(&cards, LedgerTime::Now).expect("room");
            assert_eq!(
                request.annotations("n1", &cards, &allocations).locks,
                Vec::from_iter(locked.filter(|_| on).map(NodeLock::new))
            );
            assert!(
                request.charge(Some(&allocations)).is_empty(),
                "queues count plain amounts"
            );
        }
    }
}
