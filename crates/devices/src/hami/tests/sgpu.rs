//! MetaX sGPUs: who shares one with whom.

use super::*;
use crate::facts::Pairs;
use crate::family::Decoded;
use crate::ledger::Allocations;

const QOS: &str = "metax-tech.com/sgpu-qos-policy";
pub const CLASS: &str = "metax-tech.com/sgpu-app-class";
const ALLOCATED: &str = "hami.io/metax-sgpu-devices-allocated";

/// A node with sGPUs `M0`, `M1` … of 65536 MiB, each with what its node tells of it besides.
pub fn node(cards: &[&str]) -> VendorNode {
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
pub fn asks(cards: i64, cores: i64, annotations: &[(&str, &str)]) -> PodFacts {
    let limits = [
        ("metax-tech.com/sgpu", cards),
        ("metax-tech.com/vmemory", 1),
        ("metax-tech.com/vcore", cores),
    ];
    pod(&[&limits], annotations)
}

/// Cards that a pod gets, by UUID; or why none.
pub fn given(family: &dyn Family, cards: &mut NodeCards, pod: (u32, &PodFacts)) -> String {
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
    // That of an online pod means nothing.
    let online = asks(1, 20, &[(QOS, "shared"), (CLASS, "online")]);
    let mut cards = node(&[""]).cards(&*family);
    assert_eq!(given(&*family, &mut cards, (1, &online)), "M0");
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

#[test]
fn pods_with_an_app_class_join_only_cards_whose_pods_have_one_and_offline_never_joins_online() {
    let family = family(Policy::Binpack);
    let mut cards = node(&["", "", ""]).cards(&*family);
    let online = asks(1, 50, &[(CLASS, "online")]);
    let offline = asks(1, 50, &[(CLASS, "offline")]);
    let plain = asks(1, 20, &[]);
    assert_eq!(given(&*family, &mut cards, (1, &plain)), "M0");
    assert_eq!(given(&*family, &mut cards, (2, &offline)), "M1");
    assert_eq!(
        given(&*family, &mut cards, (3, &online)),
        "M2",
        "M1 has offline pods only"
    );
    assert_eq!(given(&*family, &mut cards, (4, &plain)), "M0");
    let request = request(&*family, &offline);
    let miss = request.explain("n1", &cards, LedgerTime::Now);
    assert_eq!(miss, None, "there is room beside the other offline pod");
    assert_eq!(given(&*family, &mut cards, (5, &offline)), "M1");
    assert_eq!(
        given(&*family, &mut cards, (6, &offline)),
        "n1: not enough metax-tech.com/sgpu: M0: CardAppClassMismatch: other pods are on the card, the pod is \
         offline; M1: 50 cores asked, 0 free; M2: CardAppClassMismatch: online pods are on the card, the pod is \
         offline"
    );
    let why = given(&*family, &mut cards, (7, &asks(1, 90, &[])));
    assert!(
        why.contains(
            "M1: CardAppClassMismatch: offline pods are on the card, the pod is of no class"
        ),
        "{why}"
    );
}

#[test]
fn online_pods_take_no_cores_and_look_at_no_policy() {
    let family = family(Policy::None);
    let mut cards = node(&[""]).cards(&*family);
    let offline = asks(1, 100, &[(CLASS, "offline"), (QOS, "fixed-share")]);
    let online = asks(1, 100, &[(CLASS, "online"), (QOS, "burst-share")]);
    assert_eq!(given(&*family, &mut cards, (1, &offline)), "M0");
    let written = place(&*family, &mut cards, (2, &online)).expect("joins the offline pod");
    assert_eq!(
        text(&written, ALLOCATED).as_deref(),
        Some("M0,Metax-SGPU,1024,0:;")
    );
    assert_eq!(
        text(&written, "metax-tech.com/gpu-devices-allocated").as_deref(),
        Some(r#"[[{"uuid":"M0","compute":0,"vRam":1024}]]"#)
    );
    assert_eq!(text(&written, QOS), None);
    assert_eq!(cards.used(0, LedgerTime::Now), [2048, 2, 100]);
    let request = request(&*family, &online);
    let charged = request.charge(None);
    assert_eq!(
        &charged[..],
        [("metax-tech.com/vmemory", 1000)],
        "no cores of its queue"
    );
}

#[test]
fn an_online_pod_gets_the_card_with_the_fewest_online_pods_and_one_of_offline_pods_last() {
    let family = family(Policy::Binpack);
    let online = asks(1, 0, &[(CLASS, "online")]);
    let offline = asks(1, 10, &[(CLASS, "offline")]);
    let only = |pod: &PodFacts, id: &str| {
        let mut pod = pod.clone();
        pod.annotations
            .push(("metax-tech.com/use-gpuuuid".to_owned(), id.to_owned()));
        pod
    };
    let mut cards = node(&["", "", ""]).cards(&*family);
    for (number, pod) in [
        only(&online, "M0"),
        only(&online, "M0"),
        only(&online, "M1"),
        only(&offline, "M2"),
    ]
    .iter()
    .enumerate()
    {
        place(&*family, &mut cards, (number as u32, pod)).expect("fits");
    }
    assert_eq!(given(&*family, &mut cards, (10, &online)), "M1");
    // Equal ones by the policy: the fullest, then the first.
    assert_eq!(given(&*family, &mut cards, (11, &online)), "M0");
    assert_eq!(given(&*family, &mut cards, (12, &online)), "M1");
    let without_others = asks(
        1,
        0,
        &[(CLASS, "online"), ("metax-tech.com/nouse-gpuuuid", "M0,M1")],
    );
    assert_eq!(given(&*family, &mut cards, (13, &without_others)), "M2");
}

#[test]
fn a_pod_counts_once_for_the_class_of_a_card_however_many_containers_it_has_there() {
    let family = family(Policy::None);
    let mut cards = node(&["", ""]).cards(&*family);
    let limits = [("metax-tech.com/sgpu", 1), ("metax-tech.com/vmemory", 1)];
    let three = pod(
        &[&limits, &limits, &limits],
        &[(CLASS, "online"), ("metax-tech.com/use-gpuuuid", "M0")],
    );
    assert_eq!(given(&*family, &mut cards, (1, &three)), "M0 M0 M0");
    let one = asks(1, 0, &[(CLASS, "online")]);
    // Of cards with as many online pods the policy takes the highest index.
    for (number, card) in [(2, "M1"), (3, "M1"), (4, "M0")] {
        assert_eq!(given(&*family, &mut cards, (number, &one)), card);
    }
}

#[test]
fn app_classes_that_cannot_be_are_refused_with_what_to_write() {
    let family = family(Policy::None);
    let two = asks(2, 20, &[(CLASS, "offline")]);
    assert_eq!(
        refusal(&*family, &two),
        "annotation metax-tech.com/sgpu-app-class is \"offline\": a container of such a pod has one card: write \
         metax-tech.com/sgpu: 1, or remove it"
    );
    let unknown = asks(1, 20, &[(CLASS, "batch")]);
    assert_eq!(
        refusal(&*family, &unknown),
        "annotation metax-tech.com/sgpu-app-class is \"batch\": write online or offline, or remove it"
    );
    // Whole GPUs have no classes.
    let whole = pod(&[&[("metax-tech.com/gpu", 2)]], &[(CLASS, "batch")]);
    assert!(
        family
            .request(&whole, Tags::default())
            .is_some_and(|found| found.is_ok())
    );
}

#[test]
fn classes_come_back_with_the_annotations_of_pods() {
    let family = family(Policy::None);
    for class in ["online", "offline"] {
        let mut cards = node(&[""]).cards(&*family);
        let pod = asks(1, 40, &[(CLASS, class)]);
        let request = request(&*family, &pod);
        let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
        let written = request.annotations("n1", &cards, &chosen);
        let list = text(&written, ALLOCATED).expect("written");
        let read = decoded(&*family, &pod, &list, &cards);
        assert_eq!(read.allocations, chosen);
        charge(&mut cards, 1, &read.allocations);
        let why = given(&*family, &mut cards, (2, &asks(1, 20, &[])));
        assert!(
            why.contains(&format!("{class} pods are on the card")),
            "{why}"
        );
    }
}
