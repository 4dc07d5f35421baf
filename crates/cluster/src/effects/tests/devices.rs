//! Stamps, who waits for whom, and clean-up.

use pumice_devices::InFlightGuard;

use super::*;

fn created() -> Answer {
    Answer::Json(201, json!({"kind": "Status", "status": "Success"}))
}

fn pod_named(name: &str) -> PodRef {
    PodRef {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: format!("u-{name}"),
    }
}

fn guard(kind: u32, content: &str) -> InFlightGuard {
    InFlightGuard {
        kind,
        content: content.to_owned(),
        waits: true,
    }
}

fn with(name: &str, node: &str, devices: BindingAnnotations) -> Write {
    Write::Bind(BindRequest {
        pod: pod_named(name),
        node: node.to_owned(),
        devices,
        volumes: None,
        claims: Vec::new(),
    })
}

fn guarded(name: &str, node: &str, guard: InFlightGuard) -> Write {
    let guard = Some(guard);
    with(
        name,
        node,
        BindingAnnotations {
            guard,
            ..BindingAnnotations::default()
        },
    )
}

fn stamped(name: &str, node: &str) -> Write {
    let mark = |key: &'static str, value| Annotation::new(key, value);
    let annotations = vec![
        text_mark("v/ids", "GPU-a,NVIDIA,3000,50:"),
        mark("v/time", AnnotationValue::Sequence),
        mark("v/bind-time", AnnotationValue::Seconds),
        mark("v/assume-time", AnnotationValue::Nanos),
    ];
    let devices = BindingAnnotations {
        annotations,
        ..BindingAnnotations::default()
    };
    with(name, node, devices)
}

/// The annotation as a number.
fn number(seen: &Seen, key: &str) -> u64 {
    let text = seen.body["metadata"]["annotations"][key].as_str();
    text.expect(key).parse().expect("a number")
}

/// Names of the pods whose Binding was posted, in order.
fn posted(bench: &Bench) -> Vec<String> {
    let name = |seen: Seen| seen.path.split('/').nth(6).unwrap_or_default().to_owned();
    bench.server.all("/binding").into_iter().map(name).collect()
}

impl Bench {
    /// Waits until so many binds wait for their node.
    async fn waiting(&self, count: usize) {
        while self.effects.waiting() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn told_bound(&mut self, name: &str) {
        match self.outcome().await {
            Outcome::Bound { pod, .. } => assert_eq!(pod.name, name),
            other => panic!("{other:?}, wanted {name} bound"),
        }
    }
}

#[tokio::test]
async fn times_are_those_of_the_first_request_and_stay_in_all_of_its_bind() {
    let mut posts = 0;
    let script = move |_: &Seen| {
        posts += 1;
        match posts {
            1 => Answer::refuse(500, "etcdserver: request timed out"),
            2 => Answer::RetryAfter(429, 1),
            _ => created(),
        }
    };
    let mut bench = Bench::new(script).await;
    let before = u64::try_from(jiff::Timestamp::now().as_second()).expect("a time");
    bench.effects.submit(stamped("p", "n1"));
    bench.told_bound("p").await;
    let log = bench.server.all("/binding");
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|seen| seen.body == log[0].body));
    let annotations = log[0].body["metadata"]["annotations"].as_object();
    let keys: Vec<&String> = annotations.expect("annotations").keys().collect();
    assert_eq!(keys, ["v/assume-time", "v/bind-time", "v/ids", "v/time"]);
    let seconds = number(&log[0], "v/bind-time");
    assert!((before..=before + 60).contains(&seconds), "{seconds}");
    assert_eq!(number(&log[0], "v/time"), seconds);
    assert_eq!(number(&log[0], "v/assume-time") / 1_000_000_000, seconds);
}

