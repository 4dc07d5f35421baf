//! How long jobs run of which nobody says it, learned from jobs like them (docs/spec/11-time.md §4).

use pumice_engine::view::PlannedStart;
use pumice_model::object::PodPhase;

use super::cluster::*;
use super::reservations::{come, cycle, planned, start};

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: runtimeestimate}, \
    {name: reservation, arguments: {reservation.slack: 0s}}]}]\n";

/// A pod of a job is as it is then.
fn becomes(cluster: &mut Cluster, job: &str, phase: PodPhase, since_s: i64) {
    let known = cluster.pods[&format!("ns/{job}-0")].clone();
    let mut known = known.on("n1");
    (known.phase, known.scheduled_s) = (phase, Some(since_s));
    cluster.apply(known);
}

/// A job of one pod comes, gets its node at once, and runs.
fn runs(cluster: &mut Cluster, job: &str, since_s: i64) {
    come(
        cluster,
        &format!("group {job} created:{since_s}\n pod {job}-0 3c group:{job} created:{since_s}"),
    );
    assert_eq!(cycle(cluster, since_s), [format!("{job}-0 n1")]);
    becomes(cluster, job, PodPhase::Running, since_s);
    assert_eq!(cycle(cluster, since_s), [""; 0]);
}

/// Jobs that ran for ten minutes each, and one like them that runs since 5,000.
fn with_history(jobs: i64) -> Cluster {
    let mut cluster = Cluster::under(CONF).with(node("n1", "4c 8Gi pods=9"));
    for at in 0..jobs {
        let (job, since_s) = (format!("train-{at}"), 1_000 * at);
        runs(&mut cluster, &job, since_s);
        cycle(&mut cluster, since_s + 599);
        becomes(&mut cluster, &job, PodPhase::Succeeded, since_s);
        cycle(&mut cluster, since_s + 600);
    }
    runs(&mut cluster, "train-9", 5_000);
    come(
        &mut cluster,
        "group big created:5001\n pod big-0 4c group:big created:5001",
    );
    cluster
}

#[test]
fn a_start_is_planned_by_what_is_guessed_and_says_so() {
    let mut cluster = with_history(3);
    assert_eq!(cycle(&mut cluster, 5_100), [""; 0]);
    assert_eq!(start(&cluster, "big"), Some((5_600, vec!["n1".to_owned()])));
    let told = planned(&cluster, "big").expect("a plan");
    assert_eq!(told.guessed_from, 3);
    assert_eq!(
        told.to_string(),
        "starts 1970-01-01T01:33:20Z if all end as they say, after ns/train-9 (a guess, from 3 jobs like it), on n1"
    );
    // Somebody like them is let past nobody: what is guessed is no limit.
    come(
        &mut cluster,
        "group train-10 created:5002\n pod train-10-0 1c group:train-10 created:5002",
    );
    assert_eq!(cycle(&mut cluster, 5_101), [""; 0]);
    // Who runs longer than was guessed stays, and nothing is promised.
    assert_eq!(cycle(&mut cluster, 5_700), [""; 0]);
    assert_eq!(planned(&cluster, "big"), None);
    becomes(&mut cluster, "train-9", PodPhase::Succeeded, 5_000);
    assert_eq!(cycle(&mut cluster, 5_701), ["big-0 n1"]);
}

#[test]
fn nothing_is_guessed_from_few_jobs_and_what_owners_say_goes_before() {
    let mut few = with_history(2);
    cycle(&mut few, 5_100);
    assert_eq!(planned(&few, "big"), None);
    let mut said = with_history(3);
    let mut pod = said.pods["ns/train-9-0"].clone().on("n1");
    pod.scheduled_s = Some(5_000);
    pod.annotations = vec![("pumice.sh/run-time".to_owned(), "20m".to_owned())];
    said.apply(pod);
    cycle(&mut said, 5_100);
    let told: PlannedStart = planned(&said, "big").expect("a plan");
    assert_eq!(told.guessed_from, 0);
    assert_eq!(start(&said, "big"), Some((6_200, vec!["n1".to_owned()])));
}
