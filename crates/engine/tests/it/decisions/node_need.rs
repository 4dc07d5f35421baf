//! A cluster autoscaler that reads conditions buys the fewest nodes with which all runs that may (spec/17 §1).

use std::collections::BTreeMap;

use pumice_conf::DEFAULT_CONF;
use pumice_fixtures::Dice;
use pumice_model::object::{ContainerFacts, ContainerKind, Gates, PodObject, QueueState};
use pumice_model::{Delta, TaskIx, TaskStatus};

use super::cluster::*;

/// Limits of queues are asked before admission and when a pod is placed; how full the cluster is asks nobody.
const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
                    tiers: [{plugins: [{name: gang}, {name: predicates}, {name: capacity, enableHierarchy: true}]}]\n";

/// Cores of a node.
const CORES: u64 = 4;

/// Names and sizes of pods that an autoscaler would look at, by name.
fn told_unschedulable(cluster: &Cluster) -> Vec<(String, u64)> {
    let state = cluster.engine.state();
    let cores = state.resources().get("cpu").expect("a resource");
    let tasks: Vec<TaskIx> = state.population().tasks().map(|(ix, _)| ix).collect();
    let told = tasks.into_iter().filter_map(|ix| {
        let why = cluster.engine.known().why_pending(ix)?;
        let size = state.shape(ix).request.get(cores) as u64 / 1000;
        let name = state.task(ix).name.to_string();
        (why.reason == "Unschedulable").then_some((name, size))
    });
    let mut told: Vec<(String, u64)> = told.collect();
    told.sort();
    told
}

/// Free cores of the nodes.
fn free(cluster: &Cluster) -> Vec<u64> {
    let nodes = cluster.engine.state().nodes();
    let cores = cluster.engine.state().resources().get("cpu");
    let cores = cores.expect("a resource");
    let idle = nodes.indices().map(|ix| nodes.idle.get(cores, ix));
    idle.map(|idle| idle.max(0) as u64 / 1000).collect()
}

fn take(free: &mut [u64], size: u64) -> bool {
    let mut rooms = free.iter_mut();
    let room = rooms.find(|room| **room >= size);
    room.map(|room| *room -= size).is_some()
}

/// How many nodes an autoscaler buys that packs the largest pods first, what fits on nodes that are there left out.
fn bought(cluster: &Cluster) -> usize {
    let (mut free, mut new) = (free(cluster), Vec::new());
    let mut left: Vec<u64> = Vec::new();
    for (_, size) in told_unschedulable(cluster) {
        if !take(&mut free, size) {
            left.push(size);
        }
    }
    left.sort_unstable();
    for size in left.into_iter().rev() {
        if !take(&mut new, size) {
            new.push(CORES - size);
        }
    }
    new.len()
}

/// The fewest nodes more on which all of these have room, by trying every way to place them.
fn fewest(free: &[u64], asked: &[u64]) -> usize {
    fn all_fit(free: &mut [u64], asked: &[u64]) -> bool {
        let Some((first, rest)) = asked.split_first() else {
            return true;
        };
        (0..free.len()).any(|at| {
            let fits = free[at] >= *first;
            if fits {
                free[at] -= first;
            }
            let fit = fits && all_fit(free, rest);
            if fits {
                free[at] += first;
            }
            fit
        })
    }
    let enough = |more: &usize| {
        let mut nodes = free.to_vec();
        nodes.extend(vec![CORES; *more]);
        all_fit(&mut nodes, asked)
    };
    (0..=asked.len()).find(enough).expect("a node each")
}

/// A job of pods of one size, and whether something else than nodes keeps it back.
struct Wish {
    name: String,
    pods: u64,
    size: u64,
    held_back: bool,
}

fn gang_of(wish: &Wish, queue: &str) -> Vec<PodObject> {
    let pods = (0..wish.pods).map(|at| {
        let pod = pod(&format!("{}-{at}", wish.name), &format!("{}c", wish.size));
        pod.group(&wish.name).queue(queue)
    });
    pods.collect()
}

/// What the queue `pair` may have, in cores.
const PAIR: u64 = 8;

/// One more job of some kind comes. `in_pair`: what those ask that the queue `pair` has admitted.
fn comes(cluster: &mut Cluster, dice: &mut Dice, in_pair: &mut u64, at: usize) -> Wish {
    let mut wish = Wish {
        name: format!("j{at}"),
        pods: 2 + dice.below(3),
        size: [1, 2, 4][dice.below(3) as usize],
        held_back: true,
    };
    let (name, pods) = (wish.name.clone(), wish.pods as i32);
    let cores = format!("{}c", wish.pods * wish.size);
    let (mut queue, mut least) = ("free", pods);
    let mut members = Vec::new();
    let mut says_least = true;
    match dice.below(11) {
        0 => queue = "shut",
        1 => queue = "nowhere",
        2 => queue = "tiny",
        // Its last pod is not made yet.
        3 => least += 1,
        4 => {
            members = gang_of(&wish, queue);
            members[0].gates = Gates::Foreign;
        }
        // Nobody refuses it before its pods are tried.
        5 => (queue, says_least) = ("tiny", false),
        6..9 => {
            queue = "pair";
            wish.held_back = *in_pair + wish.pods * wish.size > PAIR;
            if !wish.held_back {
                *in_pair += wish.pods * wish.size;
            }
        }
        _ => wish.held_back = false,
    }
    if members.is_empty() {
        members = gang_of(&wish, queue);
    }
    let group = group(&name, least).queue(queue).created_s(at as i64);
    let group = group.waiting();
    cluster.apply(match says_least {
        true => group.min_resources(&cores),
        false => group,
    });
    for member in members {
        cluster.apply(member);
    }
    wish
}