#[tokio::test]
async fn why_a_binding_waits_and_where_its_pod_will_be_is_told_while_it_does() {
    let mut bench = Bench::new(|_| created()).await;
    bench.effects.submit(guarded("a", "n1", guard(1, "x")));
    bench.told_bound("a").await;
    bench.effects.submit(guarded("b", "n1", guard(1, "y")));
    bench.waiting(1).await;
    for name in ["a", "b"] {
        bench.effects.submit(Write::BindWaits {
            pod: pod_named(name),
            node: "n1".to_owned(),
            reason: "Schedulable".to_owned(),
            message: "it waits".to_owned(),
        });
    }
    bench.server.until("/pods/b/status", 2).await;
    let told = bench.server.all("/status");
    let named = told
        .iter()
        .map(|seen| &seen.body["status"]["nominatedNodeName"]);
    let named: Vec<&Value> = named.filter(|node| !node.is_null()).collect();
    assert_eq!(named, [&json!("n1")]);
    assert_eq!(told.len(), 2, "of the pod that waits alone");
}

#[tokio::test]
async fn sequence_numbers_of_a_node_differ_and_go_on_from_those_seen() {
    let mut bench = Bench::new(|_| created()).await;
    let seen = u64::try_from(jiff::Timestamp::now().as_second()).expect("a time") + 5000;
    bench.progress.saw_sequence("n1", seen);
    bench.progress.saw_sequence("n1", u64::MAX);
    let names = ["a", "b", "c", "d"];
    for name in names {
        bench.effects.submit(stamped(name, "n1"));
    }
    bench.effects.submit(stamped("e", "n2"));
    for _ in 0..5 {
        bench.outcome().await;
    }
    let mut numbers: Vec<u64> = bench
        .server
        .all("/binding")
        .iter()
        .map(|seen| number(seen, "v/time"))
        .collect();
    numbers.sort_unstable();
    assert!(numbers[0] < seen, "another node has numbers of its own");
    let wanted: Vec<u64> = (1..=4).map(|more| seen + more).collect();
    assert_eq!(numbers[1..], wanted);
}

#[tokio::test]
async fn the_next_pod_of_the_kind_goes_when_the_first_is_not_on_its_way_any_more() {
    type Release = fn(&PluginProgress);
    let releases: [(&str, Release); 3] = [
        ("answered", |e| e.pod_seen("u-a", "n1", false, false)),
        ("ended", |e| e.pod_seen("u-a", "n1", true, true)),
        ("gone", |e| e.pod_gone("u-a")),
    ];
    for (what, release) in releases {
        let mut bench = Bench::new(|_| created()).await;
        bench.effects.submit(guarded("a", "n1", guard(1, "x")));
        bench.effects.submit(guarded("b", "n1", guard(1, "y")));
        bench.told_bound("a").await;
        bench.waiting(1).await;
        // None of these says anything about its plugin.
        bench.progress.pod_seen("u-a", "n1", true, false);
        bench.progress.pod_seen("u-other", "n1", false, false);
        bench.progress.pod_gone("u-other");
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(posted(&bench), ["a"], "before it has {what}");
        release(&bench.progress);
        bench.told_bound("b").await;
        assert_eq!(bench.effects.waiting(), 0);
    }
}

#[tokio::test]
async fn an_answer_seen_before_that_of_the_api_server_counts() {
    let mut bench = Bench::new(|_| Answer::Silence).await;
    bench.effects.submit(guarded("a", "n1", guard(1, "x")));
    bench.server.until("/binding", 1).await;
    bench.effects.submit(guarded("b", "n1", guard(1, "y")));
    bench.waiting(1).await;
    bench.progress.pod_seen("u-a", "n1", true, false);
    bench.progress.pod_seen("u-a", "n1", false, false);
    let here = |seen: &Seen| match seen.method.as_str() {
        "GET" => Answer::Json(200, pod_json("u-a", "n1")),
        _ => created(),
    };
    bench.server.change(here);
    bench.told_bound("b").await;
    bench.told_bound("a").await;
}

#[tokio::test]
async fn the_next_pod_goes_when_the_bind_of_the_first_fails() {
    let script = |seen: &Seen| match seen.path.contains("/a/") {
        true => Answer::refuse(403, "pods \"a\" is forbidden: exceeded quota: q"),
        false => created(),
    };
    let mut bench = Bench::new(script).await;
    bench.effects.submit(guarded("a", "n1", guard(1, "x")));
    bench.effects.submit(guarded("b", "n1", guard(1, "y")));
    assert!(matches!(bench.outcome().await, Outcome::BindFailed { .. }));
    bench.told_bound("b").await;
}

