//! What is written, and what is not, for decisions and outcomes.

use std::sync::mpsc::{Receiver, channel};

use pumice_conf::{Config, DEFAULT_CONF};
use pumice_model::object::{GroupObject, GroupPhase, NodeObject, PodObject, PodPhase, QueueObject};

use super::*;
use pumice_cluster::effects::BindFailure;

/// The built-in configuration.
pub fn config() -> Config {
    let parsed = pumice_conf::parse(DEFAULT_CONF, &pumice_engine::REGISTRY);
    parsed.config.expect("the built-in configuration is valid")
}

/// A ready node with that many milli-cores.
pub fn node(name: &str, cpu: i64) -> Delta {
    let allocatable = [("cpu", cpu), ("memory", 1 << 40), ("pods", 100)];
    Delta::NodeApply(Box::new(NodeObject {
        name: name.to_owned(),
        allocatable: allocatable.map(|(n, a)| (n.to_owned(), a)).to_vec(),
        ..NodeObject::default()
    }))
}

/// The default queue.
pub fn queue() -> Delta {
    Delta::QueueApply(Box::new(QueueObject {
        name: "default".to_owned(),
        weight: 1,
        reclaimable: true,
        ..QueueObject::default()
    }))
}

/// A pod of gang `g` that wants one core.
pub fn member(name: &str) -> PodObject {
    PodObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        ours: true,
        group: Some("g".to_owned()),
        request: vec![("cpu".to_owned(), 1000), ("pods".to_owned(), 1)],
        container_count: 1,
        ..PodObject::default()
    }
}

/// Gang `g` of that many.
pub fn gang(min_member: i32) -> Delta {
    let mut group = GroupObject {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        uid: "g".to_owned(),
        queue: "default".to_owned(),
        min_member,
        ..GroupObject::default()
    };
    group.status.phase = GroupPhase::Inqueue;
    Delta::GroupApply(Box::new(group))
}

/// That pod as a change.
pub fn apply(pod: PodObject) -> Delta {
    Delta::PodApply(Box::new(pod))
}

/// The pod on a node; with an owner that, as its controller, would make it anew.
fn runs(owned: bool, pod: PodObject) -> Delta {
    let owner = ("Job".to_owned(), "j".to_owned());
    apply(PodObject {
        node: Some("n1".to_owned()),
        phase: PodPhase::Running,
        owners: vec![owner],
        controlled: owned,
        ..pod
    })
}

/// A publisher whose writes a test sees, and an engine.
pub struct Bench {
    pub publisher: Publisher,
    engine: Engine,
    writes: Receiver<Write>,
}

impl Bench {
    pub fn new(deltas: impl IntoIterator<Item = Delta>) -> Self {
        let (sender, writes) = channel();
        let metrics = Arc::new(Metrics::new().expect("metrics"));
        let (out, journal, clock) = (Out::Kept(sender), Arc::default(), Clock::start());
        let mut engine = Engine::new(&config(), "default");
        engine.set_partial_gang_deadline(300);
        deltas.into_iter().for_each(|delta| engine.apply(delta));
        Self {
            publisher: Publisher::new(out, journal, metrics, clock),
            engine,
            writes,
        }
    }

    /// A cycle and a report; what was written.
    fn at(&mut self, now_s: i64) -> Vec<Write> {
        let decisions = self.publisher.observed_cycle(&mut self.engine, now_s);
        self.publisher
            .publish(&self.engine, &decisions, now_s as f64);
        self.publisher.report(&mut self.engine, now_s);
        self.written()
    }

    pub fn written(&self) -> Vec<Write> {
        self.writes.try_iter().collect()
    }
}

