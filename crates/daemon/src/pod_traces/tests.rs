//! Parts of a trace leave no gap, and what users write costs a bounded amount.

use pumice_cluster::effects::{PodRef, Write};
use pumice_decider::Effect;
use pumice_engine::Engine;
use pumice_fixtures::{BuildPod as _, ToDelta as _};
use pumice_model::Delta;
use pumice_model::object::{Gates, PodObject};
use pumice_scripted::{Answer, Server};
use serde_json::{Value, json};

use super::book::{PartKind, PodTrace, TraceBook};
use super::*;
use crate::flags::TraceFlags;
use crate::publish::tests::{config, member};

const UID: &str = "0dfd2ce1-2b1c-4ce1-9a2e-6b7b52b1c3f4";

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn seen() -> PodStep {
    PodStep::Seen(Box::new(PodSeen {
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
        created_s: 0,
        at_start: false,
        gated: false,
    }))
}

fn waits(message: &str) -> PodStep {
    PodStep::Waits(WaitReason {
        word: "Unschedulable".to_owned(),
        message: message.to_owned(),
    })
}

fn decision() -> PodDecision {
    PodDecision {
        cycle: 7,
        node: "n1".to_owned(),
        queue: "default".to_owned(),
        group: "ns/g".to_owned(),
    }
}

fn decided() -> PodStep {
    PodStep::Decided(Box::new(decision()))
}

/// What comes of these moments, each at its time in milliseconds.
fn traces(moments: &[(u64, PodStep)]) -> Vec<PodTrace> {
    let mut book = TraceBook::default();
    let mut take = |(at_ms, step): &(u64, PodStep)| {
        book.take(PodMoment {
            at: ms(*at_ms),
            uid: UID.to_owned(),
            step: step.clone(),
        })
    };
    moments.iter().filter_map(&mut take).collect()
}

/// The parts of a trace: name, reason, milliseconds. They are looked at for gaps.
fn parts(trace: &PodTrace) -> Vec<(String, u128)> {
    let mut from = trace.parts[0].from;
    let mut parts = Vec::new();
    for part in &trace.parts {
        assert_eq!(part.from, from, "a gap: {trace:?}");
        from = part.until;
        let name = match &part.kind {
            PartKind::Wait(reason) => format!("wait {}", reason.message),
            PartKind::Decide => "decide".to_owned(),
            PartKind::Bind(stage) => format!("{stage:?}"),
        };
        parts.push((name, (part.until - part.from).as_millis()));
    }
    parts
}

#[test]
fn parts_follow_each_other_with_the_reason_of_each_wait() {
    let moments = [
        (100, seen()),
        (600, waits("no node")),
        // Told again, and nothing new.
        (900, waits("no node")),
        (1000, waits("queue full")),
        (1500, decided()),
        (1503, PodStep::Binds(BindStage::Turn)),
        (1510, PodStep::Binds(BindStage::Request)),
        (1520, waits("refused")),
        (2000, decided()),
        // A writer was told before the deciding thread had said it.
        (1999, PodStep::Binds(BindStage::Turn)),
        (2005, PodStep::Binds(BindStage::Request)),
        (2010, PodStep::Binds(BindStage::Accepted)),
        (2012, PodStep::Bound("n1".to_owned())),
    ];
    let traces = traces(&moments);
    let [trace] = &traces[..] else {
        panic!("one trace: {traces:?}");
    };
    let expected = [
        ("wait no node", 900),
        ("wait queue full", 500),
        ("decide", 3),
        ("Turn", 7),
        ("Request", 10),
        ("wait refused", 480),
        ("decide", 0),
        ("Turn", 5),
        ("Request", 5),
        ("Accepted", 2),
    ];
    let expected = expected.map(|(name, ms)| (name.to_owned(), ms));
    assert_eq!(parts(trace), expected);
    let sum: Duration = trace.parts.iter().map(|part| part.until - part.from).sum();
    assert_eq!(sum, ms(2012 - 100));
}

