//! AWS Neuron: devices in rows, and cores of one device.

use super::{Limit, family, place, pod, refusal, request, text};
use crate::facts::{NodeFacts, PodFacts};
use crate::family::Family;
use crate::fixture::pairs;
use crate::ledger::{LedgerTime, Load, NodeCards, Tags};
use crate::settings::Policy;

const DEVICES: &str = "aws.amazon.com/neuron";
const CORES: &str = "aws.amazon.com/neuroncore";
const LIST: &str = "hami.io/aws-neuron-devices-allocated";

/// A node `n1` of an instance type with so many devices, and so many cores in all.
fn node(family: &dyn Family, instance: &str, (devices, cores): (i64, i64)) -> NodeCards {
    let labels = pairs(&[("node.kubernetes.io/instance-type", instance)]);
    let amounts = [
        (DEVICES.to_owned(), 1000 * devices),
        (CORES.to_owned(), 1000 * cores),
    ];
    family.cards(&NodeFacts {
        reports: &[],
        name: "n1",
        labels: &labels,
        annotations: &[],
        allocatable: &amounts,
        capacity: &amounts,
    })
}

/// Six devices of two cores each that are a ring.
fn ring(family: &dyn Family) -> NodeCards {
    node(family, "inf2.24xlarge", (6, 12))
}

/// One container with this limit.
fn one(limit: Limit) -> PodFacts {
    pod(&[&[limit]], &[])
}

/// What is written of a pod: list, indices, and what these are of.
fn written(
    family: &dyn Family,
    cards: &mut NodeCards,
    (number, pod): (u32, &PodFacts),
) -> [Option<String>; 3] {
    let written = place(family, cards, (number, pod)).expect("fits");
    for (key, expected) in [
        ("NEURON_ALLOCATED", "false"),
        ("NEURON_ALLOC_TIME", "<ns>"),
        ("aws.amazon.com/predicate-node", "n1"),
    ] {
        assert_eq!(text(&written, key).as_deref(), Some(expected));
    }
    assert_eq!(text(&written, "hami.io/bind-phase"), None);
    [LIST, "AWS_NEURON_IDS", "NEURON_RESOURCE_TYPE"].map(|key| text(&written, key))
}

fn texts(list: &str, ids: &str, resource: Option<&str>) -> [Option<String>; 3] {
    [Some(list), Some(ids), resource].map(|text| text.map(str::to_owned))
}

#[test]
fn two_cores_of_a_device_are_had_by_two_pods() {
    let family = family(Policy::Binpack);
    let mut cards = ring(&*family);
    assert_eq!(cards.problems, Vec::<String>::new());
    let core = one((CORES, 1));
    for (number, list, ids) in [
        (1, "n1-AWSNeuron-0,AWSNeuron,0,1:;", "0"),
        (2, "n1-AWSNeuron-0,AWSNeuron,0,2:;", "1"),
        (3, "n1-AWSNeuron-1,AWSNeuron,0,1:;", "2"),
    ] {
        let found = written(&*family, &mut cards, (number, &core));
        assert_eq!(found, texts(list, ids, Some(CORES)));
    }
    let both = written(&*family, &mut cards, (4, &one((CORES, 2))));
    assert_eq!(
        both,
        texts("n1-AWSNeuron-2,AWSNeuron,0,3:;", "4,5", Some(CORES))
    );
    let device = written(&*family, &mut cards, (5, &one((DEVICES, 1))));
    assert_eq!(device, texts("n1-AWSNeuron-3,AWSNeuron,0,3:;", "3", None));
}

#[test]
fn what_is_written_says_what_is_charged() {
    let family = family(Policy::Binpack);
    let mut cards = ring(&*family);
    let (one_core, two) = (
        one((CORES, 1)),
        pod(&[&[(CORES, 1)], &[], &[(CORES, 4)]], &[]),
    );
    for (number, pod) in [(1, &one_core), (2, &two), (3, &one((DEVICES, 2)))] {
        let request = request(&*family, pod);
        let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
        let told = request.annotations("n1", &cards, &chosen);
        let records = vec![(LIST.to_owned(), text(&told, LIST).expect("written"))];
        let decoded = family.decode(&records, pod, &cards);
        assert_eq!(decoded.problems, Vec::<String>::new());
        assert_eq!(decoded.allocations, chosen);
        cards.charge(number, Tags::default(), Load::Held, &chosen);
    }
}

#[test]
fn cores_that_a_list_does_not_tell_close_the_device() {
    let family = family(Policy::Binpack);
    let mut cards = node(&*family, "inf2.xlarge", (1, 2));
    let core = one((CORES, 1));
    for list in [
        "n1-AWSNeuron-0,AWSNeuron,0,0:;",
        "n1-AWSNeuron-0,AWSNeuron,0,5:;",
    ] {
        let records = vec![(LIST.to_owned(), list.to_owned())];
        let decoded = family.decode(&records, &core, &cards);
        let why = "tells no cores of the device: nothing more of that is given out";
        assert!(decoded.problems[0].ends_with(why), "{:?}", decoded.problems);
        cards.charge(1, Tags::default(), Load::Held, &decoded.allocations);
        let asked = request(&*family, &core);
        assert!(asked.fit(&cards, LedgerTime::Now).is_err());
        let told = asked
            .explain("n1", &cards, LedgerTime::Now)
            .expect("waits")
            .text;
        assert!(
            told.contains("n1-AWSNeuron-0: too few cores are free"),
            "{told}"
        );
        cards = node(&*family, "inf2.xlarge", (1, 2));
    }
}