fn evicted(writes: &[Write]) -> Vec<&str> {
    writes
        .iter()
        .filter_map(|write| match write {
            Write::Evict { pod, .. } => Some(pod.name.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_gang_that_stays_partial_is_given_up_after_its_deadline_and_only_pods_of_a_controller_go() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(3)]);
    bench.engine.apply(runs(true, member("a")));
    bench.engine.apply(runs(false, member("b")));
    bench.engine.apply(apply(member("c")));
    assert!(evicted(&bench.at(100)).is_empty());
    // What waits was told by then.
    bench.at(105);
    assert_eq!(
        bench.engine.wake_at_s(),
        Some(400),
        "nothing else wakes a quiet cluster"
    );
    assert!(evicted(&bench.at(399)).is_empty());
    assert_eq!(evicted(&bench.at(400)), ["a"]);
    assert!(
        evicted(&bench.at(401)).is_empty(),
        "the deletion is under way"
    );
    assert!(evicted(&bench.at(999)).is_empty());
    assert_eq!(evicted(&bench.at(1000)), ["a"], "it did not help");
}

#[test]
fn a_gang_that_lost_members_is_never_given_up() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(2)]);
    for name in ["a", "b"] {
        bench.engine.apply(runs(true, member(name)));
    }
    bench.at(100);
    bench.engine.apply(Delta::PodDelete("b".to_owned()));
    let mut big = member("c");
    big.request[0].1 = 9000;
    bench.engine.apply(apply(big));
    for now_s in [101, 500, 10_000] {
        assert!(evicted(&bench.at(now_s)).is_empty());
    }
    assert_eq!(bench.engine.partial_gangs().len(), 1);
    assert_eq!(bench.engine.give_up_gangs(i64::MAX), []);
}

#[test]
fn only_a_pod_that_still_waits_is_told_that_its_binding_failed() {
    let cases = [
        (BindFailure::PodGone, false),
        (BindFailure::PodReplaced, false),
        (BindFailure::BoundElsewhere("n2".to_owned()), false),
        (BindFailure::Denied, true),
        (BindFailure::Rejected, true),
        (BindFailure::GaveUp, true),
        (BindFailure::PreBind, true),
    ];
    let pod = PodRef {
        namespace: "ns".to_owned(),
        name: "p".to_owned(),
        uid: "p".to_owned(),
    };
    for (failure, told) in cases {
        let bench = Bench::new([]);
        bench.publisher.bind_failed(&pod, "n1", &failure, "no");
        let written = bench.written();
        let condition = written
            .iter()
            .any(|w| matches!(w, Write::PodCondition { .. }));
        assert_eq!(condition, told, "{failure:?}");
    }
}

fn events(writes: &[Write]) -> Vec<(&str, &str)> {
    writes
        .iter()
        .filter_map(|write| match write {
            Write::Event {
                reason, message, ..
            } => Some((reason.as_str(), message.as_str())),
            _ => None,
        })
        .collect()
}

#[test]
fn a_pod_bound_by_another_scheduler_says_so() {
    let pod = PodRef {
        namespace: "ns".to_owned(),
        name: "p".to_owned(),
        uid: "p".to_owned(),
    };
    let mut bench = Bench::new([]);
    let elsewhere = BindFailure::BoundElsewhere("n2".to_owned());
    bench.publisher.bind_failed(&pod, "n1", &elsewhere, "no");
    let node = "n1".to_owned();
    let same = Outcome::BoundByAnother { pod, node };
    bench.publisher.on_outcome(&bench.engine, &same);
    let written = bench.written();
    let told = events(&written);
    assert_eq!(told.len(), 2, "{written:?}");
    for ((reason, message), node) in told.into_iter().zip(["n2", "n1"]) {
        assert_eq!(reason, "BoundByAnotherScheduler");
        assert!(
            message.contains(&format!("bound it to node {node}")),
            "{message}"
        );
    }
}

#[test]
fn a_standing_reason_is_an_event_again_and_no_condition() {
    let big = PodObject {
        request: vec![("cpu".to_owned(), 9000), ("pods".to_owned(), 1)],
        group: None,
        ..member("big")
    };
    let mut bench = Bench::new([queue(), node("n1", 2000), apply(big)]);
    bench.at(0);
    let first = bench.at(2);
    let is_condition = |write: &&Write| matches!(write, Write::PodCondition { .. });
    assert_eq!(
        (
            events(&first).len(),
            first.iter().filter(is_condition).count()
        ),
        (1, 1)
    );
    let later = bench.at(2702);
    assert_eq!(events(&later), events(&first));
    assert_eq!(later.iter().filter(is_condition).count(), 0);
}

