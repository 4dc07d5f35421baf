//! Sums of ancestors follow every step, and cost the path from the queue to the root.

use super::*;
use pumice_framework::Changed;
use pumice_model::{Delta, NodeIx, TaskStatus};

/// A tree of 1,093 queues, six levels below the root, three below each.
fn wide_tree() -> (Cluster, Vec<String>) {
    let mut cluster = Cluster::default()
        .with(node("n", "4000c 8000Gi pods=10000"))
        .with(tree_queue("root", "", "", "", "3000c"));
    let mut level = vec!["q".to_owned()];
    cluster = cluster.with(tree_queue("q", "", "2000c", "", ""));
    for _ in 0..6 {
        let mut below = Vec::new();
        for parent in &level {
            for child in 0..3 {
                let name = format!("{parent}{child}");
                cluster = cluster.with(tree_queue(&name, parent, "2c 4Gi", "", ""));
                below.push(name);
            }
        }
        level = below;
    }
    (cluster, level)
}

fn shares(plugin: &CapacityPlugin) -> Vec<u64> {
    plugin.shares.iter().map(|share| share.to_bits()).collect()
}

/// What the sums are made of, by queue.
fn held(plugin: &CapacityPlugin) -> Vec<ResVec> {
    let all = 0..plugin.tree.size();
    all.map(|at| plugin.held(QueueIx(at as u32)).clone())
        .collect()
}

fn cycle(state: &mut State) -> CycleInfo {
    let changed = Changed {
        jobs: state.changes().take_unobserved_jobs(),
        queues: ChangedQueues::Rewritten(state.changes().take_rewritten_queues()),
        nodes: false,
    };
    CycleInfo {
        changed,
        ..CycleInfo::default()
    }
}

#[test]
fn a_placement_changes_its_path_and_nothing_else_and_undo_is_exact() {
    let (mut cluster, leaves) = wide_tree();
    for name in leaves.iter().step_by(5) {
        cluster = filled(cluster, name, (1, "1c 1Gi"), "500m 3Gi");
    }
    let mut state = cluster.state();
    let mut plugin = hierarchical(&state, 0);
    let leaf = leaves[5].as_str();
    let (queue, next) = (
        queue_ix(&state, leaf),
        task(&state, &format!("next-{leaf}")),
    );
    let path: Vec<QueueIx> = plugin.tree.path(queue).collect();
    assert_eq!(path.len(), 8);
    let before = (held(&plugin), shares(&plugin));
    for status in [TaskStatus::Allocated, TaskStatus::Pipelined] {
        state.move_task(next, status, Some(NodeIx(0)));
        plugin.observe(&state, Step::Placed(next));
        let after = (held(&plugin), shares(&plugin));
        let fresh = hierarchical(&state, 0);
        assert!(after == (held(&fresh), shares(&fresh)), "{status:?}");
        for at in 0..plugin.tree.size() {
            let is_on_path = path.contains(&QueueIx(at as u32));
            assert_eq!(before.0[at] != after.0[at], is_on_path, "queue {at}");
        }
        plugin.observe(&state, Step::Leaving(next));
        state.move_task(next, TaskStatus::Pending, None);
        assert!((held(&plugin), shares(&plugin)) == before);
    }
    let running = state.job(job(&state, leaf)).tasks[0];
    plugin.observe(&state, Step::Evicting(running));
    state.evict(running);
    let fresh = hierarchical(&state, 0);
    assert!(held(&plugin) == held(&fresh));
    state.restore(running, TaskStatus::Running);
    plugin.observe(&state, Step::Restored(running));
    assert!((held(&plugin), shares(&plugin)) == before);
}

#[test]
fn what_comes_to_nothing_before_the_first_cycle_or_in_a_newer_queue_is_no_fault() {
    let cluster = Cluster::default().with(node("n", "16c 32Gi pods=100"));
    let cluster = cluster.with(tree_queue("a", "", "4c", "", ""));
    let mut state = filled(cluster, "a", (1, "1c 1Gi"), "").state();
    let running = state.job(job(&state, "a")).tasks[0];
    // After an edit of the configuration a Binding fails before the next cycle.
    let mut unopened = CapacityPlugin::new(true, 0);
    for step in [Step::Leaving(running), Step::Restored(running)] {
        unopened.observe(&state, step);
    }
    // The group is moved to a queue that was made since the last cycle.
    let mut opened = hierarchical(&state, 0);
    state.apply(tree_queue("b", "", "4c", "", "").delta());
    state.apply(group("a", 1).queue("b").delta());
    state.seal();
    opened.observe(&state, Step::Leaving(running));
    assert!(!opened.sums.knows(queue_ix(&state, "b")));
}

