//! Open, closing, closed.

use pumice_controllers::queue::group_counts;
use pumice_controllers::runtime::{ApiVerb, ManagedKind, ObjectCache};
use serde_json::json;

use super::{close, group, open, queue, queue_ref, state, told, world};

#[test]
fn a_new_queue_is_below_root_and_open_after_two_writes() {
    let mut world = world();
    queue(&mut world, "q", "");
    world.settle();
    assert_eq!(state(&world, "q"), "Open");
    assert_eq!(
        world.server.get(&queue_ref("q")).unwrap()["spec"]["parent"],
        "root"
    );
    assert_eq!(world.written(), ["patch Queue q", "apply Queue q"]);
    let (write, _) = &world.server.log[1];
    let expected = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "q"}, "status": {"state": "Open"}});
    assert_eq!(
        write.verb,
        ApiVerb::Apply {
            object: expected,
            manager: "queue-controller",
            status: true,
        }
    );
}

#[test]
fn a_closing_queue_is_closed_when_its_last_pod_group_goes_moves_or_completes() {
    let mut world = world();
    queue(&mut world, "q", "root");
    queue(&mut world, "other", "root");
    group(&mut world, "old", "q", "Completed");
    let goes = group(&mut world, "goes", "q", "Pending");
    let moves = group(&mut world, "moves", "q", "Running");
    let completes = group(&mut world, "completes", "q", "Running");
    world.settle();
    close(&mut world, "q");
    assert_eq!(state(&world, "q"), "Closing");
    world.server.delete(&goes, "", false);
    world.settle();
    world
        .server
        .edit(&moves, |group| group["spec"]["queue"] = json!("other"));
    world.settle();
    assert_eq!(state(&world, "q"), "Closing");
    world.server.edit(&completes, |group| {
        group["status"]["phase"] = json!("Completed")
    });
    world.settle();
    assert_eq!(state(&world, "q"), "Closed");
    assert_eq!(world.server.all(ManagedKind::Command).len(), 0);
}

#[test]
fn a_queue_without_pod_groups_or_with_completed_ones_is_closed_at_once_and_opens_again() {
    let mut world = world();
    queue(&mut world, "q", "root");
    group(&mut world, "old", "q", "Completed");
    world.settle();
    close(&mut world, "q");
    assert_eq!(state(&world, "q"), "Closed");
    open(&mut world, "q");
    assert_eq!(state(&world, "q"), "Open");
    assert_eq!(told(&world), ["Queue q: is closed", "Queue q: is open"]);
}

#[test]
fn a_closing_queue_opens_again() {
    let mut world = world();
    queue(&mut world, "q", "root");
    group(&mut world, "g", "q", "Running");
    close(&mut world, "q");
    assert_eq!(state(&world, "q"), "Closing");
    open(&mut world, "q");
    assert_eq!(state(&world, "q"), "Open");
}

#[test]
fn a_queue_that_is_at_rest_costs_no_write_whatever_the_scheduler_notes() {
    let mut world = world();
    let of = queue(&mut world, "q", "root");
    world.settle();
    world.server.log.clear();
    world.server.edit(&of, |queue| {
        queue["spec"]["weight"] = json!(4);
        queue["status"]["allocated"] = json!({"cpu": "3"});
    });
    world.pass_seconds(600);
    assert_eq!(world.written(), Vec::<String>::new());
    // What is counted by phase is written once, and is then at rest again.
    group(&mut world, "g", "q", "Running");
    world.pass_seconds(600);
    assert_eq!(world.written(), ["status Queue q"]);
}

#[test]
fn what_kubectl_shows_of_a_queue_is_counted_and_many_changes_cost_a_write_each_five_seconds() {
    let mut world = world();
    queue(&mut world, "q", "root");
    let phases = ["", "Inqueue", "Running", "Running", "Unknown", "Completed"];
    let groups: Vec<_> = (0..60)
        .map(|n| group(&mut world, &format!("g{n}"), "q", phases[n % 6]))
        .collect();
    world.settle();
    world.server.log.clear();
    for of in &groups {
        world
            .server
            .edit(of, |group| group["status"]["phase"] = json!("Running"));
        world.pass(jiff::SignedDuration::from_millis(100));
    }
    world.pass_seconds(5);
    let status = |world: &crate::cluster::World| {
        let queue = world.server.get(&queue_ref("q")).expect("a queue");
        queue["status"].clone()
    };
    let all_run = json!({"state": "Open", "unknown": 0, "pending": 0, "running": 60, "inqueue": 0,
        "completed": 0, "waiting": 0});
    assert_eq!(status(&world), all_run);
    assert!(world.written().len() <= 3, "{:?}", world.written());
    for of in &groups[..3] {
        world
            .server
            .edit(of, |group| group["status"]["phase"] = json!("Pending"));
    }
    world.server.edit(&groups[3], |group| {
        group["status"]["phase"] = json!("Inqueue")
    });
    world.server.delete(&groups[4], "", false);
    world.pass_seconds(6);
    let some_wait = json!({"state": "Open", "unknown": 0, "pending": 3, "running": 55, "inqueue": 1,
        "completed": 0, "waiting": 4});
    assert_eq!(status(&world), some_wait);
}

#[test]
fn a_state_nobody_knows_is_told_once_and_a_command_mends_it() {
    let mut world = world();
    let of = queue(&mut world, "q", "root");
    world.settle();
    world
        .server
        .edit(&of, |queue| queue["status"]["state"] = json!("Ajar"));
    world.pass_seconds(60);
    world.server.edit(&of, |queue| {
        queue["metadata"]["annotations"] = json!({
        "volcano.sh/closed-by-parent": "false"})
    });
    world.settle();
    assert_eq!(
        told(&world),
        ["Queue q: status.state \"Ajar\" is no state: open or close the queue with a Command"]
    );
    open(&mut world, "q");
    assert_eq!(state(&world, "q"), "Open");
}

#[test]
fn pod_groups_are_counted_by_queue_and_phase() {
    let mut world = world();
    queue(&mut world, "q", "root");
    for (name, phase) in [
        ("a", ""),
        ("b", "Running"),
        ("c", "Running"),
        ("d", "Completed"),
    ] {
        group(&mut world, name, "q", phase);
    }
    group(&mut world, "lost", "missing", "Running");
    let mut cache = ObjectCache::default();
    for object in world.server.list() {
        cache.apply(object);
    }
    let counts = group_counts(&cache);
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["q", "root"]);
    let of_queue: Vec<_> = counts["q"]
        .iter()
        .map(|(phase, count)| (*phase, *count))
        .collect();
    assert_eq!(
        of_queue,
        [
            ("Completed", 1),
            ("Inqueue", 0),
            ("Pending", 1),
            ("Running", 2),
            ("Unknown", 0)
        ]
    );
    assert_eq!(counts["root"].values().sum::<usize>(), 0);
}
