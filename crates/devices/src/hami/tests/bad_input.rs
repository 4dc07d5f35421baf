//! What cannot be is said, and fails closed.

use super::{VendorNode, dcus, family, pod, refusal, request};
use crate::config::DeviceConfig;
use crate::ledger::{LedgerTime, Tags};
use crate::part::CardPart;
use crate::settings::{Policy, Settings};

#[test]
fn requests_that_cannot_be_are_refused_with_what_to_write() {
    let family = family(Policy::None);
    for (limits, expected) in [
        (
            &[("hygon.com/dcunum", 2), ("hygon.com/dcucores", 20)][..],
            "container 1: hygon.com/dcunum 2 takes whole cards: hygon.com/dcucores 20 is not possible; \
             leave it out, or ask for one card",
        ),
        (
            &[("hygon.com/dcumem", 2000)],
            "container 1: hygon.com/dcumem is asked without hygon.com/dcunum: add the number of cards, \
             such as hygon.com/dcunum: 1",
        ),
        (
            &[("hygon.com/dcunum", 1), ("hygon.com/dcumem", 2 << 30)],
            "container 1: hygon.com/dcumem is 2147483648, which is no amount a card has: the unit is 1 \
             MiB, write an integer from 1 to 2147483647; for 2048Mi write 2048",
        ),
        (
            &[("hygon.com/dcunum", 1), ("hygon.com/dcucores", 101)],
            "container 1: hygon.com/dcucores is 101: write an integer from 0 to 100",
        ),
        (
            &[
                ("cambricon.com/vmlu", 1),
                ("cambricon.com/mlu.smlu.vmemory", 2 << 30),
            ],
            "container 1: cambricon.com/mlu.smlu.vmemory is 2147483648, which is no amount a card has: \
             the unit is 256 MiB, write an integer from 1 to 8388607; for 2048Mi write 8",
        ),
        (
            &[("mthreads.com/vgpu", 1), ("mthreads.com/sgpu-memory", 3)],
            "container 1: mthreads.com/sgpu-memory is 3, which is no part of a card: the unit is 512 \
             MiB, write one of 2, 4, 8, 16, 32, 64, 96",
        ),
        (
            &[("mthreads.com/vgpu", 1), ("mthreads.com/sgpu-core", 17)],
            "container 1: mthreads.com/sgpu-core is 17: write an integer from 0 to 16",
        ),
        (
            &[("mthreads.com/vgpu", 2), ("mthreads.com/sgpu-core", 16)],
            "container 1: mthreads.com/vgpu 2 takes whole cards: mthreads.com/sgpu-core 16 is not \
             possible; leave it out, or ask for one card",
        ),
        (
            &[("mthreads.com/vgpu", 2), ("mthreads.com/sgpu-core", 1)],
            "container 1: mthreads.com/vgpu 2 takes whole cards: mthreads.com/sgpu-core 1 is not \
             possible; leave it out, or ask for one card",
        ),
        (
            &[("nvidia.com/gpu", 1), ("nvidia.com/gpumem-percentage", 101)],
            "container 1: nvidia.com/gpumem-percentage is 101: write an integer from 0 to 100",
        ),
        (
            &[("hygon.com/dcunum", 1), ("cambricon.com/vmlu", 1)],
            "container 1: hygon.com/dcunum and cambricon.com/vmlu are cards of two kinds: ask each in a \
             container of its own",
        ),
    ] {
        assert_eq!(refusal(&*family, &pod(&[limits], &[])), expected);
    }
    let limits = [("nvidia.com/gpu", 1)];
    let key = "nvidia.com/numa-bind";
    let why = refusal(&*family, &pod(&[&limits], &[(key, "maybe")]));
    assert!(why.contains(key), "{why}");
}