fn impatient() -> EffectOptions {
    EffectOptions {
        plugin_patience: Duration::from_millis(400),
        ..options()
    }
}

#[tokio::test]
async fn the_next_pod_goes_when_the_plugin_says_nothing_for_long() {
    let mut bench = Bench::with(|_| created(), impatient(), TermWatch::always()).await;
    for name in ["a", "b", "c"] {
        bench.effects.submit(guarded(name, "n1", guard(1, name)));
    }
    for name in ["a", "b", "c"] {
        bench.told_bound(name).await;
        bench
            .progress
            .pod_seen(&format!("u-{name}"), "n1", true, false);
    }
    let log = bench.server.all("/binding");
    for pair in log.windows(2) {
        assert!(pair[1].at - pair[0].at >= impatient().plugin_patience);
    }
}

#[tokio::test]
async fn pods_that_cannot_be_mixed_up_do_not_wait_for_each_other() {
    let mut bench = Bench::new(|_| created()).await;
    let aside = InFlightGuard {
        waits: false,
        ..guard(1, "z")
    };
    let binds = [
        guarded("aside", "n1", aside.clone()),
        guarded("first", "n1", guard(1, "x")),
        guarded("same", "n1", guard(1, "x")),
        guarded("kind", "n1", guard(2, "y")),
        guarded("node", "n2", guard(1, "y")),
        guarded("aside-too", "n1", aside),
        with("none", "n1", BindingAnnotations::default()),
    ];
    let count = binds.len();
    for bind in binds {
        bench.effects.submit(bind);
    }
    for _ in 0..count {
        assert!(matches!(bench.outcome().await, Outcome::Bound { .. }));
    }
}

#[tokio::test]
async fn nobody_passes_one_of_its_kind_that_waits() {
    let mut bench = Bench::new(|_| created()).await;
    bench.effects.submit(guarded("a", "n1", guard(1, "x")));
    bench.effects.submit(guarded("b", "n1", guard(1, "y")));
    // As the first one, which it need not wait for; but the second would wait for ever.
    bench.effects.submit(guarded("c", "n1", guard(1, "x")));
    bench.effects.submit(guarded("d", "n1", guard(1, "x")));
    bench.told_bound("a").await;
    bench.waiting(3).await;
    bench.progress.pod_seen("u-a", "n1", false, false);
    bench.told_bound("b").await;
    bench.waiting(2).await;
    bench.progress.pod_seen("u-b", "n1", false, false);
    for _ in ["c", "d"] {
        assert!(matches!(bench.outcome().await, Outcome::Bound { .. }));
    }
}

#[tokio::test]
async fn a_long_queue_of_one_node_does_not_delay_others() {
    let mut bench = Bench::new(|_| created()).await;
    for at in 0..400 {
        let name = format!("p{at}");
        bench.effects.submit(guarded(&name, "n1", guard(1, &name)));
    }
    bench.effects.submit(guarded("other", "n2", guard(1, "x")));
    bench
        .effects
        .submit(with("plain", "n1", BindingAnnotations::default()));
    let mut bound = Vec::new();
    for _ in 0..3 {
        match bench.outcome().await {
            Outcome::Bound { pod, .. } => bound.push(pod.name),
            other => panic!("{other:?}"),
        }
    }
    bound.sort_unstable();
    assert_eq!(bound, ["other", "p0", "plain"]);
    bench.waiting(399).await;
}

#[tokio::test]
async fn a_pod_that_was_on_its_way_before_this_process_began_is_waited_for_once() {
    let mut bench = Bench::with(|_| created(), impatient(), TermWatch::always()).await;
    bench.progress.pod_seen("u-old", "n1", true, false);
    let start = tokio::time::Instant::now();
    bench.effects.submit(guarded("a", "n1", guard(1, "x")));
    bench.effects.submit(guarded("b", "n2", guard(1, "x")));
    bench.told_bound("b").await;
    bench.waiting(1).await;
    bench.told_bound("a").await;
    assert!(start.elapsed() >= impatient().plugin_patience);
    bench.progress.pod_seen("u-a", "n1", false, false);
    // It is busy still, and stands in nobody's way any more.
    bench.progress.pod_seen("u-old", "n1", true, false);
    bench.effects.submit(guarded("c", "n1", guard(1, "y")));
    bench.told_bound("c").await;
    assert_eq!(bench.effects.waiting(), 0);
}

