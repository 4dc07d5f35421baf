//! When jobs start. Questions are asked at 200 seconds.

use pumice_plan::{
    AskedQueues, EndBasis, JobMoment, JobStart, PlanBounds, PlanError, StartsView, WhenAbout,
    WhenView, when,
};

use super::asking::{Asking, name};

fn ask_of(asking: &mut Asking, about: &WhenAbout, waits: bool) -> Result<StartsView, PlanError> {
    let bounds = PlanBounds::default();
    let fork = asking.engine.fork();
    when(
        fork,
        &asking.config,
        about,
        200,
        bounds,
        [&|| waits, &|| waits],
    )
}

fn ask(cluster: &str, job: &str) -> Result<WhenView, PlanError> {
    let about = WhenAbout::Job(name(job));
    let mut told = ask_of(&mut Asking::of(cluster), &about, true)?;
    Ok(told.jobs.remove(0))
}

fn told(cluster: &str, job: &str) -> WhenView {
    ask(cluster, job).expect("an answer")
}

/// Seconds until a start, and after whom.
fn start(start: Option<&JobStart>) -> Option<(i64, Vec<&str>)> {
    let start = start?;
    let after = start.after.iter().map(|one| one.job.as_str());
    Some((start.in_s, after.collect()))
}

const FULL: &str = "
    node  n1 2c 8Gi pods=9
    node  n2 2c 8Gi pods=9
    group a
    pod   a1 2c group:a on:n1 since:100 runs:10m limit:20m
    group b
    pod   b1 2c group:b on:n2 since:100 runs:30m limit:1h
";

#[test]
fn a_job_starts_when_enough_has_ended_as_expected_and_at_the_latest_by_limits() {
    let view = told(&format!("{FULL} group one\n pod one1 2c group:one"), "one");
    assert_eq!(start(view.expected.as_ref()), Some((500, vec!["ns/a"])));
    assert_eq!(start(view.latest.as_ref()), Some((1100, vec!["ns/a"])));
    let expected = view.expected.expect("a start");
    assert_eq!(expected.nodes, ["n1"]);
    assert_eq!(expected.at.expect("a time").0, "1970-01-01T00:11:40Z");
    let ends = JobMoment {
        basis: Some(EndBasis::RunTime),
        ..expected.after[0].clone()
    };
    assert_eq!(expected.after, [ends]);
    let message = view.message.expect("a reason");
    assert!(message.contains("the cluster is full"), "{message}");
    assert!(!view.has_started && !view.expected_is_cut && !view.latest_is_cut);
}

#[test]
fn a_gang_waits_for_all_of_its_places_and_whoever_comes_first_gets_them() {
    let cluster = format!(
        "{FULL}
        group first min:2 created:1 runs:1h
        pod   first*2 2c group:first
        group gang  min:2 created:2
        pod   gang*2 2c group:gang"
    );
    let view = told(&cluster, "gang");
    // b ends at 1900, then first runs for an hour.
    let expected = view.expected.as_ref();
    let after = vec!["ns/first", "ns/b", "ns/a"];
    assert_eq!(start(expected), Some((1700 + 3600, after)));
    let ahead: Vec<&str> = expected.map_or(Vec::new(), |start| {
        start.ahead.iter().map(|one| one.job.as_str()).collect()
    });
    assert_eq!(ahead, ["ns/first"]);
    // Nobody says how long the first one runs at most.
    assert_eq!(view.latest, None);
}

#[test]
fn who_says_nothing_or_runs_longer_than_was_said_stays() {
    let cluster = "
        node  n1 2c 8Gi pods=9
        node  n2 2c 8Gi pods=9
        pod   a1 2c on:n1 since:100
        pod   b1 2c on:n2 since:100 runs:1m
        pod   odd 0c on:n2 since:100 runs:soon
        pod   waits 2c
    ";
    let view = told(cluster, "waits");
    assert_eq!((view.expected, view.latest), (None, None));
    assert_eq!((view.unknown, view.overrun), (2, 1));
}

#[test]
fn a_job_that_runs_has_started_and_one_that_fits_starts_now() {
    assert!(told(FULL, "a").has_started);
    let cluster = "node n1 2c 8Gi pods=9 cordoned\n pod p 1c";
    let mut asking = Asking::of(cluster);
    let node = pumice_fixtures::node("n1", "2c 8Gi pods=9");
    asking.engine.apply(pumice_fixtures::ToDelta::delta(node));
    let about = WhenAbout::Job(name("p"));
    let told = ask_of(&mut asking, &about, true).expect("an answer");
    assert_eq!(start(told.jobs[0].expected.as_ref()), Some((0, vec![])));
}

#[test]
fn a_job_that_is_nowhere_is_told_with_its_neighbours() {
    let wrong = ask(FULL, "aa").expect_err("no such job");
    assert!(wrong.to_string().contains("aa"), "{wrong}");
}

#[test]
fn without_patience_nothing_is_promised() {
    let mut asking = Asking::of(&format!("{FULL} group one\n pod one1 2c group:one"));
    let about = WhenAbout::Job(name("one"));
    let told = ask_of(&mut asking, &about, false).expect("an answer");
    let view = &told.jobs[0];
    assert!(view.expected_is_cut && view.expected.is_none());
    assert!(view.latest_is_cut && view.latest.is_none());
}

