//! Who is served: the table of spec/04 §13.3, and what goes wrong when annotations do.

use super::super::kubelet::{Service, admit, allocate, calls};
use super::super::vgpu::*;
use super::super::{AllocateCall, AllocateRefusal, ListedPod};
use super::{annotation, bound, ids};

const ALL: [Generation; 3] = [Generation::V1_10, Generation::V1_12, Generation::Latest];

const A: &str = "GPU-aa,NVIDIA,1000,10:";
const B: &str = "GPU-bb,NVIDIA,2000,20:";
const TWO: &str = "GPU-aa,NVIDIA,1000,10:GPU-bb,NVIDIA,2000,20:";

/// Admits pods in this order and tells for each which cards its first container got; `!` for none,
/// `~` before cards that are not its own.
fn outcome(generation: Generation, pods: &mut [ListedPod], order: &[&str]) -> String {
    let tell = |service: &Service| match &service.got {
        Err(_) => "!".to_owned(),
        Ok(cards) if service.is_own() => ids(cards).join("+"),
        Ok(cards) => format!("~{}", ids(cards).join("+")),
    };
    let mut all = Vec::new();
    for name in order {
        let services = admit(generation, pods, name);
        let cards: Vec<String> = services.iter().map(tell).collect();
        all.push(format!("{name}={}", cards.join(";")));
    }
    all.join(" ")
}

struct Case {
    what: &'static str,
    /// Name, time, allocation, in the order of the list.
    pods: &'static [(&'static str, &'static str, &'static str)],
    /// The order in which kubelet starts them.
    order: &'static [&'static str],
    /// Outcome with v1.10, and from v1.12 on.
    old: &'static str,
    new: &'static str,
}

const CASES: [Case; 12] = [
    Case {
        what: "times in the order of starts serve everybody",
        pods: &[("a", "2", A), ("b", "1", B)],
        order: &["b", "a"],
        old: "b=GPU-bb a=GPU-aa",
        new: "b=GPU-bb a=GPU-aa",
    },
    Case {
        what: "b: times against the order of starts swap the cards",
        pods: &[("a", "2", A), ("b", "1", B)],
        order: &["a", "b"],
        old: "a=~GPU-bb b=~GPU-aa",
        new: "a=~GPU-bb b=~GPU-aa",
    },
    Case {
        what: "b: equal times go by the place in the list, from the front or from the back",
        pods: &[("a", "1", A), ("b", "1", B)],
        order: &["a", "b"],
        old: "a=GPU-aa b=GPU-bb",
        new: "a=~GPU-bb b=~GPU-aa",
    },
    Case {
        what: "b: equal times the other way round",
        pods: &[("a", "1", A), ("b", "1", B)],
        order: &["b", "a"],
        old: "b=~GPU-aa a=~GPU-bb",
        new: "b=GPU-bb a=GPU-aa",
    },
    Case {
        what: "equal times behind an older pod go from the front",
        pods: &[
            ("a", "1", A),
            ("b", "1", B),
            ("c", "5", "GPU-cc,NVIDIA,1,1:"),
        ],
        order: &["a", "b", "c"],
        old: "a=GPU-aa b=GPU-bb c=GPU-cc",
        new: "a=GPU-aa b=GPU-bb c=GPU-cc",
    },
    Case {
        what: "equal allocations may be swapped: nobody can tell",
        pods: &[("a", "2", A), ("b", "1", A)],
        order: &["a", "b"],
        old: "a=GPU-aa b=GPU-aa",
        new: "a=GPU-aa b=GPU-aa",
    },
    Case {
        what: "another number of devices is told apart from v1.12 on only",
        pods: &[("one", "2", "GPU-cc,NVIDIA,9,9:"), ("two", "1", TWO)],
        order: &["one", "two"],
        old: "one=! two=!",
        new: "one=GPU-cc two=GPU-aa+GPU-bb",
    },
    Case {
        what: "a: two containers are served one by one, until v1.12 finds no such pod",
        pods: &[("a", "1", "GPU-aa,NVIDIA,1000,10:;GPU-bb,NVIDIA,2000,20:")],
        order: &["a"],
        old: "a=GPU-aa;GPU-bb",
        new: "a=!",
    },
    Case {
        what: "a: its first container takes the turn of a pod with one device",
        pods: &[
            ("a", "1", "GPU-aa,NVIDIA,1000,10:;GPU-bb,NVIDIA,2000,20:"),
            ("b", "2", "GPU-cc,NVIDIA,3000,30:"),
        ],
        order: &["a", "b"],
        old: "a=GPU-aa;GPU-bb b=GPU-cc",
        new: "a=~GPU-cc;! b=!",
    },
    Case {
        what: "c: a pod that died before its turn is served in place of the next",
        pods: &[("dead", "1", A), ("next", "2", B)],
        order: &["next"],
        old: "next=~GPU-aa",
        new: "next=~GPU-aa",
    },
    Case {
        what: "a container without devices before the one with devices",
        pods: &[("a", "1", ";GPU-aa,NVIDIA,1000,10:")],
        order: &["a"],
        old: "a=GPU-aa",
        new: "a=GPU-aa",
    },
    Case {
        what: "partitions are handed out like cards",
        pods: &[
            ("a", "1", "GPU-m0[group1-0],NVIDIA,3000,0:"),
            ("b", "2", "GPU-m0[group1-1],NVIDIA,3000,0:"),
        ],
        order: &["a", "b"],
        old: "a=GPU-m0[group1-0] b=GPU-m0[group1-1]",
        new: "a=GPU-m0[group1-0] b=GPU-m0[group1-1]",
    },
];

