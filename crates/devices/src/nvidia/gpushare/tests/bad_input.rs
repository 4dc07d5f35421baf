//! Requests, annotations and nodes that cannot be.

use super::*;
use crate::part::CardPart;

#[test]
fn a_request_while_its_mode_is_off_is_refused_by_the_name_of_the_switch() {
    let off = Settings::default();
    let idle = Settings {
        configured: true,
        ..Settings::default()
    };
    let (sharing, numbers) = (memory_mode(Policy::None), number_mode(Policy::None));
    for (settings, resource, switch) in [
        (&off, MEMORY, "deviceshare.GPUSharingEnable"),
        (&idle, MEMORY, "deviceshare.GPUSharingEnable"),
        (&numbers, MEMORY, "deviceshare.GPUSharingEnable"),
        (&off, NUMBER, "deviceshare.GPUNumberEnable"),
        (&idle, NUMBER, "deviceshare.GPUNumberEnable"),
        (&sharing, NUMBER, "deviceshare.GPUNumberEnable"),
    ] {
        let text = refusal(settings, &pod(&[&[(resource, 1)]], None));
        assert!(text.contains(resource) && text.contains(switch), "{text}");
    }
    for settings in [&off, &idle, &sharing, &numbers] {
        let family = family(settings);
        for amounts in [
            &[][..],
            &[(MEMORY, 0), (NUMBER, 0)],
            &[("nvidia.com/gpu", 1)],
        ] {
            let request = family.request(&pod(&[amounts], Some("x")), Tags::default());
            assert!(request.is_none(), "not a GPU-sharing pod");
        }
    }
    assert!(node(&*family(&idle), N6, None).is_bare());
}

#[test]
fn an_amount_out_of_range_is_refused_with_its_field_and_range() {
    let milli = |resource: &str, milli| PodFacts {
        containers: vec![
            ContainerFacts::default(),
            ContainerFacts {
                amounts: vec![(resource.to_owned(), milli)],
                ..ContainerFacts::default()
            },
        ],
        ..PodFacts::default()
    };
    for (resource, amount, shown) in [
        (MEMORY, -1000, "is -1;"),
        (MEMORY, 500, "is 0.5;"),
        (MEMORY, 3_221_225_472_000, "is 3221225472;"),
        (MEMORY, i64::MAX, "is 9223372036854776;"),
        (MEMORY, i64::MIN, "is -9223372036854776;"),
        (NUMBER, -2000, "is -2;"),
        (NUMBER, 1500, "is 1.5;"),
    ] {
        let text = refusal(&memory_mode(Policy::None), &milli(resource, amount));
        assert!(
            text.starts_with(&format!("{resource} of container 2 {shown}")),
            "{text}"
        );
        assert!(text.contains("from 0 to 2147483647"), "{text}");
    }
    let most = [(MEMORY, 2_147_483_647); 3];
    let containers: Vec<&[(&str, i64)]> = most.iter().map(std::slice::from_ref).collect();
    let family = family(&memory_mode(Policy::Binpack));
    let cards = node(&*family, N6, None);
    let request = request(&*family, &pod(&containers, None));
    assert!(outcome(&*request, &cards).is_err());
}

#[test]
fn a_wish_that_cannot_be_read_or_names_too_few_cards_is_refused() {
    let (memory, numbers) = (memory_mode(Policy::None), number_mode(Policy::None));
    for (settings, amounts, index, expected) in [
        (&memory, (MEMORY, 1), "GPU-aa", "`GPU-aa` is no index"),
        (&memory, (MEMORY, 1), "0;2", "`0;2` is no index"),
        (&memory, (MEMORY, 1), "-1", "`-1` is no index"),
        (&memory, (MEMORY, 1), "+1", "`+1` is no index"),
        (
            &memory,
            (MEMORY, 1),
            "99999999999",
            "`99999999999` is no index",
        ),
        (&numbers, (NUMBER, 2), "3", "names only 1"),
        (&numbers, (NUMBER, 2), "3,3", "names only 1"),
    ] {
        let text = refusal(settings, &pod(&[&[amounts]], Some(index)));
        assert!(text.contains(expected) && text.contains(INDEX), "{text}");
    }
}

#[test]
fn what_a_placed_pod_does_not_tell_counts_on_every_card() {
    let capacity: &[(&str, i64)] = &[(MEMORY, 2000), (NUMBER, 2)];
    for (amounts, index, used) in [
        ((MEMORY, 300), None, (300, 1, 0)),
        ((MEMORY, 300), Some(""), (300, 1, 0)),
        ((MEMORY, 300), Some("0,x"), (300, 1, 0)),
        ((NUMBER, 1), None, (1000, 1, WHOLE)),
        ((NUMBER, 1), Some("GPU-aa"), (1000, 1, WHOLE)),
        ((MEMORY, -5), Some("?"), (1000, 1, WHOLE)),
    ] {
        let family = family(&memory_mode(Policy::Binpack));
        let mut cards = node(&*family, capacity, None);
        let records = index.map(|index| (INDEX.to_owned(), index.to_owned()));
        let records: Pairs = records.into_iter().collect();
        let held = family.decode(&records, &pod(&[&[amounts]], None), &cards);
        assert_eq!(held.problems.len(), 1);
        assert!(held.problems[0].contains(INDEX), "{:?}", held.problems);
        assert!(
            held.allocations
                .iter()
                .all(|allocation| !allocation.certain)
        );
        let idle = cards.clone();
        cards.charge(1, Tags::default(), Load::Held, &held.allocations);
        for at in 0..2 {
            let now = CardPart::used(&cards, at, LedgerTime::Now);
            assert_eq!(
                (now.memory, now.sharers, now.cores),
                used,
                "{amounts:?} {index:?}"
            );
        }
        cards.discharge(1, Load::Held, &held.allocations);
        assert_eq!(cards, idle);
    }
}

