//! Kunlun: whole cards and parts of them, in two wings.

use super::{VendorNode, family, place, pod, refusal, request, text};
use crate::facts::PodFacts;
use crate::family::Family;
use crate::ledger::{LedgerTime, NodeCards};
use crate::settings::Policy;

const REGISTER: &str = "hami.io/node-register-xpu";
const XPU: &str = "kunlunxin.com/xpu";
const VXPU: &str = "kunlunxin.com/vxpu";
const MEMORY: &str = "kunlunxin.com/vxpu-memory";

/// A node with eight cards that are shared, as its plugin tells them.
fn shared() -> VendorNode {
    let card = |at: usize| {
        format!(
            r#"{{"id":"X{at}","index":{at},"count":4,"devmem":98304,"devcore":100,"type":"P800","health":true}}"#
        )
    };
    let cards: Vec<String> = (0..8).map(card).collect();
    let register = format!("[{}]", cards.join(","));
    VendorNode::new(&[(REGISTER, &register)], &[(VXPU, 32)])
}

/// A pod with so many parts of so much memory; 0 leaves that out.
fn parts(count: i64, memory: i64, annotations: &[(&str, &str)]) -> PodFacts {
    match memory {
        0 => pod(&[&[(VXPU, count)]], annotations),
        memory => pod(&[&[(VXPU, count), (MEMORY, memory)]], annotations),
    }
}

/// The list that is written of a pod.
fn list(
    family: &dyn Family,
    cards: &mut NodeCards,
    (number, pod): (u32, &PodFacts),
    key: &str,
) -> String {
    let written = place(family, cards, (number, pod)).expect("fits");
    text(&written, key).expect("written")
}

#[test]
fn parts_have_three_sizes_and_cores_to_them() {
    let family = family(Policy::None);
    for (asked, device) in [
        (1, "X0,XPU,24576,25:;"),
        (24_577, "X0,XPU,49152,50:;"),
        (50_000, "X0,XPU,98304,100:;"),
        (0, "X0,XPU,98304,100:;"),
    ] {
        let cards = shared().cards(&*family);
        assert_eq!(cards.problems, Vec::<String>::new());
        let pod = parts(1, asked, &[]);
        for key in [
            "hami.io/xpu-devices-allocated",
            "hami.io/xpu-devices-to-allocate",
        ] {
            let mut cards = cards.clone();
            assert_eq!(
                list(&*family, &mut cards, (1, &pod), key),
                device,
                "{asked}"
            );
        }
    }
    assert_eq!(
        refusal(&*family, &parts(1, 98_305, &[])),
        format!(
            "container 1: {MEMORY} is 98305, which is no amount a card has: the unit is 1 MiB, write an integer from 1 to 98304"
        )
    );
}

#[test]
fn a_card_is_shared_in_parts_of_one_size() {
    let family = family(Policy::None);
    let mut cards = shared().cards(&*family);
    let on = |id| [("baidu.com/use-gpuuuid", id)];
    place(&*family, &mut cards, (1, &parts(1, 24_576, &on("X3")))).expect("fits");
    let half = parts(1, 49_152, &on("X3"));
    assert!(place(&*family, &mut cards, (2, &half)).is_err());
    let told = request(&*family, &half).explain("n1", &cards, LedgerTime::Now);
    let told = told.expect("waits").text;
    assert!(
        told.contains("X3: in use in parts of another size"),
        "{told}"
    );
    for number in 3..6 {
        place(&*family, &mut cards, (number, &parts(1, 24_576, &on("X3")))).expect("fits");
    }
    assert!(place(&*family, &mut cards, (7, &parts(1, 24_576, &on("X3")))).is_err());
}

#[test]
fn both_pairs_of_uuid_lists_count() {
    let family = family(Policy::None);
    let mut cards = shared().cards(&*family);
    let lists = [
        ("hami.io/use-xpu-uuid", "X1,X2"),
        ("baidu.com/nouse-gpuuuid", "X1"),
    ];
    let found = list(
        &*family,
        &mut cards,
        (1, &parts(1, 0, &lists)),
        "hami.io/xpu-devices-allocated",
    );
    assert_eq!(found, "X2,XPU,98304,100:;");
}