#[tokio::test]
async fn a_pod_that_goes_away_while_it_waits_fails_at_once() {
    let script = |seen: &Seen| match seen.path.contains("/b/") {
        true => Answer::refuse(404, "pods \"b\" not found"),
        false => created(),
    };
    let mut bench = Bench::new(script).await;
    bench.effects.submit(guarded("a", "n1", guard(1, "x")));
    bench.effects.submit(guarded("b", "n1", guard(1, "y")));
    bench.effects.submit(guarded("c", "n1", guard(1, "x")));
    bench.told_bound("a").await;
    bench.waiting(2).await;
    bench.progress.pod_gone("u-b");
    let mut ends = [bench.outcome().await, bench.outcome().await].map(|end| match end {
        Outcome::Bound { pod, .. } => (pod.name, None),
        Outcome::BindFailed { pod, failure, .. } => (pod.name, Some(failure)),
        other => panic!("{other:?}"),
    });
    ends.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let gone = Some(BindFailure::PodGone);
    assert_eq!(ends, [("b".to_owned(), gone), ("c".to_owned(), None)]);
}

#[tokio::test]
async fn binds_that_wait_fail_when_the_scheduler_ends() {
    let mut bench = Bench::new(|_| created()).await;
    bench.effects.submit(guarded("a", "n1", guard(1, "x")));
    bench.effects.submit(guarded("b", "n1", guard(1, "y")));
    bench.told_bound("a").await;
    bench.waiting(1).await;
    bench.effects.idle().await;
    match bench.outcome().await {
        Outcome::BindFailed {
            failure, message, ..
        } => assert_eq!(
            (failure, message.as_str()),
            (BindFailure::GaveUp, "the scheduler is stopping")
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(posted(&bench), ["a"]);
}

fn clean_up() -> Write {
    Write::CleanUp {
        pod: pod(),
        annotations: vec![("v/list", ""), ("v/time", "18446744073709551615")],
    }
}

#[tokio::test]
async fn a_pod_that_ended_too_early_is_taken_out_of_the_queue_of_its_plugin() {
    let bench = Bench::new(|_| Answer::ok()).await;
    bench.written([clean_up()]).await;
    // The watch may tell of the pod again before it shows the change.
    bench.written([clean_up()]).await;
    let log = bench.server.log();
    assert_eq!(bench.server.lines(), [format!("PATCH {POD}/status")]);
    assert_eq!(log[0].media, "application/merge-patch+json");
    let wanted = json!({"metadata": {
        "uid": "u1",
        "annotations": {"v/list": "", "v/time": "18446744073709551615"},
    }});
    assert_eq!(log[0].body, wanted);
}

#[tokio::test]
async fn under_the_role_of_volcano_the_pod_itself_is_cleaned_up() {
    let bench = Bench::new(|seen: &Seen| match seen.path.ends_with("/status") {
        true => rbac("patch", "pods/status"),
        false => Answer::ok(),
    })
    .await;
    bench.written([clean_up()]).await;
    let wanted = [format!("PATCH {POD}/status"), format!("PATCH {POD}")];
    assert_eq!(bench.server.lines(), wanted);
}

#[tokio::test]
async fn a_clean_up_is_repeated_while_it_may_help() {
    type Respond = fn() -> Answer;
    let replaced = || Answer::refuse(422, "Pod \"p\" is invalid: metadata.uid: Invalid value");
    let cases: [(Respond, usize); 5] = [
        (|| Answer::refuse(500, "down"), 2),
        (|| Answer::Cut, 2),
        (|| Answer::refuse(404, "not found"), 1),
        (replaced, 1),
        (|| rbac("patch", "pods"), 2),
    ];
    for (first, requests) in cases {
        let mut count = 0;
        let script = move |_: &Seen| {
            count += 1;
            if count == 1 { first() } else { Answer::ok() }
        };
        let bench = Bench::new(script).await;
        bench.written([clean_up()]).await;
        assert_eq!(bench.server.log().len(), requests);
    }
}
