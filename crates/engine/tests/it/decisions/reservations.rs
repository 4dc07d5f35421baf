//! Places that are kept for jobs that wait (docs/spec/12-reservations.md).

use pumice_engine::view::{Ask, PlannedStart, View};
use pumice_model::Delta;

use super::cluster::*;

pub(super) const PLUGIN: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, \
    {name: reservation, arguments: {reservation.slack: 0s}}]}]\n";

/// A cluster of a text under a configuration.
pub(super) fn cluster(conf: &str, text: &str) -> Cluster {
    let mut cluster = Cluster::under(conf);
    come(&mut cluster, text);
    cluster
}

/// The objects of a text come.
pub(super) fn come(cluster: &mut Cluster, text: &str) {
    for delta in pumice_fixtures::Cluster::of(text).0 {
        if let Delta::PodApply(pod) = &delta {
            let key = format!("{}/{}", pod.namespace, pod.name);
            cluster.pods.insert(key, (**pod).clone());
        }
        cluster.engine.apply(delta);
    }
}

pub(super) fn planned(cluster: &Cluster, name: &str) -> Option<PlannedStart> {
    let (namespace, name) = ("ns".to_owned(), name.to_owned());
    match cluster.engine.known().view(&Ask::Job { namespace, name }) {
        Ok(View::Job(view)) => view.planned,
        other => unreachable!("{other:?}"),
    }
}

/// When a job is to start, in seconds, and on which nodes.
pub(super) fn start(cluster: &Cluster, name: &str) -> Option<(i64, Vec<String>)> {
    let planned = planned(cluster, name)?;
    let at: jiff::Timestamp = planned.at?.0.parse().expect("a time");
    Some((at.as_second(), planned.nodes))
}

/// The pods of a cycle at a moment, bound: `pod node` of each, in order.
pub(super) fn cycle(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    cluster.accept(&decisions)
}

pub(super) const TWO_NODES: &str = "
    node n1 4c 8Gi pods=9
    node n2 4c 8Gi pods=9
    pod  a  3c on:n1 since:100 limit:1000s
    pod  b  3c on:n2 since:100 limit:2000s
    group big min:2 created:10
    pod  big-0 4c group:big created:10
    pod  big-1 4c group:big created:10
";

#[test]
fn the_first_that_does_not_fit_is_promised_the_moment_at_which_it_does() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    assert_eq!(cycle(&mut cluster, 200), [""; 0]);
    let expected = (2100, vec!["n1".to_owned(), "n2".to_owned()]);
    assert_eq!(start(&cluster, "big"), Some(expected));
    let planned = planned(&cluster, "big").expect("a plan");
    assert_eq!(planned.after.as_deref(), Some("ns/b"));
    assert_eq!(planned.moved, None);
}

#[test]
fn others_run_meanwhile_only_where_they_are_gone_by_then() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    for (name, limit) in [
        ("long", "limit:2000s"),
        ("short", "limit:1900s"),
        ("mute", ""),
    ] {
        let pod = format!("pod {name} 1c created:20 {limit}");
        come(&mut cluster, &pod);
    }
    assert_eq!(cycle(&mut cluster, 200), ["short n1"]);
    let (reason, message) = cluster.why("long");
    assert_eq!(reason, "Unschedulable");
    assert_eq!(
        message,
        "2 nodes with room are kept for ns/big, which is to start at 1970-01-01T00:35:00Z: a pod may run before \
         if it says that it ends by then (annotation pumice.sh/run-time-limit, or spec.activeDeadlineSeconds)"
    );
    // On the node on which nobody has a place anybody may run.
    cluster.apply(node("n3", "2c 8Gi pods=9"));
    assert_eq!(cycle(&mut cluster, 201), ["long n3", "mute n3"]);
}

#[test]
fn the_promise_is_kept() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    for at in 0..8 {
        let pod = format!("pod s{at} 1c created:20 limit:{}s", 200 + at * 300);
        come(&mut cluster, &pod);
    }
    assert_eq!(cycle(&mut cluster, 200), ["s0 n1", "s1 n2"]);
    cluster.engine.apply(Delta::PodDelete("s0".to_owned()));
    assert_eq!(cycle(&mut cluster, 400), ["s2 n1"]);
    for gone in ["s1", "s2", "a"] {
        cluster.engine.apply(Delta::PodDelete(gone.to_owned()));
    }
    // What is left would be there for too long.
    assert_eq!(cycle(&mut cluster, 1_100), [""; 0]);
    cluster.engine.apply(Delta::PodDelete("b".to_owned()));
    assert_eq!(cycle(&mut cluster, 2_100), ["big-0 n1", "big-1 n2"]);
    assert_eq!(planned(&cluster, "big"), None);
}

#[test]
fn who_comes_first_by_priority_need_not_mind() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    come(
        &mut cluster,
        "class high value:100\ngroup urgent min:1 class:high created:30\npod urgent-0 1c group:urgent priority:100 created:30",
    );
    assert_eq!(cycle(&mut cluster, 210), ["urgent-0 n1"]);
    let planned = planned(&cluster, "big");
    assert_eq!(planned, None, "nobody says when what runs on n1 ends");
}

