//! Who of a job goes first (spec/07 §2.4), and which of its pods it keeps (§3).

use pumice_model::object::{GroupObject, PodObject};

use super::cluster::*;
use super::victims::{GANGS_PROTECTED, NO_WHOLE, PREEMPT, Plans, cluster, for_gangs, ranked};

/// Reclaim by what queues are told that they deserve.
const RECLAIM: &str = r#"
actions: "enqueue, allocate, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: capacity
"#;

/// A configuration that reclaims gangs as a whole.
fn gang_reclaim() -> String {
    RECLAIM.replace("reclaim", "gangreclaim")
}

/// A running pod of a job, of one cpu.
fn worker(job: &str, node: &str, name: &str, created_s: i64) -> PodObject {
    pod(name, "1c").group(job).on(node).created_s(created_s)
}

/// One pod of one cpu comes, of high priority, in the queue that deserves all.
fn with_newcomer(cluster: Cluster) -> Cluster {
    let mut taker = queue("taker");
    taker.deserved = amounts("64c");
    let new = ranked("high", group("new", 1)).queue("taker");
    let cluster = cluster.with(taker).with(new);
    cluster.with(pod("new", "1c").group("new"))
}

/// Who goes for it, under `preempt` in one queue and under `reclaim` from another.
fn victims(conf: &str, job: GroupObject, pods: &[PodObject], nodes: &[&str]) -> Vec<String> {
    let mut all = cluster(conf);
    for name in nodes {
        let there = pods.iter().filter(|pod| pod.node.as_deref() == Some(name));
        all = all.with(node(name, &format!("{}c 64Gi pods=99", there.count())));
    }
    let is_preempt = conf.contains("preempt,") || conf.contains("gangpreempt");
    let job = match is_preempt {
        true => job.queue("taker"),
        false => job,
    };
    all = all.with(ranked("low", job));
    for pod in pods {
        all = all.with(pod.clone());
    }
    let plan = with_newcomer(all).plan();
    let going = plan.iter().filter_map(|line| line.strip_prefix('-'));
    going.map(str::to_owned).collect()
}

#[test]
fn of_a_job_the_highest_index_goes_first_wherever_it_is() {
    // Those made anew, and those on the node that comes last, go by their number all the same.
    let pods: Vec<PodObject> = (0..12)
        .map(|at| {
            let node = if at < 8 { "n1" } else { "n2" };
            worker("train", node, &format!("train-worker-{at}"), 100 - at)
        })
        .collect();
    let gangs = for_gangs("");
    let reclaims = gang_reclaim();
    for conf in [PREEMPT, GANGS_PROTECTED, RECLAIM, &gangs, &reclaims] {
        let going = victims(conf, group("train", 2), &pods, &["n1", "n2"]);
        assert_eq!(going, ["train-worker-11"], "{conf}");
    }
}

#[test]
fn leaders_go_last() {
    // A launcher without a number, made with its workers or before them; a leader of the smaller UID.
    for (leader, created_s) in [("mpi-launcher", 0), ("mpi-launcher", 5), ("a-driver-0", 5)] {
        let pods = [
            worker("mpi", "n1", leader, created_s),
            worker("mpi", "n1", "mpi-worker-0", 5),
            worker("mpi", "n1", "mpi-worker-1", 5),
        ];
        for count in [2, 3] {
            let going = victims(PREEMPT, group("mpi", 1), &pods[..count], &["n1"]);
            assert_eq!(going, [format!("mpi-worker-{}", count - 2)], "{leader}");
        }
    }
    // One that was made after them is placed after them.
    let pods = [
        worker("mpi", "n1", "mpi-launcher", 9),
        worker("mpi", "n1", "mpi-worker-0", 5),
    ];
    let going = victims(PREEMPT, group("mpi", 1), &pods, &["n1"]);
    assert_eq!(going, ["mpi-launcher"]);
}