#[test]
fn a_trace_is_told_by_the_replica_that_decided_it() {
    let bound = || PodStep::Bound("n1".to_owned());
    let cases = [
        (vec![(0, seen()), (5, bound())], false),
        (
            vec![(0, seen()), (1, PodStep::Gated(true)), (5, PodStep::Gone)],
            false,
        ),
        (vec![(0, seen()), (1, decided()), (5, bound())], true),
        (
            vec![(0, seen()), (1, waits("no")), (5, PodStep::Gone)],
            true,
        ),
        // The first moment was lost.
        (vec![(1, decided()), (5, bound())], false),
    ];
    for (moments, is_told) in cases {
        assert_eq!(traces(&moments).len(), usize::from(is_told), "{moments:?}");
    }
}

#[test]
fn reasons_that_change_again_and_again_make_no_trace_long() {
    let flapping = (1..1000).map(|at| (at, waits(&format!("reason {at}"))));
    let end = [(5000, PodStep::Gone)];
    let moments: Vec<_> = [(0, seen())]
        .into_iter()
        .chain(flapping)
        .chain(end)
        .collect();
    let trace = &traces(&moments)[0];
    assert_eq!(trace.parts.len(), 64);
    assert_eq!(parts(trace).iter().map(|(_, ms)| ms).sum::<u128>(), 5000);
}

fn flags(endpoint: String, per_million: u32) -> TraceFlags {
    TraceFlags {
        tracing_endpoint: endpoint,
        tracing_sampling_rate_per_million: per_million,
        tracing_ca_file: None,
    }
}

fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new().expect("metrics"))
}

fn sink(endpoint: String, per_million: u32, metrics: &Arc<Metrics>) -> TraceSink {
    let clock = DeciderClock::start();
    export::begin(&flags(endpoint, per_million), "test", clock, metrics).expect("a sink")
}

/// A feed whose moments nobody takes, and how many there are.
fn beside_nobody() -> (TraceFeed, mpsc::Receiver<PodMoment>, Arc<Metrics>) {
    let (sender, moments) = mpsc::channel(MAX_MOMENTS);
    let metrics = metrics();
    let sink = TraceSink(Some(Arc::new(OpenSink {
        moments: sender,
        clock: DeciderClock::start(),
        metrics: Arc::clone(&metrics),
        lost: Arc::default(),
        per_million: MILLION,
    })));
    (TraceFeed::new(sink), moments, metrics)
}

fn pod(namespace: &str, name: &str) -> PodObject {
    member(name)
        .namespace(namespace)
        .uid(format!("{namespace}/{name}"))
}

#[test]
fn who_makes_many_pods_takes_no_room_from_other_namespaces_and_none_for_good() {
    let (mut feed, mut moments, metrics) = beside_nobody();
    let engine = Engine::new(&config(), "default");
    let mut taken = || {
        let mut seen = 0;
        while let Ok(moment) = moments.try_recv() {
            seen += usize::from(matches!(moment.step, PodStep::Seen(_)));
        }
        seen
    };
    let flood: Vec<Delta> = (0..6000)
        .map(|at| pod("loud", &at.to_string()).delta())
        .collect();
    feed.see(&flood, &engine);
    assert_eq!(taken(), 5000);
    feed.see(&[pod("quiet", "a").delta()], &engine);
    assert_eq!(taken(), 1);
    let text = metrics.text().expect("a page");
    let lost = "pumice_pod_traces_total{result=\"lost\"} 1000";
    assert!(text.contains(lost), "{text}");
    let gone: Vec<Delta> = (0..6000)
        .map(|at| Delta::PodDelete(format!("loud/{at}")))
        .collect();
    feed.see(&gone, &engine);
    taken();
    feed.see(&flood, &engine);
    assert_eq!(taken(), 5000);
}