#[test]
fn a_cycle_looks_at_the_queues_of_jobs_that_changed() {
    let (mut cluster, leaves) = wide_tree();
    for name in leaves.iter().step_by(5) {
        cluster = filled(cluster, name, (1, "1c 1Gi"), "500m 3Gi");
    }
    let mut state = cluster.state();
    let (mut plugin, mut apart) = (hierarchical(&state, 0), hierarchical(&state, 0));
    state.changes().take_unobserved_jobs();
    let (from, to) = (leaves[5].as_str(), leaves[700].as_str());
    let moved = group(from, 1).queue(to);
    state.apply(moved.delta());
    state.apply(Delta::PodDelete(format!("next-{}", leaves[10])));
    state.seal();
    state.changes().settle_books();
    let cycle = cycle(&mut state);
    let jobs = cycle.changed.jobs.clone().expect("a list");
    let queues = apart.sums.follow(&state, &apart.tree, &jobs);
    let mut expected: Vec<QueueIx> = [from, to, leaves[10].as_str()]
        .iter()
        .map(|name| queue_ix(&state, name))
        .collect();
    expected.sort_unstable();
    assert_eq!(queues, expected);
    plugin.open(&state, &cycle);
    let fresh = hierarchical(&state, 0);
    assert!(held(&plugin) == held(&fresh));
    assert!(shares(&plugin) == shares(&fresh));
}

#[test]
fn other_amounts_on_a_queue_reach_those_they_count_for() {
    let (cluster, leaves) = wide_tree();
    let mut state = cluster.state();
    let mut plugin = hierarchical(&state, 0);
    state.changes().take_rewritten_queues();
    let leaf = leaves[5].as_str();
    let parent = &leaf[..leaf.len() - 1];
    let above = &parent[..parent.len() - 1];
    let mut write = |name: &str, deserved: &str, guarantee: &str, capability: &str| {
        let above = &name[..name.len() - 1];
        let object = tree_queue(name, above, deserved, guarantee, capability);
        state.apply(object.delta());
        let rewritten = state.changes().take_rewritten_queues();
        let owed = plugin.entitlements.revise(&state, &plugin.tree, &rewritten);
        assert!(
            plugin.entitlements.are_of(&state, &plugin.tree, false),
            "{name}"
        );
        let mut names: Vec<&str> = owed
            .iter()
            .map(|ix| state.queue(*ix).object.name.as_str())
            .collect();
        names.sort_unstable();
        names.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    // What it deserves is its own, and part of a sum above it.
    assert_eq!(write(leaf, "3c", "", ""), [parent, leaf]);
    assert_eq!(write(leaf, "3c", "", ""), [] as [&str; 0]);
    // What it is guaranteed is kept back from those beside it where somebody above has a limit.
    let siblings: Vec<&str> = leaves[3..6].iter().map(String::as_str).collect();
    let with_parent: Vec<&str> = [parent].into_iter().chain(siblings).collect();
    assert_eq!(write(leaf, "3c", "1c", ""), with_parent);
    // What it may have at most is that of those below it.
    let family: Vec<&str> = [above].into_iter().chain(with_parent).collect();
    assert_eq!(write(parent, "2c", "", "20c"), family);
    assert_eq!(write(parent, "2c", "", "20c"), [] as [&str; 0]);
}

#[test]
fn shares_of_ancestors_follow_within_a_cycle() {
    // dev gets 4 cores: eng has then 4 of its 12, more than sci's 1 of 4.
    let cluster = Cluster::default()
        .with(node("n", "16c 32Gi pods=100"))
        .with(tree_queue("eng", "", "4c", "", ""))
        .with(tree_queue("dev", "eng", "4c", "", ""))
        .with(tree_queue("sci", "", "4c", "", ""));
    let cluster = filled(cluster, "dev", (0, ""), "4c");
    let mut state = filled(cluster, "sci", (1, "1c"), "1c").state();
    let mut plugin = hierarchical(&state, 0);
    assert_eq!(in_turn(&plugin, &state, &["dev", "sci"]), ["dev", "sci"]);
    let next = task(&state, "next-dev");
    state.move_task(next, TaskStatus::Allocated, Some(NodeIx(0)));
    plugin.observe(&state, Step::Placed(next));
    assert_eq!(in_turn(&plugin, &state, &["dev", "sci"]), ["sci", "dev"]);
}

#[test]
fn the_order_of_a_tree_is_total() {
    // Equal shares everywhere: branches stay together, by creation and name.
    let mut cluster = Cluster::default().with(node("n", "16c 32Gi pods=100"));
    for name in ["b", "a"] {
        cluster = cluster.with(tree_queue(name, "", "4c", "", ""));
    }
    for (name, parent) in [("z", "a"), ("c", "a"), ("m", "b")] {
        cluster = cluster.with(tree_queue(name, parent, "4c", "", ""));
    }
    let state = filled(cluster, "z", (1, "1c"), "").state();
    let plugin = hierarchical(&state, 0);
    assert_eq!(in_turn(&plugin, &state, &["z", "c", "m"]), ["m", "c", "z"]);
}
