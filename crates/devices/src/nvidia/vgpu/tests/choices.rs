//! Which cards are chosen, and what is said when none is.

use super::{Limit, cards_of, config, family, occupy, place, pod, request, settings};
use crate::ledger::{LedgerTime, Load, NodeCards, Tags};
use crate::nvidia::vgpu::tests::with;
use crate::part::CardPart;
use crate::settings::Policy;

const TWO_P40: &str = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                       GPU-bb,10,24576,NVIDIA-Tesla P40,true,hami-core:";
const MIXED: &str = "GPU-h,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                     GPU-p,10,24576,NVIDIA-Tesla P40,true,mps:\
                     GPU-m,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
const V100_T4: &str = "GPU-v0,10,32768,NVIDIA-Tesla V100-PCIE-32GB,true,hami-core:\
                       GPU-t1,10,15360,NVIDIA-Tesla T4,true,hami-core:";

#[test]
fn without_a_mode_the_best_score_decides_and_ties_go_to_hami_core_then_mps() {
    // Policy, allocations on the node, memory, card.
    let cases: [(Policy, &[&str], i64, &str); 6] = [
        (Policy::None, &[], 1000, "GPU-h,"),
        (Policy::None, &["GPU-h,NVIDIA,24576,0:"], 1000, "GPU-p,"),
        (Policy::Binpack, &[], 4096, "GPU-h,"),
        (Policy::Binpack, &["GPU-p,NVIDIA,4096,0:"], 4096, "GPU-p,"),
        (
            Policy::Binpack,
            &["GPU-m[group4-0],NVIDIA,30000,0:"],
            4096,
            "GPU-h,",
        ),
        (
            Policy::Spread,
            &["GPU-h,NVIDIA,1,0:", "GPU-p,NVIDIA,1,0:"],
            4096,
            "GPU-m[group1-0],",
        ),
    ];
    for (policy, on_node, memory, card) in cases {
        let family = family(policy);
        let mut cards = cards_of(&*family, MIXED, None);
        for (number, ids) in on_node.iter().enumerate() {
            occupy(&*family, &mut cards, number as u32, ids, Tags::default());
        }
        let request = request(&*family, &pod(&[&[('n', 1), ('m', memory)]], &[]));
        let (ids, _) = place(&*request, &cards).expect("fits");
        assert!(ids.starts_with(card), "{policy:?} {on_node:?}: {ids}");
    }
}

#[test]
fn cards_of_one_container_share_a_mode_and_those_of_a_pod_need_not() {
    let family = family(Policy::Binpack);
    let cards = cards_of(&*family, MIXED, None);
    let two = place(
        &*request(&*family, &pod(&[&[('n', 2), ('m', 10)]], &[])),
        &cards,
    );
    let failure = two.expect_err("no mode has two cards");
    assert_eq!(
        failure.text,
        "not enough gpu fitted on this node (too few of one sharing mode)"
    );
    assert!(!failure.evictions_help);

    let whole: &[Limit] = &[('n', 1)];
    let three = place(
        &*request(&*family, &pod(&[whole, whole, whole], &[])),
        &cards,
    );
    let (ids, _) = three.expect("a card each");
    for id in ["GPU-h,", "GPU-p,", "GPU-m[group4-0],"] {
        assert!(ids.contains(id), "{ids}");
    }
}

#[test]
fn a_choice_is_taken_back_when_a_later_container_needs_it() {
    // Node, allocations on it, containers.
    type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a [Limit]]);
    let cases: &[Case] = &[
        // Without policy the last card is first: the T4 must be left to the second container.
        (
            V100_T4,
            &["GPU-v0,NVIDIA,20000,0:"],
            &[&[('n', 1), ('m', 9000)], &[('n', 1), ('m', 15000)]],
        ),
        // So must it among idle cards that are not alike.
        (
            "GPU-t1,10,15360,NVIDIA-Tesla T4,true:GPU-v0,10,32768,NVIDIA-Tesla V100,true:",
            &[],
            &[&[('n', 1), ('m', 9000)], &[('n', 1), ('m', 30000)]],
        ),
        // The best fit of the first container fixes a group without anything for the second.
        (
            "GPU-m,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:",
            &[],
            &[&[('n', 1), ('m', 3000)], &[('n', 1), ('m', 8000)]],
        ),
    ];
    for (register, on_node, containers) in cases {
        let family = family(Policy::None);
        let mut cards = cards_of(&*family, register, None);
        for (number, ids) in on_node.iter().enumerate() {
            occupy(&*family, &mut cards, number as u32, ids, Tags::default());
        }
        let request = request(&*family, &pod(containers, &[]));
        assert!(place(&*request, &cards).is_ok(), "{containers:?}");
        assert!(request.warning().expect("is warned").contains("v1.12.0"));
    }
}

