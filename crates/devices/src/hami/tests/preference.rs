//! Orders of cards and nodes that a pod asks for in annotations (spec/04 §23.4).

use super::{VendorNode, family, place, pod, request, text};
use crate::ledger::LedgerTime;
use crate::settings::Policy;

const CARDS: &str = "hami.io/gpu-scheduler-policy";
const NODES: &str = "hami.io/node-scheduler-policy";
const WEIGHTS: &str = "hami.io/device-scoring-weights";
const LINKS: &str = "hami.io/node-nvidia-score";

/// A pod with so many cards, of each so much memory and so many cores.
fn asking(
    (count, memory, cores): (i64, i64, i64),
    annotations: &[(&str, &str)],
) -> crate::facts::PodFacts {
    let limits = [
        ("nvidia.com/gpu", count),
        ("nvidia.com/gpumem", memory),
        ("nvidia.com/gpucores", cores),
    ];
    pod(&[&limits], annotations)
}

/// Four GPUs of 1000 MiB, two near each of two NUMA nodes.
fn node(links: Option<&str>) -> VendorNode {
    let register = "G0,10,1000,100,A,0,true:G1,10,1000,100,A,0,true:\
                    G2,10,1000,100,A,1,true:G3,10,1000,100,A,1,true:";
    let mut annotations = vec![("hami.io/node-nvidia-register", register)];
    annotations.extend(links.map(|links| (LINKS, links)));
    VendorNode::new(&annotations, &[("nvidia.com/gpu", 40)])
}

/// G1 has 100 MiB and 20 cores in use, G2 300 MiB; which cards the pod gets then.
fn chosen(policy: Policy, node: &VendorNode, count: i64, annotations: &[(&str, &str)]) -> String {
    let family = family(policy);
    let mut cards = node.cards(&*family);
    for (number, id, memory, cores) in [(1, "G1", 100, 20), (2, "G2", 300, 0)] {
        let on = asking((1, memory, cores), &[("nvidia.com/use-gpuuuid", id)]);
        place(&*family, &mut cards, (number, &on)).expect("fits");
    }
    let written = place(
        &*family,
        &mut cards,
        (3, &asking((count, 10, 0), annotations)),
    );
    let written = written.unwrap_or_else(|why| panic!("{annotations:?}: {why}"));
    let found = text(&written, "hami.io/vgpu-devices-allocated").expect("written");
    let ids = found
        .split([':', ';'])
        .filter_map(|one| one.split_once(','));
    ids.map(|(id, _)| id).collect::<Vec<_>>().join(" ")
}

#[test]
fn policies_in_a_list_order_cards_one_after_the_other() {
    for (policy, count, expected) in [
        ("binpack", 4, "G2 G1 G0 G3"),
        // Of equal cards those of the highest NUMA node, and of these the last.
        ("binpack,numa", 4, "G2 G1 G3 G0"),
        ("numa", 4, "G3 G2 G1 G0"),
        ("numa,binpack", 4, "G2 G3 G1 G0"),
        ("numa, spread", 4, "G3 G2 G0 G1"),
        ("spread,numa", 4, "G3 G0 G2 G1"),
        // Idle cards only, in the order of the list.
        ("mutex,numa", 2, "G3 G0"),
        ("mutex,binpack", 2, "G0 G3"),
        // The second of two that contradict each other changes nothing.
        ("spread,binpack", 2, "G0 G3"),
        ("mutex,topology-aware", 2, "G3 G0"),
        ("", 1, "G3"),
    ] {
        let found = chosen(Policy::None, &node(None), count, &[(CARDS, policy)]);
        assert_eq!(found, expected, "{policy}");
    }
    let found = chosen(Policy::Binpack, &node(None), 2, &[(CARDS, "mutex")]);
    assert_eq!(
        found, "G0 G3",
        "the configured order holds for who names none"
    );
}

