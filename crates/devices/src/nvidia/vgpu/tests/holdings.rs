//! What placed pods hold, as their annotations tell it.

use super::{
    Limit, asking, cards_of, container, family, ids, mark, occupy, place, pod, pod_of, request,
};
use crate::binding::{AnnotationValue, NodeLock};
use crate::facts::{ContainerKind, PodFacts};
use crate::family::Decoded;
use crate::ledger::{LedgerTime, Load, NodeCards, Partition, Tags};
use crate::nvidia::vgpu::tests::with;
use crate::nvidia::vgpu::{tests::config, tests::settings};
use crate::part::CardPart;
use crate::settings::{Policy, Settings};

const NODE: &str = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                    GPU-bb,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                    GPU-m0,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";

fn held(ids: Option<&str>, pod: &PodFacts) -> (NodeCards, Decoded) {
    let family = family(Policy::None);
    let cards = cards_of(&*family, NODE, None);
    let key = "volcano.sh/vgpu-ids-new".to_owned();
    let records = ids
        .map(|ids| vec![(key, ids.to_owned())])
        .unwrap_or_default();
    let held = family.decode(&records, pod, &cards);
    (cards, held)
}

/// Card, memory and cores charged, whether it is certain.
fn seen(held: &Decoded) -> Vec<(Option<u16>, i64, i64, bool)> {
    let seen = |allocation: &crate::Allocation| {
        let charged = CardPart::of(&allocation.charged);
        (
            allocation.card,
            charged.memory,
            charged.cores,
            allocation.certain,
        )
    };
    held.allocations.iter().map(seen).collect()
}

#[test]
fn every_device_of_every_element_counts() {
    let text = "GPU-aa,NVIDIA,4000,0:;GPU-aa,NVIDIA,6000,30:GPU-m0[group2-3],NVIDIA,3000,0:";
    let (_, held) = held(Some(text), &asking(text));
    let expected = [
        (Some(0), 4000, 0, true),
        (Some(0), 6000, 30, true),
        (Some(2), 5120, 0, true),
    ];
    assert_eq!(seen(&held), expected);
    assert_eq!(
        held.allocations[2].partition,
        Some(Partition {
            group: 1,
            position: 3
        })
    );
    assert_eq!(
        CardPart::of(&held.allocations[2].asked).memory,
        3000,
        "the memory asked is what is written"
    );
    assert_eq!(held.problems, Vec::<String>::new());
}

#[test]
fn annotations_say_which_cards_and_requests_how_much_of_each() {
    let asks = pod(&[&[('n', 1), ('m', 4000), ('c', 20)]], &[]);
    for amounts in [
        ",NVIDIA,4000,20",
        ",NVIDIA,0,0",
        ",NVIDIA,24576,100",
        ",NVIDIA,much,-1",
        "",
    ] {
        let (_, held) = held(Some(&format!("GPU-bb{amounts}:")), &asks);
        assert_eq!(seen(&held), [(Some(1), 4000, 20, true)], "{amounts:?}");
        assert_eq!(held.problems, Vec::<String>::new(), "{amounts:?}");
    }
}

#[test]
fn nothing_counts_that_is_not_asked() {
    let text = "GPU-aa,NVIDIA,24576,100:GPU-bb,NVIDIA,24576,100:";
    for (asks, counts) in [
        (PodFacts::default(), vec![]),
        (pod(&[&[]], &[]), vec![]),
        (pod(&[&[('n', 0)]], &[]), vec![]),
        // Without a number the device plugin is asked for no GPU.
        (pod(&[&[('c', 101)]], &[]), vec![]),
        (
            pod(&[&[('n', 1), ('m', 100)]], &[]),
            vec![(Some(0), 100, 0, true)],
        ),
    ] {
        let (_, held) = held(Some(text), &asks);
        assert_eq!(seen(&held), counts, "{asks:?}");
        assert_eq!(held.problems.len(), 1, "{:?}", held.problems);
        assert!(
            held.problems[0].contains("more than the pod asks"),
            "{:?}",
            held.problems
        );
    }
}