#[test]
fn a_pod_too_large_for_an_empty_node_evicts_nobody() {
    let family = family(Policy::Binpack);
    let cards = cards_of(&*family, TWO_P40, None);
    let whole: &[Limit] = &[('n', 1)];
    let cases: &[&[&[Limit]]] = &[
        &[&[('n', 1), ('m', 24577)]],
        &[whole, whole, whole],
        &[&[('n', 2), ('c', 100), ('m', 1)], &[('n', 1), ('m', 1)]],
    ];
    for containers in cases {
        let request = request(&*family, &pod(containers, &[]));
        let failure = place(&*request, &cards).expect_err("is too large");
        assert!(!failure.evictions_help, "{containers:?}: {}", failure.text);
    }
}

#[test]
fn a_pod_keeps_away_from_cards_of_its_exclusivity_rules_only() {
    let family = family(Policy::Binpack);
    let rules = |rules| Tags { group: None, rules };
    for register in [TWO_P40, &TWO_P40.replace("hami-core", "mps")] {
        let mut cards = cards_of(&*family, register, None);
        occupy(
            &*family,
            &mut cards,
            1,
            "GPU-aa,NVIDIA,1000,0:",
            rules(0b01),
        );
        for (own, card) in [
            (0b01, "GPU-bb,"),
            (0b11, "GPU-bb,"),
            (0b10, "GPU-aa,"),
            (0, "GPU-aa,"),
        ] {
            let asks = pod(&[&[('n', 1), ('m', 10)]], &[]);
            let request = family
                .request(&asks, rules(own))
                .expect("asks")
                .expect("can");
            let (ids, _) = place(&*request, &cards).expect("fits");
            assert!(ids.starts_with(card), "{own:b}: {ids}");
        }
    }
    let mig = "GPU-m,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
    let mut cards = cards_of(&*family, mig, None);
    occupy(
        &*family,
        &mut cards,
        1,
        "GPU-m[group1-0],NVIDIA,1000,0:",
        rules(1),
    );
    let request = family.request(&pod(&[&[('n', 1), ('m', 10)]], &[]), rules(1));
    let failure = place(&*request.expect("asks").expect("can"), &cards).expect_err("is kept away");
    assert_eq!(
        failure.text,
        "not enough gpu fitted on this node (exclusivity rule)"
    );
}

#[test]
fn a_container_with_all_cores_stays_alone_even_when_cores_are_oversold() {
    for scaling in [1.0, 2.0] {
        let mut config = config();
        config.core_scaling = scaling;
        let family = with(&settings(Policy::None), config);
        for cores in [0, 1, 50, 100] {
            let mut cards = cards_of(&*family, "GPU-a,10,24576,NVIDIA-P40,true:", None);
            occupy(
                &*family,
                &mut cards,
                1,
                "GPU-a,NVIDIA,10,100:",
                Tags::default(),
            );
            let asks = request(&*family, &pod(&[&[('n', 1), ('m', 10), ('c', cores)]], &[]));
            assert!(
                place(&*asks, &cards).is_err(),
                "{cores} beside 100, scaling {scaling}"
            );
        }
        let mut cards = cards_of(&*family, "GPU-a,10,24576,NVIDIA-P40,true:", None);
        occupy(
            &*family,
            &mut cards,
            1,
            "GPU-a,NVIDIA,10,60:",
            Tags::default(),
        );
        let asks = request(&*family, &pod(&[&[('n', 1), ('m', 10), ('c', 60)]], &[]));
        assert_eq!(
            place(&*asks, &cards).is_ok(),
            scaling > 1.0,
            "60 + 60 of {scaling} cards"
        );
    }
}

