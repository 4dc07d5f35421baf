//! ascend-device-plugin: whose turn it is, and what is handed out.

use super::super::ascend::{
    self, ALLOCATING, BIND_TIME, FAILED, LOCK, NODE, PHASE, SUCCESS, allocated, to_allocate,
};
use super::super::{AllocateRefusal, Grant, ListedPod, answer_at_once};
use super::{call, waiting};

const P: &str = "Ascend310P";
const LIST: &str = "U0,Ascend310P,6144,0:;U1,Ascend310P,3072,0:;";

fn pod(name: &str, list: &str) -> ListedPod {
    let annotations = [
        (to_allocate(P), list),
        (allocated(P), list),
        (NODE.to_owned(), "n1"),
        (BIND_TIME.to_owned(), "1"),
        (PHASE.to_owned(), ALLOCATING),
    ];
    let annotations = annotations.map(|(key, value)| (key, value.to_owned()));
    waiting("ns", name, annotations.into())
}

#[test]
fn the_elements_of_a_pod_are_handed_out_in_turn() {
    let mut pods = [pod("a", LIST)];
    for (at, rest) in [(0, "U1,Ascend310P,3072,0:;"), (1, "")] {
        let answer = ascend::allocate(P, &pods, None, &call("a", 1));
        let promised: Vec<Grant> = ascend::promised(P, &pods[0], at);
        assert_eq!(promised.len(), 1);
        assert_eq!(answer.result, Ok(promised));
        assert_eq!(answer.changes[&to_allocate(P)], rest);
        assert_eq!(answer.changes[PHASE], SUCCESS);
        assert_eq!(answer.unlocks, Some(LOCK));
        pods[0].annotations.extend(answer.changes);
    }
    let answer = ascend::allocate(P, &pods, None, &call("a", 1));
    assert_eq!(answer.result, Err(AllocateRefusal::NothingLeft));
    assert_eq!(answer.changes[PHASE], FAILED);
}

#[test]
fn without_a_name_in_the_lock_the_first_pending_pod_is_served() {
    let pods = [
        pod("a", LIST),
        pod("b", "U2,Ascend310P,21527,0:U3,Ascend310P,21527,0:;"),
    ];
    let guessed = |lock, ids| ascend::allocate(P, &pods, lock, &call("b", ids)).guessed;
    let time = "2026-01-02T03:04:05Z";
    assert_eq!(guessed(None, 2).as_deref(), Some("a"));
    assert_eq!(guessed(Some(time), 2).as_deref(), Some("a"));
    let named = format!("{time},ns,b");
    assert_eq!(guessed(Some(&named), 2).as_deref(), Some("b"));
    let wrong = ascend::allocate(P, &pods, None, &call("b", 2));
    assert_eq!(wrong.result, Err(AllocateRefusal::OtherCount { listed: 1 }));
}

#[test]
fn a_served_pod_that_does_not_run_yet_is_taken_for_the_next_one() {
    let mut pods = [pod("a", "U0,Ascend310P,6144,0:;"), pod("b", LIST)];
    let answer = ascend::allocate(P, &pods[..1], None, &call("a", 1));
    pods[0].annotations.extend(answer.changes);
    let wrong = ascend::allocate(P, &pods, None, &call("b", 1));
    assert_eq!(wrong.guessed.as_deref(), Some("a"));
    assert_eq!(wrong.result, Err(AllocateRefusal::NothingLeft));
    pods[0].phase = "Running".to_owned();
    let right = ascend::allocate(P, &pods, None, &call("b", 1));
    assert_eq!(right.guessed.as_deref(), Some("b"));
    assert_eq!(right.result, Ok(ascend::promised(P, &pods[1], 0)));
}

#[test]
fn in_a_simulation_it_answers_at_once() {
    let own = pod("a", LIST).annotations.into_iter().collect();
    let answered = answer_at_once(&own);
    let value = |key: &str| {
        answered
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, v)| &**v)
    };
    assert_eq!(value(PHASE), Some(SUCCESS));
    assert_eq!(value(&to_allocate(P)), Some(""));
    assert_eq!(value(&allocated(P)), Some(LIST));
}
