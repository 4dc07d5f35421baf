//! The minimum of a group that was just admitted goes before pods beyond the minimum of others.

use pumice_model::Delta;
use pumice_model::object::{GroupObject, GroupPhase};

use super::cluster::*;

/// Waits for admission, and asks for the cpus of its minimum.
fn elastic(name: &str, min: i32) -> GroupObject {
    group(name, min).waiting().min_resources(&format!("{min}c"))
}

/// Eight pods of one cpu each of a group.
fn pods_of_group(cluster: &mut Cluster, name: &str) {
    for at in 0..8 {
        let pod = pod(&format!("{name}-{at}"), "1c").group(name);
        cluster.apply(pod);
    }
}

/// How many of the lines are pods of the group.
fn bound(lines: &[String], name: &str) -> usize {
    let own = format!("{name}-");
    lines.iter().filter(|line| line.starts_with(&own)).count()
}

/// A cycle at a second, and its accepted Bindings.
fn cycle_at(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    cluster.accept(&decisions)
}

/// Three elastic groups admitted together on eight cpus.
fn three(conf: Option<&str>) -> Cluster {
    let cluster = conf.map_or_else(Cluster::new, Cluster::under);
    let mut cluster = cluster
        .with(node("n1", "8c 8Gi pods=99"))
        .with(elastic("a", 2))
        .with(elastic("b", 2))
        .with(elastic("c", 2));
    cluster.cycle();
    for name in ["a", "b", "c"] {
        assert_eq!(cluster.phase(name), GroupPhase::Inqueue);
    }
    cluster
}

#[test]
fn elastic_groups_whose_pods_come_one_after_the_other_all_start() {
    let mut cluster = three(None);
    for (name, all) in [("a", 4), ("b", 2), ("c", 2)] {
        pods_of_group(&mut cluster, name);
        assert_eq!(bound(&cluster.cycle(), name), all, "{name}");
    }
    let (_, why) = cluster.why("a-7");
    let expected = "the cluster is full: cpu (8 in all, 8 used, 1 asked)";
    assert!(
        why.contains("0/1 nodes are unavailable") || why.contains(expected),
        "{why}"
    );
}

#[test]
fn what_is_left_for_a_newcomer_is_said_and_taken_when_its_time_is_over() {
    let mut cluster = three(None);
    pods_of_group(&mut cluster, "a");
    assert_eq!(bound(&cycle_at(&mut cluster, 1), "a"), 4);
    let (_, why) = cluster.why("a-7");
    let expected = "the cluster is full: cpu (8 in all, 4 used, 4 reserved for admitted jobs, 1 \
                    asked)";
    assert!(why.contains(expected), "{why}");
    assert_eq!(cycle_at(&mut cluster, 2), [""; 0]);
    // Nothing happens, and it is not forgotten.
    assert_eq!(cluster.engine.plugins_wake_at_s(), Some(5));
    assert_eq!(cycle_at(&mut cluster, 4), [""; 0]);
    assert_eq!(bound(&cycle_at(&mut cluster, 5), "a"), 4);
    assert_eq!(cluster.engine.plugins_wake_at_s(), None);
}

#[test]
fn a_newcomer_that_is_gone_or_has_its_pods_keeps_nobody_waiting() {
    for is_gone in [true, false] {
        let mut cluster = three(None);
        pods_of_group(&mut cluster, "a");
        assert_eq!(bound(&cluster.cycle(), "a"), 4);
        for name in ["b", "c"] {
            match is_gone {
                true => cluster.apply(Delta::GroupDelete("ns".to_owned(), name.to_owned())),
                false => pods_of_group(&mut cluster, name),
            }
        }
        let lines = cluster.cycle();
        let bound = ["a", "b", "c"].map(|name| bound(&lines, name));
        assert_eq!(bound, if is_gone { [4, 0, 0] } else { [0, 2, 2] });
    }
}

#[test]
fn the_time_is_an_argument_of_gang_and_nothing_may_be_left() {
    let conf = |seconds: &str| {
        let arguments = format!("arguments: {{gang.hold-minimum-seconds: {seconds}}}");
        format!(
            "actions: \"enqueue, allocate, backfill\"\n\
             tiers: [{{plugins: [{{name: gang, {arguments}}}, {{name: predicates}}]}}]\n"
        )
    };
    for (seconds, first, later) in [("0", 8, 0), ("1", 4, 4), ("100", 4, 0)] {
        let mut cluster = three(Some(&conf(seconds)));
        pods_of_group(&mut cluster, "a");
        assert_eq!(bound(&cluster.cycle(), "a"), first, "{seconds} s");
        assert_eq!(bound(&cycle_at(&mut cluster, 9), "a"), later, "{seconds} s");
    }
}

#[test]
fn the_minimum_of_every_admitted_group_goes_before_extras_however_their_pods_come() {
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let mut cluster = three(None);
        let mut left: Vec<(usize, usize)> = (0..3)
            .flat_map(|of| (0..8).map(move |at| (of, at)))
            .collect();
        let mut all = Vec::new();
        while !left.is_empty() {
            for _ in 0..=dice.below(9) {
                if left.is_empty() {
                    break;
                }
                let (of, at) = left.remove(dice.below(left.len() as u64) as usize);
                let name = ["a", "b", "c"][of];
                let pod = pod(&format!("{name}-{at}"), "1c").group(name);
                cluster.apply(pod);
            }
            all.extend(cluster.cycle());
        }
        let bound = ["a", "b", "c"].map(|name| bound(&all, name));
        assert_eq!(bound.iter().sum::<usize>(), 8, "{seed}: {bound:?}");
        assert!(bound.iter().all(|count| *count >= 2), "{seed}: {bound:?}");
    }
}

#[test]
fn a_group_whose_roles_are_still_being_made_is_a_newcomer() {
    let mut cluster = Cluster::new().with(node("n1", "4c 8Gi pods=99"));
    let roles = [("ps".to_owned(), 1), ("worker".to_owned(), 1)];
    let two = elastic("two", 2).min_task_member(roles.to_vec());
    cluster = cluster.with(elastic("a", 1)).with(two);
    cluster.cycle();
    // Two workers come first: without its ps it can not start, and its room is kept.
    let of_role = |role: &str, at: usize| pumice_model::object::PodObject {
        role: role.to_owned(),
        ..pod(&format!("two-{role}-{at}"), "1c").group("two")
    };
    for at in 0..2 {
        cluster.apply(of_role("worker", at));
    }
    pods_of_group(&mut cluster, "a");
    assert_eq!(bound(&cluster.cycle(), "a"), 2);
    cluster.apply(of_role("ps", 0));
    assert_eq!(bound(&cluster.cycle(), "two"), 2);
}

#[test]
fn a_group_that_is_admitted_after_extras_were_placed_is_told_who_holds_its_room() {
    let mut cluster = Cluster::new()
        .with(node("n1", "8c 8Gi pods=99"))
        .with(elastic("a", 2));
    cluster.cycle();
    pods_of_group(&mut cluster, "a");
    assert_eq!(bound(&cluster.cycle(), "a"), 8);
    let mut late = cluster.with(elastic("c", 2).status(group("c", 2).status));
    pods_of_group(&mut late, "c");
    assert_eq!(late.cycle(), [""; 0]);
    let (_, why) = late.why("c-0");
    let expected = "ods beyond the minAvailable of other jobs, placed before, hold 6 cpu";
    assert!(why.contains(expected), "{why}");
}
