//! The older plugin.

use std::collections::BTreeMap;

use super::super::gpushare::{ASSIGNED, INDEX, LOCK, MEMORY, TIME, allocate};
use super::super::kubelet::{apply, calls_for};
use super::super::{AllocateRefusal, Container, ListedPod};
use super::{annotation, ids};

fn pod(name: &str, time: &str, index: &str, memory: &[u64]) -> ListedPod {
    let container = |memory: &u64| Container {
        name: "main".to_owned(),
        limits: BTreeMap::from([(MEMORY.to_owned(), *memory)]),
    };
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    ListedPod {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        node: Some("n1".to_owned()),
        phase: "Pending".to_owned(),
        deleting: false,
        annotations: [(TIME, time), (INDEX, index)]
            .into_iter()
            .map(pair)
            .collect(),
        containers: memory.iter().map(container).collect(),
    }
}

/// Starts the pods in this order; what each container got.
fn outcome(pods: &mut [ListedPod], order: &[&str]) -> String {
    let mut all = Vec::new();
    for name in order {
        let at = pods
            .iter()
            .position(|pod| pod.name == *name)
            .expect("a pod");
        for call in calls_for(&pods[at], MEMORY) {
            let answer = allocate(MEMORY, 8, pods, &call);
            assert_eq!(answer.unlocks, Some(LOCK));
            apply(pods, &answer);
            let cards = answer.result.as_ref().map(|cards| ids(cards).join("+"));
            all.push(format!("{name}={}", cards.unwrap_or("!".to_owned())));
        }
        pods[at].phase = "Running".to_owned();
    }
    all.join(" ")
}

#[test]
fn the_oldest_pod_that_asks_as_much_is_served() {
    let pods = [
        pod("a", "2", "0", &[4096]),
        pod("b", "1", "1", &[4096]),
        pod("c", "0", "2", &[2048]),
    ];
    assert_eq!(outcome(&mut pods.clone(), &["b", "a", "c"]), "b=1 a=0 c=2");
    // Pods that ask the same and start against their times: the first gets the other's cards, and
    // the other finds nobody waiting, as the first runs and itself counts as served.
    assert_eq!(outcome(&mut pods.clone(), &["a", "b", "c"]), "a=1 b=! c=2");
    let mut served = pods;
    outcome(&mut served, &["c"]);
    assert_eq!(annotation(&served, "c", ASSIGNED), "true");
    assert_eq!(annotation(&served, "a", ASSIGNED), "-");
}

#[test]
fn the_second_container_of_a_pod_finds_its_pod_served_already() {
    let mut pods = vec![pod("a", "1", "3", &[1000, 1000])];
    assert_eq!(outcome(&mut pods, &["a"]), "a=3 a=!");
}

#[test]
fn pods_that_run_or_go_or_are_elsewhere_are_passed_over() {
    let waiting = pod("a", "1", "0", &[1000]);
    let call = calls_for(&waiting, MEMORY).remove(0);
    type Change = fn(&mut ListedPod);
    let changes: [Change; 5] = [
        |pod| pod.phase = "Running".to_owned(),
        |pod| pod.deleting = true,
        |pod| pod.node = Some("n2".to_owned()),
        |pod| pod.containers.clear(),
        |pod| {
            pod.annotations
                .insert(ASSIGNED.to_owned(), "true".to_owned());
        },
    ];
    for change in changes {
        let mut pods = vec![waiting.clone()];
        change(&mut pods[0]);
        let answer = allocate(MEMORY, 8, &pods, &call);
        assert_eq!(answer.result, Err(AllocateRefusal::NobodyWaits));
    }
}

#[test]
fn an_index_that_is_none_or_not_on_the_node_is_refused_and_the_pod_waits_on() {
    for index in ["", "x", "0,x", "8", "-1"] {
        let pods = vec![pod("a", "1", index, &[1000])];
        let call = calls_for(&pods[0], MEMORY).remove(0);
        let answer = allocate(MEMORY, 8, &pods, &call);
        assert_eq!(
            answer.result,
            Err(AllocateRefusal::NothingLeft),
            "{index:?}"
        );
        assert!(answer.changes.is_empty());
    }
}