#[test]
fn between_jobs_priority_and_age_decide_and_of_equals_the_name() {
    let jobs = |a_created_s| {
        let mut all = cluster(PREEMPT).with(node("n1", "3c 8Gi pods=9"));
        for (job, created_s) in [("a", a_created_s), ("b", 5)] {
            let job_of = ranked("low", group(job, 0)).queue("taker");
            all = all.with(job_of);
            all = all.with(worker(job, "n1", &format!("{job}-worker-0"), created_s));
        }
        with_newcomer(all.with(pod("other", "1c").on("n1"))).plan()
    };
    assert_eq!(jobs(5)[0], "-a-worker-0");
    assert_eq!(jobs(6)[0], "-a-worker-0");
    assert_eq!(jobs(4)[0], "-b-worker-0");
}

#[test]
fn no_role_goes_below_its_minimum_while_its_gang_stays() {
    let roles = |least: &[(&str, i32)]| {
        let least = least.iter().map(|(role, min)| ((*role).to_owned(), *min));
        group("train", 2).min_task_member(least)
    };
    let master = |at: i64| {
        let pod = worker("train", "n1", &format!("train-master-{at}"), 9);
        pod.role("master")
    };
    let workers = |count: i64| {
        (0..count).map(|at| worker("train", "n1", &format!("train-worker-{at}"), 5).role("worker"))
    };
    let gangs_stay = for_gangs(NO_WHOLE);
    for conf in [GANGS_PROTECTED, RECLAIM, &gangs_stay] {
        // The master is the youngest, and comes first by name.
        let mut pods: Vec<PodObject> = workers(3).collect();
        pods.push(master(7));
        let least = roles(&[("master", 1), ("worker", 1)]);
        assert_eq!(victims(conf, least, &pods, &["n1"]), ["train-worker-2"]);
        // Without a minimum of its own it goes.
        assert_eq!(
            victims(conf, roles(&[]), &pods, &["n1"]),
            ["train-master-7"]
        );
        // The other roles are at their minimum: nobody goes.
        let mut pods: Vec<PodObject> = workers(1).collect();
        pods.extend([master(0), master(1)]);
        let least = roles(&[("master", 2)]);
        assert_eq!(victims(conf, least, &pods, &["n1"]), ["train-worker-0"]);
        let least = roles(&[("master", 2), ("worker", 1)]).min_member(3);
        assert_eq!(victims(conf, least, &pods, &["n1"]), [""; 0]);
    }
}

#[test]
fn within_a_job_a_role_keeps_its_minimum_unless_one_of_it_comes() {
    // The gang is whole, and its fourth pod waits: what a job wants in all is for plugin priority to say.
    let conf = GANGS_PROTECTED.replace("name: gang", "name: gang\n    enableJobStarving: false");
    let plan = |min: i32, role: &str| {
        let gang =
            group("train", min).min_task_member([("ps".to_owned(), 2), ("worker".to_owned(), 1)]);
        let low = |name: &str, role: &str| worker("train", "n1", name, 0).role(role);
        let new = pod("train-new-9", "1c")
            .group("train")
            .priority(9)
            .role(role);
        let mut all = cluster(&conf)
            .with(node("n1", "3c 8Gi pods=9"))
            .with(gang)
            .with(low("train-ps-0", "ps"))
            .with(low("train-ps-1", "ps"))
            .with(low("train-worker-0", "worker"))
            .with(new);
        all.plan()
    };
    assert_eq!(plan(3, "ps"), ["-train-ps-1", "train-new-9 (n1)"]);
    assert_eq!(plan(3, "worker"), ["-train-worker-0", "train-new-9 (n1)"]);
    assert_eq!(plan(3, "driver"), [""; 0]);
    // One that lacks a pod does not run: it gives whatever it has.
    assert_eq!(plan(4, "driver"), ["-train-ps-1", "train-new-9 (n1)"]);
}