#[test]
fn weights_that_cannot_be_read_are_refused_with_what_to_write() {
    let family = family(Policy::None);
    let limits: &[_] = &[("nvidia.com/gpu", 1)];
    for (text, why) in [
        ("slot=1,core=1", "memory is missing"),
        ("slot=1,core=1,memory=1,slot=2", "slot is there twice"),
        ("slot=1,core=one,memory=1", "core is \"one\""),
        ("slot=1,core=-1,memory=1", "core is \"-1\""),
        ("slot=0,core=0,memory=0", "all are 0"),
        ("slots=1,core=1,memory=1", "\"slots\" is no weight"),
        ("", "\"\" is no weight"),
    ] {
        let pod = pod(&[limits], &[("hami.io/device-scoring-weights", text)]);
        let expected = format!(
            "annotation hami.io/device-scoring-weights is {text:?}: {why}; write three whole numbers \
             from 0 on, not all of them 0, as in slot=1,core=1,memory=3, or remove it"
        );
        assert_eq!(refusal(&*family, &pod), expected);
    }
}

#[test]
fn two_containers_with_mlus_are_refused_with_what_to_write() {
    let family = family(Policy::None);
    let mlu: &[_] = &[("cambricon.com/vmlu", 1)];
    assert_eq!(
        refusal(&*family, &pod(&[mlu, mlu], &[])),
        "container 2: a container before asks cambricon.com/vmlu too, and the device plugin serves one \
         container of a pod: ask in one container, or in pods of their own"
    );
}

#[test]
fn a_count_of_0_beside_parts_is_told() {
    let family = family(Policy::None);
    let remark = |limits: &[(&str, i64)]| family.remark(&pod(&[limits], &[]));
    let told = remark(&[("hygon.com/dcunum", 0), ("hygon.com/dcucores", 30)]);
    assert_eq!(
        told.as_deref(),
        Some(
            "container 1: hygon.com/dcunum is 0, so it gets no device, although it names \
             hygon.com/dcucores 30: write hygon.com/dcunum: 1, or leave both out"
        )
    );
    assert_eq!(remark(&[("hygon.com/dcunum", 0)]), None);
    assert_eq!(
        remark(&[("hygon.com/dcunum", 1), ("hygon.com/dcucores", 30)]),
        None
    );
}

#[test]
fn a_pod_that_asks_no_card_asks_nothing() {
    let family = family(Policy::None);
    for limits in [&[("hygon.com/dcunum", 0)][..], &[("other.io/card", 3)], &[]] {
        let pod = pod(&[limits], &[]);
        assert!(
            family.request(&pod, Tags::default()).is_none(),
            "{limits:?}"
        );
    }
}

#[test]
fn without_a_vendor_its_resources_are_plain_ones() {
    for (settings, is_on) in [
        (Settings::default(), false),
        (
            Settings {
                configured: true,
                ..Settings::default()
            },
            false,
        ),
        (
            Settings {
                configured: true,
                hami_vendors: vec!["hygon".to_owned(), "HYGON".to_owned()],
                ..Settings::default()
            },
            true,
        ),
    ] {
        let family = (super::SPEC.make)(&settings, &DeviceConfig::default());
        let cards = dcus().cards(&*family);
        assert_eq!(cards.cards.len(), if is_on { 2 } else { 0 });
        let dcu = pod(&[&[("hygon.com/dcunum", 1)]], &[]);
        assert_eq!(family.request(&dcu, Tags::default()).is_some(), is_on);
        let gpu = pod(&[&[("nvidia.com/gpu", 1)]], &[]);
        assert!(family.request(&gpu, Tags::default()).is_none());
        assert_eq!(family.ignored_resources().len(), if is_on { 2 } else { 0 });
    }
}

