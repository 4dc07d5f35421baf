//! What is wrong on a queue stops that queue, and is said.

use super::*;

/// Queues `good` and those of the case; each has a pod that waits.
fn with(queues: Vec<QueueObject>) -> State {
    let mut cluster = Cluster::default()
        .with(node("n", "16c 32Gi pods=100"))
        .with(tree_queue("good", "", "4c", "", ""));
    let mut names = vec!["good".to_owned()];
    for queue in queues {
        names.push(queue.name.clone());
        cluster = cluster.with(queue);
    }
    for name in names {
        cluster = filled(cluster, &name, (1, "1c"), "1c");
    }
    cluster.state()
}

fn fault(plugin: &CapacityPlugin, state: &State, name: &str) -> Option<QueueFault> {
    let (queue, next) = (queue_ix(state, name), task(state, &format!("next-{name}")));
    let answers = [
        plugin.allocatable(state, queue, next),
        plugin.within_limits(state, queue, next),
    ];
    let (vote, refusal) = plugin.job_enqueueable(state, job(state, name));
    match &answers[0] {
        Err(Refusal::Held(fault)) => {
            assert_eq!(answers[0], answers[1]);
            assert_eq!((vote, refusal), (Vote::Reject, Some(Refusal::Held(*fault))));
            let may = plugin.may_reclaim(state, queue, &[next]);
            assert_eq!(may.map(|_| ()), answers[0]);
            Some(*fault)
        }
        other => {
            assert_eq!(*other, Ok(()), "{name}");
            assert_eq!(vote, Vote::Permit, "{name}");
            None
        }
    }
}

/// Who is told, and what.
fn told(plugin: &CapacityPlugin, state: &State) -> Vec<(String, String)> {
    let warnings = plugin.queue_warnings(state).into_iter();
    let mut told: Vec<_> = warnings
        .map(|(ix, text)| (state.queue(ix).object.name.clone(), text))
        .collect();
    told.sort();
    told
}

#[test]
fn a_missing_parent_holds_the_queue_and_what_is_below_it() {
    let state = with(vec![
        tree_queue("lost", "nowhere", "4c", "", ""),
        tree_queue("below", "lost", "4c", "", ""),
    ]);
    let plugin = hierarchical(&state, 0);
    assert_eq!(fault(&plugin, &state, "good"), None);
    let expected = Some(QueueFault::ParentMissing(queue_ix(&state, "lost")));
    assert_eq!(fault(&plugin, &state, "below"), expected);
    assert_eq!(fault(&plugin, &state, "lost"), expected);
    let told = told(&plugin, &state);
    assert_eq!(told.len(), 2);
    assert!(
        told.iter().all(|(_, text)| text.contains("\"nowhere\"")),
        "{told:?}"
    );
    // Without the tree nothing is wrong with it.
    let flat = opened(CapacityPlugin::new(false, 0), &state);
    assert_eq!(fault(&flat, &state, "lost"), None);
    assert_eq!(flat.queue_warnings(&state), []);
}

#[test]
fn a_circle_holds_its_queues_and_those_that_hang_from_it() {
    let state = with(vec![
        tree_queue("a", "b", "", "", ""),
        tree_queue("b", "c", "", "", ""),
        tree_queue("c", "a", "", "", ""),
        tree_queue("self", "self", "", "", ""),
        tree_queue("tail", "b", "4c", "", ""),
        tree_queue("tip", "tail", "4c", "", ""),
    ]);
    let plugin = hierarchical(&state, 0);
    assert_eq!(fault(&plugin, &state, "good"), None);
    for (name, at_fault) in [
        ("a", "a"),
        ("b", "b"),
        ("c", "c"),
        ("self", "self"),
        ("tip", "b"),
    ] {
        let expected = QueueFault::Circle(queue_ix(&state, at_fault));
        assert_eq!(fault(&plugin, &state, name), Some(expected), "{name}");
    }
    assert_eq!(told(&plugin, &state).len(), 6);
}

#[test]
fn a_root_with_a_parent_is_the_root_all_the_same() {
    let state = with(vec![
        tree_queue("root", "eng", "", "", ""),
        tree_queue("eng", "root", "4c", "", ""),
    ]);
    let plugin = hierarchical(&state, 0);
    assert_eq!(fault(&plugin, &state, "eng"), None);
    let told = told(&plugin, &state);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].1.contains("spec.parent \"eng\" of the root"),
        "{told:?}"
    );
}

