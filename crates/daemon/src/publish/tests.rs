//! Numbers that come and go with what they are about.

use pumice_conf::{Config, DEFAULT_CONF};
use pumice_fixtures::{BuildGroup as _, BuildPod as _, ToDelta as _, group};
use pumice_model::Delta;
use pumice_model::object::{PodObject, PriorityClassObject};

use super::*;

/// The built-in configuration.
pub fn config() -> Config {
    let parsed = pumice_conf::parse(DEFAULT_CONF, &pumice_engine::REGISTRY);
    parsed.config.expect("the built-in configuration is valid")
}

/// A ready node with that many milli-cores.
pub fn node(name: &str, cpu: i64) -> Delta {
    pumice_fixtures::node(name, &format!("cpu={cpu} 64Gi pods=100")).delta()
}

/// The default queue.
pub fn queue() -> Delta {
    pumice_fixtures::queue("default").delta()
}

/// A pod of gang `g` that wants one core.
pub fn member(name: &str) -> PodObject {
    pumice_fixtures::pod(name, "1c").group("g")
}

/// Gang `g` of that many.
pub fn gang(min_member: i32) -> Delta {
    group("g", min_member).queue("default").delta()
}

/// A publisher that writes nowhere.
fn publisher() -> Publisher {
    let metrics = Arc::new(Metrics::new().expect("metrics"));
    let (journal, queue_gone) = (Arc::default(), Arc::default());
    Publisher::new(
        Out::Nowhere,
        journal,
        metrics,
        DeciderClock::start(),
        queue_gone,
    )
}

#[test]
fn the_series_of_a_job_go_when_its_index_means_another() {
    let mut publisher = publisher();
    let mut engine = Engine::new(&config(), "default");
    let first = [queue(), node("n1", 2000), gang(1), member("a").delta()];
    first.into_iter().for_each(|delta| engine.apply(delta));
    let at = |engine: &mut Engine, publisher: &mut Publisher, now_s: u64| {
        let decisions = engine.cycle(now_s as i64);
        let at = Duration::from_secs(now_s);
        let step = StepResult {
            at,
            ..StepResult::default()
        };
        publisher.record(engine, &decisions, &step);
        publisher.publish_numbers(engine, 0);
    };
    at(&mut engine, &mut publisher, 10);
    engine.apply(Delta::PodDelete(member("a").uid));
    engine.apply(Delta::GroupDelete("ns".to_owned(), "g".to_owned()));
    let Delta::GroupApply(mut group) = gang(1) else {
        panic!("a group");
    };
    group.name = "h".to_owned();
    engine.apply(Delta::GroupApply(group));
    let mut other = member("b");
    other.group = Some("h".to_owned());
    engine.apply(other.delta());
    at(&mut engine, &mut publisher, 20);
    let text = publisher.metrics.text().expect("text");
    assert!(
        text.contains("job_name=\"h\"") && !text.contains("job_name=\"g\""),
        "{text}"
    );
}

#[test]
fn objects_that_cannot_be_read_are_counted_until_they_can() {
    let mut publisher = publisher();
    let about = |name: &str| ObjectRef {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: String::new(),
    };
    let problem = ObjectProblem {
        path: "spec".to_owned(),
        message: "no number".to_owned(),
        help: String::new(),
    };
    let problems = [problem];
    for (name, problems, count) in [
        ("a", &problems[..], 1),
        ("a", &problems[..], 1),
        ("b", &problems[..], 2),
        ("a", &[], 1),
    ] {
        publisher.report_problems(about(name), problems, false);
        let text = publisher.metrics.text().expect("text");
        let line = format!("pumice_unreadable_objects{{kind=\"Pod\"}} {count}");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[test]
fn who_is_evicted_for_whom_stands_among_the_decisions() {
    let conf = "actions: \"allocate, preempt\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n    \
                enablePreemptable: false\n  - name: predicates\n";
    let parsed = pumice_conf::parse(conf, &pumice_engine::REGISTRY);
    let mut engine = Engine::new(&parsed.config.expect("valid"), "default");
    let class = Delta::PriorityClassApply(PriorityClassObject {
        name: "high".to_owned(),
        value: 10,
        ..PriorityClassObject::default()
    });
    let running = member("old").on("n1");
    let lone = member("new").group(None).priority_class("high");
    let objects = [
        class,
        queue(),
        node("n1", 1000),
        gang(1),
        running.delta(),
        lone.delta(),
    ];
    objects.into_iter().for_each(|delta| engine.apply(delta));
    let mut publisher = publisher();
    let step = StepResult::default();
    // It is admitted in the first cycle.
    for now_s in 0..2 {
        let decisions = engine.cycle(now_s);
        publisher.record(&engine, &decisions, &step);
    }
    let journal = publisher.journal.json();
    let entry = &journal["decisions"][0];
    let expected = [
        ("pod", "ns/old"),
        ("node", "n1"),
        ("group", "ns/g"),
        ("action", "preempt"),
        ("evictedFor", "ns/new"),
    ];
    for (key, value) in expected {
        assert_eq!(entry[key], value, "{journal}");
    }
}