#[test]
fn every_generation_serves_whom_it_takes_for_the_oldest() {
    for case in &CASES {
        for generation in ALL {
            let pod = |(name, time, text): &(&str, &str, &str)| bound(name, time, text);
            let mut pods: Vec<ListedPod> = case.pods.iter().map(pod).collect();
            let expected = if generation.counts() {
                case.new
            } else {
                case.old
            };
            let actual = outcome(generation, &mut pods, case.order);
            assert_eq!(actual, expected, "{generation:?}: {}", case.what);
        }
    }
}

#[test]
fn a_cleared_pod_that_died_takes_nobodys_turn() {
    for generation in ALL {
        let mut dead = bound("dead", NEVER, A);
        dead.annotations
            .insert(TO_ALLOCATE.to_owned(), String::new());
        let mut pods = vec![dead, bound("next", "2", B)];
        assert_eq!(outcome(generation, &mut pods, &["next"]), "next=GPU-bb");
    }
}

#[test]
fn a_pod_that_asks_for_memory_only_never_comes_and_spoils_the_next_turn() {
    let mut memory = bound("memory", "1", A);
    memory.containers[0].limits = [("volcano.sh/vgpu-memory".to_owned(), 1000)].into();
    assert_eq!(calls(&memory), []);
    for generation in ALL {
        let mut pods = vec![memory.clone(), bound("next", "2", B)];
        assert_eq!(
            outcome(generation, &mut pods, &["memory", "next"]),
            "memory= next=~GPU-aa"
        );
    }
}

#[test]
fn a_pod_whose_annotation_names_another_node_finds_nothing() {
    for generation in [Generation::V1_12, Generation::Latest] {
        let mut pods = vec![bound("a", "1", A)];
        pods[0].node = Some("n2".to_owned());
        let call = calls(&pods[0]).remove(0);
        let (answer, _) = allocate(generation, &mut pods, &call);
        assert_eq!(answer.result, Err(AllocateRefusal::NobodyWaits));
        assert_eq!(answer.unlocks, Some(LOCK));
        assert_eq!(answer.changes.len(), 0);
    }
}

#[test]
fn the_oldest_generation_serves_the_first_pod_of_the_cluster_if_it_is_old_enough() {
    let elsewhere = |time| {
        let mut pod = bound("aaa", time, A);
        pod.node = Some("n2".to_owned());
        pod.annotations.insert(NODE.to_owned(), "n2".to_owned());
        vec![pod, bound("b", "5", B)]
    };
    let serve = |generation, time| outcome(generation, &mut elsewhere(time), &["b"]);
    assert_eq!(serve(Generation::V1_10, "4"), "b=~GPU-aa");
    assert_eq!(serve(Generation::V1_10, "6"), "b=GPU-bb");
    assert_eq!(serve(Generation::V1_12, "4"), "b=GPU-bb");
}

#[test]
fn the_oldest_generation_fails_the_first_pod_of_the_cluster_when_nobody_waits() {
    let mut bystander = bound("aaa", "1", A);
    bystander.annotations.clear();
    let mut late = bound("b", "1", B);
    late.annotations.clear();
    let mut pods = vec![bystander, late];
    assert_eq!(outcome(Generation::V1_10, &mut pods, &["b"]), "b=!");
    assert_eq!(annotation(&pods, "aaa", PHASE), FAILED);
    assert_eq!(annotation(&pods, "b", PHASE), "-");
}

