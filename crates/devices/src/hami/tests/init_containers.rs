//! Cards of containers that do not run at the same time (spec/04 §23.2).

use super::{Limit, VendorNode, family, place, refusal, request, text};
use crate::facts::{ContainerKind, PodFacts};
use crate::fixture::{container, pod_of};
use crate::ledger::{LedgerTime, NodeCards};
use crate::part::CardPart;
use crate::settings::Policy;

use ContainerKind::{Init, Regular, Sidecar};

const LIST: &str = "hami.io/vgpu-devices-allocated";

/// Two GPUs of 1000 MiB for so many containers each.
fn node(slots: i64) -> VendorNode {
    let line = |id: &str| format!("{id},{slots},1000,100,A,0,true:");
    let register = line("G0") + &line("G1");
    VendorNode::new(
        &[("hami.io/node-nvidia-register", &register)],
        &[("nvidia.com/gpu", 2 * slots)],
    )
}

/// A pod of containers that ask so many cards, and of each so much memory and so many cores.
fn pod(containers: &[(ContainerKind, i64, i64, i64)]) -> PodFacts {
    let limits = |(kind, count, memory, cores): &(ContainerKind, i64, i64, i64)| {
        let limits: [Limit; 3] = [
            ("nvidia.com/gpu", *count),
            ("nvidia.com/gpumem", *memory),
            ("nvidia.com/gpucores", *cores),
        ];
        container(*kind, &limits)
    };
    pod_of(containers.iter().map(limits).collect(), &[])
}

/// Memory, containers and cores in use of both cards.
fn used(cards: &NodeCards) -> [[i64; 3]; 2] {
    [0, 1].map(|at| CardPart::used(cards, at, LedgerTime::Now).row())
}

#[test]
fn a_card_is_charged_the_most_that_is_in_use_of_it_at_any_time() {
    for (containers, list, expected) in [
        // The init container has ended when the other starts.
        (
            &[(Init, 1, 800, 10), (Regular, 1, 700, 30)][..],
            "G1,NVIDIA,800,10:;G1,NVIDIA,700,30:;",
            [[0, 0, 0], [800, 1, 30]],
        ),
        (
            &[(Init, 1, 400, 0), (Init, 1, 900, 0), (Init, 1, 500, 0)],
            "G1,NVIDIA,400,0:;G1,NVIDIA,900,0:;G1,NVIDIA,500,0:;",
            [[0, 0, 0], [900, 1, 0]],
        ),
        // A sidecar lasts: it runs with the init container after it, not with the one before it.
        (
            &[
                (Init, 1, 900, 0),
                (Sidecar, 1, 300, 0),
                (Init, 1, 600, 0),
                (Regular, 1, 200, 0),
            ],
            "G1,NVIDIA,900,0:;G1,NVIDIA,300,0:;G1,NVIDIA,600,0:;G1,NVIDIA,200,0:;",
            [[0, 0, 0], [900, 2, 0]],
        ),
        (
            &[
                (Sidecar, 1, 600, 0),
                (Init, 1, 600, 0),
                (Regular, 1, 300, 0),
            ],
            "G1,NVIDIA,600,0:;G0,NVIDIA,600,0:;G1,NVIDIA,300,0:;",
            [[600, 1, 0], [900, 2, 0]],
        ),
        // Each container has an element, whether it asks or not.
        (
            &[(Init, 0, 0, 0), (Init, 2, 100, 0), (Regular, 1, 100, 0)],
            ";G1,NVIDIA,100,0:G0,NVIDIA,100,0:;G1,NVIDIA,100,0:;",
            [[100, 1, 0], [100, 1, 0]],
        ),
    ] {
        let family = family(Policy::None);
        let mut cards = node(10).cards(&*family);
        let pod = pod(containers);
        let written = place(&*family, &mut cards, (1, &pod)).expect("fits");
        let found = text(&written, LIST).expect("written");
        assert_eq!(found, list);
        assert_eq!(
            text(&written, "hami.io/vgpu-devices-to-allocate"),
            Some(found.clone())
        );
        assert_eq!(used(&cards), expected, "{containers:?}");
        // A restart reads the same.
        let mut cards = node(10).cards(&*family);
        let decoded = family.decode(&vec![(LIST.to_owned(), found)], &pod, &cards);
        assert!(decoded.problems.is_empty(), "{:?}", decoded.problems);
        let held = crate::ledger::Load::Held;
        cards.charge(
            1,
            crate::ledger::Tags::default(),
            held,
            &decoded.allocations,
        );
        assert_eq!(used(&cards), expected, "{containers:?}");
    }
}

#[test]
fn one_slot_is_enough_for_containers_that_follow_each_other() {
    let family = family(Policy::None);
    let cards = node(1).cards(&*family);
    for (containers, fits) in [
        (&[(Init, 2, 900, 0), (Regular, 2, 900, 0)][..], true),
        (&[(Sidecar, 2, 100, 0), (Regular, 1, 100, 0)], false),
        (&[(Sidecar, 2, 100, 0), (Init, 1, 100, 0)], false),
        (&[(Init, 3, 100, 0)], false),
    ] {
        let request = request(&*family, &pod(containers));
        assert_eq!(
            request.fit(&cards, LedgerTime::Now).is_ok(),
            fits,
            "{containers:?}"
        );
    }
}

#[test]
fn queues_count_the_most_at_any_time() {
    let family = family(Policy::None);
    let cards = node(10).cards(&*family);
    let containers = [
        (Init, 1, 800, 10),
        (Sidecar, 1, 100, 20),
        (Regular, 2, 200, 30),
    ];
    let request = request(&*family, &pod(&containers));
    let expected: Vec<(&str, i64)> = vec![
        ("nvidia.com/gpucores", 80_000),
        ("nvidia.com/gpumem", 800_000),
    ];
    assert_eq!(request.charge(None).to_vec(), expected);
    let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
    // On its card the init container has more than the others, on the other card there is a rest.
    let expected: Vec<(&str, i64)> = vec![
        ("nvidia.com/gpucores", 80_000),
        ("nvidia.com/gpumem", 1_000_000),
    ];
    assert_eq!(request.charge(Some(&chosen)).to_vec(), expected);
}

#[test]
fn more_init_containers_with_cards_than_are_placed_are_refused() {
    let asks = |kind| (kind, 1, 10, 0);
    let many = |inits: usize| {
        let init = (0..inits).map(|at| asks([Init, Sidecar][at % 2]));
        let idle = (0..100).map(|_| (Init, 0, 0, 0));
        pod(&init.chain(idle).chain([asks(Regular)]).collect::<Vec<_>>())
    };
    let family = family(Policy::None);
    request(&*family, &many(64));
    assert_eq!(
        refusal(&*family, &many(65)),
        "65 of spec.initContainers ask nvidia.com/gpu or other devices of its kind, and at most 64 of a pod \
         may: let fewer ask, by doing the work of several in one"
    );
}