#[test]
fn cards_of_a_container_are_linked_or_it_waits() {
    let family = family(Policy::None);
    let mut cards = shared().cards(&*family);
    // One card of each wing is left, and they are not opposite each other.
    for (number, id) in ["X0", "X1", "X2", "X4", "X5", "X7"].into_iter().enumerate() {
        let one = parts(1, 0, &[("hami.io/use-xpu-uuid", id)]);
        place(&*family, &mut cards, (number as u32, &one)).expect("fits");
    }
    let two = parts(2, 0, &[]);
    let asked = request(&*family, &two);
    assert!(asked.fit(&cards, LedgerTime::Now).is_err());
    assert!(asked.fit(&cards, LedgerTime::Idle).is_ok());
    let told = asked.explain("n1", &cards, LedgerTime::Now).expect("waits");
    let why = "2 linked ones asked, of cards 0 to 3 fit 1, of 4 to 7 fit 1";
    assert!(told.text.contains(why), "{}", told.text);
    assert_eq!(told.distance.0, 1);
    // On a node that has no others it never fits.
    let never = parts(2, 0, &[("hami.io/use-xpu-uuid", "X3,X6")]);
    let asked = request(&*family, &never);
    let index = asked.fit(&cards, LedgerTime::Now).expect_err("not linked");
    let failure = &asked.failures()[usize::from(index)];
    assert_eq!(
        failure.text,
        "not enough kunlunxin.com/vxpu (too few cards that are linked)"
    );
    assert!(!failure.evictions_help);
}

#[test]
fn counts_that_are_no_set_of_linked_cards_are_refused() {
    let family = family(Policy::None);
    for (name, count) in [(VXPU, 3), (XPU, 5), (VXPU, 16)] {
        assert_eq!(
            refusal(&*family, &pod(&[&[(name, count)]], &[])),
            format!("container 1: {name} {count}: cards come in 1, 2, 4 or 8")
        );
    }
}

#[test]
fn whole_cards_are_named_by_their_indices() {
    let family = family(Policy::None);
    let node = VendorNode::new(&[], &[(XPU, 8)]);
    let mut cards = node.cards(&*family);
    let two = pod(&[&[(XPU, 2)]], &[]);
    let written = place(&*family, &mut cards, (1, &two)).expect("fits");
    assert_eq!(
        text(&written, "BAIDU_COM_DEVICE_IDX").as_deref(),
        Some("0,1")
    );
    assert_eq!(
        text(&written, "hami.io/kunlun-allocated").as_deref(),
        Some("n1-kunlun-0,kunlun,98304,100:n1-kunlun-1,kunlun,98304,100:;")
    );
    assert_eq!(text(&written, "hami.io/bind-phase"), None);
    let four = pod(&[&[(XPU, 4)]], &[]);
    let written = place(&*family, &mut cards, (2, &four)).expect("fits");
    assert_eq!(
        text(&written, "BAIDU_COM_DEVICE_IDX").as_deref(),
        Some("4,5,6,7")
    );
    assert_eq!(cards.cards[3].numa, Some(0));
    assert_eq!(cards.cards[4].numa, Some(1));
    let twice = pod(&[&[(XPU, 1)], &[(XPU, 1)]], &[]);
    let why = refusal(&*family, &twice);
    assert!(
        why.contains("the device plugin serves one container of a pod"),
        "{why}"
    );
}

#[test]
fn nodes_whose_wings_stay_whole_come_first() {
    let family = family(Policy::None);
    let cards = VendorNode::new(&[], &[(XPU, 8)]).cards(&*family);
    for (count, score) in [(4, 2000.0), (2, 1000.0), (1, 0.0)] {
        let asked = request(&*family, &pod(&[&[(XPU, count)]], &[]));
        assert_eq!(asked.fit(&cards, LedgerTime::Now), Ok(score), "{count}");
    }
}

#[test]
fn cards_without_a_place_in_a_wing_are_left_out() {
    let family = family(Policy::None);
    let card = |id: &str, at: usize| {
        format!(
            r#"{{"id":"{id}","index":{at},"count":4,"devmem":98304,"devcore":100,"type":"P800","health":true}}"#
        )
    };
    let register = format!("[{},{},{}]", card("A", 0), card("B", 8), card("C", 0));
    let cards = VendorNode::new(&[(REGISTER, &register)], &[(VXPU, 12)]).cards(&*family);
    assert_eq!(cards.cards.len(), 1);
    let left_out = |id: &str, at: u32| {
        format!("{REGISTER}: card {id} is left out: its index {at} is not one of 0 to 7 of its own")
    };
    assert_eq!(cards.problems, [left_out("B", 8), left_out("C", 0)]);
}
