//! The worked examples of spec/04 §23.7.

use super::{VendorNode, dcus, family, place, pod, request, text};
use crate::ledger::LedgerTime;
use crate::settings::Policy;

const SMALL: &[(&str, i64)] = &[("nvidia.com/gpu", 1), ("nvidia.com/gpumem", 3000)];

/// Node of example 36.
fn gpus() -> VendorNode {
    let register = "GPU-fc28,10,49140,100,NVIDIA-NVIDIA L40S,0,true:\
                    GPU-b97d,10,49140,100,NVIDIA-NVIDIA L40S,0,true:";
    VendorNode::new(
        &[("hami.io/node-nvidia-register", register)],
        &[("nvidia.com/gpu", 20)],
    )
}

#[test]
fn v36_nvidia_by_hamis_legacy_register() {
    let family = family(Policy::None);
    let mut cards = gpus().cards(&*family);
    let written = place(&*family, &mut cards, (1, &pod(&[SMALL], &[]))).expect("fits");
    for (key, value) in [
        (
            "hami.io/vgpu-devices-to-allocate",
            "GPU-b97d,NVIDIA,3000,0:;",
        ),
        ("hami.io/vgpu-devices-allocated", "GPU-b97d,NVIDIA,3000,0:;"),
        ("hami.io/vgpu-node", "n1"),
        ("hami.io/vgpu-time", "<s>"),
        ("hami.io/bind-phase", "allocating"),
        ("hami.io/bind-time", "<s>"),
    ] {
        assert_eq!(text(&written, key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(written.annotations.len(), 6);
    let guard = written.guard.expect("its plugin guesses");
    assert!(guard.waits && guard.content.is_empty());
}

#[test]
fn v36_json_says_the_same_as_the_legacy_register() {
    let json = r#" [{"id":"GPU-fc28","count":10,"devmem":49140,"devcore":100,"type":"NVIDIA L40S","mode":"hami-core","health":true},
        {"id":"GPU-b97d","index":1,"count":10,"devmem":49140,"devcore":100,"type":"NVIDIA L40S","mode":"hami-core","health":true},
        {"id":"GPU-0000","index":2,"count":10,"devmem":49140,"devcore":100,"type":"NVIDIA L40S","mode":"hami-core"}]"#;
    let node = VendorNode::new(
        &[("hami.io/node-nvidia-register", json)],
        &[("nvidia.com/gpu", 20)],
    );
    let family = family(Policy::None);
    let mut cards = node.cards(&*family);
    assert_eq!(cards.cards[2].unusable.as_deref(), Some("unhealthy"));
    let written = place(&*family, &mut cards, (1, &pod(&[SMALL], &[]))).expect("fits");
    let found = text(&written, "hami.io/vgpu-devices-allocated");
    assert_eq!(found.as_deref(), Some("GPU-b97d,NVIDIA,3000,0:;"));
}

#[test]
fn v37_cambricon_by_capacity() {
    let node = VendorNode::new(
        &[],
        &[
            ("cambricon.com/mlu.smlu.vcore", 400),
            ("cambricon.com/mlu.smlu.vmemory", 376),
            ("cambricon.com/vmlu", 40),
        ],
    );
    let family = family(Policy::None);
    let mut cards = node.cards(&*family);
    assert_eq!(cards.cards.len(), 4);
    assert_eq!(cards.capacity(0), [24_064, 100, 100]);
    let limits = [
        ("cambricon.com/vmlu", 1),
        ("cambricon.com/mlu.smlu.vmemory", 20),
        ("cambricon.com/mlu.smlu.vcore", 30),
    ];
    let written = place(&*family, &mut cards, (1, &pod(&[&limits], &[]))).expect("fits");
    let allocated = "n1-cambricon-mlu-3,MLU,5120,30:;";
    for (key, value) in [
        ("CAMBRICON_DSMLU_PROFILE", "3_30_20"),
        ("CAMBRICON_DSMLU_ASSIGNED", "false"),
        ("hami.io/cambricon-mlu-devices-allocated", allocated),
        ("hami.io/cambricon-mlu-devices-to-allocate", allocated),
        ("hami.io/vgpu-node", "n1"),
    ] {
        assert_eq!(text(&written, key).as_deref(), Some(value), "{key}");
    }
    // Nobody would ever say that it is served.
    assert_eq!(text(&written, "hami.io/bind-phase"), None);
}

#[test]
fn v38_moore_threads_by_capacity() {
    let node = VendorNode::new(
        &[],
        &[
            ("mthreads.com/sgpu-core", 128),
            ("mthreads.com/sgpu-memory", 768),
            ("mthreads.com/vgpu", 80),
        ],
    );
    let family = family(Policy::None);
    let mut cards = node.cards(&*family);
    assert_eq!(cards.cards.len(), 8);
    let two = pod(&[&[("mthreads.com/vgpu", 2)]], &[]);
    let written = place(&*family, &mut cards, (1, &two)).expect("fits");
    let allocated = "n1-mthreads-7,Mthreads,49152,16:n1-mthreads-6,Mthreads,49152,16:;";
    for (key, value) in [
        ("mthreads.com/gpu-index", "7,6"),
        ("mthreads.com/predicate-node", "n1"),
        ("mthreads.com/predicate-time", "<ns>"),
        ("mthreads.com/request-gpu-num", "2"),
        ("hami.io/mthreads-vgpu-devices-allocated", allocated),
    ] {
        assert_eq!(text(&written, key).as_deref(), Some(value), "{key}");
    }
    let guard = written.guard.expect("its plugin guesses by time");
    assert!(guard.waits && guard.content.is_empty());
    assert_eq!(written.locks, [], "its plugin knows of none");
    // As the webhook of HAMi writes it.
    let raised = [
        ("mthreads.com/vgpu", 2),
        ("mthreads.com/sgpu-core", 32),
        ("mthreads.com/sgpu-memory", 192),
    ];
    let written = place(&*family, &mut cards, (2, &pod(&[&raised], &[]))).expect("fits");
    let index = text(&written, "mthreads.com/gpu-index");
    assert_eq!(index.as_deref(), Some("5,4"));
}

#[test]
fn v39_several_dcus_are_whole_ones_and_a_part_of_each_is_not_possible() {
    let family = family(Policy::Binpack);
    let mut cards = dcus().cards(&*family);
    let parts = pod(
        &[&[("hygon.com/dcunum", 2), ("hygon.com/dcumem", 4000)]],
        &[],
    );
    assert_eq!(
        place(&*family, &mut cards, (1, &parts)),
        Err(
            "hygon.com/dcunum 2 takes whole cards: hygon.com/dcumem 4000 is not possible"
                .to_owned()
        )
    );
    let miss = request(&*family, &parts).explain("n1", &cards, LedgerTime::Now);
    assert_eq!(
        miss.expect("does not fit").text,
        "n1: hygon.com/dcunum 2 takes whole cards: hygon.com/dcumem 4000 is not possible: DCU-0, \
         DCU-1: 4,000 MiB are a part of its 65,520 MiB"
    );
    let whole = pod(
        &[&[("hygon.com/dcunum", 2), ("hygon.com/dcumem", 65_520)]],
        &[],
    );
    let part = [
        ("hygon.com/dcunum", 1),
        ("hygon.com/dcumem", 8192),
        ("hygon.com/dcucores", 50),
    ];
    place(&*family, &mut cards, (1, &pod(&[&part], &[]))).expect("fits");
    assert_eq!(
        place(&*family, &mut cards, (2, &whole)),
        Err("not enough hygon.com/dcunum".to_owned())
    );
    cards = dcus().cards(&*family);
    let written = place(&*family, &mut cards, (1, &whole)).expect("fits");
    assert_eq!(
        text(&written, "hami.io/dcu-devices-allocated").as_deref(),
        Some("DCU-0,DCU,65520,100:DCU-1,DCU,65520,100:;")
    );
}

#[test]
fn several_whole_cards_have_the_memory_that_is_named_and_not_less() {
    let family = family(Policy::None);
    let two = |memory| {
        pod(
            &[&[("hygon.com/dcunum", 2), ("hygon.com/dcumem", memory)]],
            &[],
        )
    };
    let cards = dcus().cards(&*family);
    let more = request(&*family, &two(65_521));
    let failure = more.fit(&cards, LedgerTime::Now).expect_err("no such card");
    let failure = &more.failures()[usize::from(failure)];
    let why = "not enough hygon.com/dcunum (more memory than a card has)";
    assert_eq!(failure.text, why);
    assert!(!failure.evictions_help);
    assert_eq!(
        more.explain("n1", &cards, LedgerTime::Now)
            .expect("does not fit")
            .text,
        format!("n1: {why}: DCU-0, DCU-1: 65,521 MiB asked, 65,520 MiB in all")
    );
    // Where the unit is larger than a MiB, what is left of one does not matter.
    let node = VendorNode::new(
        &[(
            "hami.io/node-MR-V50-register",
            "C0,1,1000,100,MR-V50,0,true:C1,1,1000,100,MR-V50,0,true:",
        )],
        &[("iluvatar.ai/MR-V50-vgpu", 2)],
    );
    for (units, fits) in [(3, false), (4, true), (5, false)] {
        let limits = [
            ("iluvatar.ai/MR-V50-vgpu", 2),
            ("iluvatar.ai/MR-V50.vMem", units),
        ];
        let request = request(&*family, &pod(&[&limits], &[]));
        let found = request.fit(&node.cards(&*family), LedgerTime::Now);
        assert_eq!(found.is_ok(), fits, "{units}");
    }
}

#[test]
fn binpack_takes_the_fullest_card_and_spread_an_idle_one() {
    let part = pod(
        &[&[
            ("hygon.com/dcunum", 1),
            ("hygon.com/dcumem", 6552),
            ("hygon.com/dcucores", 10),
        ]],
        &[],
    );
    for (policy, first, second, score) in [
        (Policy::Binpack, "DCU-0", "DCU-0", 20.0),
        (Policy::Spread, "DCU-0", "DCU-1", 100.0),
        (Policy::None, "DCU-1", "DCU-1", 0.0),
    ] {
        let family = family(policy);
        let mut cards = dcus().cards(&*family);
        for (number, card) in [(1, first), (2, second)] {
            let score_before = request(&*family, &part).fit(&cards, LedgerTime::Now);
            let written = place(&*family, &mut cards, (number, &part)).expect("fits");
            let found = text(&written, "hami.io/dcu-devices-allocated");
            assert_eq!(found, Some(format!("{card},DCU,6552,10:;")), "{policy:?}");
            if number == 2 {
                assert_eq!(score_before, Ok(score));
            }
        }
    }
}

#[test]
fn the_annotation_of_the_pod_wins_over_the_policy() {
    let limits: &[(&str, i64)] = &[
        ("hygon.com/dcunum", 1),
        ("hygon.com/dcucores", 10),
        ("hygon.com/dcumem", 9),
    ];
    let family = family(Policy::Binpack);
    for (value, card) in [
        ("binpack", "DCU-0"),
        ("spread", "DCU-1"),
        ("mutex", "DCU-1"),
    ] {
        let mut cards = dcus().cards(&*family);
        place(&*family, &mut cards, (1, &pod(&[limits], &[]))).expect("fits");
        let pod = pod(&[limits], &[("hami.io/gpu-scheduler-policy", value)]);
        let written = place(&*family, &mut cards, (2, &pod)).expect("fits");
        let found = text(&written, "hami.io/dcu-devices-allocated").expect("written");
        assert!(found.starts_with(card), "{value}: {found}");
    }
}