#[test]
fn a_broken_register_is_told_and_costs_its_card_alone() {
    let family = family(Policy::None);
    for (text, cards, told) in [
        ("", 0, 0),
        ("nonsense", 0, 1),
        ("[nonsense", 0, 1),
        ("[{}]", 0, 1),
        ("[1,2]", 0, 2),
        ("D0,4,65520,100,DCU,0,true:D1,4,65520,100,DCU,0:", 1, 1),
        ("D0,4,65520,100,DCU,0,true,0:", 0, 1),
        (
            "D0,4,65520,100,DCU,0,maybe:D1,x,65520,100,DCU,0,true:",
            0,
            2,
        ),
        ("D0,4,65520,100,DCU,0,true:D0,4,65520,100,DCU,0,true:", 1, 1),
        (",4,65520,100,DCU,0,true:", 0, 1),
        ("D0,0,65520,100,DCU,0,true:D1,1,-1,100,DCU,0,true", 0, 2),
        ("D0,4,99999999999,100,DCU,0,true", 0, 1),
    ] {
        let node = VendorNode::new(
            &[("hami.io/node-dcu-register", text)],
            &[("hygon.com/dcunum", 8)],
        );
        let found = node.cards(&*family);
        assert_eq!(found.cards.len(), cards, "{text}");
        assert_eq!(found.problems.len(), told, "{text}: {:?}", found.problems);
    }
    let mut off = dcus();
    off.amounts.clear();
    let found = off.cards(&*family);
    assert!(found.cards.is_empty());
    assert_eq!(
        found.problems,
        ["hami.io/node-dcu-register: not used, as the node has no hygon.com/dcunum allocatable"]
    );
    let odd = VendorNode::new(
        &[],
        &[
            ("mthreads.com/sgpu-core", 8),
            ("mthreads.com/sgpu-memory", 9),
            ("mthreads.com/vgpu", 1),
        ],
    );
    let found = odd.cards(&*family);
    assert_eq!((found.cards.len(), found.problems.len()), (0, 1));
}

#[test]
fn a_card_that_is_listed_twice_counts_once_and_is_given_to_nobody_where_its_entries_differ() {
    let family = family(Policy::None);
    let card = |memory, health| format!("D0,4,{memory},100,DCU,0,{health}:");
    for (other, usable, says) in [
        (card(65_520, true), true, "counts once"),
        (card(4096, true), false, "nobody gets it"),
        (card(65_520, false), false, "nobody gets it"),
    ] {
        let text = card(65_520, true) + &other;
        let node = VendorNode::new(
            &[("hami.io/node-dcu-register", &text)],
            &[("hygon.com/dcunum", 8)],
        );
        let found = node.cards(&*family);
        assert_eq!(found.cards.len(), 1, "{text}");
        assert_eq!(found.cards[0].is_usable(), usable, "{text}");
        assert!(found.problems[0].contains(says), "{:?}", found.problems);
    }
}

#[test]
fn a_node_without_cards_says_where_they_would_be_told() {
    let family = family(Policy::None);
    let cards = VendorNode::default().cards(&*family);
    let request = request(&*family, &pod(&[&[("hygon.com/dcunum", 1)]], &[]));
    let miss = request
        .explain("n1", &cards, LedgerTime::Now)
        .expect("none");
    assert_eq!(
        miss.text,
        "n1: not enough hygon.com/dcunum (the node has registered none): no DCU in \
         hami.io/node-dcu-register of the node: is its device plugin running?"
    );
}

#[test]
fn what_cannot_be_read_of_a_placed_pod_counts_as_used() {
    let family = family(Policy::None);
    let node = dcus();
    let cards = node.cards(&*family);
    let asks = pod(
        &[&[
            ("hygon.com/dcunum", 1),
            ("hygon.com/dcumem", 4096),
            ("hygon.com/dcucores", 5),
        ]],
        &[],
    );
    let key = "hami.io/dcu-devices-allocated";
    for (text, parts, problems) in [
        (Some("DCU-1,DCU,4096,5:;"), vec![(Some(1), 4096)], 0),
        // How much it has says its request.
        (Some("DCU-1,DCU,0,0:;"), vec![(Some(1), 4096)], 0),
        (Some("DCU-1,DCU,lots,5:;"), vec![(Some(1), 4096)], 0),
        (Some("DCU-1,DCU,65520,100:;"), vec![(Some(1), 4096)], 0),
        (Some("DCU-1:;"), vec![(Some(1), 4096)], 0),
        (
            Some("DCU-1,DCU,1,1:DCU-0,DCU,1,1:;"),
            vec![(Some(1), 4096)],
            1,
        ),
        // Registered under another id by now: either card could be it.
        (
            Some("DCU-9,DCU,4096,5:;"),
            vec![(None, 4096), (Some(0), 4096), (Some(1), 4096)],
            1,
        ),
        (Some("nonsense"), vec![(Some(0), 4096), (Some(1), 4096)], 2),
        (None, vec![(Some(0), 4096), (Some(1), 4096)], 1),
    ] {
        let records = text.map(|text| (key.to_owned(), text.to_owned()));
        let decoded = family.decode(&records.into_iter().collect(), &asks, &cards);
        let found: Vec<_> = decoded
            .allocations
            .iter()
            .map(|one| (one.card, CardPart::of(&one.charged).memory))
            .collect();
        assert_eq!(found, parts, "{text:?}");
        assert_eq!(decoded.problems.len(), problems, "{:?}", decoded.problems);
    }
}

