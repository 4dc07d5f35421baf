//! Enflame's shared GCUs: slices of a card, by profiles.

use super::{Limit, VendorNode, configured, family, place, pod, refusal, request, text};
use crate::facts::PodFacts;
use crate::family::Family;
use crate::fixture::{container, pod_of};
use crate::ledger::{Allocation, LedgerTime, Load, NodeCards, Tags};
use crate::settings::Policy;
use crate::{binding::BindingAnnotations, facts::ContainerKind};

const SIZE: &str = "enflame.com/drs-gcu";
const MEMORY: &str = "enflame.com/gcu-memory";
const CORE: &str = "enflame.com/gcu-core";
const REGISTER: &str = "enflame.com/gcu-drs-capacity";
const LIST: &str = "hami.io/enflame-vgpu-devices-allocated";

/// Profiles of a card of six slices.
const SIX: &str = r#"{"1g.6gb":"0","3g.20gb":"1","6g.40gb":"2"}"#;

/// A node `n1` with this text, and as many slices as kubelet counts.
fn node(family: &dyn Family, register: &str) -> NodeCards {
    VendorNode::new(&[(REGISTER, register)], &[(SIZE, 12)]).cards(family)
}

/// So many cards of six slices.
fn cards(family: &dyn Family, count: usize) -> NodeCards {
    let device = |at: usize| format!(r#"{{"index":"{at}","minor":"{}","capacity":6}}"#, at + 4);
    let devices: Vec<String> = (0..count).map(device).collect();
    let text = format!(r#"{{"devices":[{}],"profiles":{SIX}}}"#, devices.join(","));
    let cards = node(family, &text);
    assert_eq!(cards.problems, Vec::<String>::new());
    cards
}

/// One container with these limits, named `main`.
fn one(limits: &[Limit]) -> PodFacts {
    PodFacts {
        names: vec![(0, "main".to_owned())],
        ..pod(&[limits], &[])
    }
}

fn list(written: &BindingAnnotations) -> String {
    text(written, LIST).expect("a list")
}

/// Why a pod does not fit.
fn why(family: &dyn Family, cards: &NodeCards, pod: &PodFacts) -> String {
    let request = request(family, pod);
    let near = request.explain("n1", cards, LedgerTime::Now);
    near.expect("does not fit").text
}

#[test]
fn a_binding_says_by_name_what_containers_get() {
    let family = family(Policy::Binpack);
    let mut cards = cards(&*family, 2);
    let two = PodFacts {
        names: vec![(0, "warm-up".to_owned()), (2, "main".to_owned())],
        ..pod_of(
            vec![
                container(ContainerKind::Init, &[(SIZE, 1)]),
                container(ContainerKind::Regular, &[]),
                container(ContainerKind::Regular, &[(SIZE, 3)]),
            ],
            &[],
        )
    };
    let written = place(&*family, &mut cards, (1, &two)).expect("fits");
    let containers = concat!(
        r#"{"main":{"allocated":false,"profileID":"1","profileName":"3g.20gb","request":3},"#,
        r#""warm-up":{"allocated":false,"profileID":"0","profileName":"1g.6gb","request":1}}"#
    );
    for (key, expected) in [
        (
            LIST,
            "n1-enflame-drs-0,Enflame,6144,17:;;n1-enflame-drs-0,Enflame,20480,50:;",
        ),
        ("enflame.com/gcu-assigned", "false"),
        ("enflame.com/gcu-assigned-time", "<ns>"),
        ("assigned-containers", containers),
        ("enflame.com/gcu-assigned-index", "0"),
        ("enflame.com/gcu-assigned-id", "0"),
        ("enflame.com/gcu-assigned-minor", "4"),
        ("enflame.com/gcu-request-size", "1"),
        ("hami.io/vgpu-node", "n1"),
    ] {
        assert_eq!(text(&written, key).as_deref(), Some(expected), "{key}");
    }
    for absent in [
        "hami.io/enflame-vgpu-devices-to-allocate",
        "hami.io/bind-phase",
    ] {
        assert_eq!(text(&written, absent), None);
    }
    assert!(written.locks.is_empty(), "{:?}", written.locks);
    // What ends first leaves its slice to the others.
    let rest = place(&*family, &mut cards, (2, &one(&[(SIZE, 3)]))).expect("fits");
    assert_eq!(list(&rest), "n1-enflame-drs-0,Enflame,20480,50:;");
}

#[test]
fn who_names_memory_or_cores_gets_the_smallest_profile_that_has_as_much() {
    let family = family(Policy::Binpack);
    for (limits, expected) in [
        (&[(MEMORY, 6)][..], "6144,17"),
        (&[(MEMORY, 7)], "20480,50"),
        // As many GiB are more than twice what the largest profile has: MiB.
        (&[(MEMORY, 80)], ""),
        (&[(MEMORY, 81)], "6144,17"),
        (&[(MEMORY, 20_480)], "20480,50"),
        (&[(MEMORY, 20_481)], "40960,100"),
        (&[(MEMORY, 20_480), (CORE, 40)], "20480,50"),
        (&[(MEMORY, 6), (CORE, 51)], "40960,100"),
        (&[(CORE, 17)], "6144,17"),
        (&[(CORE, 18)], "20480,50"),
        (&[(CORE, 100)], "40960,100"),
        (&[(SIZE, 6)], "40960,100"),
        (&[(SIZE, 2)], ""),
    ] {
        let mut cards = cards(&*family, 1);
        let found = place(&*family, &mut cards, (1, &one(limits)));
        let found = found.map_or(String::new(), |written| list(&written));
        let expected = match expected {
            "" => String::new(),
            amounts => format!("n1-enflame-drs-0,Enflame,{amounts}:;"),
        };
        assert_eq!(found, expected, "{limits:?}");
    }
}

#[test]
fn six_single_slices_are_had_of_a_card_of_six_and_no_more() {
    let family = family(Policy::Binpack);
    let mut cards = cards(&*family, 1);
    let single = one(&[(SIZE, 1)]);
    for number in 0..6 {
        place(&*family, &mut cards, (number, &single)).expect("fits");
    }
    let told = why(&*family, &cards, &single);
    assert_eq!(
        told,
        "n1: not enough enflame.com/drs-gcu: n1-enflame-drs-0: all 6 slots in use"
    );
}

#[test]
fn neither_slices_nor_memory_are_given_twice() {
    let family = family(Policy::Binpack);
    let of = |register: &str, taken: i64, asked: i64| {
        let mut cards = node(&*family, register);
        assert_eq!(cards.problems, Vec::<String>::new());
        place(&*family, &mut cards, (1, &one(&[(SIZE, taken)]))).expect("fits");
        why(&*family, &cards, &one(&[(SIZE, asked)]))
    };
    let devices = r#"[{"index":"0","minor":"0","capacity":6}]"#;
    let six = format!(r#"{{"devices":{devices},"profiles":{SIX}}}"#);
    let told = of(&six, 1, 6);
    assert!(
        told.ends_with("n1-enflame-drs-0: 6,144 MiB short"),
        "{told}"
    );
    // Of as many slices as a card has profiles may have more memory each than a sixth of it.
    let wide = r#"{"3g.30gb":"0","4g.10gb":"1","6g.40gb":"2"}"#;
    let wide = format!(r#"{{"devices":{devices},"profiles":{wide}}}"#);
    let told = of(&wide, 3, 3);
    assert!(
        told.ends_with("n1-enflame-drs-0: 20,480 MiB short"),
        "{told}"
    );
    let told = of(&wide, 4, 3);
    assert!(
        told.ends_with("n1-enflame-drs-0: 3 slices asked, 2 free"),
        "{told}"
    );
}

#[test]
fn a_card_has_no_more_slices_than_its_largest_profile_nor_than_it_tells() {
    let family = family(Policy::None);
    let profiles = r#"{"1g.6gb":"0","6g.60gb":"2"}"#;
    for (capacity, expected) in [("4", 4), ("6", 6), ("\"9\"", 6)] {
        let text = format!(r#"{{"devices":[{{"capacity":{capacity}}}],"profiles":{profiles}}}"#);
        let mut cards = node(&*family, &text);
        let mut had = 0;
        while place(&*family, &mut cards, (had, &one(&[(SIZE, 1)]))).is_ok() {
            had += 1;
        }
        assert_eq!(had, expected, "{capacity}");
    }
    let small = format!(r#"{{"devices":[{{"capacity":4}}],"profiles":{profiles}}}"#);
    let told = why(&*family, &node(&*family, &small), &one(&[(SIZE, 6)]));
    assert_eq!(
        told,
        "n1: not enough enflame.com/drs-gcu (no such profile): n1-enflame-drs-0: no profile of size 6; 4 slices, \
         profiles 1g.6gb, 6g.60gb"
    );
}

#[test]
fn all_containers_of_a_pod_have_parts_of_one_card() {
    let family = family(Policy::Binpack);
    let mut cards = cards(&*family, 2);
    place(&*family, &mut cards, (1, &one(&[(SIZE, 3)]))).expect("fits");
    let two = pod(&[&[(SIZE, 3)], &[(SIZE, 3)]], &[]);
    let written = place(&*family, &mut cards, (2, &two)).expect("fits");
    let part = "n1-enflame-drs-1,Enflame,20480,50:;";
    assert_eq!(list(&written), format!("{part}{part}"));
    assert_eq!(
        text(&written, "enflame.com/gcu-assigned-index").as_deref(),
        Some("1")
    );
    // No name is known: as HAMi names such containers.
    let containers = text(&written, "assigned-containers").expect("written");
    assert!(containers.starts_with(r#"{"container-0":"#), "{containers}");
    let mut idle = self::cards(&*family, 2);
    let three = pod(&[&[(SIZE, 3)], &[(SIZE, 3)], &[(SIZE, 1)]], &[]);
    let told = place(&*family, &mut idle, (3, &three));
    assert_eq!(
        told.expect_err("too much"),
        "not enough enflame.com/drs-gcu (no card has as much as all containers ask)"
    );
}

#[test]
fn what_is_written_says_what_is_charged() {
    let family = family(Policy::Binpack);
    let mut cards = cards(&*family, 3);
    let init = pod_of(
        vec![
            container(ContainerKind::Init, &[(SIZE, 3)]),
            container(ContainerKind::Regular, &[(CORE, 17)]),
        ],
        &[],
    );
    let by_memory = one(&[(MEMORY, 20_480), (CORE, 30)]);
    for (number, pod) in [(1, &one(&[(SIZE, 1)])), (2, &by_memory), (3, &init)] {
        let request = request(&*family, pod);
        let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
        let told = request.annotations("n1", &cards, &chosen);
        let records = vec![(LIST.to_owned(), list(&told))];
        let decoded = family.decode(&records, pod, &cards);
        assert_eq!(decoded.problems, Vec::<String>::new());
        assert_eq!(decoded.allocations, chosen);
        cards.charge(number, Tags::default(), Load::Held, &chosen);
    }
}

/// What a pod holds by a list on a card without the profile of size 3, and what is told of it.
fn held(pod: &PodFacts, list: &str) -> (Vec<Vec<i64>>, Vec<String>) {
    let family = family(Policy::None);
    let text = r#"{"devices":[{"capacity":8}],"profiles":{"2g.10gb":"0","8g.40gb":"2"}}"#;
    let cards = node(&*family, text);
    let records = vec![(LIST.to_owned(), list.to_owned())];
    let decoded = family.decode(&records, pod, &cards);
    let amounts = |one: &Allocation| one.charged.to_vec();
    let charged = decoded.allocations.iter().map(amounts).collect();
    (charged, decoded.problems)
}

#[test]
fn a_profile_that_is_gone_counts_as_the_list_tells_it_and_at_least_as_it_is_asked() {
    let size = one(&[(SIZE, 3)]);
    let much = one(&[(MEMORY, 60), (CORE, 50)]);
    for (pod, told, charged) in [
        (&size, "20480,38", [20_480, 1, 3]),
        // Whoever may write the list says no size, and no more than the card has.
        (&size, "20480,100", [20_480, 1, 3]),
        (&size, "999999,1", [40_960, 1, 3]),
        (&size, "0,38", [40_960, 1, 8]),
        (&size, "much,38", [40_960, 1, 8]),
        (&much, "1,1", [40_960, 1, 4]),
        (&much, "1,75", [40_960, 1, 6]),
    ] {
        let (found, problems) = held(pod, &format!("n1-enflame-drs-0,Enflame,{told}:;"));
        assert_eq!(found, [charged.to_vec()], "{told}");
        let why = "has a profile that the card does not tell";
        assert!(problems[0].contains(why), "{problems:?}");
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
    // Amounts of a profile that is there are those of the card.
    let (found, problems) = held(&one(&[(SIZE, 2)]), "n1-enflame-drs-0,Enflame,999999,100:;");
    assert_eq!((found, problems), (vec![vec![10_240, 1, 2]], Vec::new()));
}

#[test]
fn a_list_that_cannot_be_read_counts_on_every_card_it_could_be() {
    let family = family(Policy::None);
    let single = one(&[(SIZE, 1)]);
    for (records, why) in [
        (
            vec![(LIST.to_owned(), "what".to_owned())],
            "annotation hami.io/enflame-vgpu-devices-allocated: \"what\" is no card",
        ),
        (
            Vec::new(),
            "annotation hami.io/enflame-vgpu-devices-allocated tells 0 of 1 cards of container 1",
        ),
    ] {
        let mut cards = cards(&*family, 2);
        let decoded = family.decode(&records, &single, &cards);
        let told = &decoded.problems[0];
        assert!(told.starts_with(why), "{told}");
        assert_eq!(decoded.allocations.len(), 2);
        cards.charge(1, Tags::default(), Load::Held, &decoded.allocations);
        assert!(
            request(&*family, &one(&[(SIZE, 6)]))
                .fit(&cards, LedgerTime::Now)
                .is_err()
        );
        assert!(
            request(&*family, &one(&[(SIZE, 3)]))
                .fit(&cards, LedgerTime::Now)
                .is_ok()
        );
    }
    // A request that never could be: all of a card, whatever number stands there.
    let odd = one(&[(SIZE, 3), (CORE, 20)]);
    let cards = cards(&*family, 1);
    let records = vec![(LIST.to_owned(), "n1-enflame-drs-0,Enflame,1,1:;".to_owned())];
    let decoded = family.decode(&records, &odd, &cards);
    let charged: Vec<_> = decoded
        .allocations
        .iter()
        .map(|one| one.charged.to_vec())
        .collect();
    assert_eq!(charged, [[40_960, 1, 6]]);
}

#[test]
fn what_cannot_be_is_refused_with_what_to_write() {
    let family = family(Policy::None);
    let cases: [(&[Limit], &str); 7] = [
        (
            &[(SIZE, 0)],
            "container 1: enflame.com/drs-gcu is 0: write the slices of a profile, 1 or more, or leave it out",
        ),
        (
            &[(MEMORY, 0), (CORE, 5)],
            "container 1: enflame.com/gcu-memory is 0: write GiB, 1 or more, or leave it out",
        ),
        (
            &[(CORE, 101)],
            "enflame.com/gcu-core is 101: write an integer from 0 to 100",
        ),
        (
            &[(SIZE, -1)],
            "enflame.com/drs-gcu is -1: write an integer from 0 to",
        ),
        (
            &[(MEMORY, 20 << 30)],
            "enflame.com/gcu-memory is 21474836480, which is no amount a card has: the unit is 1 GiB, or 1 MiB from \
             thousands on, write an integer from 1 to 2147483647; for 20480Mi write 20480",
        ),
        (
            &[(SIZE, 1), (MEMORY, 6)],
            "container 1: asks enflame.com/drs-gcu and enflame.com/gcu-memory: name the size of a profile, or memory \
             and cores of which the smallest profile has as much, not both",
        ),
        (
            &[(SIZE, 1), ("enflame.com/gcu", 1)],
            "are cards of two kinds: ask each in a container of its own",
        ),
    ];
    for (limits, why) in cases {
        let told = refusal(&*family, &pod(&[limits], &[]));
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn uuids_and_policies_choose_among_cards() {
    let family = family(Policy::Binpack);
    let mut cards = cards(&*family, 3);
    let say = |key: &str, value: &str| pod(&[&[(CORE, 10)]], &[(key, value)]);
    let used = say(
        "enflame.com/use-gpuuuid",
        "n1-enflame-drs-2, n1-enflame-drs-7",
    );
    let written = place(&*family, &mut cards, (1, &used)).expect("fits");
    assert!(list(&written).starts_with("n1-enflame-drs-2,"));
    let unused = say(
        "enflame.com/nouse-gpuuuid",
        "n1-enflame-drs-0,n1-enflame-drs-2",
    );
    let written = place(&*family, &mut cards, (2, &unused)).expect("fits");
    assert!(list(&written).starts_with("n1-enflame-drs-1,"));
    let alone = say("hami.io/gpu-scheduler-policy", "mutex");
    let written = place(&*family, &mut cards, (3, &alone)).expect("fits");
    assert!(list(&written).starts_with("n1-enflame-drs-0,"));
    let told = place(&*family, &mut cards, (4, &alone)).expect_err("none is idle");
    assert_eq!(told, "not enough enflame.com/gcu-core");
    let never = say("enflame.com/use-gpuuuid", "none");
    let told = place(&*family, &mut cards, (5, &never)).expect_err("no such card");
    assert_eq!(told, "not enough enflame.com/gcu-core (UUID lists)");
}

#[test]
fn what_a_node_tells_that_makes_no_cards_is_told() {
    let family = family(Policy::None);
    for (text, cards, problem) in [
        (
            "[1",
            0,
            "enflame.com/gcu-drs-capacity: is no JSON object of devices and profiles (",
        ),
        (
            r#"{"devices":[{"capacity":6}],"profiles":{}}"#,
            0,
            "enflame.com/gcu-drs-capacity: tells no profile such as \"1g.6gb\", so none of its 1 cards is given out; \
             restart the device plugin",
        ),
        (
            r#"{"devices":[{"capacity":6}],"profiles":{"one":"0","1g.6gb":"1"}}"#,
            1,
            "enflame.com/gcu-drs-capacity: profile \"one\" is left out: its name is none such as 1g.6gb, of 1 to 100 \
             slices; restart the device plugin",
        ),
        (
            r#"{"devices":[{"capacity":6}],"profiles":{"1g.6gb":"1","2g.6gb":2}}"#,
            1,
            "enflame.com/gcu-drs-capacity: profile \"2g.6gb\" is left out: its id is no text without spaces; restart \
             the device plugin",
        ),
        (
            r#"{"devices":[{"index":"0","capacity":6},{"index":"1","capacity":"some"}],"profiles":{"1g.6gb":"1"}}"#,
            1,
            "enflame.com/gcu-drs-capacity: device 1 is left out: capacity is no number from 1 to 2147483647; restart \
             the device plugin",
        ),
        (
            r#"{"devices":[{"index":"0","minor":"first","capacity":6}],"profiles":{"1g.6gb":"1"}}"#,
            0,
            "enflame.com/gcu-drs-capacity: device 0 is left out: minor is no number from 0 to 65535; restart the \
             device plugin",
        ),
    ] {
        let found = node(&*family, text);
        assert_eq!(found.cards.len(), cards, "{text}");
        let told = &found.problems[0];
        assert!(told.starts_with(problem), "{told}");
        assert_eq!(found.problems.len(), 1);
    }
    let none = VendorNode::new(&[(REGISTER, "{}")], &[]).cards(&*family);
    assert_eq!((none.cards.len(), none.problems.len()), (0, 1));
}

#[test]
fn queues_count_gib_and_percent_of_the_profile() {
    let family = family(Policy::None);
    let cards = cards(&*family, 2);
    let all = [(CORE, 200_000), (MEMORY, 80_000)];
    let all = all.map(|(name, milli)| (name.to_owned(), milli));
    let mut offered = cards.offered.clone();
    offered.sort();
    assert_eq!(offered, all);
    for limits in [&[(SIZE, 3)][..], &[(MEMORY, 20_000)], &[(CORE, 40)]] {
        let request = request(&*family, &one(limits));
        assert!(request.charge(None).is_empty());
        let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
        let charged = request.charge(Some(&chosen));
        assert_eq!(charged.to_vec(), [(CORE, 50_000), (MEMORY, 20_000)]);
    }
}

#[test]
fn pages_name_the_profile_that_somebody_has() {
    let family = family(Policy::Binpack);
    let mut cards = cards(&*family, 1);
    place(&*family, &mut cards, (1, &one(&[(SIZE, 3)]))).expect("fits");
    let entry = cards.entries(LedgerTime::Now).next().expect("held");
    let name = family.part_name(&cards, entry);
    assert_eq!(name.as_deref(), Some("3g.20gb"));
}

#[test]
fn names_of_resources_are_those_of_the_configuration() {
    let text = "enflame:\n  resourceNameGCU: enflame.com/whole\n  resourceNameVGCU: enflame.com/old\n  \
                resourceNameGCUMemory: enflame.com/memory\n";
    for (more, size) in [
        ("", "enflame.com/old"),
        (
            "  resourceNameDRSGCU: enflame.com/part\n",
            "enflame.com/part",
        ),
    ] {
        let family = configured(&format!("{text}{more}"));
        request(&*family, &pod(&[&[(size, 1)]], &[]));
        request(&*family, &pod(&[&[("enflame.com/memory", 1)]], &[]));
        request(&*family, &pod(&[&[("enflame.com/whole", 1)]], &[]));
        let asks = family.request(&pod(&[&[(SIZE, 1)]], &[]), Tags::default());
        assert!(asks.is_none());
    }
    let other = "enflame:\n  resourceNameGCUCore: example.com/core\n";
    let told = crate::families::read_config(other).expect_err("refused");
    assert_eq!(
        told,
        [
            "line 2, column 3: enflame: `example.com/core` is no name of a part of a card; let it begin with \
          enflame.com/: containers that ask it are told to the device plugin by name"
        ]
    );
}