#[test]
fn messages_are_cut_and_the_same_pods_are_followed_everywhere() {
    let (mut feed, mut moments, _) = beside_nobody();
    let engine = Engine::new(&config(), "default");
    feed.see(&[pod("ns", "a").delta()], &engine);
    let condition = Write::PodCondition {
        pod: PodRef {
            namespace: "ns".to_owned(),
            name: "a".to_owned(),
            uid: "ns/a".to_owned(),
        },
        reason: "Unschedulable".to_owned(),
        message: "ä".repeat(100_000),
    };
    feed.effects(&[Effect::Write(condition)]);
    let _seen = moments.try_recv();
    let moment = moments.try_recv().expect("a reason");
    let PodStep::Waits(reason) = moment.step else {
        panic!("a reason: {moment:?}");
    };
    assert_eq!(reason.message.len(), 300);
    let follows = |per_million| {
        let uids = (0..10_000_u128).map(|at| format!("{:032x}", at * 0x9e37_79b9_7f4a_7c15));
        let uids = uids.filter(|uid| otlp::random_part(uid) % MILLION < per_million);
        uids.count()
    };
    assert_eq!((follows(0), follows(MILLION)), (0, 10_000));
    assert!(
        (500..1500).contains(&follows(100_000)),
        "{}",
        follows(100_000)
    );
}

fn nanos(span: &Value, key: &str) -> u128 {
    span[key].as_str().expect("text").parse().expect("a number")
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let attributes = span["attributes"].as_array()?;
    let found = attributes
        .iter()
        .find(|attribute| attribute["key"] == key)?;
    found["value"]["stringValue"].as_str()
}

/// The parts follow each other without a gap, from the beginning of the root to its end.
fn check_sum(root: &Value, parts: &[Value]) {
    let mut from = nanos(root, "startTimeUnixNano");
    for part in parts {
        assert_eq!(part["parentSpanId"], root["spanId"]);
        assert_eq!(part["traceId"], root["traceId"]);
        assert_eq!(nanos(part, "startTimeUnixNano"), from);
        from = nanos(part, "endTimeUnixNano");
    }
    assert_eq!(from, nanos(root, "endTimeUnixNano"));
}

#[tokio::test]
async fn a_collector_gets_spans_that_sum_to_the_latency_also_when_it_was_busy_at_first() {
    let mut codes = [503].into_iter();
    let collector = Server::start(move |_| Answer::Json(codes.next().unwrap_or(200), json!({})));
    let collector = collector.await;
    let endpoint = collector.url();
    let metrics = metrics();
    let sink = sink(endpoint, 1_000_000, &metrics);
    let mut feed = TraceFeed::new(sink.clone());
    feed.synced();
    let engine = Engine::new(&config(), "default");
    let waiting = member("a").uid(UID).gates(Gates::Foreign);
    let free = waiting.clone().gates(Gates::None);
    let bound = free.clone().node("n1");
    feed.see(&[waiting.delta()], &engine);
    feed.see(&[free.delta()], &engine);
    let clock = DeciderClock::start();
    feed.decided(clock.since_epoch(), UID, decision);
    let stages = [BindStage::Turn, BindStage::Volumes, BindStage::Request];
    for stage in stages {
        sink.binds(UID, stage);
    }
    feed.see(&[bound.delta()], &engine);

    collector.until("/v1/traces", 2).await;
    assert_eq!(collector.lines(), ["POST /v1/traces"; 2]);
    let [first, again] = [0, 1].map(|at| collector.log()[at].body.clone());
    assert_eq!(first, again);
    let spans = &again["resourceSpans"][0]["scopeSpans"][0]["spans"];
    let spans = spans.as_array().expect("spans");
    let (root, parts) = spans.split_first().expect("a root");
    let names: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["name"].as_str())
        .collect();
    let expected = [
        "wait",
        "wait",
        "decide",
        "bind.turn",
        "bind.volumes",
        "bind.request",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        attribute(&parts[0], "pumice.wait.reason"),
        Some("SchedulingGated")
    );
    assert_eq!(attribute(&parts[4], "pumice.wait.reason"), Some("Volumes"));
    assert_eq!(attribute(root, "k8s.pod.name"), Some("a"));
    assert_eq!(attribute(root, "k8s.node.name"), Some("n1"));
    assert_eq!(root["traceId"], UID.replace('-', ""));
    let mut ids: Vec<&str> = spans
        .iter()
        .filter_map(|span| span["spanId"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());
    check_sum(root, parts);
}