#[test]
fn a_unit_of_memory_may_be_many_mib() {
    let mut config = config();
    config.memory_factor = 1024;
    let family = with(&settings(Policy::Binpack), config);
    let register = "GPU-m,10,40,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
    // Memory asked in GiB, instance, memory charged in GiB.
    for (asked, instance, charged) in [
        (5, "[group1-0]", 5),
        (8, "[group2-0]", 10),
        (40, "[group4-0]", 40),
    ] {
        let mut cards = cards_of(&*family, register, None);
        let request = request(&*family, &pod(&[&[('n', 1), ('m', asked)]], &[]));
        let (ids, score) = place(&*request, &cards).expect("fits");
        assert_eq!(ids, format!("GPU-m{instance},NVIDIA,{asked},0:"));
        assert_eq!(score, 100.0 * charged as f64 / 40.0);
        occupy(&*family, &mut cards, 1, &ids, Tags::default());
        assert_eq!(CardPart::used(&cards, 0, LedgerTime::Now).memory, charged);
        let larger = super::request(&*family, &pod(&[&[('n', 1), ('m', 41)]], &[]));
        let miss = larger
            .explain("n1", &cards, LedgerTime::Now)
            .expect("a miss");
        assert!(
            miss.text.contains("41,984 MiB asked, 40,960 MiB in all"),
            "{}",
            miss.text
        );
    }
}

#[test]
fn lists_of_types_and_uuids_are_trimmed_and_deny_wins() {
    // Annotations, card that is chosen.
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
    let cases: &[Case] = &[
        (
            &[("nvidia.com/use-gputype", " v100 , ,a100")],
            Some("GPU-v0"),
        ),
        (&[("nvidia.com/nouse-gputype", ",")], Some("GPU-t1")),
        (&[("nvidia.com/use-gputype", "")], Some("GPU-t1")),
        (&[("nvidia.com/nouse-gputype", "nvidia")], None),
        (
            &[("volcano.sh/vgpu-use-gpuuuid", " GPU-v0 ,")],
            Some("GPU-v0"),
        ),
        (&[("nvidia.com/use-gpuuuid", "GPU-v0")], Some("GPU-v0")),
        (&[("nvidia.com/nouse-gpuuuid", "GPU-t1")], Some("GPU-v0")),
        (&[("volcano.sh/vgpu-use-gpuuuid", "GPU-t")], None),
        (
            &[
                ("volcano.sh/vgpu-nouse-gpuuuid", "GPU-t1"),
                ("volcano.sh/vgpu-use-gpuuuid", "GPU-t1"),
            ],
            None,
        ),
        (&[("volcano.sh/gpu-index", "0")], Some("GPU-v0")),
        (&[("volcano.sh/gpu-index", "5")], None),
    ];
    let family = family(Policy::None);
    let cards = cards_of(&*family, V100_T4, None);
    for (annotations, card) in cases {
        let request = request(&*family, &pod(&[&[('n', 1), ('m', 10)]], annotations));
        match (place(&*request, &cards), card) {
            (Ok((ids, _)), Some(card)) => assert!(ids.starts_with(card), "{annotations:?}: {ids}"),
            (Err(failure), None) => assert!(!failure.evictions_help, "{annotations:?}"),
            (found, _) => panic!("{annotations:?}: {found:?}"),
        }
    }
}

fn explained(register: &str, on_node: &[&str], asks: &crate::PodFacts) -> crate::NearMiss {
    let family = family(Policy::Binpack);
    let mut cards = cards_of(&*family, register, None);
    for (number, ids) in on_node.iter().enumerate() {
        occupy(&*family, &mut cards, number as u32, ids, Tags::default());
    }
    request(&*family, asks)
        .explain("n1", &cards, LedgerTime::Now)
        .expect("a miss")
}