fn runs(cluster: &Cluster, wish: &Wish) -> bool {
    let population = cluster.engine.state().population();
    (0..wish.pods).all(|at| {
        let task = population.task_by_uid(&format!("{}-{at}", wish.name));
        let status = task.map(|task| cluster.engine.state().task(task).status);
        status == Some(TaskStatus::Bound)
    })
}

#[test]
fn the_fewest_nodes_are_bought_in_one_scale_up_and_none_for_what_nodes_do_not_help() {
    let mut scale_ups = 0;
    for seed in 0..300 {
        let (mut dice, mut in_pair) = (Dice(seed), 0);
        let mut cluster = Cluster::under(CONF)
            .with(queue("free"))
            .with(queue("pair").capability("8c"))
            .with(queue("tiny").capability("1c"))
            .with(queue("shut").state(QueueState::Closed));
        for at in 0..dice.below(3) {
            cluster.apply(node(&format!("n{at}"), "4c 8Gi pods=99"));
        }
        for at in 0..4 {
            let wish = comes(&mut cluster, &mut dice, &mut in_pair, at);
            cluster.cycle();
            cluster.cycle();
            let asked = vec![wish.size; wish.pods as usize];
            let lacks = match wish.held_back || runs(&cluster, &wish) {
                true => 0,
                false => fewest(&free(&cluster), &asked),
            };
            let buys = bought(&cluster);
            let told = told_unschedulable(&cluster);
            assert_eq!(buys, lacks, "seed {seed}, {}: {told:?}", wish.name);
            for new in 0..buys {
                cluster.apply(node(&format!("b{at}-{new}"), "4c 8Gi pods=99"));
            }
            scale_ups += usize::from(buys > 0);
            cluster.cycle();
            cluster.cycle();
            assert!(wish.held_back || runs(&cluster, &wish), "seed {seed}");
            assert_eq!(bought(&cluster), 0, "seed {seed}: in two steps");
        }
    }
    assert!(scale_ups > 100, "{scale_ups}");
}

#[test]
fn pods_of_a_closed_queue_make_no_nodes_whatever_else_is_in_their_way() {
    for conf in [CONF, DEFAULT_CONF] {
        let mut cluster = Cluster::under(conf)
            .with(queue("shut").state(QueueState::Closed))
            .with(node("n1", "1c 8Gi pods=9"))
            .with(pod("busy", "1c").on("n1"))
            .with(group("g", 2).queue("shut"))
            .with(pod("bare", "1c").queue("shut"));
        for name in ["p0", "p1"] {
            cluster.apply(pod(name, "1c").group("g"));
        }
        assert_eq!(cluster.cycle(), [""; 0]);
        let reasons = ["p0", "p1", "bare"].map(|name| cluster.why(name).0);
        assert_eq!(reasons, ["QueueClosed"; 3]);
    }
}

#[test]
fn nobody_buys_nodes_for_a_gang_of_which_one_pod_is_never_served() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "1c 8Gi pods=9"))
        .with(group("g", 3));
    for name in ["p0", "p1"] {
        cluster.apply(pod(name, "1c").group("g"));
    }
    // The switch of its family is off.
    let mut unserved = pod("p2", "1c volcano.sh/vgpu-number=1").group("g");
    let extended = |(name, _): &&(String, i64)| name.contains('/');
    unserved.facts.containers.push(ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: unserved.request.iter().filter(extended).cloned().collect(),
    });
    cluster.apply(unserved);
    assert_eq!(cluster.cycle(), [""; 0]);
    let reasons = ["p0", "p1", "p2"].map(|name| cluster.why(name).0);
    assert!(!reasons.contains(&"Unschedulable"), "{reasons:?}");
    assert_eq!(reasons[2], "NeverServed");
}

/// What pods were told last, by name; `at_s`: of a cycle, which tells all that it has to tell.
fn tell(cluster: &mut Cluster, told: &mut BTreeMap<String, &'static str>, at_s: i64) {
    let decisions = cluster.engine.cycle(at_s);
    cluster.accept(&decisions);
    for later_s in [0, 2] {
        let reports = cluster.engine.reports(at_s + later_s);
        let names = cluster.engine.state();
        let pods = reports.pods.iter();
        told.extend(pods.map(|report| {
            let name = names.task(report.task).name.to_string();
            (name, report.reason)
        }));
    }
}

