//! Who may reclaim, from whom.

use super::*;
use pumice_framework::points::Purpose;

/// How many of the running pods of one queue may go for the waiting pod of another.
fn victims(plugin: &CapacityPlugin, state: &State, taker: &str, giver: &str) -> usize {
    let running = state.job(job(state, giver)).tasks.iter().copied();
    let running: Vec<TaskIx> = running
        .filter(|ix| state.task(*ix).node.is_some())
        .collect();
    let preemptor = task(state, &format!("next-{taker}"));
    let answer = plugin.victims(state, Purpose::Reclaim, preemptor, &running);
    assert!(answer.orders);
    answer.allowed.expect("an opinion").len()
}

fn may_reclaim(plugin: &CapacityPlugin, state: &State, name: &str) -> bool {
    let next = task(state, &format!("next-{name}"));
    plugin
        .may_reclaim(state, queue_ix(state, name), &[next])
        .is_ok()
}

#[test]
fn without_a_tree_queues_give_what_they_hold_beyond_what_they_deserve() {
    let state = flat();
    let plugin = opened(CapacityPlugin::new(false, 0), &state);
    assert!(may_reclaim(&plugin, &state, "qb"));
    assert_eq!(victims(&plugin, &state, "qb", "qa"), 2);
    assert_eq!(victims(&plugin, &state, "qb", "qc"), 2);
    let next = task(&state, "next-qb");
    let running = state.job(job(&state, "qa")).tasks.clone();
    let answer = plugin.victims(&state, Purpose::Preempt, next, &running);
    assert_eq!(answer.allowed, None, "it has no say within a queue");
}

#[test]
fn ancestors_protect_up_to_the_level_that_is_configured() {
    // sci still deserves memory, of which dev holds no more than it deserves; of cpu sci has enough.
    for (levels, expected) in [(0, [2, 1, 0, 0]), (1, [2, 1, 0, 0]), (2, [2, 1, 0, 0])] {
        let state = tree();
        let plugin = hierarchical(&state, levels);
        let pairs = [
            ("prod", "dev"),
            ("prod", "sci"),
            ("sci", "dev"),
            ("sci", "prod"),
        ];
        let found = pairs.map(|(taker, giver)| victims(&plugin, &state, taker, giver));
        assert_eq!(found, expected, "level {levels}");
        let who = ["prod", "dev", "sci"].map(|name| may_reclaim(&plugin, &state, name));
        // dev has enough cpu itself; at level 1 eng, which has not, stands for it.
        assert_eq!(who, [true, true, true], "level {levels}");
        let next = task(&state, "next-dev");
        let over = plugin.may_reclaim(&state, queue_ix(&state, "dev"), &[next]);
        let over = over.expect("it may").len();
        assert_eq!(over, usize::from(levels == 0), "level {levels}");
    }
}

#[test]
fn who_may_take_because_of_an_ancestor_takes_from_elsewhere() {
    let cluster = tree_with("root", "").with(tree_queue("test", "eng", "1c 1Gi", "", ""));
    let state = filled(cluster, "test", (2, "1c 1Gi"), "").state();
    let plugin = hierarchical(&state, 1);
    assert!(may_reclaim(&plugin, &state, "dev"));
    assert_eq!(victims(&plugin, &state, "dev", "test"), 0);
    assert_eq!(victims(&plugin, &state, "dev", "sci"), 1);
    // prod deserves more itself.
    assert_eq!(victims(&plugin, &state, "prod", "test"), 1);
}

#[test]
fn what_is_guaranteed_to_a_queue_or_what_is_above_it_stays() {
    // Nothing is deserved, so all would go; of 5 cores the queue keeps 3, or its parent 4.
    for (own, parent, expected) in [
        ("3c", "", 2),
        ("", "4c", 1),
        ("3c", "4c", 1),
        ("gpu=1", "", 5),
    ] {
        let cluster = Cluster::default()
            .with(node("n", "16c 32Gi pods=100"))
            .with(tree_queue("poor", "", "9c", "", ""))
            .with(tree_queue("top", "", "", parent, ""))
            .with(tree_queue("rich", "top", "", own, ""));
        let cluster = filled(cluster, "poor", (0, ""), "1c");
        let state = filled(cluster, "rich", (5, "1c"), "").state();
        let plugin = hierarchical(&state, 0);
        // A guarantee is deserved as well; here the question is what may go at all.
        let found = victims(&plugin, &state, "poor", "rich");
        assert_eq!(found, expected, "{own} {parent}");
    }
}