#[test]
fn a_card_told_twice_to_one_container_counts_once_and_the_other_one_anywhere() {
    let asks = pod(&[&[('n', 2), ('m', 100)]], &[]);
    let (_, held) = held(Some("GPU-aa,NVIDIA,100,0:GPU-aa,NVIDIA,100,0:"), &asks);
    let expected = [
        (Some(0), 100, 0, true),
        (Some(1), 100, 0, false),
        (Some(2), 100, 0, false),
    ];
    assert_eq!(seen(&held), expected);
    assert_eq!(held.problems.len(), 2, "{:?}", held.problems);
}

#[test]
fn what_cannot_be_read_counts_as_used_and_is_told() {
    let unknown = Some(Partition::UNKNOWN);
    // Piece, card, partition.
    type Case<'a> = (&'a str, Option<u16>, Option<Partition>);
    let cases: &[Case] = &[
        ("GPU-aa[group1-0],NVIDIA,100,0", Some(0), None),
        ("GPU-m0,NVIDIA,100,0", Some(2), unknown),
        ("GPU-m0[group1-99],NVIDIA,100,0", Some(2), unknown),
        ("GPU-m0[group9-0],NVIDIA,100,0", Some(2), unknown),
        ("GPU-m0[group1-+1],NVIDIA,100,0", Some(2), unknown),
        ("GPU-m0[group1-1,NVIDIA,100,0", Some(2), unknown),
        ("GPU-zz,NVIDIA,100,0", None, None),
        ("GPU-a,NVIDIA,100,0", None, None),
    ];
    for (piece, card, partition) in cases {
        let (_, held) = held(Some(piece), &pod(&[&[('n', 1), ('m', 100)]], &[]));
        let first = &held.allocations[0];
        let charged = CardPart::of(&first.charged);
        assert_eq!((first.card, charged.memory), (*card, 100), "{piece}");
        assert!(first.certain, "{piece}");
        assert_eq!(first.partition, *partition, "{piece}");
        // Of a card that the node does not tell every one is suspected.
        let suspects = if card.is_none() { 3 } else { 0 };
        assert_eq!(held.allocations.len(), 1 + suspects, "{piece}");
        let problem = held.problems.join("\n");
        assert!(
            problem.contains("volcano.sh/vgpu-ids-new") && problem.contains(piece),
            "{problem}"
        );
    }
}

#[test]
fn a_card_with_an_unknown_instance_gives_out_no_other() {
    let family = family(Policy::None);
    for ids in ["GPU-m0[group1-99],NVIDIA,100,0:", "GPU-m0,NVIDIA,100,0:"] {
        let mut cards = cards_of(&*family, NODE, None);
        let records = vec![("volcano.sh/vgpu-ids-new".to_owned(), ids.to_owned())];
        let held = family.decode(&records, &asking(ids), &cards);
        cards.charge(1, Tags::default(), Load::Held, &held.allocations);
        let asks = pod(
            &[&[('n', 1), ('m', 100)]],
            &[("volcano.sh/vgpu-mode", "mig")],
        );
        let failure = place(&*request(&*family, &asks), &cards).expect_err("the card is closed");
        assert_eq!(
            failure.text,
            "not enough gpu fitted on this node (no free MIG instance)"
        );
    }
}

#[test]
fn a_card_that_comes_back_is_found_by_its_uuid() {
    let family = family(Policy::None);
    let records = vec![(
        "volcano.sh/vgpu-ids-new".to_owned(),
        "GPU-bb,NVIDIA,100,0:GPU-aa,NVIDIA,what,0:".to_owned(),
    )];
    let asks = pod(&[&[('n', 1), ('m', 100)], &[('n', 1), ('c', 30)]], &[]);
    let mut held = family.decode(&records, &asks, &NodeCards::default());
    assert_eq!(held.problems.len(), 2, "{:?}", held.problems);
    let cards = cards_of(&*family, NODE, None);
    cards.resolve(&mut held.allocations);
    let expected = [
        (Some(1), 100, 0, true),
        (Some(0), i64::from(i32::MAX), 30, false),
    ];
    assert_eq!(
        seen(&held),
        expected,
        "all of a card of which nobody knows how large it is"
    );
}

