//! Tests of the guards.

use proptest::prelude::*;

use super::*;

fn guard(kind: u32, content: u8, waits: bool) -> InFlightGuard {
    InFlightGuard {
        kind,
        content: content.to_string(),
        waits,
    }
}

impl GuardState {
    /// No node has two pods on their way that could be mixed up, and nothing is kept of a node
    /// without any.
    fn check(&self) {
        for (name, place) in &self.nodes {
            assert!(
                !place.in_flight.is_empty(),
                "{name} has a queue for nothing"
            );
            let known = || {
                place
                    .in_flight
                    .iter()
                    .filter_map(|flight| flight.what.as_ref())
            };
            for one in known() {
                let mixed_up = known().any(|other| one.0 == other.0 && one.1 != other.1);
                assert!(!mixed_up, "{name}: {one:?}");
            }
            for flight in &place.in_flight {
                assert!(self.pods.get(&flight.uid).is_some_and(|busy| busy.blocks));
            }
            for waiter in &place.queue {
                assert_eq!(self.waiting.get(&waiter.uid), Some(name));
            }
        }
        let queued: usize = self.nodes.values().map(|place| place.queue.len()).sum();
        assert_eq!(queued, self.waiting.len());
    }
}

proptest! {
    #[test]
    fn whatever_happens_none_are_mixed_up_and_all_get_their_turn(
        steps in prop::collection::vec((0u8..6, 0u8..12, 0u32..2, 0u8..3), 0..200),
    ) {
        let guards = InFlightGuards::new(Duration::from_secs(30));
        let mut passes = Vec::new();
        for (step, pod, kind, content) in steps {
            let (uid, node) = (format!("u{pod}"), format!("n{}", pod % 2));
            let is_new = {
                let state = guards.state();
                !state.pods.contains_key(&uid) && !state.waiting.contains_key(&uid)
            };
            match step {
                0 | 1 if is_new => {
                    let guard = guard(kind, content, pod != 0);
                    passes.push((uid.clone(), guards.enter(&uid, &node, &guard)));
                }
                2 => guards.bound(&uid),
                3 => guards.seen(&uid, &node, content == 0),
                4 => guards.gone(&uid),
                _ => guards.done(&uid),
            }
            guards.state().check();
        }
        // Everybody leaves, one after the other.
        for pod in (0..12).chain(0..12).chain(0..12) {
            for pod in [pod, 11 - pod] {
                guards.done(&format!("u{pod}"));
                guards.state().check();
            }
        }
        for (uid, pass) in passes {
            if let Pass::Later(mut pass) = pass {
                prop_assert!(pass.try_recv().is_ok(), "{uid} waits for ever");
            }
        }
        prop_assert!(guards.state().nodes.is_empty());
    }
}

#[test]
fn who_waits_is_known_with_the_pod_it_waits_for_and_how_many_come_before() {
    let guards = InFlightGuards::new(Duration::from_secs(30));
    let passes = [("a", 1), ("b", 1), ("c", 1), ("d", 2), ("e", 2)];
    let _passes = passes.map(|(uid, kind)| {
        let content = uid.as_bytes()[0];
        guards.enter(uid, "n", &guard(kind, content, true))
    });
    let plugin = |first: &str, ahead| WaitsFor::Plugin {
        first: first.to_owned(),
        ahead,
    };
    let wanted = [("b", "a", 0), ("c", "a", 1), ("e", "d", 0)];
    let wanted = wanted.map(|(uid, first, ahead)| (uid.to_owned(), plugin(first, ahead)));
    assert_eq!(guards.waits(), wanted.into_iter().collect());
    guards.done("a");
    assert_eq!(guards.waits().get("c"), Some(&plugin("b", 0)));
}

#[test]
fn pods_without_content_wait_for_each_other() {
    let guards = InFlightGuards::new(Duration::from_secs(30));
    let like_no_other = InFlightGuard {
        content: String::new(),
        ..guard(0, 0, true)
    };
    let enter = |uid| matches!(guards.enter(uid, "n", &like_no_other), Pass::Now);
    assert!(enter("a"));
    assert!(!enter("b"));
}

#[test]
fn who_was_answered_or_was_sent_by_nobody_stands_in_no_way_again() {
    let guards = InFlightGuards::new(Duration::from_secs(30));
    let is_free = |uid: &str| {
        let free = matches!(guards.enter(uid, "n", &guard(1, 1, true)), Pass::Now);
        guards.gone(uid);
        free
    };
    guards.seen("served", "n", true);
    assert!(!is_free("a"));
    guards.seen("served", "n", false);
    guards.seen("served", "n", true);
    assert!(is_free("b"));
    guards.seen("idle", "n", false);
    guards.seen("idle", "n", true);
    guards.settle("by-hand");
    guards.seen("by-hand", "n", true);
    assert!(is_free("c"));
    // Nothing is kept of pods that are gone.
    for uid in ["served", "idle", "by-hand"] {
        guards.gone(uid);
    }
    assert!(guards.state().settled.is_empty());
}

#[test]
fn who_stood_in_the_way_for_long_enough_stops_it() {
    let guards = InFlightGuards::new(Duration::from_secs(30));
    let start = Instant::now();
    guards.seen("old", "n", true);
    let Pass::Later(mut pass) = guards.enter("new", "n", &guard(1, 1, true)) else {
        panic!("it waits");
    };
    let due = guards.state().expire(start).expect("a time");
    assert!(due >= start + Duration::from_secs(30));
    assert!(pass.try_recv().is_err());
    assert_eq!(guards.state().expire(due), None);
    assert!(pass.try_recv().is_ok());
    guards.state().check();
}