#[test]
fn jobs_of_a_queue_with_others_below_it_wait_and_the_others_go_on() {
    let state = with(vec![
        tree_queue("top", "", "", "", ""),
        tree_queue("leaf", "top", "4c", "", ""),
    ]);
    let plugin = hierarchical(&state, 0);
    let expected = QueueFault::NotLeaf(queue_ix(&state, "top"));
    assert_eq!(fault(&plugin, &state, "top"), Some(expected));
    assert_eq!(fault(&plugin, &state, "leaf"), None);
    assert_eq!(fault(&plugin, &state, "good"), None);
    let told = told(&plugin, &state);
    assert_eq!(told[0].0, "top");
    assert!(told[0].1.contains("spec.queue"), "{told:?}");
}

#[test]
fn pods_of_a_held_queue_are_left_alone() {
    let state = with(vec![tree_queue("lost", "nowhere", "", "", "")]);
    let plugin = hierarchical(&state, 0);
    let running = state.job(job(&state, "lost")).tasks.clone();
    let next = task(&state, "next-good");
    let purpose = points::Purpose::Reclaim;
    let answer = plugin.victims(&state, purpose, next, &running);
    assert_eq!(answer.allowed, Some(vec![]));
}

#[test]
fn a_guarantee_beyond_all_there_is_takes_nothing_from_others() {
    for hierarchy in [false, true] {
        let state = with(vec![
            tree_queue("root", "", "", "", "10c"),
            tree_queue("greedy", "", "", "9000000c", ""),
            tree_queue("plain", "", "", "2c", ""),
        ]);
        let plugin = opened(CapacityPlugin::new(hierarchy, 0), &state);
        let ceiling = |name| plugin.of(queue_ix(&state, name)).ceiling(CPU);
        let whole = if hierarchy { 10_000 } else { 16_000 };
        assert_eq!(ceiling("good"), whole - 2000);
        assert_eq!(ceiling("plain"), whole);
        assert_eq!(ceiling("greedy"), whole - 2000);
        let told = told(&plugin, &state);
        let greedy: Vec<_> = told.iter().filter(|(name, _)| name == "greedy").collect();
        assert_eq!(greedy.len(), 1, "{told:?}");
        assert!(
            greedy[0].1.contains("spec.guarantee.resource.cpu"),
            "{told:?}"
        );
    }
}

#[test]
fn amounts_beyond_those_of_the_parent_are_told_and_cut() {
    for (top, low, who, what) in [
        (
            ["", "", "4c"],
            ["", "", "8c"],
            "low",
            "spec.capability.cpu 8",
        ),
        (
            ["", "", "4c"],
            ["", "6c", ""],
            "low",
            "spec.guarantee.resource.cpu 6",
        ),
        (["", "2c", ""], ["", "3c", ""], "top", "guaranteed adds up"),
        (["2c", "", ""], ["3c", "", ""], "top", "deserve adds up"),
        (
            ["", "", ""],
            ["", "3c", "2c"],
            "low",
            "more than its spec.capability 2",
        ),
    ] {
        let [deserved, guarantee, capability] = top;
        let top = tree_queue("top", "", deserved, guarantee, capability);
        let [deserved, guarantee, capability] = low;
        let low = tree_queue("low", "top", deserved, guarantee, capability);
        let state = Cluster::default()
            .with(node("n", "16c 32Gi pods=100"))
            .with(top)
            .with(low)
            .state();
        let plugin = hierarchical(&state, 0);
        let told = told(&plugin, &state);
        let said: Vec<_> = told.iter().filter(|(name, _)| name == who).collect();
        assert!(
            said.iter().any(|(_, text)| text.contains(what)),
            "{what}: {told:?}"
        );
        let ceiling = |name| plugin.of(queue_ix(&state, name)).ceiling(CPU);
        assert!(ceiling("low") <= ceiling("top"), "{what}");
    }
    // The parent says nothing of what is deserved: nothing is wrong.
    let state = with(vec![
        tree_queue("top", "", "", "", ""),
        tree_queue("low", "top", "3c", "", ""),
    ]);
    let plugin = hierarchical(&state, 0);
    let names: Vec<_> = told(&plugin, &state)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["top"], "only that jobs name it");
}