fn group_phases(writes: &[Write]) -> Vec<GroupPhase> {
    let phase = |write: &Write| match write {
        Write::GroupStatus { status, .. } => Some(status.phase),
        _ => None,
    };
    writes.iter().filter_map(phase).collect()
}

#[test]
fn a_status_that_was_given_up_is_made_anew_after_a_pause() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1), apply(member("a"))]);
    let now_s = bench.publisher.clock.now_s();
    assert_eq!(group_phases(&bench.at(now_s)), [GroupPhase::Inqueue]);
    let failed = Outcome::GroupStatusFailed {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        message: "no".to_owned(),
    };
    bench.publisher.on_outcome(&bench.engine, &failed);
    let due_s = bench.publisher.due_s().expect("it is tried again");
    assert!(group_phases(&bench.at(due_s - 1)).is_empty());
    assert_eq!(group_phases(&bench.at(due_s)), [GroupPhase::Inqueue]);
    assert_eq!(bench.publisher.due_s(), None);
}

#[test]
fn a_status_of_a_group_that_is_gone_keeps_nobody_waiting() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1), apply(member("a"))]);
    bench.at(10);
    let (namespace, name) = ("ns".to_owned(), "g".to_owned());
    let gone = Outcome::GroupStatusNotNeeded { namespace, name };
    bench.publisher.on_outcome(&bench.engine, &gone);
    // What a watch shows is believed again.
    let mut shown = gang(1);
    bench.publisher.correct(&bench.engine, &mut shown);
    assert_eq!(shown, gang(1));
}

#[test]
fn a_status_on_its_way_is_newer_than_the_one_a_watch_shows() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1), apply(member("a"))]);
    bench.at(10);
    let shown = |bench: &mut Bench, mut delta: Delta| {
        bench.publisher.correct(&bench.engine, &mut delta);
        match delta {
            Delta::GroupApply(group) => group.status.conditions.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(shown(&mut bench, gang(1)), 1, "Scheduled");
    // The newest has arrived: from now on the watch is believed.
    let job = bench.engine.state().job_by_key("ns", "g").expect("a job");
    let mut arrived = gang(1);
    if let Delta::GroupApply(group) = &mut arrived {
        group.status = bench.engine.state().job(job).status.clone();
    }
    shown(&mut bench, arrived);
    assert_eq!(shown(&mut bench, gang(1)), 0);
}

#[test]
fn the_series_of_a_job_go_when_its_index_means_another() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1), apply(member("a"))]);
    bench.at(10);
    let pod = member("a").uid;
    bench.engine.apply(Delta::PodDelete(pod));
    bench
        .engine
        .apply(Delta::GroupDelete("ns".to_owned(), "g".to_owned()));
    let Delta::GroupApply(mut group) = gang(1) else {
        panic!("a group");
    };
    group.name = "h".to_owned();
    bench.engine.apply(Delta::GroupApply(group));
    let mut other = member("b");
    other.group = Some("h".to_owned());
    bench.engine.apply(apply(other));
    bench.at(20);
    let text = bench.publisher.metrics.text().expect("text");
    assert!(
        text.contains("job_name=\"h\"") && !text.contains("job_name=\"g\""),
        "{text}"
    );
}

#[test]
fn objects_that_cannot_be_read_are_counted_until_they_can() {
    let mut bench = Bench::new([]);
    let about = |name: &str| ObjectRef {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: String::new(),
    };
    let problem = Problem {
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
        bench.publisher.report_problems(about(name), problems);
        let text = bench.publisher.metrics.text().expect("text");
        let line = format!("pumice_unreadable_objects{{kind=\"Pod\"}} {count}");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}
