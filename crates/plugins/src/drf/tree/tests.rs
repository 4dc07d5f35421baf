//! The hierarchy (examples of spec/02 §5.1), and that it follows placements exactly.

use super::*;
use crate::testing::*;
use pumice_model::object::QueueObject;
use pumice_model::{NodeIx, TaskStatus};

fn placed_in(name: &str, path: &str, weights: &[f64]) -> QueueObject {
    queue(name)
        .hierarchy(path.split('/').map(str::to_owned))
        .hierarchy_weights(weights.to_vec())
}

/// spec/02 §5.1: running tasks of sci, dev and prod, and pending ones of each.
fn example(running: [usize; 3], pending: usize) -> State {
    let mut cluster = Cluster::default()
        .with(node("n", "20c 20Gi pods=200"))
        .with(placed_in("sci", "root/sci", &[1.0, 1.0]))
        .with(placed_in("dev", "root/eng/dev", &[1.0, 2.0, 1.0]))
        .with(placed_in("prod", "root/eng/prod", &[1.0, 2.0, 3.0]));
    for (name, running) in ["sci", "dev", "prod"].into_iter().zip(running) {
        cluster = cluster
            .with(group(name, 1).queue(name))
            .pods(running, name, pod("", "1c 1Gi").on("n"))
            .pods(pending, name, pod("", "1c 1Gi"));
    }
    cluster.state()
}

fn order(state: &State, tree: &Tree) -> String {
    let mut names = ["dev", "prod", "sci"];
    names.sort_by(|l, r| tree.compare(queue_ix(state, l), queue_ix(state, r)));
    names.join(" ")
}

#[test]
fn queues_go_by_weighted_share_level_by_level() {
    let cases = [
        ([2, 1, 6], 5, "dev prod sci"),
        ([4, 1, 1], 5, "prod dev sci"),
        // .10/1 and .30/3 are equal: the names, in order before, stay so.
        ([1, 2, 6], 5, "sci dev prod"),
        // Nothing pending: all saturated, nothing is scaled.
        ([2, 3, 3], 0, "sci prod dev"),
    ];
    for (running, pending, expected) in cases {
        let state = example(running, pending);
        assert_eq!(order(&state, &Tree::of(&state)), expected, "{running:?}");
    }
}

#[test]
fn shares_equal_but_for_rounding_are_equal() {
    let state = example([1, 2, 6], 5);
    let tree = Tree::of(&state);
    let (dev, prod) = (queue_ix(&state, "dev"), queue_ix(&state, "prod"));
    assert_eq!(tree.compare(dev, prod), Ordering::Equal);
}

#[test]
fn inner_nodes_count_what_all_their_children_have() {
    let state = example([2, 1, 6], 5);
    let tree = Tree::of(&state);
    let share = |name: &str| {
        let node = tree
            .inner
            .iter()
            .find(|node| node.name == name)
            .expect("a node");
        node.share / node.weight
    };
    for (name, expected) in [("sci", 0.10), ("eng", 0.05), ("dev", 0.05), ("prod", 0.10)] {
        assert!(
            (share(name) - expected).abs() < 1e-12,
            "{name}: {}",
            share(name)
        );
    }
}

#[test]
fn a_saturated_queue_goes_last_however_small_its_share() {
    // sci has all it wants; dev and prod have more but want yet more.
    let state = {
        let mut cluster = Cluster::default()
            .with(node("n", "20c 20Gi pods=200"))
            .with(placed_in("sci", "root/sci", &[1.0, 1.0]))
            .with(placed_in("dev", "root/dev", &[1.0, 1.0]));
        cluster = cluster
            .with(group("s", 1).queue("sci"))
            .pods(1, "s", pod("", "1c 1Gi").on("n"));
        cluster = cluster
            .with(group("d", 1).queue("dev"))
            .pods(9, "d", pod("", "1c 1Gi").on("n"));
        cluster.pods(1, "d", pod("", "1c 1Gi")).state()
    };
    let tree = Tree::of(&state);
    let (sci, dev) = (queue_ix(&state, "sci"), queue_ix(&state, "dev"));
    assert_eq!(tree.compare(dev, sci), Ordering::Less);
}

#[test]
fn a_job_that_holds_what_the_cluster_has_no_more_of_is_saturated() {
    // Both jobs want more cores; memory is left in any case.
    for cores_left in [false, true] {
        let more = if cores_left { "1c 1Gi" } else { "1Gi" };
        let state = Cluster::default()
            .with(node("n", "20c 40Gi pods=200"))
            .with(node("m", &format!("{more} pods=1")))
            .with(placed_in("sci", "root/sci", &[1.0, 1.0]))
            .with(placed_in("dev", "root/dev", &[1.0, 1.0]))
            .with(group("s", 1).queue("sci"))
            .pods(5, "s", pod("", "1c 1Gi").on("n"))
            .pods(1, "s", pod("", "1c 1Gi"))
            .with(group("d", 1).queue("dev"))
            .pods(15, "d", pod("", "1c 1Gi").on("n"))
            .pods(1, "d", pod("", "1c 1Gi"))
            .state();
        let tree = Tree::of(&state);
        let saturated: Vec<bool> = tree.leaves.iter().map(|leaf| leaf.saturated).collect();
        assert_eq!(saturated, [!cores_left; 2]);
    }
}