#[test]
fn a_device_that_is_missing_counts_on_every_card_it_could_be_on() {
    let one: &[Limit] = &[('n', 1), ('m', 1000), ('c', 20)];
    let two: &[Limit] = &[('n', 2), ('m', 1000)];
    let everywhere = [
        (Some(0), 1000, 20, false),
        (Some(1), 1000, 20, false),
        (Some(2), 1000, 20, false),
    ];
    for ids in [None, Some(""), Some(";;"), Some("garbage"), Some(":,;")] {
        let (_, held) = held(ids, &pod(&[one], &[]));
        let guesses: Vec<_> = seen(&held)
            .into_iter()
            .filter(|allocation| !allocation.3)
            .collect();
        assert_eq!(guesses, everywhere, "{ids:?}");
        assert!(
            held.problems
                .last()
                .expect("is told")
                .contains("counts as used"),
            "{ids:?}"
        );
        assert_eq!(
            held.allocations.last().expect("a guess").partition,
            Some(Partition::UNKNOWN)
        );
    }
    let (_, partly) = held(Some("GPU-bb,NVIDIA,1000,0:"), &pod(&[two], &[]));
    let expected = [
        (Some(1), 1000, 0, true),
        (Some(0), 1000, 0, false),
        (Some(2), 1000, 0, false),
    ];
    assert_eq!(seen(&partly), expected);
    let (_, unreadable) = held(None, &pod(&[&[('n', 1), ('m', 3_221_225_472)]], &[]));
    let memory: Vec<i64> = unreadable
        .allocations
        .iter()
        .map(|allocation| CardPart::of(&allocation.charged).memory)
        .collect();
    assert_eq!(
        memory,
        [24576, 24576, 40960],
        "a request that cannot be read may be for all"
    );
    let refused = pod(&[&[('n', 2), ('m', 3_221_225_472)]], &[]);
    let (_, partly) = held(Some("GPU-bb,NVIDIA,1000,0:"), &refused);
    let expected = [
        (Some(1), 24576, 0, true),
        (Some(0), 24576, 0, false),
        (Some(2), 40960, 0, false),
    ];
    assert_eq!(seen(&partly), expected);
    let (_, all) = held(Some("GPU-bb,NVIDIA,1000,0:GPU-aa,NVIDIA,1000,0:"), &refused);
    let expected = [(Some(1), 24576, 0, true), (Some(0), 24576, 0, true)];
    assert_eq!(seen(&all), expected);
}

#[test]
fn a_device_that_is_missing_is_told_with_its_container_counted_from_one() {
    let mut asks = pod(&[&[('n', 1), ('m', 1000)]], &[]);
    let (_, first) = held(None, &asks);
    let expected = "annotation volcano.sh/vgpu-ids-new is missing: it tells 0 of 1 GPUs of \
                    container 1; until the pod ends, every GPU of the node it could have counts \
                    as used";
    assert_eq!(first.problems, [expected]);
    asks.containers
        .insert(0, container(ContainerKind::Init, &[]));
    let (_, after_init) = held(None, &asks);
    assert_eq!(after_init.problems, [expected]);
    asks.containers.remove(0);
    asks.containers[0].kind = ContainerKind::Sidecar;
    let (_, sidecar) = held(None, &asks);
    assert!(sidecar.problems[0].contains("of init container 1;"));
}

#[test]
fn a_pod_that_asks_nothing_and_has_nothing_holds_nothing() {
    for ids in [None, Some("")] {
        assert_eq!(held(ids, &pod(&[&[]], &[])).1, Decoded::default());
    }
}

