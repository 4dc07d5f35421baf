//! The worked examples of spec/05 §7, as they are required.

use super::{NodeLine, family, h1, occupy, place, pod, refusal, request, with};
use crate::binding::AnnotationValue;
use crate::facts::{ContainerKind, PodFacts};
use crate::hami::ascend::chips::VnpuConfig;
use crate::ledger::{LedgerTime, NodeCards};
use crate::settings::Policy;

const P: &str = "Ascend310P";

type Written = (String, String, f64);

fn written(list: &str, runtime: &str, score: f64) -> Written {
    (list.to_owned(), runtime.to_owned(), score)
}

/// The only failure text that evictions mend.
const FULL: &str = "no ascend device available";

struct Case {
    policy: Policy,
    cards: NodeCards,
}

impl Case {
    fn on(policy: Policy, node: &NodeLine, used: &[&str]) -> Self {
        let family = family(policy);
        let mut cards = node.cards(&*family);
        assert_eq!(cards.problems, Vec::<String>::new());
        for (at, text) in used.iter().enumerate() {
            occupy(&*family, &mut cards, 100 + at as u32, text);
        }
        Self { policy, cards }
    }

    fn place(&mut self, number: u32, pod: &PodFacts) -> Result<Written, (String, bool)> {
        let family = family(self.policy);
        let word = self.cards.cards[0].kind.to_string();
        let request = request(&*family, pod);
        let placed = place(&*request, &word, &mut self.cards, number);
        placed.map_err(|failure| (failure.text, failure.evictions_help))
    }
}

#[test]
fn f1_memory_is_rounded_up_to_a_template() {
    let mut case = Case::on(Policy::Binpack, &h1(), &[]);
    let expected = written(
        "U0,Ascend310P,6144,0:;",
        r#"[{"UUID":"U0","temp":"vir02"}]"#,
        0.0,
    );
    let asks = pod(P, &[&[('n', 1), ('m', 4096)]], &[]);
    assert_eq!(case.place(1, &asks), Ok(expected));
    // Everything that is written.
    let family = family(Policy::Binpack);
    let cards = h1().cards(&*family);
    let request = request(&*family, &asks);
    let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
    let annotations = request.annotations("H1", &cards, &chosen).annotations;
    let keys: Vec<&str> = annotations.iter().map(|one| &*one.key).collect();
    let expected = [
        "hami.io/Ascend310P-devices-to-allocate",
        "hami.io/Ascend310P-devices-allocated",
        "huawei.com/Ascend310P",
        "predicate-time",
        "hami.io/vgpu-node",
        "hami.io/vgpu-time",
        "hami.io/bind-phase",
        "hami.io/bind-time",
    ];
    assert_eq!(keys, expected);
    for at in [3, 5, 7] {
        assert_eq!(annotations[at].value, AnnotationValue::Seconds);
    }
    assert_eq!(annotations[4].value, AnnotationValue::Text("H1".to_owned()));
    let phase = AnnotationValue::Text("allocating".to_owned());
    assert_eq!(annotations[6].value, phase);
}

