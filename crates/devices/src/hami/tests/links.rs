//! MetaX: what links between cards decide.

use super::sgpu::{CLASS, asks, given, node};
use super::*;

const LINKS: &str = "metax-tech.com/sgpu-topology-aware";
const LOSSES: &str = "metax-tech.com/gpu.topology.losses";
const SCORES: &str = "metax-tech.com/gpu.topology.scores";

/// A node with so many whole GPUs.
fn whole_gpus(count: i64, annotations: &[(&str, &str)]) -> VendorNode {
    VendorNode::new(annotations, &[("metax-tech.com/gpu", count)])
}

/// A node with a card in each of these zones.
fn zoned(zones: &[i64]) -> VendorNode {
    let told: Vec<String> = zones
        .iter()
        .map(|zone| format!(r#","linkZone":{zone}"#))
        .collect();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    node(&told)
}

#[test]
fn whole_cards_come_from_the_smallest_zone_that_has_enough_then_from_several_then_from_none() {
    let family = family(Policy::Binpack);
    // Zones as a node numbers them: 7 has M1, M2, M3; 9 has M4, M5; M0 and M6 have none.
    let zones = [0, 7, 7, 7, 9, 9, -1];
    for (count, expected) in [
        (1, "M4"),
        (2, "M4 M5"),
        (3, "M1 M2 M3"),
        (4, "M4 M5 M1 M2"),
        (6, "M4 M5 M1 M2 M3 M0"),
        (7, "M4 M5 M1 M2 M3 M0 M6"),
    ] {
        let mut cards = zoned(&zones).cards(&*family);
        assert_eq!(
            given(&*family, &mut cards, (1, &asks(count, 100, &[]))),
            expected
        );
    }
    // Whoever leaves cores to others, or has a class, has the order of the policy.
    let mut cards = zoned(&zones).cards(&*family);
    assert_eq!(given(&*family, &mut cards, (1, &asks(1, 20, &[]))), "M0");
    let offline = asks(1, 100, &[(CLASS, "offline")]);
    assert_eq!(given(&*family, &mut cards, (2, &offline)), "M1");
    // Only cards that fit count: M1 is in use, so zone 7 has two like zone 9, and comes first.
    assert_eq!(
        given(&*family, &mut cards, (3, &asks(2, 100, &[]))),
        "M2 M3"
    );
}

#[test]
fn of_zones_of_one_size_the_policy_takes_the_one_of_its_first_card() {
    for (policy, expected) in [(Policy::Binpack, "M0 M1"), (Policy::None, "M3 M2")] {
        let family = family(policy);
        let mut cards = zoned(&[5, 5, 3, 3]).cards(&*family);
        assert_eq!(
            given(&*family, &mut cards, (1, &asks(2, 100, &[]))),
            expected
        );
    }
}

/// The score of a pod on cards that are idle, or hold what is charged.
fn score(family: &dyn Family, cards: &NodeCards, pod: &PodFacts) -> f64 {
    request(family, pod)
        .fit(cards, LedgerTime::Now)
        .expect("fits")
}

#[test]
fn links_count_for_the_score_where_the_pod_or_the_configuration_says_so() {
    let cards_of = |family: &dyn Family, zones: &[i64]| zoned(zones).cards(family);
    let on = family(Policy::None);
    let aware = |count| asks(count, 100, &[(LINKS, "true")]);
    // Two linked cards of two: 10 x 10 for the link they have, and none is lost.
    let links = |zones: &[i64], pod: &PodFacts| score(&*on, &cards_of(&*on, zones), pod);
    assert_eq!(links(&[1, 1], &aware(2)), 1_000_000.0);
    // One of two linked ones loses a link.
    assert_eq!(links(&[1, 1], &aware(1)), -100_000.0);
    // Two of three: one link of 10, and of 30 points 20 are lost that are not its own.
    assert_eq!(links(&[1, 1, 1], &aware(2)), 800_000.0);
    assert_eq!(links(&[0, 0], &aware(2)), 0.0);
    assert_eq!(
        links(&[1, 1], &asks(2, 20, &[(LINKS, "true")])),
        0.0,
        "not whole ones"
    );
    assert_eq!(links(&[1, 1], &asks(2, 100, &[])), 0.0);
    let broken = [
        ",\"linkZone\":1",
        ",\"linkZone\":1",
        ",\"linkZone\":1,\"healthy\":false",
    ];
    let cards = node(&broken).cards(&*on);
    assert_eq!(
        score(&*on, &cards, &aware(2)),
        1_000_000.0,
        "a broken card loses no link"
    );
    let configured = configured("metax: {sgpuTopologyAware: true}");
    let by_default = |pod: &PodFacts| score(&*configured, &cards_of(&*configured, &[1, 1]), pod);
    assert_eq!(by_default(&asks(2, 100, &[])), 1_000_000.0);
    assert_eq!(by_default(&asks(2, 100, &[(LINKS, "False")])), 0.0);
    assert_eq!(
        refusal(&*on, &asks(2, 100, &[(LINKS, "maybe")])),
        "annotation metax-tech.com/sgpu-topology-aware is \"maybe\": write true or false, or remove it"
    );
}

#[test]
fn an_online_pod_prefers_nodes_where_its_card_has_few_others() {
    let family = family(Policy::None);
    let mut cards = node(&[""]).cards(&*family);
    let online = asks(1, 0, &[(CLASS, "online"), (LINKS, "true")]);
    let offline = asks(1, 10, &[(CLASS, "offline")]);
    assert_eq!(score(&*family, &cards, &online), 0.0);
    for number in 0..2 {
        place(&*family, &mut cards, (number, &offline)).expect("fits");
    }
    assert_eq!(
        score(&*family, &cards, &online),
        -2_000_000.0,
        "offline ones alone"
    );
    place(&*family, &mut cards, (2, &online)).expect("fits");
    assert_eq!(
        score(&*family, &cards, &online),
        -240_000.0,
        "one online, two offline"
    );
}

#[test]
fn whole_gpus_score_by_what_their_node_tells_of_so_many() {
    let losses = (LOSSES, r#"{"1":120,"2":2300}"#);
    let told = whole_gpus(4, &[losses, (SCORES, r#"{"1":10,"2":62}"#)]);
    let whole = |count| pod(&[&[("metax-tech.com/gpu", count)]], &[]);
    let two_containers = pod(
        &[&[("metax-tech.com/gpu", 1)], &[("metax-tech.com/gpu", 1)]],
        &[],
    );
    let plain = whole_gpus(4, &[]);
    for (policy, one, two, three) in [
        (Policy::Binpack, 2000 - 120, 2000 - 2300, 0),
        (Policy::Spread, 10, 62, 0),
        (Policy::None, 0, 0, 0),
    ] {
        let family = family(policy);
        let (told, plain) = (told.cards(&*family), plain.cards(&*family));
        assert_eq!(told.problems, Vec::<String>::new());
        for (pod, more) in [
            (whole(1), one),
            (whole(2), two),
            (two_containers.clone(), two),
            (whole(3), three),
        ] {
            let without = score(&*family, &plain, &pod);
            assert_eq!(score(&*family, &told, &pod), without + f64::from(more));
        }
        // What a node tells stands in no summary, so there is none of its cards.
        let summaries = |cards: &NodeCards| {
            let devices = crate::node::NodeDevices::new(vec![cards.clone()]);
            devices.summaries(0).is_some()
        };
        assert!(!summaries(&told) && summaries(&plain));
        assert!(!told.has_cards_of(&plain));
    }
}

#[test]
fn ratings_that_cannot_be_read_are_told_and_count_as_absent() {
    let family = family(Policy::Binpack);
    let whole = pod(&[&[("metax-tech.com/gpu", 1)]], &[]);
    for (text, problem) in [
        (
            "{",
            "metax-tech.com/gpu.topology.losses: \"{\" is no JSON object and counts as absent; restart the \
               device plugin",
        ),
        (
            "[1]",
            "metax-tech.com/gpu.topology.losses: \"[1]\" is no JSON object and counts as absent; restart \
                 the device plugin",
        ),
        (
            r#"{"1":"low","2":5}"#,
            "metax-tech.com/gpu.topology.losses: \"1\": \"low\" is no number of cards with \
                                  a whole number, and counts as absent; restart the device plugin",
        ),
        (
            r#"{"0":3}"#,
            "metax-tech.com/gpu.topology.losses: \"0\": 3 is no number of cards with a whole number, \
                        and counts as absent; restart the device plugin",
        ),
    ] {
        let annotations = [(LOSSES, text)];
        let cards = whole_gpus(2, &annotations).cards(&*family);
        assert_eq!(cards.problems, [problem], "{text}");
        assert_eq!(
            score(&*family, &cards, &whole),
            100.0,
            "as if nothing were told"
        );
        let elsewhere = VendorNode::new(&annotations, &[]).cards(&*family);
        assert_eq!(
            elsewhere.problems,
            Vec::<String>::new(),
            "there are no such cards"
        );
    }
}
