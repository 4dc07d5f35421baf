//! What nodes say of their cards.

use super::{cards_of, family, pod, request, settings};
use crate::facts::NodeFacts;
use crate::ledger::LedgerTime;
use crate::nvidia::vgpu::sharing::{SharingMode, mode};
use crate::nvidia::vgpu::tests::config;
use crate::nvidia::vgpu::tests::with;
use crate::part::CardPart;
use crate::settings::{Policy, Settings};

#[test]
fn cards_are_read_in_all_known_forms() {
    let family = family(Policy::None);
    let register = "GPU-a,10,24576,NVIDIA-Tesla P40,1:\
                    :GPU-b,2,15360,NVIDIA-Tesla T4,True,mps,more,fields:\
                    GPU-c,7,40960,NVIDIA-NVIDIA A100-PCIE-40GB,t,mig:\
                    GPU-d,7,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,whatever";
    let cards = cards_of(&*family, register, None);
    let seen = |(at, card): (usize, &crate::Card)| {
        let sharers = CardPart::capacity(&cards, at).sharers;
        (card.id.to_string(), card.index, sharers, mode(card))
    };
    let seen: Vec<_> = cards.cards.iter().enumerate().map(seen).collect();
    let row = |id: &str, index, slots, mode| (id.to_owned(), index, slots, mode);
    assert_eq!(
        seen,
        [
            row("GPU-a", 0, 10, SharingMode::HamiCore),
            row("GPU-b", 2, 2, SharingMode::Mps),
            row("GPU-c", 3, 7, SharingMode::Mig),
            row("GPU-d", 4, 7, SharingMode::HamiCore),
        ],
        "five fields and six, gaps count, unknown modes are hami-core"
    );
    let full = |(at, card): (usize, &crate::Card)| {
        card.is_usable() && CardPart::capacity(&cards, at).cores == 100
    };
    assert!(cards.cards.iter().enumerate().all(full));
    assert_eq!(cards.problems, Vec::<String>::new());
}

#[test]
fn a_health_that_is_no_truth_value_is_told_and_counts_as_unhealthy() {
    let family = family(Policy::None);
    for (health, usable, problems) in [
        ("true", true, 0),
        ("T", true, 0),
        ("false", false, 0),
        ("0", false, 0),
        ("maybe", false, 1),
        ("", false, 1),
    ] {
        let register = format!("GPU-a,10,24576,NVIDIA-P40,{health},hami-core:");
        let cards = cards_of(&*family, &register, None);
        assert_eq!(cards.cards[0].is_usable(), usable, "{health}");
        assert_eq!(cards.problems.len(), problems, "{health}");
        let told = cards.problems.join("");
        assert!(
            problems == 0 || told.contains("GPU-a has the health"),
            "{told}"
        );
    }
}

#[test]
fn a_malformed_card_is_left_out_alone_and_told() {
    let family = family(Policy::None);
    for (bad, told) in [
        ("GPU-x", "field slots is missing"),
        ("GPU-x,10,24576,NVIDIA-P40", "field health is missing"),
        (
            "GPU-x,ten,24576,NVIDIA-P40,true,mig",
            "slots \"ten\" is not a number",
        ),
        (
            "GPU-x,0,24576,NVIDIA-P40,true,mig",
            "slots \"0\" is not a number from 1",
        ),
        (
            "GPU-x,10,-5,NVIDIA-P40,true,mig",
            "memory \"-5\" is not a number",
        ),
        (
            "GPU-x,10,4294967296,NVIDIA-P40,true",
            "memory \"4294967296\" is not",
        ),
        (",10,24576,NVIDIA-P40,true,mig", "the UUID is empty"),
        (
            "GPU-x[0],10,24576,NVIDIA-P40,true",
            "the UUID contains one of [ ] ;",
        ),
        (
            "GPU;x,10,24576,NVIDIA-P40,true",
            "the UUID contains one of [ ] ;",
        ),
        (
            "GPU-a,10,24576,NVIDIA-P40,true,mig",
            "has the UUID GPU-a of card 0",
        ),
    ] {
        let register = format!(
            "GPU-a,10,24576,NVIDIA-P40,true,hami-core:{bad}:\
             GPU-b,10,24576,NVIDIA-P40,true,hami-core:"
        );
        let cards = cards_of(&*family, &register, None);
        let ids: Vec<_> = cards
            .cards
            .iter()
            .map(|card| (&*card.id, card.index))
            .collect();
        assert_eq!(ids, [("GPU-a", 0), ("GPU-b", 2)], "{bad}");
        let [problem] = cards.problems.as_slice() else {
            panic!("{bad}: {:?}", cards.problems);
        };
        assert!(
            problem.contains("card 1") && problem.contains(told),
            "{problem}"
        );
        assert!(
            problem.contains("device plugin"),
            "says what to do: {problem}"
        );
    }
}

