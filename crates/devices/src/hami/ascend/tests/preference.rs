//! What pods say of the order of chips and nodes, as for the cards of HAMi's other vendors (spec/05 §3.5).

use super::{NodeLine, family, occupy, place, pod, refusal, request};
use crate::ledger::NodeCards;
use crate::settings::Policy;

const CHIPS: &str = "hami.io/gpu-scheduler-policy";
const NODES: &str = "hami.io/node-scheduler-policy";
const WEIGHTS: &str = "hami.io/device-scoring-weights";

/// Three chips: U0 has two containers on it, U1 one with more memory, U2 is idle and at another NUMA node.
fn cards() -> NodeCards {
    let mut node = NodeLine::new("Ascend310P", 3, 7, 21_527);
    node.chips[2] = node.chips[2].replace('{', r#"{"numa":1,"#);
    let family = family(Policy::None);
    let mut cards = node.cards(&*family);
    for (number, held) in [("U0", 3072), ("U0", 3072), ("U1", 12_288)]
        .iter()
        .zip(100..)
    {
        let (id, memory) = number;
        let text = format!("{id},Ascend310P,{memory},0:;");
        occupy(&*family, &mut cards, held, &text);
    }
    cards
}

#[test]
fn the_annotations_of_a_pod_order_its_chips() {
    for (annotations, expected) in [
        (&[][..], "U0"),
        (&[(CHIPS, "binpack")], "U1"),
        (&[(CHIPS, "spread")], "U2"),
        (&[(CHIPS, "numa")], "U2"),
        (&[(CHIPS, "numa,binpack")], "U2"),
        (&[(CHIPS, "binpack,numa")], "U1"),
        // By slots the first is fuller.
        (
            &[(CHIPS, "binpack"), (WEIGHTS, "slot=1,core=0,memory=0")],
            "U0",
        ),
        (
            &[(CHIPS, "binpack"), (WEIGHTS, "slot=0,core=0,memory=1")],
            "U1",
        ),
        (&[(WEIGHTS, "slot=1,core=1,memory=1")], "U2"),
        // What HAMi does not know of NPUs keeps none away.
        (&[(CHIPS, "mutex,topology-aware")], "U0"),
        (&[(CHIPS, "fast")], "U0"),
    ] {
        let asks = pod("Ascend310P", &[&[('n', 1), ('m', 3072)]], annotations);
        let request = request(&*family(Policy::None), &asks);
        let placed = place(&*request, "Ascend310P", &mut cards(), 1).expect("fits");
        let (list, ..) = placed;
        assert!(
            list.starts_with(&format!("{expected},")),
            "{annotations:?}: {list}"
        );
    }
    // What is configured is only what the pod leaves open.
    let asks = pod(
        "Ascend310P",
        &[&[('n', 1), ('m', 3072)]],
        &[(CHIPS, "spread")],
    );
    let request = request(&*family(Policy::Binpack), &asks);
    let (list, _, score) = place(&*request, "Ascend310P", &mut cards(), 1).expect("fits");
    assert_eq!((&list[..3], score), ("U2,", 100.0));
}

#[test]
fn a_pod_may_have_nodes_scored_by_all_their_chips() {
    // Memory 18432 of 64581, slots 3 of 21, no cores.
    let full = 100.0 * (18_432.0 / 64_581.0 + 3.0 / 21.0) / 3.0;
    for (policy, expected) in [("binpack", full), ("spread", 100.0 - full)] {
        let asks = pod(
            "Ascend310P",
            &[&[('n', 1), ('m', 3072)]],
            &[(NODES, policy)],
        );
        let request = request(&*family(Policy::Spread), &asks);
        let (_, _, score) = place(&*request, "Ascend310P", &mut cards(), 1).expect("fits");
        assert!((score - expected).abs() < 1e-9, "{policy}: {score}");
    }
}

#[test]
fn what_cannot_be_read_or_does_not_count_is_told() {
    let asks = |annotations| pod("Ascend310P", &[&[('n', 1)]], annotations);
    let family = family(Policy::None);
    let why = refusal(&*family, &asks(&[(WEIGHTS, "slot=1,core=1")]));
    assert!(why.contains("memory is missing"), "{why}");
    for (annotations, told) in [
        (
            &[(CHIPS, "mutex")][..],
            "mutex and topology-aware do not count for NPUs",
        ),
        (
            &[(CHIPS, "fast")],
            "\"fast\" is no policy and counts as absent",
        ),
        (
            &[(NODES, "numa")],
            "\"numa\" is no policy and counts as absent",
        ),
    ] {
        let request = request(&*family, &asks(annotations));
        let warning = request.warning().unwrap_or_default();
        assert!(warning.contains(told), "{warning}");
    }
    assert_eq!(request(&*family, &asks(&[])).warning(), None);
}