#[test]
fn of_a_list_of_more_devices_than_any_node_has_nothing_is_read() {
    let family = family(Policy::None);
    let cards = dcus().cards(&*family);
    let everywhere = [(Some(0), 65_520), (Some(1), 65_520)];
    for (limits, parts, problems) in [
        (&[("hygon.com/dcunum", 1)][..], &everywhere[..], 2),
        (&[("other.io/card", 1)], &[], 1),
    ] {
        let text = "DCU-1,DCU,1,0:".repeat(1025) + ";";
        let records = vec![("hami.io/dcu-devices-allocated".to_owned(), text)];
        let decoded = family.decode(&records, &pod(&[limits], &[]), &cards);
        let found = decoded.allocations.iter();
        let found: Vec<_> = found
            .map(|one| (one.card, CardPart::of(&one.charged).memory))
            .collect();
        assert_eq!(found, parts);
        assert_eq!(decoded.problems.len(), problems, "{:?}", decoded.problems);
        assert_eq!(
            decoded.problems[0],
            "annotation hami.io/dcu-devices-allocated tells 1025 devices, and no node has more than \
             1024: nothing of it is read"
        );
    }
}

#[test]
fn of_a_pod_whose_request_is_refused_the_cards_that_are_not_told_count_as_used() {
    let family = family(Policy::None);
    let cards = dcus().cards(&*family);
    // Two whole cards, of which half is asked.
    let refused = pod(
        &[&[("hygon.com/dcunum", 2), ("hygon.com/dcucores", 50)]],
        &[],
    );
    refusal(&*family, &refused);
    let told = (Some(1), 65_520, true);
    for (text, parts) in [
        ("", vec![(Some(0), 65_520, false), (Some(1), 65_520, false)]),
        (
            "DCU-1,DCU,4096,5:nonsense:;",
            vec![told, (Some(0), 65_520, false)],
        ),
        (
            "DCU-1,DCU,4096,5:DCU-0,DCU,4096,5:;",
            vec![told, (Some(0), 65_520, true)],
        ),
    ] {
        let records = vec![("hami.io/dcu-devices-allocated".to_owned(), text.to_owned())];
        let decoded = family.decode(&records, &refused, &cards);
        let found = decoded.allocations.iter();
        let found: Vec<_> = found
            .map(|one| {
                let memory = CardPart::of(&one.charged).memory;
                (one.card, memory, one.certain)
            })
            .collect();
        assert_eq!(found, parts, "{text:?}");
    }
}

#[test]
fn cards_that_tell_no_memory_or_a_mode_that_is_unknown_are_given_to_nobody() {
    let family = family(Policy::None);
    for (register, key, count, says) in [
        (
            r#"[{"id":"G","count":10,"devcore":100,"health":true,"type":"NVIDIA L40S"}]"#,
            "hami.io/node-nvidia-register",
            "nvidia.com/gpu",
            "without memory in its register",
        ),
        (
            r#"[{"id":"G","count":10,"devmem":8000,"devcore":100,"health":true,"mode":"MIG"}]"#,
            "hami.io/node-nvidia-register",
            "nvidia.com/gpu",
            "in a mode that is not known",
        ),
        (
            r#"[{"id":"D","count":10,"devmem":8000,"devcore":100,"health":true,"mode":"mig",
                "migProfiles":[{"name":"1g","memoryMB":1000,"core":10,"sliceCount":1,
                                "placements":[{"start":0,"size":1}]}]}]"#,
            "hami.io/node-dcu-register",
            "hygon.com/dcunum",
            "in MIG mode, which its device plugin cannot hand out",
        ),
    ] {
        let node = VendorNode::new(&[(key, register)], &[(count, 10)]);
        let cards = node.cards(&*family);
        let why = cards.cards[0].unusable.as_deref().unwrap_or_default();
        assert!(why.contains(says), "{key}: {why}");
    }
}
