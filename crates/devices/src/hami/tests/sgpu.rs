//! MetaX sGPUs: who shares one with whom.

use super::*;
use crate::facts::Pairs;
use crate::family::Decoded;
use crate::ledger::Allocations;

const QOS: &str = "metax-tech.com/sgpu-qos-policy";
const ALLOCATED: &str = "hami.io/metax-sgpu-devices-allocated";

/// A node with sGPUs `M0`, `M1` … of 65536 MiB, each with what its node tells of it besides.
fn node(cards: &[&str]) -> VendorNode {
    let card = |(at, more): (usize, &&str)| {
        format!(
            r#"{{"uuid":"M{at}","model":"MXC500","totalDevCount":16,"totalCompute":100,"totalVRam":65536,"healthy":true{more}}}"#
        )
    };
    let cards: Vec<String> = cards.iter().enumerate().map(card).collect();
    let register = format!("[{}]", cards.join(","));
    VendorNode::new(
        &[("metax-tech.com/node-gpu-devices", &register)],
        &[("metax-tech.com/sgpu", 64)],
    )
}

/// A pod of one container with so many cores of so many cards, and 1 GiB of each.
fn asks(cards: i64, cores: i64, annotations: &[(&str, &str)]) -> PodFacts {
    let limits = [
        ("metax-tech.com/sgpu", cards),
        ("metax-tech.com/vmemory", 1),
        ("metax-tech.com/vcore", cores),
    ];
    pod(&[&limits], annotations)
}

/// Cards that a pod gets, by UUID; or why none.
fn given(family: &dyn Family, cards: &mut NodeCards, pod: (u32, &PodFacts)) -> String {
    match place(family, cards, pod) {
        Ok(written) => {
            let list = text(&written, ALLOCATED).expect("written");
            let pieces = list.split([';', ':']).filter(|piece| !piece.is_empty());
            let ids: Vec<&str> = pieces.filter_map(|piece| piece.split(',').next()).collect();
            ids.join(" ")
        }
        Err(_) => {
            let request = request(family, pod.1);
            let miss = request.explain("n1", cards, LedgerTime::Now);
            miss.expect("does not fit").text
        }
    }
}

/// What a pod holds by its annotations.
fn decoded(family: &dyn Family, pod: &PodFacts, list: &str, cards: &NodeCards) -> Decoded {
    let records: Pairs = vec![(ALLOCATED.to_owned(), list.to_owned())];
    family.decode(&records, pod, cards)
}

fn charge(cards: &mut NodeCards, pod: u32, allocations: &Allocations) {
    cards.charge(pod, Tags::default(), Load::Held, allocations);
}

#[test]
fn a_card_in_use_takes_pods_of_the_policy_it_has() {
    let family = family(Policy::Binpack);
    let mut cards = node(&["", ""]).cards(&*family);
    let fixed = asks(1, 20, &[(QOS, "fixed-share")]);
    let burst = asks(1, 20, &[(QOS, "burst-share")]);
    let silent = asks(1, 20, &[]);
    assert_eq!(given(&*family, &mut cards, (1, &fixed)), "M0");
    assert_eq!(given(&*family, &mut cards, (2, &silent)), "M1");
    assert_eq!(given(&*family, &mut cards, (3, &fixed)), "M0");
    let effort = asks(1, 20, &[(QOS, "best-effort")]);
    assert_eq!(given(&*family, &mut cards, (4, &effort)), "M1");
    assert_eq!(
        given(&*family, &mut cards, (5, &burst)),
        "n1: not enough metax-tech.com/sgpu: M0: CardQosPolicyMismatch: the card has fixed-share, the pod \
         burst-share; M1: CardQosPolicyMismatch: the card has best-effort, the pod burst-share"
    );
}