#[test]
fn cards_that_cannot_be_given_out_say_why() {
    let family = family(Policy::None);
    let register = "GPU-a,10,24576,NVIDIA-P40,false,hami-core:\
                    GPU-b,10,24576,DCU-K100,true,hami-core:\
                    GPU-c,10,24576,NVIDIA-H100 PCIe,true,mig:\
                    GPU-d,10,24576,NVIDIA-P40,true,hami-core:\
                    GPU-e,10,24576,nvidia-p40,true,hami-core:";
    let cards = cards_of(&*family, register, Some(" 3, GPU-zz ,, 17"));
    let why: Vec<_> = cards
        .cards
        .iter()
        .map(|card| card.unusable.as_deref())
        .collect();
    assert_eq!(
        why,
        [
            Some("unhealthy"),
            Some("type \"DCU-K100\" is not of NVIDIA"),
            Some("no geometry for model \"NVIDIA-H100 PCIe\": add it to knownMigGeometries"),
            Some("listed as unhealthy on the node"),
            None,
        ]
    );
    let problems = cards.problems.join("\n");
    for told in [
        "no card \"GPU-zz\"",
        "no card \"17\"",
        "card GPU-c: no geometry",
    ] {
        assert!(problems.contains(told), "{problems}");
    }
    let request = request(&*family, &pod(&[&[('n', 2), ('m', 10)]], &[]));
    let miss = request
        .explain("n1", &cards, LedgerTime::Now)
        .expect("a miss");
    assert!(
        miss.text.contains("GPU-a: unhealthy; GPU-b: type"),
        "{}",
        miss.text
    );
}

#[test]
fn a_node_without_cards_says_what_is_missing() {
    const REGISTER: &str = "volcano.sh/node-vgpu-register";
    let good = "GPU-a,10,24576,NVIDIA-P40,true,hami-core:";
    let on = settings(Policy::None);
    let cases: [(Option<&str>, i64, &str); 4] = [
        (
            None,
            10_000,
            "node has no annotation volcano.sh/node-vgpu-register",
        ),
        (Some(""), 10_000, "has no readable card"),
        (
            Some("garbage:more,garbage:"),
            10_000,
            "has no readable card",
        ),
        (
            Some(good),
            0,
            "node has no volcano.sh/vgpu-number allocatable",
        ),
    ];
    for (text, allocatable, told) in cases {
        let family = with(&on, config());
        let annotations: Vec<(String, String)> = text
            .iter()
            .map(|text| (REGISTER.to_owned(), (*text).to_owned()))
            .collect();
        let allocatable = [("volcano.sh/vgpu-number".to_owned(), allocatable)];
        let cards = family.cards(&NodeFacts {
            name: "n1",
            labels: &[],
            annotations: &annotations,
            allocatable: &allocatable,
            capacity: &[],
            reports: &[],
        });
        let failure = super::place(&*request(&*family, &pod(&[&[('n', 1)]], &[])), &cards);
        let failure = failure.expect_err("no cards");
        assert!(failure.text.contains(told), "{}", failure.text);
        assert!(!failure.evictions_help);
        let miss = request(&*family, &pod(&[&[('n', 1)]], &[]))
            .explain("n1", &cards, LedgerTime::Now)
            .expect("a miss");
        assert!(miss.text.starts_with("n1: node "), "{}", miss.text);
        assert_eq!(miss.distance, (1, i64::MAX), "no node is further away");
    }
}

#[test]
fn the_list_of_problems_is_bounded() {
    let family = family(Policy::None);
    let cards = cards_of(&*family, &"x:".repeat(1000), Some(&"y,".repeat(1000)));
    assert_eq!(cards.problems.len(), 17);
    assert_eq!(cards.problems[16], "and 984 more problems");
}

#[test]
fn only_the_configured_count_resource_opens_a_node() {
    let mut config = config();
    config.count_name = "example.com/gpus".to_owned();
    let family = with(&settings(Policy::None), config);
    let register = "GPU-a,10,24576,NVIDIA-P40,true,hami-core:";
    assert!(cards_of(&*family, register, None).cards.is_empty());
}

#[test]
fn cores_of_cards_follow_a_scaling_above_one() {
    for (scaling, cores) in [(0.5, 100), (1.0, 100), (1.5, 150), (3.0, 300)] {
        let mut config = config();
        config.core_scaling = scaling;
        let family = with(&settings(Policy::None), config);
        let cards = cards_of(&*family, "GPU-a,10,24576,NVIDIA-P40,true:", None);
        assert_eq!(CardPart::capacity(&cards, 0).cores, cores, "{scaling}");
    }
}

#[test]
fn the_family_has_no_cards_while_it_is_off() {
    for settings in [
        Settings::default(),
        Settings {
            configured: true,
            ..Settings::default()
        },
    ] {
        let family = with(&settings, config());
        let cards = cards_of(&*family, "GPU-a,10,24576,NVIDIA-P40,true:", None);
        assert!(cards.cards.is_empty());
    }
}