#[test]
fn only_what_the_preemptor_asks_is_taken() {
    // qa holds more cores than it deserves, and less memory.
    let cluster = |next: &str| {
        let cluster = Cluster::default()
            .with(node("n", "16c 32Gi pods=100"))
            .with(tree_queue("qa", "", "1c 16Gi", "", ""))
            .with(tree_queue("qb", "", "9c 16Gi", "", ""));
        let cluster = filled(cluster, "qa", (4, "1c 1Gi"), "");
        filled(cluster, "qb", (0, ""), next).state()
    };
    for (next, expected) in [("1c", 3), ("1Gi", 0), ("1c 1Gi", 3), ("gpu=1", 0)] {
        let state = cluster(next);
        let plugin = opened(CapacityPlugin::new(false, 0), &state);
        assert_eq!(victims(&plugin, &state, "qb", "qa"), expected, "{next}");
    }
}

#[test]
fn a_queue_takes_what_it_still_deserves_and_no_more() {
    for (deserved, others, running, expected) in [
        ("4c 8Gi", "", "1c 1Gi", Some("")),
        ("2c 8Gi", "", "1c 1Gi", Some("")),
        // Of one of them it has what it deserves: nobody goes for that.
        ("1c 8Gi", "", "1c 1Gi", Some("cpu")),
        ("1c 1Gi", "", "1c 1Gi", None),
        ("8Gi", "", "1c 1Gi", Some("")),
        // What others deserve it has to find idle.
        ("8Gi", "1c", "1c 1Gi", Some("cpu")),
        ("gpu=8", "", "1c 1Gi", None),
        ("", "", "1c 1Gi", None),
    ] {
        let cluster = Cluster::default()
            .with(node("n", "16c 32Gi gpu=8 pods=100"))
            .with(tree_queue("q", "", deserved, "", ""))
            .with(tree_queue("other", "", others, "", ""));
        let state = filled(cluster, "q", (1, running), "1c 1Gi").state();
        let plugin = opened(CapacityPlugin::new(false, 0), &state);
        let next = task(&state, "next-q");
        let over = plugin.may_reclaim(&state, queue_ix(&state, "q"), &[next]);
        let name = |resource| state.resources().name(resource).to_owned();
        let names = over.map(|over| {
            over.iter()
                .map(|one| name(one.resource))
                .collect::<String>()
        });
        assert_eq!(names.ok().as_deref(), expected, "{deserved}; {others}");
    }
}

#[test]
fn what_a_gang_asks_together_is_held_against_what_is_deserved() {
    let cluster = Cluster::default()
        .with(node("n", "16c 32Gi pods=100"))
        .with(tree_queue("q", "", "3c", "", ""));
    let state = filled(cluster, "q", (1, "1c"), "1c").state();
    let plugin = opened(CapacityPlugin::new(false, 0), &state);
    let (queue, next) = (queue_ix(&state, "q"), task(&state, "next-q"));
    for (count, expected) in [(1, true), (2, true), (3, false)] {
        let gang = vec![next; count];
        let may = plugin.may_reclaim(&state, queue, &gang);
        assert_eq!(may.is_ok(), expected, "{count}");
    }
}

#[test]
fn nearer_relatives_are_asked_first() {
    let state = tree();
    let plugin = hierarchical(&state, 0);
    let far =
        |from, to| plugin.queue_distance(&state, queue_ix(&state, from), queue_ix(&state, to));
    assert_eq!(
        [far("prod", "prod"), far("prod", "dev"), far("prod", "sci")],
        [0, 1, 2]
    );
    assert_eq!([far("sci", "prod"), far("sci", "dev")], [1, 1]);
    let flat = opened(CapacityPlugin::new(false, 0), &state);
    assert!(flat.as_queue_distance().is_none());
}

#[test]
fn an_ancestor_of_both_does_not_protect_whatever_its_level() {
    // top is two levels above the giver and one above the taker, and has not what it deserves.
    let cluster = Cluster::default()
        .with(node("n", "16c 32Gi pods=100"))
        .with(tree_queue("top", "", "16c", "", ""))
        .with(tree_queue("taker", "top", "4c", "", ""))
        .with(tree_queue("mid", "top", "1c", "", ""))
        .with(tree_queue("giver", "mid", "1c", "", ""));
    let cluster = filled(cluster, "taker", (0, ""), "1c");
    let state = filled(cluster, "giver", (3, "1c"), "").state();
    let plugin = hierarchical(&state, 3);
    assert_eq!(victims(&plugin, &state, "taker", "giver"), 2);
}