#[test]
fn a_policy_nobody_knows_is_told_and_counts_as_absent() {
    for (key, value, warning) in [
        (
            CARDS,
            "binpak",
            "annotation hami.io/gpu-scheduler-policy: \"binpak\" is no policy and counts as absent: \
             write binpack, spread, numa, mutex or topology-aware, or several of them with commas \
             between",
        ),
        (
            CARDS,
            "fast,spread",
            "annotation hami.io/gpu-scheduler-policy: \"fast\" is no policy and counts as absent: write \
             binpack, spread, numa, mutex or topology-aware, or several of them with commas between",
        ),
        (
            NODES,
            "numa",
            "annotation hami.io/node-scheduler-policy: \"numa\" is no policy and counts as absent: \
             write binpack or spread",
        ),
    ] {
        let family = family(Policy::Binpack);
        let cards = node(None).cards(&*family);
        let request = request(&*family, &asking((1, 10, 0), &[(key, value)]));
        assert!(request.fit(&cards, LedgerTime::Now).is_ok());
        assert_eq!(request.warning(), Some(warning));
    }
    assert_eq!(
        chosen(Policy::Binpack, &node(None), 1, &[(CARDS, "binpak")]),
        "G2"
    );
    assert_eq!(
        chosen(Policy::Binpack, &node(None), 1, &[(CARDS, "fast,spread")]),
        "G0"
    );
}

#[test]
fn weights_say_what_counts_as_full() {
    for (policy, weights, expected) in [
        // Slots: G1 and G2 are equal, the first of them goes. Cores: G1. Memory: G2.
        ("binpack", "slot=1,core=0,memory=0", "G1 G2"),
        ("binpack", "slot=0, core=1, memory=0", "G1 G0"),
        ("binpack", "slot=0,core=0,memory=1", "G2 G1"),
        ("binpack", "memory=1,slot=1,core=2", "G1 G2"),
        ("spread", "slot=0,core=0,memory=1", "G0 G3"),
        ("numa,spread", "slot=0,core=0,memory=1", "G3 G2"),
        // Without a policy as HAMi, whose own default is spread.
        ("", "slot=0,core=0,memory=1", "G0 G3"),
    ] {
        let annotations = [(CARDS, policy), (WEIGHTS, weights)];
        let found = chosen(Policy::None, &node(None), 2, &annotations);
        assert_eq!(found, expected, "{policy} {weights}");
    }
}

#[test]
fn topology_aware_takes_the_cards_that_are_linked_best() {
    let links = r#"[{"uuid":"G0","score":{"G1":10,"G2":60,"G3":10}},
        {"uuid":"G1","score":{"G0":10,"G2":10,"G3":50}},
        {"uuid":"G2","score":{"G0":60,"G1":10,"G3":10}},
        {"uuid":"G3","score":{"G0":10,"G1":50,"G2":10}}]"#;
    for (links, policy, count, expected) in [
        (Some(links), "topology-aware", 2, "G2 G0"),
        // A single card is the one the others miss least.
        (Some(links), "topology-aware", 1, "G3"),
        (Some(links), "topology-aware", 4, "G3 G2 G1 G0"),
        (Some(links), "mutex,topology-aware", 2, "G3 G0"),
        (Some(links), "binpack", 2, "G2 G1"),
        // Without links the order alone.
        (None, "topology-aware", 2, "G3 G2"),
    ] {
        let found = chosen(Policy::None, &node(links), count, &[(CARDS, policy)]);
        assert_eq!(found, expected, "{policy} {count}");
    }
}

