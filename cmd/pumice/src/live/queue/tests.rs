//! Tables and states, without a cluster.

use serde_json::json;

use super::*;

fn queue(name: &str, state: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"weight": 2, "parent": "root"},
        "status": {"state": state}})
}

fn lines(groups: Option<&[Value]>) -> Vec<String> {
    let mut out = Vec::new();
    let queues = [queue("a", "Closing"), queue("default", "")];
    table(&mut out, &queues, groups).expect("printed");
    let text = String::from_utf8(out).expect("UTF-8");
    let joined = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().skip(1).map(joined).collect()
}

#[test]
fn pod_groups_are_counted_by_queue_and_phase() {
    let group =
        |queue: &str, phase: &str| json!({"spec": {"queue": queue}, "status": {"phase": phase}});
    let groups = [
        group("a", "Running"),
        group("a", "Running"),
        group("a", ""),
        group("", "Inqueue"),
    ];
    assert_eq!(
        lines(Some(&groups)),
        [
            "a 2 Closing root 0 1 2 0 0",
            "default 2 Open root 1 0 0 0 0"
        ]
    );
    assert_eq!(
        lines(None),
        [
            "a 2 Closing root - - - - -",
            "default 2 Open root - - - - -"
        ]
    );
}

#[test]
fn a_queue_on_its_way_to_be_closed_is_there_and_one_nobody_has_looked_at_is_open() {
    for (state, open, closed) in [
        ("", true, false),
        ("Open", true, false),
        ("Closing", false, true),
        ("Closed", false, true),
        ("Unknown", false, false),
    ] {
        let queue: Queue = typed(&queue("q", state)).expect("a queue");
        assert_eq!(is_there(&queue, WantedState::Open), open, "{state}");
        assert_eq!(is_there(&queue, WantedState::Closed), closed, "{state}");
    }
}