#[test]
fn elements_belong_to_the_containers_that_asked() {
    let one: &[Limit] = &[('n', 1), ('m', 1000)];
    // Allocation, containers, container of each device.
    type Case<'a> = (&'a str, &'a [&'a [Limit]], &'a [u16]);
    let cases: &[Case] = &[
        (";GPU-aa,NVIDIA,1000,0:", &[&[], one], &[1]),
        // As Volcano writes it.
        ("GPU-aa,NVIDIA,1000,0:", &[&[], one], &[1]),
        (
            "GPU-aa,NVIDIA,1000,0:;;GPU-bb,NVIDIA,1000,0:",
            &[one, &[], one],
            &[0, 2],
        ),
        (
            "GPU-aa,NVIDIA,1000,0:;GPU-bb,NVIDIA,1000,0:",
            &[one, &[], one],
            &[0, 2],
        ),
    ];
    for (ids, containers, expected) in cases {
        let (_, held) = held(Some(ids), &pod(containers, &[]));
        let of: Vec<u16> = held
            .allocations
            .iter()
            .map(|allocation| allocation.container)
            .collect();
        assert_eq!(of, *expected, "{ids}");
        assert_eq!(held.problems, Vec::<String>::new(), "{ids}");
    }
}

#[test]
fn a_sidecar_takes_an_empty_place_before_the_first_container_with_vgpu() {
    let family = family(Policy::Binpack);
    let two = NODE.split("GPU-m0").next().expect("a part");
    let cards = cards_of(&*family, two, None);
    let sidecar = |m| container(ContainerKind::Sidecar, &[('n', 1), ('m', m)]);
    let regular = |limits: &[Limit]| container(ContainerKind::Regular, limits);
    let cases = [
        (
            pod_of(vec![sidecar(10), regular(&[])], &[]),
            "GPU-aa,NVIDIA,10,0:",
        ),
        (
            pod_of(
                vec![
                    sidecar(10),
                    sidecar(20),
                    regular(&[]),
                    regular(&[]),
                    regular(&[]),
                ],
                &[],
            ),
            "GPU-aa,NVIDIA,10,0:;GPU-aa,NVIDIA,20,0:",
        ),
        (
            pod_of(
                vec![
                    sidecar(10),
                    regular(&[]),
                    regular(&[]),
                    regular(&[('m', 30)]),
                ],
                &[],
            ),
            "GPU-aa,NVIDIA,10,0:;;GPU-aa,NVIDIA,30,0:",
        ),
    ];
    for (asks, expected) in cases {
        let request = request(&*family, &asks);
        let allocations = request.choose(&cards, LedgerTime::Now).expect("fits");
        let text = ids(&*request, &cards, &allocations);
        assert_eq!(text, expected);
        let records = vec![("volcano.sh/vgpu-ids-new".to_owned(), text)];
        assert_eq!(
            family.decode(&records, &asks, &cards).allocations,
            allocations,
            "read back"
        );
    }
}

#[test]
fn bindings_are_guarded_and_locked_as_configured() {
    for (in_flight_guard, node_lock) in [(true, false), (false, true)] {
        let settings = Settings {
            in_flight_guard,
            node_lock,
            ..settings(Policy::None)
        };
        let family = with(&settings, config());
        let cards = cards_of(&*family, NODE, None);
        let request = request(&*family, &pod(&[&[('n', 2), ('m', 10)]], &[]));
        let allocations = request.choose(&cards, LedgerTime::Now).expect("fits");
        let marks = request.annotations("n1", &cards, &allocations);
        let locked = node_lock.then_some(NodeLock::new("hamivgpu"));
        assert_eq!(marks.locks, Vec::from_iter(locked));
        let content = match mark(&marks, "volcano.sh/devices-to-allocate") {
            AnnotationValue::Text(text) => text.clone(),
            other => panic!("no text: {other:?}"),
        };
        let guard = marks.guard.expect("the plugin guesses its pod");
        assert_eq!(guard.waits, in_flight_guard);
        assert_eq!((guard.kind, &guard.content), (0, &content));
    }
}