#[test]
fn several_devices_of_a_ring_are_next_to_each_other() {
    let family = family(Policy::Binpack);
    let mut cards = ring(&*family);
    let core = pod(
        &[&[(CORES, 1)]],
        &[("aws.amazon.com/use-neuron-uuid", "n1-AWSNeuron-2")],
    );
    place(&*family, &mut cards, (1, &core)).expect("fits");
    let three = one((DEVICES, 3));
    let found = written(&*family, &mut cards, (2, &three));
    let devices = [3, 4, 5]
        .map(|at| format!("n1-AWSNeuron-{at},AWSNeuron,0,3:"))
        .concat();
    assert_eq!(found, texts(&format!("{devices};"), "3,4,5", None));
    // Four cores are all of two devices.
    let cores = written(&*family, &mut cards, (3, &one((CORES, 4))));
    let devices = [0, 1]
        .map(|at| format!("n1-AWSNeuron-{at},AWSNeuron,0,3:"))
        .concat();
    assert_eq!(cores, texts(&format!("{devices};"), "0,1,2,3", Some(CORES)));
    let two = request(&*family, &one((DEVICES, 2)));
    assert!(two.fit(&cards, LedgerTime::Now).is_err());
}

#[test]
fn devices_that_are_no_ring_come_in_rows_of_4_8_or_16() {
    let family = family(Policy::Binpack);
    let mut cards = node(&*family, "trn1.32xlarge", (16, 32));
    let core = pod(
        &[&[(CORES, 1)]],
        &[("aws.amazon.com/use-neuron-uuid", "n1-AWSNeuron-2")],
    );
    place(&*family, &mut cards, (1, &core)).expect("fits");
    let four = written(&*family, &mut cards, (2, &one((DEVICES, 4))));
    assert_eq!(four[1].as_deref(), Some("4,5,6,7"));
    let eight = written(&*family, &mut cards, (3, &one((DEVICES, 8))));
    assert_eq!(eight[1].as_deref(), Some("8,9,10,11,12,13,14,15"));
    let two = request(&*family, &one((DEVICES, 2)));
    let failure = two.fit(&cards, LedgerTime::Now).expect_err("no such row");
    let failure = &two.failures()[usize::from(failure)];
    assert_eq!(
        failure.text,
        "not enough aws.amazon.com/neuron (too few cards that are linked)"
    );
    assert!(!failure.evictions_help);
    let told = two
        .explain("n1", &cards, LedgerTime::Now)
        .expect("waits")
        .text;
    let why = "2 asked, devices of the node come in 1, 4, 8 or 16";
    assert!(told.contains(why), "{told}");
    // Four would fit once the core is given back.
    let four = request(&*family, &one((DEVICES, 4)));
    assert!(four.fit(&cards, LedgerTime::Now).is_err());
    assert!(four.fit(&cards, LedgerTime::Idle).is_ok());
}

#[test]
fn of_devices_with_more_cores_pods_get_two_or_all() {
    let family = family(Policy::Binpack);
    let mut cards = node(&*family, "inf1.6xlarge", (4, 16));
    let core = one((CORES, 1));
    for (number, ids) in [(1, "0"), (2, "1"), (3, "4")] {
        let found = written(&*family, &mut cards, (number, &core));
        assert_eq!(found[1].as_deref(), Some(ids));
    }
    let device = written(&*family, &mut cards, (4, &one((DEVICES, 1))));
    assert_eq!(device, texts("n1-AWSNeuron-2,AWSNeuron,0,15:;", "2", None));
    let single = node(&*family, "inf2.xlarge", (1, 1));
    let both = request(&*family, &one((CORES, 2)));
    let told = both
        .explain("n1", &single, LedgerTime::Now)
        .expect("never")
        .text;
    let why = "n1: not enough aws.amazon.com/neuroncore (more cores than a device has): n1-AWSNeuron-0: 2 cores \
               asked, the device has 1";
    assert_eq!(told, why);
}

#[test]
fn what_cannot_be_is_refused_with_what_to_write() {
    let family = family(Policy::None);
    let cases: [(&[&[Limit]], &str); 4] = [
        (
            &[&[(CORES, 3)]],
            "aws.amazon.com/neuroncore is 3: write 1, or a multiple of 2",
        ),
        (
            &[&[(DEVICES, 1), (CORES, 2)]],
            "asks aws.amazon.com/neuron and aws.amazon.com/neuroncore: name devices or cores, not both",
        ),
        (
            &[&[(DEVICES, 1)], &[(CORES, 1)]],
            "asks aws.amazon.com/neuroncore, and a container before aws.amazon.com/neuron: the device plugin is told \
             devices of a pod or cores, so ask one of both, or in pods of their own",
        ),
        (&[&[(DEVICES, -1)]], "write an integer from 0 to"),
    ];
    for (containers, why) in cases {
        let told = refusal(&*family, &pod(containers, &[]));
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn a_node_whose_amounts_make_no_devices_is_told() {
    let family = family(Policy::None);
    for cores in [0, 3, 400] {
        let cards = node(&*family, "inf2.xlarge", (4, cores));
        assert_eq!(
            cards.problems,
            [format!(
                "capacity: {DEVICES} 4 and {CORES} {cores} make no devices of 1 to 16 cores; restart the device plugin"
            )]
        );
        assert_eq!(cards.cards.len(), 0);
    }
}

#[test]
fn lists_of_uuids_count_for_rows_too() {
    let family = family(Policy::Binpack);
    let cards = ring(&*family);
    let two = pod(
        &[&[(DEVICES, 2)]],
        &[(
            "aws.amazon.com/nouse-neuron-uuid",
            "n1-AWSNeuron-0,n1-AWSNeuron-2",
        )],
    );
    let chosen = request(&*family, &two).choose(&cards, LedgerTime::Now);
    let ids: Vec<_> = chosen
        .expect("fits")
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    assert_eq!(ids, ["n1-AWSNeuron-3", "n1-AWSNeuron-4"]);
}
