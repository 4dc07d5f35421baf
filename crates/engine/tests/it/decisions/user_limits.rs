//! Who has as much as a user may have in a queue waits, says so, and holds nobody up (spec/15).

use pumice_engine::Engine;
use pumice_engine::view::{Ask, View};
use pumice_fixtures::Dice;
use pumice_model::object::PriorityClassObject;
use pumice_model::run_time::RUN_TIME_LIMIT;
use pumice_model::{Delta, KeptTopic};

use super::cluster::*;

fn conf(actions: &str, limits: &str) -> String {
    format!(
        "actions: \"{actions}\"\n\
         configurations: [{{name: allocate, arguments: {{honorDequeueStrategy: true}}}}]\n\
         tiers: [{{plugins: [{{name: priority}}, {{name: gang}}, {{name: predicates}}, {{name: conformance}}, \
         {{name: fairshare, arguments: {{fairshare.users: said, fairshare.measure: cpu=1, fairshare.halfLife: 1h, \
         fairshare.userLimits: \"{limits}\"}}}}]}}]\n"
    )
}

/// A job of some pods of one core each.
fn comes(cluster: &mut Cluster, name: &str, user: &str, (pods, created_s): (usize, i64)) {
    let group = group(name, pods as i32).user(user).created_s(created_s);
    cluster.apply(group);
    for at in 0..pods {
        let pod = pod(&format!("{name}-{at}"), "1c");
        cluster.apply(pod.group(name).created_s(created_s));
    }
}

fn cycle(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    cluster.accept(&decisions)
}

fn message(engine: &Engine, name: &str) -> String {
    let (namespace, name) = ("ns".to_owned(), name.to_owned());
    match engine.known().view(&Ask::Job { namespace, name }) {
        Ok(View::Job(view)) => view.message.unwrap_or_default(),
        other => unreachable!("{other:?}"),
    }
}

fn start(actions: &str, limits: &str) -> Cluster {
    Cluster::under(&conf(actions, limits)).with(node("n1", "8c 8Gi pods=99"))
}

const PLACE: &str = "enqueue, allocate, backfill";

#[test]
fn a_job_beyond_the_number_of_its_user_waits_and_who_comes_after_it_does_not() {
    let mut cluster = start(PLACE, "jobs=1; eve: jobs=2");
    for (at, (name, user)) in [
        ("a1", "ada"),
        ("a2", "ada"),
        ("b1", "bob"),
        ("e1", "eve"),
        ("e2", "eve"),
    ]
    .into_iter()
    .enumerate()
    {
        comes(&mut cluster, name, user, (1, at as i64));
    }
    assert_eq!(
        cycle(&mut cluster, 10),
        ["a1-0 n1", "b1-0 n1", "e1-0 n1", "e2-0 n1"]
    );
    assert_eq!(
        message(&cluster.engine, "a2"),
        "ns/a2 has no turn: user ada has 1 job in queue default, where a user may have 1 (fairshare.userLimits)"
    );
    assert_eq!(cluster.why("a2-0").0, "QuotaExceeded");
    assert_eq!(cycle(&mut cluster, 20), [""; 0]);
    cluster.engine.apply(Delta::PodDelete("b1-0".to_owned()));
    assert_eq!(cycle(&mut cluster, 30), [""; 0]);
    cluster.engine.apply(Delta::PodDelete("a1-0".to_owned()));
    assert_eq!(cycle(&mut cluster, 40), ["a2-0 n1"]);
}

#[test]
fn amounts_count_by_gangs_and_one_that_never_fits_says_so() {
    let mut cluster = start(PLACE, "cpu=3");
    comes(&mut cluster, "two", "ada", (2, 1));
    comes(&mut cluster, "more", "ada", (2, 2));
    comes(&mut cluster, "one", "ada", (1, 3));
    comes(&mut cluster, "huge", "bob", (4, 4));
    assert_eq!(
        cycle(&mut cluster, 10),
        ["two-0 n1", "two-1 n1", "one-0 n1"]
    );
    // As it was when it had its turn.
    let of = |name| message(&cluster.engine, name);
    assert_eq!(
        of("more"),
        "ns/more has no turn: user ada has 2 of cpu in queue default, where a user may have 3, and 2 more are asked \
         (fairshare.userLimits)"
    );
    assert!(
        of("huge").contains("4 more are asked: it never fits"),
        "{}",
        of("huge")
    );
}

#[test]
fn what_was_used_counts_until_it_has_faded() {
    let mut cluster = start(PLACE, "hours=0.5");
    comes(&mut cluster, "a1", "ada", (1, 1));
    assert_eq!(cycle(&mut cluster, 10), ["a1-0 n1"]);
    assert_eq!(cycle(&mut cluster, 3_610), [""; 0]);
    comes(&mut cluster, "a2", "ada", (1, 2));
    comes(&mut cluster, "b1", "bob", (1, 3));
    assert_eq!(cycle(&mut cluster, 3_700), ["b1-0 n1"]);
    let expected = "user ada has used the 0.5 hours that a user may use in queue default";
    let told = message(&cluster.engine, "a2");
    assert!(told.contains(expected), "{told}");
    cluster.engine.apply(Delta::PodDelete("a1-0".to_owned()));
    assert_eq!(cycle(&mut cluster, 3_701), [""; 0]);
    // 0.72 hours half an hour and a half-life later.
    assert!(cluster.engine.plugins_wake_at_s().is_some());
    assert_eq!(cycle(&mut cluster, 7_400), ["a2-0 n1"]);
}