#[test]
fn gauges_sum_what_is_certain_by_card_and_pod() {
    let family = family(Policy::None);
    let mut cards = cards_of(&*family, NODE, None);
    let twice = "GPU-aa,NVIDIA,1000,10:;GPU-aa,NVIDIA,500,5:";
    occupy(&*family, &mut cards, 1, twice, Tags::default());
    occupy(
        &*family,
        &mut cards,
        2,
        "GPU-aa,NVIDIA,100,0:",
        Tags::default(),
    );
    let guess = family.decode(&Vec::new(), &pod(&[&[('n', 1)]], &[]), &cards);
    cards.charge(3, Tags::default(), Load::Held, &guess.allocations);
    let gauges = family.gauges(&cards);
    let of = |name: &str, card: &str, pod: Option<u32>| {
        let found = gauges
            .iter()
            .find(|g| g.name == name && *g.card == *card && g.pod == pod);
        found.map(|gauge| gauge.value)
    };
    let memory = "volcano_vgpu_device_memory_allocation_for_a_certain_pod";
    let cores = "volcano_vgpu_device_core_allocation_for_a_certain_pod";
    let expected = [
        (
            "volcano_vgpu_device_shared_number",
            "GPU-aa",
            None,
            Some(2.0),
        ),
        (
            "volcano_vgpu_device_allocated_memory",
            "GPU-aa",
            None,
            Some(1600.0),
        ),
        (
            "volcano_vgpu_device_allocated_cores",
            "GPU-aa",
            None,
            Some(15.0),
        ),
        (
            "volcano_vgpu_device_memory_limit",
            "GPU-aa",
            None,
            Some(24576.0),
        ),
        (
            "volcano_vgpu_device_allocated_memory",
            "GPU-bb",
            None,
            Some(0.0),
        ),
        (memory, "GPU-aa", Some(1), Some(1500.0)),
        (cores, "GPU-aa", Some(1), Some(15.0)),
        (memory, "GPU-aa", Some(2), Some(100.0)),
        (memory, "GPU-aa", Some(3), None),
    ];
    for (name, card, pod, value) in expected {
        assert_eq!(of(name, card, pod), value, "{name} {card} {pod:?}");
    }
    let names: Vec<&str> = crate::nvidia::vgpu::SPEC
        .gauges
        .iter()
        .map(|gauge| gauge.name)
        .collect();
    assert!(gauges.iter().all(|gauge| names.contains(&gauge.name)));
}

#[test]
fn the_percentage_counts_nowhere_on_nodes() {
    let names = family(Policy::None).ignored_resources();
    assert_eq!(names, ["volcano.sh/vgpu-memory-percentage"]);
}

#[test]
fn while_the_family_is_off_a_pod_with_cards_is_told_which_argument_switches_it_on() {
    let ids = "GPU-aa,NVIDIA,4000,0:".to_owned();
    let records = vec![("volcano.sh/vgpu-ids-new".to_owned(), ids)];
    for (configured, remedy) in [
        (
            true,
            "vGPU is off: set the argument deviceshare.VGPUEnable: true",
        ),
        (false, "plugin deviceshare is not configured: add it"),
    ] {
        let settings = Settings {
            configured,
            ..Settings::default()
        };
        let family = with(&settings, config());
        let cards = cards_of(&*family, NODE, None);
        let held = family.decode(&records, &pod(&[&[('n', 1)]], &[]), &cards);
        assert_eq!(held.problems.len(), 1, "{:?}", held.problems);
        assert!(held.problems[0].contains(remedy), "{:?}", held.problems);
        assert!(!held.problems[0].contains("no card of the node"));
    }
}