/// Every number of a tree that decides.
fn numbers(tree: &Tree) -> Vec<(f64, bool)> {
    let inner = tree.inner.iter().map(|node| (node.share, node.saturated));
    inner
        .chain(tree.leaves.iter().map(|leaf| (leaf.share, leaf.saturated)))
        .collect()
}

#[test]
fn following_placements_gives_the_same_as_building_anew() {
    // With the last placement all 20 cores are taken: then cpu and memory are no longer demanded,
    // which changes leaves far away.
    let mut state = example([2, 3, 3], 8);
    let mut tree = Tree::of(&state);
    let start = numbers(&tree);
    let pending: Vec<TaskIx> = state
        .population()
        .tasks()
        .filter(|(_, t)| t.status == TaskStatus::Pending)
        .map(|(ix, _)| ix)
        .collect();
    for (at, task) in pending.iter().take(12).enumerate() {
        let status = if at % 3 == 0 {
            TaskStatus::Pipelined
        } else {
            TaskStatus::Allocated
        };
        state.move_task(*task, status, Some(NodeIx(0)));
        tree.hold(&state, *task);
        assert_eq!(
            numbers(&tree),
            numbers(&Tree::of(&state)),
            "after placement {at}"
        );
    }
    assert!(!tree.demanding[0]);
    for task in pending.iter().take(12).rev() {
        tree.release(&state, *task);
        state.move_task(*task, TaskStatus::Pending, None);
        assert_eq!(numbers(&tree), numbers(&Tree::of(&state)));
    }
    assert_eq!(numbers(&tree), start);
}

#[test]
fn a_queue_without_path_hangs_its_jobs_below_the_root() {
    let state = Cluster::default()
        .with(node("n", "20c 20Gi pods=200"))
        .with(queue("plain"))
        .with(placed_in("sci", "root/sci", &[]))
        .with(group("p", 1).queue("plain"))
        .with(group("s", 1).queue("sci"))
        .state();
    let tree = Tree::of(&state);
    assert_eq!(tree.inner[ROOT].jobs.len(), 1);
    assert_eq!(tree.inner[1].weight, 1.0, "a weight that is not given is 1");
    let (plain, sci) = (queue_ix(&state, "plain"), queue_ix(&state, "sci"));
    assert_eq!(tree.compare(plain, sci), Ordering::Equal);
}

#[test]
fn a_weight_below_1_counts_as_it_is() {
    // dev holds as much as sci, which is too much for half its weight.
    for (weight, expected) in [(0.5, Ordering::Greater), (1.0, Ordering::Equal)] {
        let state = Cluster::default()
            .with(node("n", "20c 20Gi pods=200"))
            .with(placed_in("dev", "root/dev", &[1.0, weight]))
            .with(placed_in("sci", "root/sci", &[1.0, 1.0]))
            .with(group("d", 1).queue("dev"))
            .pods(2, "d", pod("", "1c 1Gi").on("n"))
            .pods(1, "d", pod("", "1c 1Gi"))
            .with(group("s", 1).queue("sci"))
            .pods(2, "s", pod("", "1c 1Gi").on("n"))
            .pods(1, "s", pod("", "1c 1Gi"))
            .state();
        let tree = Tree::of(&state);
        let (dev, sci) = (queue_ix(&state, "dev"), queue_ix(&state, "sci"));
        assert_eq!(tree.compare(dev, sci), expected, "weight {weight}");
    }
}

#[test]
fn queues_give_up_what_they_hold_beyond_others_for_their_weight() {
    // Running tasks of sci, dev and prod; how many of sci may go for one more of dev. With it eng is at
    // .10, .10, .10 and .15, and sci gives down to the next pod above that.
    let cases = [
        ([10, 2, 2], 7),
        ([6, 2, 2], 3),
        ([3, 2, 2], 0),
        ([4, 2, 4], 0),
    ];
    for (running, expected) in cases {
        let state = example(running, 5);
        let tree = Tree::of(&state);
        let of = |name: &str, status| {
            let mut tasks = state.job(job(&state, name)).tasks.clone();
            tasks.retain(|ix| state.task(*ix).status == status);
            tasks
        };
        let new = of("dev", TaskStatus::Pending)[0];
        let all = of("sci", TaskStatus::Running);
        let victims = tree.of_larger_queues(&state, new, &all);
        assert_eq!(victims, all[..expected], "{running:?}");
        let prod = of("prod", TaskStatus::Running);
        let before = order(&state, &tree);
        let victims = tree.of_larger_queues(&state, new, &prod);
        assert_eq!(victims, [], "prod holds less for its weight: {running:?}");
        assert_eq!(order(&state, &tree), before, "only asked");
    }
}