/// A gang that would fill its queue up to its capability once one of two others is gone, and no node has room.
fn gang_beside_two(interval_s: i64) -> Cluster {
    let mut cluster = Cluster::under(CONF);
    let engine = &mut cluster.engine;
    engine.set_full_check_interval_s(Some(interval_s));
    let mut cluster = cluster.with(queue("q").capability("12c"));
    for name in ["n1", "n2"] {
        cluster.apply(node(name, "4c 8Gi pods=9"));
    }
    cluster = cluster
        .with(pod("one", "4c").queue("q").on("n1"))
        .with(pod("other", "4c").queue("q").on("n2"))
        .with(group("g", 2).queue("q"));
    for name in ["p0", "p1"] {
        cluster.apply(pod(name, "4c").group("g").queue("q"));
    }
    cluster
}

#[test]
fn a_gang_that_sleeps_is_told_with_the_next_full_check_that_its_queue_has_got_room() {
    for interval_s in [0, 60] {
        let (mut cluster, mut told) = (gang_beside_two(interval_s), BTreeMap::new());
        tell(&mut cluster, &mut told, 100);
        tell(&mut cluster, &mut told, 101);
        assert_eq!(told["p0"], "QuotaExceeded");
        // Somebody of another queue takes the place, so that nobody has a reason to try the gang.
        cluster.apply(Delta::PodDelete("one".to_owned()));
        cluster.apply(pod("third", "4c").on("n1"));
        for at_s in [110, 120, 170] {
            tell(&mut cluster, &mut told, at_s);
            let expected = match at_s < 100 + interval_s {
                true => "QuotaExceeded",
                false => "Unschedulable",
            };
            for name in ["p0", "p1"] {
                let context = format!("{name} at {at_s}, checked every {interval_s} s");
                assert_eq!(told[name], expected, "{context}");
                // What is told and what pages say are the same thing.
                assert_eq!(cluster.why(name).0, expected, "{context}");
            }
        }
        assert_eq!(cluster.engine.sleepers().missed(), 0);
    }
}

#[test]
fn a_gang_that_sleeps_is_told_with_the_next_full_check_that_its_queue_has_no_room_any_more() {
    for interval_s in [0, 60] {
        let (mut cluster, mut told) = (gang_beside_two(interval_s), BTreeMap::new());
        cluster.apply(Delta::PodDelete("one".to_owned()));
        cluster.apply(pod("third", "4c").on("n1"));
        tell(&mut cluster, &mut told, 100);
        assert_eq!(told["p0"], "Unschedulable");
        cluster.apply(Delta::PodDelete("third".to_owned()));
        cluster.apply(pod("one", "4c").queue("q").on("n1"));
        tell(&mut cluster, &mut told, 110);
        tell(&mut cluster, &mut told, 170);
        assert_eq!([told["p0"], told["p1"]], ["QuotaExceeded"; 2]);
    }
}

#[test]
fn who_waits_in_a_queue_is_told_at_once_that_it_is_closed_open_or_may_have_more() {
    let (mut cluster, mut told) = (gang_beside_two(60), BTreeMap::new());
    let q = || queue("q").capability("12c");
    for (at_s, written, expected) in [
        (100, q(), "QuotaExceeded"),
        (101, q().state(QueueState::Closed), "QueueClosed"),
        (102, q(), "QuotaExceeded"),
        (103, queue("q").capability("16c"), "Unschedulable"),
    ] {
        cluster.apply(written);
        tell(&mut cluster, &mut told, at_s);
        assert_eq!([told["p0"], told["p1"]], [expected; 2], "{at_s}");
    }
}

/// How much of the cluster a queue may have, and how much it says itself that it may, refuse the same pods.
#[test]
fn who_asks_more_than_the_cluster_has_is_told_at_once_when_the_capability_of_the_queue_is_no_limit_any_more()
 {
    let conf = "actions: \"allocate\"\n\
                tiers: [{plugins: [{name: gang}, {name: predicates}, {name: capacity}]}]\n";
    let (mut cluster, mut told) = (Cluster::under(conf), BTreeMap::new());
    cluster = cluster
        .with(queue("q").capability("12c"))
        .with(node("n1", "10c 8Gi pods=9"))
        .with(pod("busy", "8c").queue("q").on("n1"))
        .with(group("g", 1).queue("q"))
        .with(pod("p", "5c").group("g").queue("q"));
    for (at_s, capability, expected) in [
        (100, "12c", "QuotaExceeded"),
        (101, "12c", "QuotaExceeded"),
        (102, "90c", "Unschedulable"),
    ] {
        cluster.apply(queue("q").capability(capability));
        tell(&mut cluster, &mut told, at_s);
        assert_eq!(told["p"], expected, "{}", cluster.why("p").1);
    }
}