#[test]
fn an_idle_card_takes_any_policy_whatever_its_node_tells() {
    let family = family(Policy::None);
    let mut cards = node(&[r#","qosPolicy":"fixed-share""#]).cards(&*family);
    let burst = asks(1, 20, &[(QOS, "burst-share")]);
    assert_eq!(given(&*family, &mut cards, (1, &burst)), "M0");
    assert_eq!(given(&*family, &mut cards, (2, &burst)), "M0");
    let fixed = asks(1, 20, &[(QOS, "fixed-share")]);
    let why = given(&*family, &mut cards, (3, &fixed));
    assert!(
        why.contains("the card has burst-share, the pod fixed-share"),
        "{why}"
    );
}

#[test]
fn what_a_node_tells_counts_where_the_pods_on_a_card_tell_nothing() {
    // Cards of 200 cores: somebody who asks 100 of them tells no policy.
    let family = family(Policy::None);
    let told = r#","qosPolicy":"fixed-share","totalCompute":200"#;
    let mut cards = node(&[told]).cards(&*family);
    let alone = asks(1, 100, &[(QOS, "burst-share")]);
    assert_eq!(given(&*family, &mut cards, (1, &alone)), "M0");
    let burst = asks(1, 20, &[(QOS, "burst-share")]);
    let why = given(&*family, &mut cards, (2, &burst));
    assert!(
        why.contains("the card has fixed-share, the pod burst-share"),
        "{why}"
    );
    assert_eq!(
        given(&*family, &mut cards, (3, &alone)),
        "M0",
        "100 cores join any"
    );
}

#[test]
fn the_policy_of_a_card_goes_with_its_pods_and_comes_back_with_their_annotations() {
    let family = family(Policy::None);
    let mut cards = node(&[""]).cards(&*family);
    let fixed = asks(1, 20, &[(QOS, "fixed-share")]);
    let other = asks(1, 20, &[]);
    let chosen = request(&*family, &fixed)
        .choose(&cards, LedgerTime::Now)
        .expect("fits");
    let fits = |cards: &NodeCards| {
        request(&*family, &other)
            .fit(cards, LedgerTime::Now)
            .is_ok()
    };
    charge(&mut cards, 1, &chosen);
    assert!(!fits(&cards));
    cards.discharge(1, Load::Held, &chosen);
    assert!(fits(&cards));
    let read = decoded(&*family, &fixed, "M0,Metax-SGPU,1024,20:;", &cards);
    assert_eq!(read.allocations, chosen);
    charge(&mut cards, 1, &read.allocations);
    assert!(!fits(&cards));
    cards.discharge(1, Load::Held, &read.allocations);
    cards.charge(1, Tags::default(), Load::Releasing, &read.allocations);
    let later = request(&*family, &other).fit(&cards, LedgerTime::Future);
    assert!(!fits(&cards) && later.is_ok(), "as soon as it is gone");
}

#[test]
fn containers_of_a_pod_share_a_card_and_count_for_its_policy() {
    let family = family(Policy::Binpack);
    let mut cards = node(&[r#","qosPolicy":"fixed-share""#]).cards(&*family);
    let limits = [
        ("metax-tech.com/sgpu", 1),
        ("metax-tech.com/vmemory", 1),
        ("metax-tech.com/vcore", 10),
    ];
    let two = pod(&[&limits, &limits], &[(QOS, "burst-share")]);
    assert_eq!(given(&*family, &mut cards, (1, &two)), "M0 M0");
}

#[test]
fn policies_nobody_knows_are_refused_of_pods_and_told_of_nodes() {
    let family = family(Policy::None);
    let why = refusal(&*family, &asks(1, 20, &[(QOS, "shared")]));
    assert_eq!(
        why,
        "annotation metax-tech.com/sgpu-qos-policy is \"shared\": write best-effort, fixed-share or \
         burst-share, or remove it for best-effort"
    );
    for (told, problems) in [
        ("\"qosPolicy\":\"shared\"", 1),
        ("\"qosPolicy\":7", 1),
        ("\"qosPolicy\":\"\"", 0),
    ] {
        let cards = node(&[&format!(",{told}")]).cards(&*family);
        assert_eq!(
            (cards.cards.len(), cards.problems.len()),
            (1, problems),
            "{told}"
        );
    }
    // A pod that somebody else placed with such a policy keeps others off its card.
    let mut cards = node(&["", ""]).cards(&*family);
    let foreign = decoded(
        &*family,
        &asks(1, 20, &[(QOS, "shared")]),
        "M1,Metax-SGPU,1024,20:;",
        &cards,
    );
    assert_eq!(foreign.problems, Vec::<String>::new());
    charge(&mut cards, 1, &foreign.allocations);
    assert_eq!(given(&*family, &mut cards, (2, &asks(1, 20, &[]))), "M0");
    let why = given(&*family, &mut cards, (3, &asks(2, 20, &[])));
    assert!(
        why.contains(
            "M1: CardQosPolicyMismatch: the card has an unknown policy, the pod best-effort"
        ),
        "{why}"
    );
}

#[test]
fn the_binding_names_the_policy_as_hamis_webhook_would() {
    let family = family(Policy::None);
    for (said, written) in [(None, "best-effort"), (Some("fixed-share"), "fixed-share")] {
        let mut cards = node(&[""]).cards(&*family);
        let annotations: Vec<(&str, &str)> = said.iter().map(|said| (QOS, *said)).collect();
        let binding = place(&*family, &mut cards, (1, &asks(1, 20, &annotations)));
        assert_eq!(text(&binding.expect("fits"), QOS).as_deref(), Some(written));
    }
}