#[test]
fn in_a_queue_that_keeps_its_order_the_next_one_is_first() {
    let mut cluster = start("allocate, backfill", "jobs=1");
    cluster.apply(queue("default").in_order(true));
    for (at, (name, user)) in [("a1", "ada"), ("a2", "ada"), ("b1", "bob")]
        .into_iter()
        .enumerate()
    {
        comes(&mut cluster, name, user, (1, at as i64));
    }
    assert_eq!(cycle(&mut cluster, 10), ["a1-0 n1", "b1-0 n1"]);
}

#[test]
fn nobody_is_evicted_for_a_job_whose_user_may_have_no_more() {
    let evictions = |limits: &str| {
        let mut cluster = start("allocate, preempt", limits);
        cluster.apply(PriorityClassObject {
            name: "high".to_owned(),
            value: 100,
            ..PriorityClassObject::default()
        });
        comes(&mut cluster, "low", "bob", (7, 1));
        comes(&mut cluster, "a1", "ada", (1, 2));
        assert_eq!(cycle(&mut cluster, 10).len(), 8);
        cluster.apply(
            group("a2", 1)
                .user("ada")
                .priority_class("high")
                .created_s(3),
        );
        cluster.apply(pod("a2-0", "1c").group("a2").priority(100).created_s(3));
        cluster.apply(group("low", 1).user("bob").created_s(1));
        let decisions = cluster.engine.cycle(20);
        decisions.evictions.len()
    };
    assert_eq!(evictions("jobs=9"), 1, "it would be otherwise");
    assert_eq!(evictions("jobs=1"), 0);
}

/// Jobs that are not admitted keep no room from others, and those of one user that are admitted no more than he may have.
#[test]
fn no_more_of_a_user_is_admitted_than_may_run() {
    let mut cluster = start(PLACE, "jobs=2");
    for at in 0..5 {
        let name = format!("a{at}");
        cluster.apply(
            group(&name, 1)
                .waiting()
                .user("ada")
                .created_s(at)
                .min_resources(Some(vec![("cpu".to_owned(), 1_000)])),
        );
    }
    cycle(&mut cluster, 10);
    let jobs = cluster.engine.state().population().jobs();
    let admitted = jobs.filter(|(_, job)| !job.is_pending()).count();
    assert_eq!(admitted, 2);
}

/// Whoever may write PodGroups, and so name users, takes nothing from users who are told apart: a name that he makes up has the limits of
/// everybody, and those beyond the most that are told apart have them together.
#[test]
fn made_up_names_have_no_more_than_the_most_that_are_told_apart() {
    let mut cluster = Cluster::under(&conf(PLACE, "jobs=1")).with(node("n1", "999c 8Gi pods=999"));
    for at in 0..300 {
        comes(
            &mut cluster,
            &format!("j{at}"),
            &format!("user-{at}"),
            (1, at),
        );
    }
    assert_eq!(cycle(&mut cluster, 10).len(), 257);
}

#[test]
fn limits_hold_although_a_text_of_another_process_is_heard_of_later() {
    for limits in ["jobs=1", "cpu=1"] {
        let mut cluster = start(PLACE, limits);
        for (at, (name, user)) in [("b1", "bob"), ("a1", "ada"), ("a2", "ada")]
            .into_iter()
            .enumerate()
        {
            comes(&mut cluster, name, user, (1, at as i64));
        }
        assert_eq!(cycle(&mut cluster, 10), ["b1-0 n1", "a1-0 n1"], "{limits}");
        cluster.engine.apply(Delta::KeptText {
            topic: KeptTopic::Use,
            namespace: "ns".to_owned(),
            name: "used".to_owned(),
            text: Some("{\"format\":1,\"asOf\":5,\"measure\":\"cpu=1\"}\n".to_owned()),
        });
        assert_eq!(cycle(&mut cluster, 20), [""; 0], "{limits}");
        let told = message(&cluster.engine, "a2");
        assert!(told.contains("user ada has 1"), "{limits}: {told}");
        cluster.engine.apply(Delta::PodDelete("a1-0".to_owned()));
        assert_eq!(cycle(&mut cluster, 30), ["a2-0 n1"], "{limits}");
    }
}

