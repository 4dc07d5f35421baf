//! Which discipline in binding is enough for every pod to get its own cards (spec/04 R21, R22).

use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::kubelet::admit;
use super::super::vgpu::{ALLOCATING, FAILED, Generation, NODE, PHASE};
use super::super::{AllocateRefusal, ListedPod};
use super::bound;

/// A pod that is to be bound: its node, its number of cards.
type Ask = (u8, u8);

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec((0..3_u8, 1..4_u8), 1..24)
}

/// What happens next, where it can: the next pod is bound, or a pod that has a node is started.
fn steps() -> impl Strategy<Value = Vec<Option<u8>>> {
    prop::collection::vec(prop::option::of(any::<u8>()), 0..60)
}

fn pod((node, count): Ask, turn: usize) -> ListedPod {
    let device = |card: u8| format!("GPU-{node}-{card},NVIDIA,{},0:", 1000 + turn);
    let text: String = (0..count).map(device).collect();
    // The list of the API server goes by name, which has nothing to do with ages.
    let name = format!("p{:02}", (turn * 7 + 3) % 31);
    let mut pod = bound(&name, &(1_767_261_600 + turn).to_string(), &text);
    pod.node = Some(format!("n{node}"));
    pod.annotations.insert(NODE.to_owned(), format!("n{node}"));
    pod
}

fn in_flight(pods: &[ListedPod], ask: Ask, by_count: bool) -> bool {
    let node = format!("n{}", ask.0);
    let same = |pod: &&ListedPod| {
        let devices = pod.containers[0].limits.values().next().copied();
        pod.annotations.get(NODE) == Some(&node)
            && pod.annotations.get(PHASE).is_some_and(|p| p == ALLOCATING)
            && (!by_count || devices == Some(ask.1.into()))
    };
    pods.iter().any(|pod| same(&pod))
}

/// Binds and starts pods in the order of the steps under the guard: one pod in flight on a node, or
/// one of each count. Then the rest. Names of pods that got other cards than their own, or none.
fn run(generation: Generation, by_count: bool, asks: &[Ask], steps: &[Option<u8>]) -> Vec<String> {
    let mut bystander = bound("aaa", "1", "");
    bystander.annotations.clear();
    let mut pods = vec![bystander];
    let mut queue: VecDeque<(usize, Ask)> = asks.iter().copied().enumerate().collect();
    let mut to_start: Vec<String> = Vec::new();
    let mut strayed = Vec::new();
    let rest = std::iter::repeat_n([None, Some(0)], 3 * asks.len());
    for step in steps.iter().copied().chain(rest.flatten()) {
        match (step, queue.front().copied()) {
            (None, Some((turn, ask))) if !in_flight(&pods, ask, by_count) => {
                queue.pop_front();
                let pod = pod(ask, turn);
                to_start.push(pod.uid.clone());
                pods.push(pod);
                pods.sort_by(|a, b| a.name.cmp(&b.name));
            }
            (Some(number), _) if !to_start.is_empty() => {
                let uid = to_start.remove(usize::from(number) % to_start.len());
                let services = admit(generation, &mut pods, &uid);
                if !services.iter().all(|service| service.is_own()) {
                    strayed.push(uid);
                }
            }
            _ => {}
        }
    }
    assert_eq!(
        (queue.len(), to_start.len()),
        (0, 0),
        "all were bound and started"
    );
    strayed
}

proptest! {
    #[test]
    fn one_pod_in_flight_on_a_node_is_enough_for_every_generation(
        asks in asks(), steps in steps(),
    ) {
        for generation in [Generation::V1_10, Generation::V1_12, Generation::Latest] {
            prop_assert_eq!(run(generation, false, &asks, &steps), Vec::<String>::new());
        }
    }

    #[test]
    fn one_pod_of_each_count_in_flight_on_a_node_is_enough_from_v1_12_on(
        asks in asks(), steps in steps(),
    ) {
        prop_assert_eq!(run(Generation::V1_12, true, &asks, &steps), Vec::<String>::new());
    }
}

#[test]
fn one_pod_of_each_count_in_flight_is_not_enough_for_v1_10() {
    let mut pods = vec![pod((0, 2), 0), pod((0, 1), 1)];
    let (first, second) = (pods[0].uid.clone(), pods[1].uid.clone());
    let services = admit(Generation::V1_10, &mut pods, &second);
    assert_eq!(
        services[0].got,
        Err(AllocateRefusal::OtherCount { listed: 2 })
    );
    assert_eq!(services[0].guessed, Some(first));
    assert_eq!(pods[0].annotations[PHASE], FAILED);
    assert_eq!(pods[1].annotations[PHASE], ALLOCATING);
}