#[test]
fn elements_are_erased_one_by_one_and_the_last_ends_the_phase() {
    let mut pods = vec![bound(
        "a",
        "1",
        "GPU-aa,NVIDIA,1000,10:;;GPU-bb,NVIDIA,2000,20:",
    )];
    let expected = [
        (";;GPU-bb,NVIDIA,2000,20:", ALLOCATING, "1", None),
        (";;", SUCCESS, NEVER, Some(LOCK)),
    ];
    let all = calls(&pods[0]);
    assert_eq!(all.len(), expected.len());
    for (call, (left, phase, time, unlocks)) in all.iter().zip(expected) {
        let (answer, _) = allocate(Generation::V1_10, &mut pods, call);
        assert_eq!(answer.unlocks, unlocks);
        assert_eq!(annotation(&pods, "a", TO_ALLOCATE), left);
        assert_eq!(annotation(&pods, "a", PHASE), phase);
        assert_eq!(annotation(&pods, "a", TIME), time);
    }
    let kept = "GPU-aa,NVIDIA,1000,10:;;GPU-bb,NVIDIA,2000,20:";
    assert_eq!(annotation(&pods, "a", IDS), kept);
}

#[test]
fn a_failed_pod_keeps_its_devices_listed_but_loses_its_turn() {
    let mut pods = vec![bound("a", "1", A)];
    let call = AllocateCall {
        ids: 2,
        ..calls(&pods[0]).remove(0)
    };
    let (answer, service) = allocate(Generation::V1_10, &mut pods, &call);
    assert_eq!(
        answer.result,
        Err(AllocateRefusal::OtherCount { listed: 1 })
    );
    assert!(!service.is_own());
    assert_eq!(answer.unlocks, Some(LOCK));
    assert_eq!(annotation(&pods, "a", TO_ALLOCATE), A);
    assert_eq!(annotation(&pods, "a", PHASE), FAILED);
    assert_eq!(annotation(&pods, "a", TIME), NEVER);
}

#[test]
fn a_device_of_another_vendor_is_not_seen_but_counted() {
    let mut pods = vec![bound("a", "1", "GPU-aa,OTHER,1000,10:")];
    let (answer, _) = allocate(Generation::V1_12, &mut pods.clone(), &calls(&pods[0])[0]);
    assert_eq!(answer.result, Err(AllocateRefusal::NothingLeft));
    assert_eq!(outcome(Generation::V1_10, &mut pods, &["a"]), "a=!");
}

#[test]
fn a_device_with_too_few_fields_crashes_the_plugin_and_changes_nothing() {
    for generation in ALL {
        let mut pods = vec![bound("a", "1", A)];
        let call = calls(&pods[0]).remove(0);
        pods[0]
            .annotations
            .insert(TO_ALLOCATE.to_owned(), "GPU-aa,NVIDIA:".to_owned());
        let before = pods.clone();
        let (answer, _) = allocate(generation, &mut pods, &call);
        assert!(
            matches!(answer.result, Err(AllocateRefusal::Crash(_))),
            "{answer:?}"
        );
        assert_eq!(answer.unlocks, None);
        assert_eq!(pods, before);
    }
}

#[test]
fn more_elements_than_containers_crash_the_plugin() {
    let mut pods = vec![bound("a", "1", ";GPU-aa,NVIDIA,1000,10:")];
    pods[0].containers.remove(0);
    let call = calls(&pods[0]).remove(0);
    let (answer, _) = allocate(Generation::Latest, &mut pods, &call);
    assert!(
        matches!(answer.result, Err(AllocateRefusal::Crash(_))),
        "{answer:?}"
    );
}

#[test]
fn times_that_are_no_unsigned_numbers_are_later_than_all() {
    for odd in ["", "-1", "+1", "1.5", " 1", "now", "18446744073709551616"] {
        for generation in ALL {
            let mut pods = vec![bound("b", odd, B), bound("c", "9", A)];
            let told = outcome(generation, &mut pods, &["c", "b"]);
            assert_eq!(told, "c=GPU-aa b=GPU-bb", "{generation:?}: {odd:?}");
        }
    }
}

#[test]
fn limits_come_from_the_annotation_and_odd_numbers_are_read_as_the_plugin_does() {
    let mut pods = vec![bound("a", "1", "GPU-aa,NVIDIA,x,99999999999:")];
    let services = admit(Generation::Latest, &mut pods, "a");
    let cards = services[0].got.as_ref().expect("it was served");
    assert_eq!((cards[0].memory, cards[0].cores), (0, 2_147_483_647));
}