#[test]
fn links_that_cannot_be_read_are_told_and_count_as_0() {
    let family = family(Policy::None);
    let problems = |links: &str| node(Some(links)).cards(&*family).problems.join("; ");
    let no_number = "is no whole number from 0 on of a card of the node, and counts as 0; restart the device \
                     plugin";
    for (links, told) in [
        ("{}", "\"{}\" is no JSON list and counts as absent; restart the device plugin".to_owned()),
        (r#"[{"uuid":"X"}]"#, "\"X\" is no card of the node".to_owned()),
        (
            r#"[{"uuid":"G0","score":{"G1":"fast"}}]"#,
            format!("\"G0\" with \"G1\": \"fast\" {no_number}"),
        ),
        (
            r#"[{"uuid":"G0","score":{"G1":-3}}]"#,
            format!("\"G0\" with \"G1\": -3 {no_number}"),
        ),
        (
            r#"[{"uuid":"G0","score":{"G1":2147483648}}]"#,
            format!("\"G0\" with \"G1\": 2147483648 {no_number}"),
        ),
        (
            r#"[{"uuid":"G0","score":{"X":3}}]"#,
            format!("\"G0\" with \"X\": 3 {no_number}"),
        ),
        (
            r#"[{"uuid":"G0"},{"uuid":"G0"}]"#,
            "\"G0\" is listed twice, and the first counts".to_owned(),
        ),
        (
            r#"[{"uuid":"G0","score":{"G1":3}},{"uuid":"G1","score":{"G0":5}}]"#,
            "\"G0\" with \"G1\" has 3, and the other way 5: the smaller counts; look at the links of the \
             node, then restart the device plugin"
                .to_owned(),
        ),
        (
            r#"[{"uuid":"G1","score":{"G0":5}}]"#,
            "\"G0\" with \"G1\" has nothing, and the other way 5: the smaller counts; look at the links of \
             the node, then restart the device plugin"
                .to_owned(),
        ),
    ] {
        assert_eq!(problems(links), format!("{LINKS}: {told}"), "{links}");
    }
    let even = r#"[{"uuid":"G0","score":{"G1":3,"G0":7}},{"uuid":"G1","score":{"G0":3}}]"#;
    for links in ["", "[]", r#"[{"uuid":"G0","score":{}}]"#, even] {
        assert_eq!(problems(links), "", "{links}");
    }
    let cards = |links| node(links).cards(&*family);
    assert!(!cards(Some(even)).has_cards_of(&cards(None)));
}

#[test]
fn of_links_that_are_told_two_ways_the_smaller_counts_and_others_stay_what_they_are() {
    let links = r#"[{"uuid":"G0","score":{"G1":900,"G2":"x","G3":-1}},
        {"uuid":"G1","score":{"G0":20}},
        {"uuid":"G2","score":{"G3":30}},
        {"uuid":"G3","score":{"G2":30}}]"#;
    let policy = [(CARDS, "topology-aware")];
    let found = chosen(Policy::None, &node(Some(links)), 2, &policy);
    assert_eq!(found, "G3 G2");
}

#[test]
fn links_of_more_cards_than_are_read_are_told_and_nothing_else_of_the_node_changes() {
    let family = family(Policy::None);
    let register: String = (0..65)
        .map(|at| format!("G{at},10,1000,100,A,0,true:"))
        .collect();
    let links = r#"[{"uuid":"G0","score":{"G1":3}},{"uuid":"G1","score":{"G0":3}}]"#;
    let annotations = [("hami.io/node-nvidia-register", &*register), (LINKS, links)];
    let mut cards = VendorNode::new(&annotations, &[("nvidia.com/gpu", 650)]).cards(&*family);
    assert_eq!(
        cards.problems,
        [format!(
            "{LINKS}: not used: the node has 65 cards, and links are read of 64"
        )]
    );
    let pod = asking((2, 10, 0), &[(CARDS, "topology-aware")]);
    assert!(place(&*family, &mut cards, (1, &pod)).is_ok());
}

#[test]
fn a_node_policy_scores_the_node_by_all_its_cards() {
    let family = family(Policy::Binpack);
    let mut cards = node(None).cards(&*family);
    place(&*family, &mut cards, (1, &asking((1, 1000, 40), &[]))).expect("fits");
    // In use: 1000 of 4000 MiB, 1 of 40 slots, 40 of 400 cores; 12.5 percent in the middle.
    for (policy, score) in [("binpack", 12.5), ("spread", 87.5)] {
        let request = request(&*family, &asking((1, 10, 0), &[(NODES, policy)]));
        let found = request.fit(&cards, LedgerTime::Now);
        assert!(
            found.is_ok_and(|found| (found - score).abs() < 1e-9),
            "{policy}: {found:?}"
        );
    }
    let request = request(&*family, &asking((1, 10, 0), &[]));
    assert_eq!(
        request.fit(&cards, LedgerTime::Now),
        Ok(1.0),
        "its card alone"
    );
}