#[test]
fn f2_binpack_prefers_the_chip_in_use_by_its_score_before() {
    let mut case = Case::on(Policy::Binpack, &h1(), &["U0,Ascend310P,6144,0:;"]);
    let asks = pod(P, &[&[('n', 1), ('m', 3000)]], &[]);
    let (list, runtime, score) = case.place(1, &asks).expect("fits");
    assert_eq!(list, "U0,Ascend310P,3072,0:;");
    assert_eq!(runtime, r#"[{"UUID":"U0","temp":"vir01"}]"#);
    assert!((score - 28.54).abs() < 0.005, "{score}");
    assert_eq!((score + 0.5).floor(), 29.0);
}

#[test]
fn f3_and_f4_a_whole_chip_needs_an_idle_one() {
    let asks = pod(P, &[&[('n', 1)]], &[]);
    let part = "U0,Ascend310P,3072,0:;U0,Ascend310P,6144,0:;";
    let mut case = Case::on(Policy::None, &h1(), &[part]);
    let expected = written("U1,Ascend310P,21527,0:;", r#"[{"UUID":"U1"}]"#, 0.0);
    assert_eq!(case.place(1, &asks), Ok(expected));
    assert_eq!(case.place(2, &asks), Err((FULL.to_owned(), true)));
}

#[test]
fn f5_and_f6_several_chips_are_whole_ones() {
    let family = family(Policy::None);
    let asks = pod(P, &[&[('n', 2), ('m', 4096)]], &[]);
    let expected = "container 1: vNPU does not support partial memory allocation when requesting \
                    multiple devices";
    assert_eq!(refusal(&*family, &asks), expected);
    let mut case = Case::on(Policy::None, &h1(), &[]);
    let asks = pod(P, &[&[('n', 2), ('m', 24_576)]], &[]);
    let list = "U0,Ascend310P,21527,0:U1,Ascend310P,21527,0:;";
    let expected = written(list, r#"[{"UUID":"U0"},{"UUID":"U1"}]"#, 0.0);
    assert_eq!(case.place(1, &asks), Ok(expected));
}

#[test]
fn f7_f8_and_f19_requests_that_cannot_be_are_refused() {
    let family = family(Policy::None);
    for (limits, says) in [
        (&[('n', 1), ('m', 30_000)][..], "from 1 to 24576"),
        (&[('n', 1), ('m', 2 << 30)], "the unit is MiB"),
        (
            &[('n', 1), ('m', 3000), ('c', 90)],
            "huawei.com/Ascend310P-core is only supported in hami-core mode",
        ),
    ] {
        let told = refusal(&*family, &pod(P, &[limits], &[]));
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn f9_each_container_gets_its_own_chip_and_is_charged() {
    let mut case = Case::on(Policy::None, &h1(), &[]);
    let asks = pod(
        P,
        &[&[('n', 1), ('m', 4096)], &[('n', 1), ('m', 3000)]],
        &[],
    );
    let list = "U0,Ascend310P,6144,0:;U1,Ascend310P,3072,0:;";
    let runtime = r#"[{"UUID":"U0","temp":"vir02"},{"UUID":"U1","temp":"vir01"}]"#;
    assert_eq!(case.place(1, &asks), Ok(written(list, runtime, 0.0)));
    let used = |at| case.cards.used(at, LedgerTime::Now)[0];
    assert_eq!([used(0), used(1)], [6144, 3072]);
    // After a restart too.
    let again = Case::on(Policy::None, &h1(), &[list]);
    assert_eq!(
        again.cards.used(1, LedgerTime::Now),
        case.cards.used(1, LedgerTime::Now)
    );
}

#[test]
fn a_chip_of_an_init_container_is_free_again_when_the_others_start() {
    for (memory, list, used) in [
        // The same share of a chip: one will do, and it is charged once.
        (
            [4096, 4096],
            "U0,Ascend310P,6144,0:;U0,Ascend310P,6144,0:;",
            [6144, 0],
        ),
        // The runtime is told one share of a chip for a pod.
        (
            [3000, 4096],
            "U1,Ascend310P,3072,0:;U0,Ascend310P,6144,0:;",
            [6144, 3072],
        ),
    ] {
        let mut case = Case::on(Policy::None, &h1(), &[]);
        let [first, second] = memory;
        let mut asks = pod(
            P,
            &[&[('n', 1), ('m', first)], &[('n', 1), ('m', second)]],
            &[],
        );
        asks.containers[0].kind = ContainerKind::Init;
        let placed = case.place(1, &asks).expect("fits");
        assert!(format!("{placed:?}").contains(list), "{placed:?}");
        let now = |at| case.cards.used(at, LedgerTime::Now)[0];
        assert_eq!([now(0), now(1)], used);
    }
    // One that lasts keeps its chip from who starts after it.
    let mut case = Case::on(Policy::None, &NodeLine::new(P, 1, 7, 21_527), &[]);
    let mut asks = pod(P, &[&[('n', 1)], &[('n', 1)]], &[]);
    asks.containers[0].kind = ContainerKind::Init;
    assert!(case.place(1, &asks).is_ok());
    let mut case = Case::on(Policy::None, &NodeLine::new(P, 1, 7, 21_527), &[]);
    asks.containers[0].kind = ContainerKind::Sidecar;
    assert!(case.place(1, &asks).is_err());
}

#[test]
fn f10_spread_prefers_an_idle_chip() {
    let mut case = Case::on(Policy::Spread, &h1(), &["U0,Ascend310P,3072,0:;"]);
    let asks = pod(P, &[&[('n', 1), ('m', 4096)]], &[]);
    let runtime = r#"[{"UUID":"U1","temp":"vir02"}]"#;
    let expected = written("U1,Ascend310P,6144,0:;", runtime, 100.0);
    assert_eq!(case.place(1, &asks), Ok(expected));
}

#[test]
fn f11_and_f12_hami_core_limits_memory_and_cores_on_nodes_that_have_it() {
    let soft = [("huawei.com/vnpu-mode", "hami-core")];
    let asks = |cores| pod(P, &[&[('n', 1), ('m', 4096), ('c', cores)]], &soft);
    let mut node = NodeLine::new(P, 1, 8, 21_527);
    node.soft = true;
    let mut case = Case::on(Policy::None, &node, &[]);
    let runtime = r#"[{"UUID":"U0","memory":4096,"core":90}]"#;
    let expected = written("U0,Ascend310P,4096,90:;", runtime, 0.0);
    assert_eq!(case.place(1, &asks(90)), Ok(expected));
    assert_eq!(case.place(2, &asks(20)), Err((FULL.to_owned(), true)));
    let mut case = Case::on(Policy::None, &h1(), &[]);
    let expected = "node not in hami-core mode";
    assert_eq!(case.place(1, &asks(90)), Err((expected.to_owned(), false)));
}

#[test]
fn f13_unhealthy_chips_are_not_given_out() {
    let asks = pod(P, &[&[('n', 1), ('m', 4096)]], &[]);
    let mut node = h1();
    node.chips[1] = node.chips[1].replace(r#","health":true"#, "");
    let mut case = Case::on(Policy::Spread, &node, &["U0,Ascend310P,3072,0:;"]);
    assert_eq!(
        case.place(1, &asks).expect("fits").0,
        "U0,Ascend310P,6144,0:;"
    );
    node.chips.remove(0);
    let mut case = Case::on(Policy::None, &node, &[]);
    let expected = "no ascend device available (unhealthy)";
    assert_eq!(case.place(1, &asks), Err((expected.to_owned(), false)));
    // Health is told before how a chip is shared.
    let soft = [("huawei.com/vnpu-mode", "hami-core")];
    let asks = pod(P, &[&[('n', 1), ('m', 4096)]], &soft);
    assert_eq!(case.place(1, &asks), Err((expected.to_owned(), false)));
}

#[test]
fn f14_ai_cpus_of_templates_are_counted() {
    let node = NodeLine::new("Ascend910B2", 1, 8, 65_536);
    let mut case = Case::on(Policy::None, &node, &[]);
    let asks = pod("Ascend910B2", &[&[('n', 1), ('m', 8000)]], &[]);
    for number in 0..6 {
        let (list, runtime, _) = case.place(number, &asks).expect("fits");
        assert_eq!(list, "U0,Ascend910B2,8192,0:;");
        assert_eq!(runtime, r#"[{"UUID":"U0","temp":"vir03_1c_8g"}]"#);
    }
    assert_eq!(case.place(6, &asks), Err((FULL.to_owned(), true)));
}

#[test]
fn f15_and_f16_chips_of_one_ring_come_first() {
    const B3: &str = "Ascend910B3";
    let node = NodeLine::new(B3, 8, 4, 65_536);
    let ids = |list: &str| -> Vec<String> {
        let pieces = list.split([':', ';']).filter(|piece| !piece.is_empty());
        pieces.map(|piece| piece[..2].to_owned()).collect()
    };
    let full = ["U0,Ascend910B3,65536,0:;", "U1,Ascend910B3,65536,0:;"];
    let mut case = Case::on(Policy::Binpack, &node, &full);
    let (list, _, score) = case.place(1, &pod(B3, &[&[('n', 4)]], &[])).expect("fits");
    assert_eq!(ids(&list), ["U4", "U5", "U6", "U7"]);
    assert_eq!(score, 10.0);
    let mut case = Case::on(Policy::Binpack, &node, &[]);
    let (list, _, score) = case.place(1, &pod(B3, &[&[('n', 5)]], &[])).expect("fits");
    assert_eq!(ids(&list), ["U0", "U1", "U2", "U3", "U4"]);
    assert_eq!(score, 8.0);
}

/// Under spread the first container wants U2. Six whole chips are wanted besides, of which only five
/// would be left: it takes U1, which is in use, and the ring that is whole still comes first.
#[test]
fn a_container_yields_its_best_chip_to_one_that_has_no_other() {
    const B3: &str = "Ascend910B3";
    let node = NodeLine::new(B3, 8, 4, 65_536);
    let used = ["U0,Ascend910B3,65536,0:;", "U1,Ascend910B3,16384,0:;"];
    let mut case = Case::on(Policy::Spread, &node, &used);
    let asks = pod(B3, &[&[('n', 1), ('m', 16_384)], &[('n', 6)]], &[]);
    let (list, ..) = case.place(1, &asks).expect("fits");
    let whole = ["U4", "U5", "U6", "U7", "U2", "U3"];
    let whole = whole.map(|id| format!("{id},{B3},65536,0:")).concat();
    assert_eq!(list, format!("U1,{B3},16384,0:;{whole};"));
}

#[test]
fn f17_each_type_rounds_by_its_own_templates() {
    const B3: &str = "Ascend910B3";
    let mut case = Case::on(Policy::None, &NodeLine::new(B3, 8, 4, 65_536), &[]);
    let asks = pod(B3, &[&[('n', 1), ('m', 20_480)]], &[]);
    let (list, runtime, _) = case.place(1, &asks).expect("fits");
    assert_eq!(list, "U0,Ascend910B3,32768,0:;");
    assert_eq!(runtime, r#"[{"UUID":"U0","temp":"vir10_3c_32g"}]"#);
    let mut case = Case::on(Policy::None, &h1(), &[]);
    let expected = "no ascend device available (the node has registered none of this type)";
    assert_eq!(case.place(1, &asks), Err((expected.to_owned(), false)));
}

#[test]
fn f18_two_pods_of_a_gang_find_a_chip_each_and_the_lock_is_taken_when_they_are_bound() {
    let mut case = Case::on(Policy::None, &h1(), &[]);
    let asks = pod(P, &[&[('n', 1)]], &[]);
    assert_eq!(
        case.place(1, &asks).expect("fits").0,
        "U0,Ascend310P,21527,0:;"
    );
    assert_eq!(
        case.place(2, &asks).expect("fits").0,
        "U1,Ascend310P,21527,0:;"
    );
}

/// Rows of the rounding table of spec/05 §3.3: type, slots, MiB; the largest request of each step,
/// with what is charged and the template.
#[test]
fn memory_is_rounded_as_the_table_says() {
    const LARGE: &[Step] = &[
        (16_384, 16_384, "vir05_1c_16g"),
        (32_768, 32_768, "vir10_3c_32g"),
        (65_536, 65_536, ""),
    ];
    let table: [(&'static str, i64, &[Step]); 7] = [
        (
            P,
            21_527,
            &[
                (3072, 3072, "vir01"),
                (6144, 6144, "vir02"),
                (12_288, 12_288, "vir04"),
                (24_576, 21_527, ""),
            ],
        ),
        (
            "Ascend910A",
            32_768,
            &[
                (2184, 2184, "vir02"),
                (4369, 4369, "vir04"),
                (8738, 8738, "vir08"),
                (17_476, 17_476, "vir16"),
                (32_768, 32_768, ""),
            ],
        ),
        (
            "Ascend910B2",
            65_536,
            &[
                (8192, 8192, "vir03_1c_8g"),
                (16_384, 16_384, "vir06_1c_16g"),
                (32_768, 32_768, "vir12_3c_32g"),
                (65_536, 65_536, ""),
            ],
        ),
        ("Ascend910B3", 65_536, LARGE),
        ("Ascend910B4-1", 65_536, LARGE),
        ("Ascend910C", 65_536, LARGE),
        (
            "Ascend910B4",
            32_768,
            &[
                (8192, 8192, "vir05_1c_8g"),
                (16_384, 16_384, "vir10_3c_16g"),
                (32_768, 32_768, ""),
            ],
        ),
    ];
    for (word, memory, steps) in table {
        assert_rounded(word, memory, steps);
    }
}

#[test]
fn chips_of_a_super_pod_are_handed_out_in_pairs() {
    const C: &str = "Ascend910C";
    let mut config = VnpuConfig::default();
    for chip in &mut config.types {
        chip.pairs = chip.word == C;
    }
    let family = with(Policy::None, config);
    let node = NodeLine::new(C, 4, 1, 65_536);
    let mut cards = node.cards(&*family);
    occupy(&*family, &mut cards, 9, "U1,Ascend910C,65536,0:;");
    for odd in [1, 3] {
        let told = refusal(&*family, &pod(C, &[&[('n', odd)]], &[]));
        let expected = format!("Ascend910C device request must be 2*n, got {odd}");
        assert!(told.contains(&expected), "{told}");
    }
    let two = request(&*family, &pod(C, &[&[('n', 2)]], &[]));
    let placed = place(&*two, C, &mut cards, 1).expect("fits");
    assert_eq!(placed.0, "U2,Ascend910C,65536,0:U3,Ascend910C,65536,0:;");
    let full = place(&*two, C, &mut cards, 2).expect_err("U0 has lost its neighbour");
    assert!(full.evictions_help, "{full:?}");
}

/// The largest request of a step, what is charged, and the template.
type Step = (i64, i64, &'static str);

fn assert_rounded(word: &'static str, memory: i64, steps: &[Step]) {
    let mut least = 1;
    for (most, charged, template) in steps {
        for asked in [least, *most] {
            let mut case = Case::on(Policy::None, &NodeLine::new(word, 1, 15, memory), &[]);
            let asks = pod(word, &[&[('n', 1), ('m', asked)]], &[]);
            let (list, runtime, _) = case.place(1, &asks).expect("fits");
            assert_eq!(list, format!("U0,{word},{charged},0:;"), "{asked}");
            let temp = match *template {
                "" => String::new(),
                name => format!(r#","temp":"{name}""#),
            };
            assert_eq!(runtime, format!(r#"[{{"UUID":"U0"{temp}}}]"#), "{asked}");
        }
        least = most + 1;
    }
    let told = refusal(
        &*family(Policy::None),
        &pod(word, &[&[('n', 1), ('m', least)]], &[]),
    );
    assert!(told.contains("the unit is MiB"), "{told}");
}