/// As for queues (spec/07 §5): what is decided and may be refused makes no room yet.
#[test]
fn an_eviction_that_may_be_refused_gives_its_user_no_room_before_its_pod_is_seen_to_go() {
    for (limits, pods) in [("jobs=1", 1), ("cpu=2", 2)] {
        for is_refused in [true, false] {
            let text = conf(PLACE, limits);
            let text = text.replace("{name: conformance}", "{name: runtimelimit}");
            let mut cluster = Cluster::under(&text).with(node("n1", "8c 8Gi pods=99"));
            cluster.apply(
                group("a1", pods)
                    .user("ada")
                    .annotations(&[(RUN_TIME_LIMIT, "10s")]),
            );
            for at in 0..pods {
                let pod = pod(&format!("a1-{at}"), "1c").group("a1");
                cluster.apply(pod.on("n1").scheduled_s(Some(100)));
            }
            comes(&mut cluster, "a2", "ada", (1, 5));
            assert_eq!(cycle(&mut cluster, 139), [""; 0]);
            let decisions = cluster.engine.cycle(140);
            assert_eq!(decisions.evictions.len(), pods as usize, "{limits}");
            assert_eq!(decisions.binds.len(), 0, "{limits}");
            for at in 0..pods {
                let (uid, message) = (format!("a1-{at}"), "no".to_owned());
                let at_s = 141;
                cluster.engine.apply(match is_refused {
                    true => Delta::EvictFailed { uid, message, at_s },
                    false => Delta::PodDelete(uid),
                });
            }
            let expected: &[&str] = if is_refused { &[] } else { &["a2-0 n1"] };
            assert_eq!(cycle(&mut cluster, 142), expected, "{limits}");
        }
    }
}

#[test]
fn actions_that_evict_give_a_user_no_more_jobs_than_he_may_have() {
    for action in ["gangpreempt", "gangreclaim", "preempt", "reclaim"] {
        let mut cluster = start(&format!("enqueue, {action}"), "jobs=1");
        comes(&mut cluster, "a1", "ada", (1, 5));
        comes(&mut cluster, "a2", "ada", (1, 6));
        let placed = cycle(&mut cluster, 10);
        assert!(placed.len() <= 1, "{action}: {placed:?}");
        let placed = [placed, cycle(&mut cluster, 11), cycle(&mut cluster, 12)].concat();
        assert_eq!(placed, ["a1-0 n1"], "{action}");
    }
}

#[test]
fn a_job_counts_while_the_node_of_its_pod_is_gone() {
    let mut cluster = start(PLACE, "jobs=1").with(node("n2", "8c 8Gi pods=99"));
    comes(&mut cluster, "a1", "ada", (1, 5));
    let told = cycle(&mut cluster, 10);
    cluster
        .engine
        .apply(Delta::NodeDelete(told[0].replace("a1-0 ", "")));
    comes(&mut cluster, "a2", "ada", (1, 6));
    assert_eq!(cycle(&mut cluster, 11), [""; 0]);
    cluster.engine.apply(Delta::PodDelete("a1-0".to_owned()));
    assert_eq!(cycle(&mut cluster, 12).len(), 1);
}

/// Pods come, run and end. Nobody has more than he may, and what is decided under sleep is what trying everybody decides.
#[test]
fn nobody_has_more_than_he_may_and_jobs_that_sleep_miss_nothing() {
    for seed in 0..30 {
        let mut dice = Dice(seed);
        let limits = ["jobs=2", "cpu=3", "jobs=3,cpu=4", "hours=0.2;ada: cpu=2"][seed as usize % 4];
        let begin = || start(PLACE, limits);
        let (mut asleep, mut awake) = (begin(), begin());
        asleep.engine.set_full_check_interval_s(Some(i64::MAX));
        awake.engine.set_full_check_interval_s(None);
        let (mut now_s, mut bound) = (10, 0);
        for step in 0..60 {
            now_s += 1 + dice.below(90) as i64;
            let (name, pods) = (format!("j{step}"), 1 + dice.below(3) as usize);
            let user = ["ada", "bob", "eve", ""][dice.below(4) as usize];
            let ends = dice.below(2) == 0;
            for cluster in [&mut asleep, &mut awake] {
                comes(cluster, &name, user, (pods, now_s));
                if ends {
                    cluster.first_bound_ends();
                }
            }
            let [one, all] = [&mut asleep, &mut awake].map(|cluster| cycle(cluster, now_s));
            assert_eq!(one, all, "seed {seed}, step {step}");
            bound += one.len();
            keeps(&asleep.engine, limits, (seed, step));
        }
        assert!(bound > 10, "{bound}");
    }
}

/// Counts what users have, from the pods alone.
fn keeps(engine: &Engine, limits: &str, at: (u64, i32)) {
    let state = engine.state();
    for user in ["ada", "bob", "eve", ""] {
        let jobs = state.population().jobs().map(|(_, job)| job);
        let held = jobs.filter(|job| job.group().is_some_and(|group| group.user == user));
        let held: Vec<i32> = held
            .map(|job| job.allocated_count())
            .filter(|pods| *pods > 0)
            .collect();
        let (jobs, cores) = (held.len(), held.iter().sum::<i32>());
        let most = match limits {
            "jobs=2" => (2, i32::MAX),
            "cpu=3" => (usize::MAX, 3),
            "jobs=3,cpu=4" => (3, 4),
            _ if user == "ada" => (usize::MAX, 2),
            _ => (usize::MAX, i32::MAX),
        };
        assert!(
            jobs <= most.0 && cores <= most.1,
            "{at:?}: {user} has {jobs} jobs, {cores} cores"
        );
    }
}