#[test]
fn an_explanation_names_what_each_card_lacks() {
    type Case<'a> = (
        &'a str,
        &'a [&'a str],
        &'a [&'a [Limit]],
        &'a [(&'a str, &'a str)],
        &'a str,
    );
    let cases: &[Case] = &[
        (
            V100_T4,
            &["GPU-v0,NVIDIA,30000,0:"],
            &[&[('n', 1), ('m', 6864)]],
            &[("nvidia.com/nouse-gputype", "T4")],
            "n1: not enough gpu fitted on this node (memory): GPU-v0: 4,096 MiB short; \
             GPU-t1: type T4 denied",
        ),
        (
            TWO_P40,
            &["GPU-aa,NVIDIA,10,100:", "GPU-bb,NVIDIA,10,60:"],
            &[&[('n', 1), ('m', 10), ('c', 50)]],
            &[],
            "n1: not enough gpu fitted on this node (cores): GPU-aa: 50 cores asked, 0 free; \
             GPU-bb: 50 cores asked, 40 free",
        ),
        (
            TWO_P40,
            &[],
            &[&[('n', 3)]],
            &[],
            "no enough gpu cards on node n1: 3 asked; GPU-aa, GPU-bb: fits",
        ),
        (
            TWO_P40,
            &[],
            &[&[('n', 1), ('m', 30000)]],
            &[("volcano.sh/vgpu-use-gpuuuid", "GPU-cc")],
            "no GPU matches UUID constraints volcano.sh/vgpu-use-gpuuuid=\"GPU-cc\", \
             volcano.sh/vgpu-nouse-gpuuuid=\"\" on node n1: GPU-aa, GPU-bb: UUID not \
             allowed",
        ),
        (
            MIXED,
            &["GPU-m[group1-0],NVIDIA,3000,0:"],
            &[&[], &[('n', 1), ('m', 8000)], &[('n', 1), ('m', 1)]],
            &[
                ("volcano.sh/vgpu-mode", "mig"),
                ("volcano.sh/gpu-index", "0,2"),
            ],
            "n1: not enough gpu fitted on this node (no free MIG instance) (container 2): \
             GPU-h: mode hami-core; GPU-p: mode mps; GPU-m: no free MIG instance for 8,000 MiB",
        ),
    ];
    for (register, on_node, containers, annotations, text) in cases {
        assert_eq!(
            explained(register, on_node, &pod(containers, annotations)).text,
            *text
        );
    }
}

#[test]
fn an_explanation_of_a_node_with_very_many_cards_stays_short() {
    let card = |at: usize| format!("GPU-{at},10,1000,NVIDIA-Tesla T4,true,hami-core:");
    let register: String = (0..1000).map(card).collect();
    let asks = pod(&[&[('n', 1), ('m', 2000)]], &[]);
    let miss = explained(&register, &[], &asks);
    let expected = ": GPU-0, GPU-1, GPU-2, GPU-3 and 996 more: 2,000 MiB asked, 1,000 MiB in all";
    assert!(miss.text.ends_with(expected), "{}", miss.text);
    assert!(miss.text.len() < 1000, "{}", miss.text);
}

/// Reasons are kept, and told apart by number, as long as the configuration lasts.
#[test]
fn ways_not_to_fit_name_nothing_a_pod_makes_up() {
    let family = family(Policy::None);
    let plain = request(&*family, &pod(&[&[('n', 1)]], &[]));
    for key in [
        "volcano.sh/vgpu-use-gpuuuid",
        "nvidia.com/nouse-gpuuuid",
        "nvidia.com/use-gputype",
        "volcano.sh/gpu-index",
    ] {
        let asks = pod(&[&[('n', 1)]], &[(key, "7")]);
        assert_eq!(
            request(&*family, &asks).failures(),
            plain.failures(),
            "{key}"
        );
    }
}

#[test]
fn nodes_that_come_closer_have_smaller_distances() {
    let asks = pod(&[&[('n', 2), ('m', 20000)]], &[]);
    let both = explained(
        TWO_P40,
        &["GPU-aa,NVIDIA,6000,0:", "GPU-bb,NVIDIA,9000,0:"],
        &asks,
    );
    let one = explained(TWO_P40, &["GPU-bb,NVIDIA,9000,0:"], &asks);
    assert_eq!(one.distance, (1, 20000 - 15576));
    assert_eq!(both.distance, (2, 20000 - 18576));
}

#[test]
fn the_future_view_leaves_out_what_is_released_and_counts_what_waits() {
    let family = family(Policy::Binpack);
    let mut cards: NodeCards = cards_of(&*family, TWO_P40, None);
    let request = request(&*family, &pod(&[&[('n', 2)]], &[]));
    let allocations = request.choose(&cards, LedgerTime::Now).expect("fits");
    cards.charge(1, Tags::default(), Load::Releasing, &allocations);
    assert!(request.choose(&cards, LedgerTime::Now).is_none());
    let next = request
        .choose(&cards, LedgerTime::Future)
        .expect("fits once it is gone");
    cards.charge(2, Tags::default(), Load::Pipelined, &next);
    assert!(request.choose(&cards, LedgerTime::Future).is_none());
}