#[test]
fn of_a_queue_those_that_start_first_come_first_and_those_of_which_nobody_can_say_last() {
    let cluster = format!(
        "{FULL}
        queue other
        group never created:1
        pod   never 9c group:never
        group later created:3
        pod   later 2c group:later
        group first created:2 runs:1m
        pod   first 2c group:first
        group there queue:other
        pod   there 1c group:there"
    );
    let starts = |about: &WhenAbout| -> Vec<(String, String, Option<i64>)> {
        let told = ask_of(&mut Asking::of(&cluster), about, true).expect("an answer");
        assert_eq!(told.not_told, 0);
        let start = |view: WhenView| {
            let in_s = view.expected.map(|start| start.in_s);
            (view.job, view.queue, in_s)
        };
        told.jobs.into_iter().map(start).collect()
    };
    let start = |job: &str, queue: &str, in_s| (job.to_owned(), queue.to_owned(), in_s);
    let about = WhenAbout::Queue {
        queue: "default".to_owned(),
    };
    let expected = [
        start("ns/first", "default", Some(500)),
        start("ns/later", "default", Some(560)),
        start("ns/never", "default", None),
    ];
    assert_eq!(starts(&about), expected);
    let about = WhenAbout::Queues {
        queues: AskedQueues::All,
    };
    let [first, later, never] = expected;
    let elsewhere = start("ns/there", "other", Some(1700));
    assert_eq!(starts(&about), [first, later, elsewhere, never]);
    let nobody = WhenAbout::Queue {
        queue: "nobody".to_owned(),
    };
    let wrong = ask_of(&mut Asking::of(FULL), &nobody, true).expect_err("no such queue");
    assert_eq!(wrong.to_string(), "queue nobody is not known here");
}

#[test]
fn a_job_without_pods_has_not_started_and_nobody_can_say_when() {
    let view = told(&format!("{FULL} group made min:2 waiting"), "made");
    assert!(!view.has_started && view.has_no_pods);
    assert_eq!((view.expected, view.latest), (None, None));
    assert!(!view.expected_is_cut);
}

#[test]
fn a_pod_that_is_being_deleted_ends_and_who_comes_meanwhile_is_not_counted() {
    let cluster = "
        node  n1 2c 8Gi pods=9
        group a
        pod   a1 2c group:a on:n1 going:230
        group w
        pod   w1 2c group:w
    ";
    let view = told(cluster, "w");
    assert_eq!(start(view.expected.as_ref()), Some((30, vec!["ns/a"])));
    assert_eq!(start(view.latest.as_ref()), Some((30, vec!["ns/a"])));
    assert_eq!((view.unknown, view.overrun), (0, 0));
    let basis = view.expected.and_then(|start| start.after[0].basis);
    assert_eq!(basis, Some(EndBasis::Deletion));
}

#[test]
fn who_starts_at_the_same_moment_is_not_ahead_and_the_latest_start_is_not_before_the_expected_one()
{
    let cluster = "
        node  n1 2c 8Gi pods=9
        group a
        pod   a1 2c group:a on:n1 since:100 runs:10m limit:20m
        group first created:1
        pod   first 1c group:first
        group second created:2
        pod   second 1c group:second
    ";
    for job in ["first", "second"] {
        let view = told(cluster, job);
        let expected = view.expected.expect("a start");
        assert!(expected.ahead.is_empty(), "{expected:?}");
        assert!(view.latest.expect("a start").in_s >= expected.in_s);
        assert_eq!(view.queue, "default");
    }
}

#[test]
fn a_question_is_read_as_it_was_written_and_half_of_one_asks_nothing() {
    let queue = "q".to_owned();
    let queues = AskedQueues::All;
    for about in [
        WhenAbout::Job(name("one")),
        WhenAbout::Queue { queue },
        WhenAbout::Queues { queues },
    ] {
        let text = serde_json::to_string(&about).expect("JSON");
        let read: WhenAbout = serde_json::from_str(&text).expect("a question");
        assert_eq!(read, about, "{text}");
    }
    for odd in [r#"{}"#, r#"{"queues":"some"}"#, r#"{"namespace":"ns"}"#] {
        assert!(serde_json::from_str::<WhenAbout>(odd).is_err(), "{odd}");
    }
}

#[test]
fn who_says_nothing_is_guessed_by_jobs_like_him_where_that_is_configured() {
    const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
        tiers: [{plugins: [{name: gang}, {name: predicates}, \
        {name: runtimeestimate, arguments: {runtimeestimate.minJobs: 1}}]}]\n";
    let kept = "{\"format\":1}\n{\"namespace\":\"ns\",\"name\":\"a\",\"ran\":[60,1500]}\n";
    let cluster = "
        node  n1 2c 8Gi pods=9
        group a-1
        pod   a1 2c group:a-1 on:n1 since:100
        pod   waits 2c
    ";
    let mut asking = Asking::under(CONF, cluster);
    asking.engine.apply(pumice_model::Delta::KeptText {
        topic: pumice_model::KeptTopic::RunTimes,
        namespace: "ns".to_owned(),
        name: "kept".to_owned(),
        text: Some(kept.to_owned()),
    });
    asking.engine.cycle(200);
    let told = ask_of(&mut asking, &WhenAbout::Job(name("waits")), true).expect("an answer");
    let view = &told.jobs[0];
    assert_eq!(start(view.expected.as_ref()), Some((1_400, vec!["ns/a-1"])));
    let basis = view
        .expected
        .as_ref()
        .and_then(|start| start.after[0].basis);
    assert_eq!(basis, Some(EndBasis::Guess));
    // What is guessed is no limit.
    assert_eq!((&view.latest, view.unknown), (&None, 0));
}
