//! One tenant's costly pods hold up nobody: what a limit of work does, counted in cycles.

use std::collections::BTreeSet;

use pumice_model::object::{PodObject, SelectorOp};

use super::cluster::*;

/// Cycles in which everything has to be done.
const MANY: usize = 400;

/// A pod of its own class, with terms that no other pod is selected by.
fn costly(name: &str) -> PodObject {
    let mut pod = pod(name, "1c");
    for at in 0..20 {
        let key = format!("own-{at:02}");
        let mut term = pods_of("", HOSTNAME);
        term.selector = Some(selector(&key, SelectorOp::In(vec![name.to_owned()])));
        pod.anti_affinity.push(term);
        pod.labels.push((key, name.to_owned()));
    }
    pod
}

fn nodes(limit: Option<u64>) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.engine.limit_work(limit);
    for at in 0..8 {
        cluster = cluster.with(node(&format!("n{at}"), "32c 64Gi pods=99"));
    }
    cluster
}

/// Names of the pods bound in each cycle, until nothing more happens.
fn run(cluster: &mut Cluster) -> Vec<Vec<String>> {
    let mut cycles = Vec::new();
    for _ in 0..MANY {
        let decisions = cluster.decide();
        let lines = cluster.accept(&decisions);
        let name = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
        cycles.push(lines.iter().map(name).collect());
        if decisions.settled {
            return cycles;
        }
    }
    unreachable!("it goes on after {MANY} cycles");
}

#[test]
fn plain_pods_are_bound_before_the_rest_of_a_bomb_that_came_first() {
    let mut cluster = nodes(Some(4_000));
    for at in 0..60 {
        cluster = cluster.with(costly(&format!("bomb-{at:02}")));
    }
    for at in 0..20 {
        let mut plain = pod(&format!("plain-{at:02}"), "1c");
        plain.created_s = 1;
        cluster = cluster.with(plain);
    }
    let cycles = run(&mut cluster);
    let is_plain = |name: &&String| name.starts_with("plain");
    let plain = |cycle: &Vec<String>| cycle.iter().filter(is_plain).count();
    assert_eq!(plain(&cycles[0]), 0, "the bomb was there first");
    assert_eq!(plain(&cycles[1]), 20, "{cycles:?}");
    assert!(cycles.len() > 5, "the bomb takes more cycles: {cycles:?}");
    assert_eq!(cycles.concat().len(), 80);
    // Each cycle did something for the bomb as well.
    let to_the_last = cycles.iter().rposition(|cycle| !cycle.is_empty());
    let with_work = &cycles[..=to_the_last.expect("some")];
    assert!(with_work.iter().all(|cycle| plain(cycle) < cycle.len()));
}

#[test]
fn a_gang_that_needs_more_than_its_share_is_bound_as_a_whole_after_the_others() {
    let mut cluster = nodes(Some(5_000)).with(group("g", 10));
    for at in 0..10 {
        cluster = cluster.with(costly(&format!("gang-{at}")).group("g"));
    }
    for at in 0..5 {
        let mut plain = pod(&format!("plain-{at}"), "1c");
        plain.created_s = 1;
        cluster = cluster.with(plain);
    }
    let first = cluster.decide();
    let (_, why) = cluster.why("gang-0");
    assert!(first.postponed && why.contains("--job-work-limit"), "{why}");
    assert_eq!(cluster.condition("g", "Unschedulable"), None);
    let first = cluster.accept(&first);
    assert_eq!(first.len(), 5, "the others: {first:?}");
    let cycles = run(&mut cluster);
    let at = |name: &str| cycles.iter().position(|c| c.iter().any(|n| n == name));
    let gang = at("gang-0").expect("it is bound");
    assert!((0..10).all(|member| at(&format!("gang-{member}")) == Some(gang)));
}

#[test]
fn any_limit_of_work_ends_where_none_ends() {
    let build = |limit| {
        let mut cluster = nodes(limit).with(group("g", 4)).with(group("late", 3));
        for at in 0..6 {
            cluster = cluster.with(costly(&format!("g-{at}")).group("g"));
            cluster = cluster.with(costly(&format!("single-{at}")));
            cluster = cluster.with(
                pod(&format!("l-{at}"), "2c")
                    .app("late")
                    .created_s(1)
                    .group("late"),
            );
            cluster = cluster.with(pod(&format!("best-effort-{at}"), ""));
        }
        // More than there is room for.
        cluster.with(pod("huge", "64c"))
    };
    let all: BTreeSet<String> = run(&mut build(None)).concat().into_iter().collect();
    assert_eq!(all.len(), 24);
    for limit in [0, 1, 10, 100, 1_000, 3_000, 10_000, 100_000] {
        let mut cluster = build(Some(limit));
        let cycles = run(&mut cluster);
        let mut of_gang = 0;
        for cycle in &cycles {
            of_gang += cycle.iter().filter(|name| name.starts_with("g-")).count();
            assert!(of_gang == 0 || of_gang >= 4, "limit {limit}: {cycles:?}");
        }
        let bound: BTreeSet<String> = cycles.concat().into_iter().collect();
        assert_eq!(bound, all, "limit {limit}");
    }
}