#[test]
fn what_ends_earlier_lets_it_start_earlier() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    cluster.engine.apply(Delta::PodDelete("b".to_owned()));
    cycle(&mut cluster, 240);
    let planned = planned(&cluster, "big").expect("a plan");
    assert_eq!(start(&cluster, "big").map(|(at, _)| at), Some(1100));
    assert_eq!(
        planned.before.map(|at| at.0),
        Some("1970-01-01T00:35:00Z".to_owned())
    );
}

#[test]
fn a_moment_that_passes_in_vain_is_no_promise_any_more() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    cluster.engine.apply(Delta::PodDelete("a".to_owned()));
    cycle(&mut cluster, 2_150);
    assert_eq!(
        planned(&cluster, "big"),
        None,
        "b runs longer than was said"
    );
}

#[test]
fn with_many_every_job_is_promised_a_start_around_those_before() {
    let many = PLUGIN.replace(
        "reservation.slack: 0s",
        "reservation.slack: 0s, reservation.jobs: 10",
    );
    let text = format!(
        "{TWO_NODES}
        group next min:1 created:11
        pod next-0 4c group:next created:11 limit:500s
        group last min:1 created:12
        pod last-0 4c group:last created:12 limit:2000s"
    );
    let mut cluster = cluster(&many, &text);
    cycle(&mut cluster, 200);
    assert_eq!(start(&cluster, "big").map(|(at, _)| at), Some(2100));
    // It is gone again when the first one starts.
    assert_eq!(start(&cluster, "next"), Some((1100, vec!["n1".to_owned()])));
    // Nobody says when the first one ends.
    assert_eq!(start(&cluster, "last"), None);
}

#[test]
fn what_a_queue_may_have_is_kept_too() {
    let conf = PLUGIN.replace("{name: reservation", "{name: capacity}, {name: reservation");
    let text = "
        queue q capability:8c
        queue other
        node n1 4c 8Gi pods=9
        node n2 4c 8Gi pods=9
        node n3 4c 8Gi pods=9
        node n4 2c 8Gi pods=9
        group runs min:1 queue:q created:1
        pod  a 4c on:n1 since:100 limit:1000s group:runs
        pod  b 4c on:n2 since:100 limit:2000s group:runs
        group big min:2 queue:q created:10
        pod  big-0 4c group:big created:10
        pod  big-1 4c group:big created:10";
    let mut cluster = cluster(&conf, text);
    assert_eq!(cycle(&mut cluster, 200), [""; 0]);
    assert_eq!(start(&cluster, "big").map(|(at, _)| at), Some(2100));
    cluster.engine.apply(Delta::PodDelete("a".to_owned()));
    let small = |queue: &str| {
        format!(
            "group of-{queue} min:1 queue:{queue} created:20\npod of-{queue}-0 1c group:of-{queue} created:20"
        )
    };
    come(&mut cluster, &small("q"));
    come(&mut cluster, &small("other"));
    let bound = cycle(&mut cluster, 1_100);
    assert_eq!(bound, ["of-other-0 n3"], "{:?}", planned(&cluster, "big"));
    let (_, message) = cluster.why("of-q-0");
    let why = "what is left of the limits of its queue is kept for ns/big, which is to start at 1970-01-01T00:35:00Z";
    assert!(message.starts_with(why), "{message}");
}

#[test]
fn with_no_end_in_sight_nothing_is_kept_and_nobody_is_kept_off() {
    let text = TWO_NODES.replace("limit:2000s", "");
    let mut cluster = cluster(PLUGIN, &text);
    cycle(&mut cluster, 200);
    assert_eq!(planned(&cluster, "big"), None);
    come(&mut cluster, "pod mute 1c created:20");
    assert_eq!(cycle(&mut cluster, 200), ["mute n1"]);
    // Whoever writes the configuration may say how long such pods run.
    let guessed = PLUGIN.replace("slack: 0s", "slack: 0s, reservation.defaultLimit: 1h");
    let mut cluster = self::cluster(&guessed, &text);
    cycle(&mut cluster, 200);
    assert_eq!(start(&cluster, "big").map(|(at, _)| at), Some(3700));
}

#[test]
fn jobs_that_can_never_run_take_nobodys_place() {
    let hopeless = (0..5).map(|at| format!("pod never-{at} 99c created:{at}\n"));
    let text = format!("{TWO_NODES}{}", hopeless.collect::<String>());
    let mut cluster = cluster(PLUGIN, &text);
    cycle(&mut cluster, 200);
    assert_eq!(start(&cluster, "big").map(|(at, _)| at), Some(2100));
}

#[test]
fn who_makes_many_jobs_in_a_queue_has_places_kept_for_its_first_alone() {
    let more = (0..5).map(|at| format!("pod more-{at} 4c created:{}\n", 50 + at));
    let text = format!("{TWO_NODES}{}", more.collect::<String>());
    let mut cluster = cluster(PLUGIN, &text);
    cycle(&mut cluster, 200);
    let kept = (0..5).filter(|at| planned(&cluster, &format!("more-{at}")).is_some());
    assert_eq!((kept.count(), start(&cluster, "big").is_some()), (0, true));
}
