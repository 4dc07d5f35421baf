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
    let lines = queue_lines::of_objects(&queues, groups).expect("queues");
    queue_lines::table(&mut out, &lines).expect("printed");
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

#[test]
fn a_queue_with_jobs_in_it_is_not_deleted_without_a_word_and_they_are_named() {
    let uid = "05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1aa";
    let of = |name: &str, queue: &str, status: Value| {
        json!({"metadata": {"name": name, "namespace": "team"}, "spec": {"queue": queue},
            "status": status})
    };
    let groups = [
        of(&format!("train-{uid}"), "q", json!({"phase": "Running"})),
        of("done", "q", json!({"phase": "Completed"})),
        of("other", "r", json!({"phase": "Running"})),
    ];
    let jobs = [
        of("train", "q", json!({"state": {"phase": "Running"}})),
        of("new", "q", json!({})),
        of("failed", "q", json!({"state": {"phase": "Failed"}})),
    ];
    let inside = delete::occupants("q", &groups, &jobs);
    assert_eq!(inside, ["team/new (Pending)", "team/train (Running)"]);
    let refusal = delete::refusal("q", &inside).expect("refused");
    let expected = "queue q has 2 jobs in it: team/new (Pending), team/train (Running)\n  = help: ";
    assert!(refusal.starts_with(expected), "{refusal}");
    assert!(refusal.contains("--force"), "{refusal}");
    assert_eq!(delete::refusal("q", &[]), None);
    let many: Vec<String> = (0..7).map(|n| format!("ns/j{n} (Running)")).collect();
    let refusal = delete::refusal("q", &many).expect("refused");
    assert!(refusal.contains("has 7 jobs in it: ns/j0"), "{refusal}");
    assert!(refusal.contains("ns/j4 (Running) and 2 more"), "{refusal}");
}
