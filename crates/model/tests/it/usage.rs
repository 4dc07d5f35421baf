//! What was measured of nodes stays with them, wherever they stand.

use pumice_fixtures::ToDelta as _;
use pumice_model::object::NodeUsage;
use pumice_model::{Delta, State};

fn node(name: &str) -> Delta {
    pumice_fixtures::node(name, "8c").delta()
}

fn measured(node: &str, cpu: i64) -> Delta {
    let usage = NodeUsage {
        cpu,
        memory: 2 * cpu,
        at_s: 100,
    };
    Delta::NodeUsage {
        node: node.to_owned(),
        usage: Some(usage),
    }
}

fn cpu_of(state: &State, name: &str) -> Option<i64> {
    let node = state.nodes().find(name)?;
    state.nodes().usage(node).map(|usage| usage.cpu)
}

#[test]
fn usage_moves_with_its_node_and_goes_with_it() {
    let mut state = State::new("default");
    for delta in [node("b"), node("c"), measured("b", 1), measured("c", 2)] {
        state.apply(delta);
    }
    state.seal();
    // Names before and between move the others.
    for delta in [
        node("a"),
        node("bb"),
        measured("bb", 3),
        measured("unknown", 4),
    ] {
        state.apply(delta);
    }
    state.seal();
    let all = ["a", "b", "bb", "c", "unknown"];
    let of_all = |state: &State| all.map(|name| cpu_of(state, name));
    assert_eq!(of_all(&state), [None, Some(1), Some(3), Some(2), None]);
    // A dump leads to the same.
    let mut copy = State::new("default");
    state.dump().into_iter().for_each(|delta| {
        copy.apply(delta);
    });
    copy.seal();
    assert_eq!(of_all(&copy), of_all(&state));
    state.apply(Delta::NodeDelete("b".to_owned()));
    state.seal();
    state.apply(node("b"));
    state.seal();
    assert_eq!(of_all(&state), [None, None, Some(3), Some(2), None]);
}

#[test]
fn only_news_is_a_change() {
    let mut state = State::new("default");
    state.apply(node("a"));
    state.apply(measured("a", 1));
    state.seal();
    let before = (state.journal().generation(), state.nodes().usage_epoch());
    state.apply(measured("a", 1));
    assert_eq!(
        (state.journal().generation(), state.nodes().usage_epoch()),
        before
    );
    state.apply(Delta::NodeUsage {
        node: "a".to_owned(),
        usage: None,
    });
    assert_eq!(cpu_of(&state, "a"), None);
    assert!(state.journal().generation() > before.0 && state.nodes().usage_epoch() > before.1);
}
