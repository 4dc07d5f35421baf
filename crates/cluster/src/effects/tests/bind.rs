use tokio::time::Instant;

use super::*;
use crate::lease::Term;
use pumice_scripted::{client, nobody};

type Respond = fn() -> Answer;

fn bound() -> Outcome {
    Outcome::Bound {
        pod: pod(),
        node: "n1".to_owned(),
        claims: Vec::new(),
    }
}

/// Posts get these answers in order (the last for ever), reads of the pod get the pod.
fn script(posts: Vec<Respond>, pod: Value) -> impl FnMut(&Seen) -> Answer + Send + 'static {
    let mut posts = posts.into_iter().peekable();
    move |seen| match seen.method.as_str() {
        "GET" if pod.is_null() => Answer::refuse(404, "pods \"p\" not found"),
        "GET" => Answer::Json(200, pod.clone()),
        _ => {
            let answer = *posts.peek().expect("an answer");
            if posts.len() > 1 {
                posts.next();
            }
            answer()
        }
    }
}

async fn outcome_of(posts: Vec<Respond>, pod: Value) -> (Outcome, Vec<String>) {
    let mut bench = Bench::new(script(posts, pod)).await;
    bench.effects.submit(bind());
    let outcome = bench.outcome().await;
    assert_eq!((bench.effects.in_flight(), bench.effects.unknown()), (0, 0));
    (outcome, bench.server.lines())
}

fn created() -> Answer {
    Answer::Json(201, json!({"kind": "Status", "status": "Success"}))
}

fn conflict() -> Answer {
    Answer::refuse(409, "pod p is already assigned to node")
}

fn denied() -> Answer {
    Answer::refuse(403, "pods \"p\" is forbidden: exceeded quota: q")
}

fn post() -> String {
    format!("POST {POD}/binding")
}

fn get() -> String {
    format!("GET {POD}")
}

#[tokio::test]
async fn a_binding_carries_uid_annotations_and_node() {
    let mut bench = Bench::new(|_| created()).await;
    bench.effects.submit(bind());
    assert_eq!(bench.outcome().await, bound());
    let log = bench.server.log();
    assert_eq!(bench.server.lines(), [post()]);
    let wanted = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u1", "annotations": {"a/b": "c"},
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    });
    assert_eq!(log[0].body, wanted);
}

#[tokio::test]
async fn a_conflict_on_our_own_node_is_success() {
    let mut bench = Bench::new(script(vec![conflict], pod_json("u1", "n1"))).await;
    bench.effects.submit(bind());
    let by_another = Outcome::BoundByAnother {
        pod: pod(),
        node: "n1".to_owned(),
    };
    assert_eq!(bench.outcome().await, by_another);
    assert_eq!(bench.outcome().await, bound());
    assert_eq!(bench.server.lines(), [post(), get()]);
}

#[tokio::test]
async fn a_conflict_is_settled_by_reading_the_pod() {
    let mut deleting = pod_json("u1", "");
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut gated = pod_json("u1", "");
    gated["spec"]["schedulingGates"] = json!([{"name": "gate"}]);
    let cases = [
        (
            pod_json("u1", "n2"),
            BindFailure::BoundElsewhere("n2".to_owned()),
        ),
        (pod_json("u2", ""), BindFailure::PodReplaced),
        (deleting, BindFailure::PodGone),
        (gated, BindFailure::Rejected),
        (Value::Null, BindFailure::PodGone),
    ];
    for (pod, wanted) in cases {
        let (outcome, lines) = outcome_of(vec![conflict], pod).await;
        assert_eq!(failure(outcome).0, wanted);
        assert_eq!(lines, [post(), get()]);
    }
}

#[tokio::test]
async fn refusals_are_told_apart_and_not_repeated() {
    let cases: [(Respond, BindFailure, &str); 3] = [
        (
            || Answer::refuse(404, "not found"),
            BindFailure::PodGone,
            "not found",
        ),
        (denied, BindFailure::Denied, "exceeded quota: q"),
        (|| Answer::refuse(422, "bad"), BindFailure::Rejected, "bad"),
    ];
    for (answer, wanted, text) in cases {
        let (outcome, lines) = outcome_of(vec![answer], pod_json("u1", "")).await;
        let (failure, message) = failure(outcome);
        assert_eq!(failure, wanted);
        assert!(message.contains(text), "{message} lacks {text}");
        assert_eq!(lines, [post()]);
    }
}