#[test]
fn cards_that_are_not_there_are_told_and_the_others_counted() {
    let family = family(&memory_mode(Policy::None));
    let cards = node(&*family, &[(MEMORY, 2000), (NUMBER, 2)], None);
    let three = pod(&[&[(NUMBER, 3)]], None);
    let held = family.decode(&pairs(&[(INDEX, "1,2,4000000000")]), &three, &cards);
    assert_eq!(held.problems.len(), 1, "{:?}", held.problems);
    assert!(
        held.problems[0].contains("names GPU 2,4000000000"),
        "{:?}",
        held.problems
    );
    let places: Vec<_> = held
        .allocations
        .iter()
        .map(|allocation| (allocation.card, CardPart::of(&allocation.charged).memory))
        .collect();
    assert_eq!(places, [(Some(1), 1000), (None, 0)]);
    assert!(held.allocations.iter().all(|allocation| allocation.certain));
}

#[test]
fn a_pod_holds_as_many_cards_as_it_asks() {
    let family = family(&memory_mode(Policy::None));
    let cards = node(&*family, &[(MEMORY, 3000), (NUMBER, 3)], None);
    for (amount, index, places) in [
        ((MEMORY, 300), "1,2", vec![(Some(1), true)]),
        ((NUMBER, 1), "0,1,2", vec![(Some(0), true)]),
        // What is not told may be any of the others.
        (
            (NUMBER, 2),
            "1",
            vec![(Some(1), true), (Some(0), false), (Some(2), false)],
        ),
    ] {
        let held = family.decode(&pairs(&[(INDEX, index)]), &pod(&[&[amount]], None), &cards);
        let found = held.allocations.iter().map(|one| (one.card, one.certain));
        assert_eq!(found.collect::<Vec<_>>(), places, "{amount:?} {index}");
        assert_eq!(held.problems.len(), 1, "{:?}", held.problems);
    }
}

#[test]
fn pods_that_ask_nothing_hold_nothing_whatever_their_annotation_says() {
    let family = family(&memory_mode(Policy::None));
    let cards = node(&*family, N6, None);
    for amounts in [&[][..], &[("volcano.sh/vgpu-number", 1)]] {
        let held = family.decode(&pairs(&[(INDEX, "0")]), &pod(&[amounts], None), &cards);
        assert_eq!(held, Decoded::default());
    }
}

#[test]
fn nodes_that_cannot_be_give_no_cards_or_say_what_is_wrong() {
    let family = family(&memory_mode(Policy::None));
    for capacity in [&[][..], &[(MEMORY, 100)], &[(MEMORY, 100), (NUMBER, 0)]] {
        assert!(node(&*family, capacity, Some("0")).is_bare());
    }
    let huge = node(&*family, &[(MEMORY, 100), (NUMBER, 1_000_000_000)], None);
    assert!(huge.cards.is_empty() && huge.problems.len() == 1);
    let none = node(&*family, &[(MEMORY, 0), (NUMBER, 2)], None);
    assert_eq!(
        (none.cards.len(), CardPart::capacity(&none, 0).memory),
        (2, 0)
    );
    let request = request(&*family, &pod(&[&[(MEMORY, 1)]], None));
    for cards in [NodeCards::default(), huge, none] {
        assert_eq!(
            outcome(&*request, &cards).map_err(|(_, help)| help),
            Err(false)
        );
        assert!(
            request
                .explain("n1", &cards, LedgerTime::Now)
                .expect("a miss")
                .text
                .contains("node n1")
        );
    }
}

#[test]
fn unknown_entries_among_unhealthy_cards_are_told_and_the_others_count() {
    let family = family(&memory_mode(Policy::None));
    let cards = node(&*family, N6, Some("GPU-xxxx-1234,1,8, -1"));
    let out: Vec<_> = cards
        .cards
        .iter()
        .filter(|card| !card.is_usable())
        .collect();
    assert_eq!(out.iter().map(|card| card.index).collect::<Vec<_>>(), [1]);
    assert_eq!(cards.problems.len(), 1);
    assert!(
        cards.problems[0].contains("`GPU-xxxx-1234,8,-1`"),
        "{:?}",
        cards.problems
    );
    let request = request(&*family, &pod(&[&[(MEMORY, 20_000)]], None));
    let text = request
        .explain("n1", &cards, LedgerTime::Now)
        .expect("a miss")
        .text;
    assert!(
        text.contains("GPU 1: unhealthy (volcano.sh/gpu-unhealthy-ids)"),
        "{text}"
    );
    let sick = node(&*family, &[(MEMORY, 100), (NUMBER, 1)], Some("0"));
    assert_eq!(
        outcome(&*request, &sick).map_err(|(_, help)| help),
        Err(false)
    );
}
