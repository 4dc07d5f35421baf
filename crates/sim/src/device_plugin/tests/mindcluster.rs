//! The device plugin of MindCluster: whose turn it is, and what becomes of it.

use super::super::mindcluster::{CORES, KUBELET, REAL, SERVED, TIME, allocate, promised};
use super::super::{AllocateRefusal, ListedPod, answer_at_once};
use super::{call, ids, waiting};

const CHIP_CORES: u64 = 8;

fn pod(name: &str, value: &str, time: &str) -> ListedPod {
    let annotations = [(CORES, value), (TIME, time)];
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    waiting("default", name, annotations.into())
}

/// Starts pods, each asking as many AI cores as it holds; what each container gets.
fn start(pods: &mut [ListedPod], starts: &[(&str, u64)]) -> Vec<String> {
    let start = |(name, cores): &(&str, u64)| {
        let answer = allocate(CHIP_CORES, pods, &call(name, *cores));
        for pod in pods.iter_mut() {
            if answer.guessed.as_ref() == Some(&pod.uid) {
                pod.annotations.extend(answer.changes.clone());
            }
        }
        match answer.result {
            Ok(grants) => ids(&grants).join(","),
            Err(refusal) => format!("{refusal:?}"),
        }
    };
    starts.iter().map(start).collect()
}

#[test]
fn of_pods_with_as_many_cores_the_oldest_is_served() {
    let mut pods = [
        pod("a", "0-vir02", "200"),
        pod("b", "1-vir02_1c", "100"),
        pod("c", "0-vir01", "50"),
        pod("d", "2,3", "300"),
    ];
    let starts = [("a", 2), ("d", 16), ("c", 1), ("b", 2), ("a", 2)];
    // Kubelet starts a first, and a gets what is written on b.
    let got = ["1-vir02_1c", "2,3", "0-vir01", "0-vir02", "NobodyWaits"];
    assert_eq!(start(&mut pods, &starts), got);
    let real = |at: usize, key: &str| pods[at].annotations[key].clone();
    assert_eq!(real(1, REAL), "Ascend310P-2c.1cpu-100-1_0");
    assert_eq!(real(2, REAL), "Ascend310P-1c-100-0_0");
    assert_eq!(real(0, REAL), "Ascend310P-2c-101-0_1");
    assert_eq!(real(3, KUBELET), "Ascend310P-2,Ascend310P-3");
    assert!(pods.iter().all(|pod| pod.annotations[TIME] == SERVED));
}

#[test]
fn pods_that_are_elsewhere_or_have_ended_or_ask_what_there_is_not_get_nothing() {
    let waiting = pod("a", "0-vir02", "200");
    let refused = |pod: ListedPod| allocate(CHIP_CORES, &[pod], &call("a", 2)).result;
    assert_eq!(
        refused(waiting.clone()),
        Ok(promised(&waiting, CHIP_CORES)),
        "it would"
    );
    let elsewhere = ListedPod {
        node: Some("n2".to_owned()),
        ..waiting.clone()
    };
    assert_eq!(refused(elsewhere), Err(AllocateRefusal::NobodyWaits));
    let ended = ListedPod {
        phase: "Failed".to_owned(),
        ..waiting.clone()
    };
    assert_eq!(refused(ended), Err(AllocateRefusal::NobodyWaits));
    let unknown = pod("a", "0-vir02_9c", "200");
    assert_eq!(refused(unknown), Err(AllocateRefusal::NothingLeft));
}

#[test]
fn in_a_simulation_it_answers_at_once() {
    for (value, real) in [
        ("0-vir04_4c_dvpp", "Ascend310P-4c.4cpu.dvpp-100-0"),
        ("1,2", "Ascend310P-1,Ascend310P-2"),
    ] {
        let own = pod("a", value, "7").annotations.into_iter().collect();
        let answered = answer_at_once(&own);
        for (key, expected) in [
            (CORES, value),
            (TIME, SERVED),
            (REAL, real),
            (KUBELET, real),
        ] {
            let found = answered.iter().find(|(known, _)| known == key);
            assert_eq!(found.map(|(_, value)| &**value), Some(expected), "{key}");
        }
        assert_eq!(answer_at_once(&answered), answered, "once is enough");
    }
    let unknown = pod("a", "0-vir99", "7").annotations.into_iter().collect();
    assert_eq!(answer_at_once(&unknown), unknown);
}