#[tokio::test]
async fn a_bind_refused_by_the_role_is_posted_again_since_the_server_may_be_starting() {
    let denied: Respond = || rbac("create", "pods/binding");
    let (outcome, lines) = outcome_of(vec![denied, created], pod_json("u1", "")).await;
    assert_eq!(outcome, bound());
    assert_eq!(lines, [post(), post()]);
    let (outcome, _) = outcome_of(vec![denied; 100], pod_json("u1", "")).await;
    let (failure, message) = failure(outcome);
    assert_eq!(failure, BindFailure::GaveUp);
    let rule = "grant create on pods/binding";
    assert!(message.contains(rule), "{message} lacks {rule}");
}

#[tokio::test]
async fn a_server_error_is_tried_again() {
    let posts: Vec<Respond> = vec![
        || Answer::refuse(500, "etcdserver: request timed out"),
        || Answer::refuse(401, "token"),
        created,
    ];
    let (outcome, lines) = outcome_of(posts, pod_json("u1", "")).await;
    assert_eq!(outcome, bound());
    assert_eq!(lines, [post(), post(), post()]);
}

#[tokio::test]
async fn retry_after_stops_all_binds_for_its_time() {
    let mut posts = 0;
    let script = move |_: &Seen| {
        posts += 1;
        if posts == 1 {
            Answer::RetryAfter(429, 1)
        } else {
            created()
        }
    };
    let mut bench = Bench::new(script).await;
    bench.effects.submit(bind());
    assert_eq!(bench.outcome().await, bound());
    let log = bench.server.log();
    assert_eq!(log.len(), 2);
    assert!(log[1].at - log[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn after_a_lost_answer_the_pod_is_read_and_the_same_binding_posted_again() {
    for lost in [|| Answer::Cut, || Answer::Silence] {
        let (outcome, lines) = outcome_of(vec![lost, created], pod_json("u1", "")).await;
        assert_eq!(outcome, bound());
        assert_eq!(lines, [post(), get(), post()]);
    }
}

#[tokio::test]
async fn a_lost_bind_that_has_landed_is_success_without_a_second_post() {
    let (outcome, lines) = outcome_of(vec![|| Answer::Silence], pod_json("u1", "n1")).await;
    assert_eq!(outcome, bound());
    assert_eq!(lines, [post(), get()]);
}

#[tokio::test]
async fn a_failure_is_held_back_while_an_earlier_request_may_still_land() {
    let posts: Vec<Respond> = vec![|| Answer::Silence, denied];
    let mut options = options();
    options.settle_after = Duration::from_secs(60);
    let script_1 = script(posts, pod_json("u1", ""));
    let mut bench = Bench::with(script_1, options, TermWatch::always()).await;
    bench.effects.submit(bind());
    bench.server.until("POST", 2).await;
    assert_eq!((bench.effects.in_flight(), bench.effects.unknown()), (1, 1));
    // The first request lands now.
    bench
        .server
        .change(script(vec![denied], pod_json("u1", "n1")));
    assert_eq!(bench.outcome().await, bound());
}

#[tokio::test]
async fn a_failure_is_told_once_nothing_can_land_any_more() {
    let posts: Vec<Respond> = vec![|| Answer::Silence, denied];
    let mut bench = Bench::new(script(posts, pod_json("u1", ""))).await;
    let start = Instant::now();
    bench.effects.submit(bind());
    assert_eq!(failure(bench.outcome().await).0, BindFailure::Denied);
    assert!(start.elapsed() >= options().settle_after);
    let log = bench.server.log();
    assert_eq!(log.last().map(|seen| seen.method.as_str()), Some("GET"));
}

#[tokio::test]
async fn nothing_is_told_while_the_pod_cannot_be_read() {
    let unreadable = |seen: &Seen| match seen.method.as_str() {
        "POST" => Answer::Cut,
        _ => Answer::refuse(500, "down"),
    };
    let mut bench = Bench::new(unreadable).await;
    bench.effects.submit(bind());
    // Beyond the bound on posting and on settling.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(bench.outcomes.try_recv().is_err());
    assert_eq!(bench.effects.unknown(), 1);
    bench.server.change(script(vec![created], Value::Null));
    assert_eq!(failure(bench.outcome().await).0, BindFailure::PodGone);
    assert_eq!(bench.effects.unknown(), 0);
}

#[tokio::test]
async fn without_a_connection_nothing_is_in_doubt_and_the_bind_fails_at_its_bound() {
    let (sender, mut outcomes) = unbounded_channel();
    let mut options = options();
    options.bind_timeout = Duration::from_millis(500);
    let term = TermWatch::always();
    let sight = Sight::default();
    let effects = start(client(nobody()), options, term, sender, Arc::new(()), sight);
    effects.submit(bind());
    let outcome = outcomes.recv().await.expect("effects run");
    assert_eq!(failure(outcome).0, BindFailure::GaveUp);
    assert_eq!(effects.unknown(), 0);
}

#[tokio::test]
async fn without_a_term_nothing_is_sent() {
    let (_sender, term) = TermWatch::new(Duration::from_secs(10));
    let mut bench = Bench::with(|_| created(), options(), term).await;
    bench.effects.submit(bind());
    let (failure, message) = failure(bench.outcome().await);
    assert_eq!(
        (failure, message.as_str()),
        (BindFailure::GaveUp, "no longer the leader")
    );
    bench.written([condition("Unschedulable", "no room")]).await;
    assert!(bench.server.lines().is_empty());
}

#[tokio::test]
async fn a_write_waits_while_the_term_is_shorter_than_its_deadline() {
    let mut options = options();
    options.request_timeout = Duration::from_secs(50);
    let (sender, term) = TermWatch::new(Duration::from_secs(100));
    let end = |seconds| Term::Until(Instant::now() + Duration::from_secs(seconds));
    sender.send_replace(end(40));
    let mut bench = Bench::with(|_| created(), options, term).await;
    bench.effects.submit(bind());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(bench.server.lines().is_empty());
    sender.send_replace(end(100));
    assert_eq!(bench.outcome().await, bound());
}

#[tokio::test]
async fn a_held_write_fails_when_the_term_ends() {
    let (sender, term) = TermWatch::new(Duration::from_secs(10));
    sender.send_replace(Term::Until(Instant::now() + Duration::from_millis(300)));
    let mut bench = Bench::with(|_| created(), options(), term).await;
    bench.effects.submit(bind());
    assert_eq!(failure(bench.outcome().await).0, BindFailure::GaveUp);
    assert!(bench.server.lines().is_empty());
}

#[tokio::test]
async fn many_binds_are_each_posted_once() {
    let mut bench = Bench::new(|_| created()).await;
    for i in 0..300 {
        let Write::Bind(mut request) = bind() else {
            unreachable!("bind makes a bind");
        };
        request.pod.name = format!("p{i}");
        request.pod.uid = format!("u{i}");
        bench.effects.submit(Write::Bind(request));
    }
    bench.effects.idle().await;
    let mut lines = bench.server.lines();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((lines.len(), bench.server.log().len()), (300, 300));
    for _ in 0..300 {
        assert!(matches!(
            bench.outcomes.try_recv(),
            Ok(Outcome::Bound { .. })
        ));
    }
}

#[tokio::test]
async fn a_bind_that_was_taken_back_while_it_waited_is_not_sent_again() {
    let throttled = || Answer::RetryAfter(429, 1);
    let mut bench = Bench::new(script(vec![throttled; 100], pod_json("u1", ""))).await;
    bench.effects.submit(bind());
    bench.server.until("POST", 1).await;
    assert!(bench.effects.recall("u1", "the node is gone"));
    let (failure, message) = failure(bench.outcome().await);
    assert_eq!(failure, BindFailure::Outdated);
    assert_eq!(message, "the node is gone");
    assert_eq!(bench.server.lines(), [post()], "nothing was in doubt");
    assert!(!bench.effects.recall("u1", "again"), "it has ended");
}

#[tokio::test]
async fn a_bind_that_was_taken_back_too_late_fails_only_when_it_cannot_land_any_more() {
    let lost = || Answer::Silence;
    let mut bench = Bench::new(script(vec![lost; 100], pod_json("u1", ""))).await;
    let sent = Instant::now();
    bench.effects.submit(bind());
    bench.server.until("POST", 1).await;
    assert!(bench.effects.recall("u1", "cordoned"));
    let (failure, _) = failure(bench.outcome().await);
    assert_eq!(failure, BindFailure::Outdated);
    assert!(sent.elapsed() >= options().settle_after, "in doubt so long");
    assert_eq!(bench.server.all("POST").len(), 1);
    // One that landed all the same is a success.
    let mut bench = Bench::new(script(vec![lost; 100], pod_json("u1", "n1"))).await;
    bench.effects.submit(bind());
    bench.server.until("POST", 1).await;
    assert!(bench.effects.recall("u1", "cordoned"));
    assert_eq!(bench.outcome().await, bound());
}
