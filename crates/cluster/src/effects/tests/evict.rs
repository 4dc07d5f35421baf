use super::*;
use crate::effects::EvictionMethod;
use crate::effects::event::EventSink;
use crate::effects::evict::{self, PodToEvict};

pub(super) fn evict() -> Write {
    Write::Evict {
        pod: pod(),
        reason: "preempt".to_owned(),
        group: Some(group()),
        beneficiary: Some(ObjectRef {
            name: "big".to_owned(),
            ..group()
        }),
        guarded_by_budget: false,
    }
}

/// An eviction of a pod that a PodDisruptionBudget selects.
fn guarded() -> Write {
    match evict() {
        Write::Evict {
            pod,
            reason,
            group,
            beneficiary,
            ..
        } => Write::Evict {
            pod,
            reason,
            group,
            beneficiary,
            guarded_by_budget: true,
        },
        write => write,
    }
}

/// Answers by method; events are taken.
fn answers(
    patch: fn() -> Answer,
    delete: fn() -> Answer,
) -> impl FnMut(&Seen) -> Answer + Send + 'static {
    move |seen| match seen.method.as_str() {
        "PATCH" => patch(),
        "DELETE" => delete(),
        _ => Answer::ok(),
    }
}

async fn outcome_of(patch: fn() -> Answer, delete: fn() -> Answer) -> (Outcome, Vec<String>) {
    let mut bench = Bench::new(answers(patch, delete)).await;
    bench.effects.submit(evict());
    let outcome = bench.outcome().await;
    let mut lines = bench.server.lines();
    lines.retain(|line| !line.contains("events"));
    (outcome, lines)
}

fn evicted() -> Outcome {
    Outcome::Evicted { pod: pod() }
}

#[tokio::test]
async fn a_victim_is_marked_then_deleted_by_uid_with_events_for_pod_and_group() {
    let bench = Bench::new(|_| Answer::ok()).await;
    bench.written([evict()]).await;
    let mut log = bench.server.log();
    log.retain(|seen| !seen.path.contains("events"));
    let lines: Vec<String> = log.iter().map(Seen::line).collect();
    assert_eq!(
        lines,
        [format!("PATCH {POD}/status"), format!("DELETE {POD}")]
    );
    let conditions = &log[0].body["status"]["conditions"];
    assert_eq!(log[0].body["metadata"]["uid"], "u1");
    let texts = ["type", "status", "reason", "message"];
    let wanted = [
        [
            "Ready",
            "False",
            "Evict",
            "Pod is evicted, because of preempt for PodGroup ns/big",
        ],
        [
            "DisruptionTarget",
            "True",
            "PreemptionByScheduler",
            "volcano: evicted because of preempt for PodGroup ns/big",
        ],
    ];
    for (i, wanted) in wanted.iter().enumerate() {
        assert_eq!(
            texts.map(|text| conditions[i][text].clone()),
            wanted.map(|w| json!(w))
        );
    }
    assert_eq!(log[1].body["preconditions"], json!({"uid": "u1"}));
    let mut events: Vec<(String, String, String)> = Vec::new();
    for seen in bench.server.all("POST /api/v1/namespaces/ns/events") {
        let text = |field: &str| seen.body[field].as_str().unwrap_or_default().to_owned();
        let kind = seen.body["involvedObject"]["kind"]
            .as_str()
            .unwrap_or_default();
        events.push((kind.to_owned(), text("type"), text("message")));
    }
    events.sort_unstable();
    let wanted = [
        (
            "Pod",
            "Warning",
            "Pod is evicted, because of preempt for PodGroup ns/big",
        ),
        ("PodGroup", "Normal", "preempt for PodGroup ns/big"),
    ];
    assert_eq!(
        events,
        wanted.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()))
    );
}

#[tokio::test]
async fn a_victim_that_cannot_be_marked_is_deleted_all_the_same() {
    let denied = || Answer::refuse(403, "webhook denied");
    let (outcome, lines) = outcome_of(denied, Answer::ok).await;
    assert_eq!(outcome, evicted());
    assert_eq!(lines.len(), 2);
}

#[tokio::test]
async fn a_pod_that_is_gone_or_replaced_is_evicted() {
    let refusals: [fn() -> Answer; 4] = [
        || Answer::refuse(404, "not found"),
        || {
            Answer::refuse(
                409,
                "Precondition failed: UID in precondition: a, in object: b",
            )
        },
        || {
            Answer::refuse(
                409,
                "the UID in the precondition (a) does not match the UID in record (b)",
            )
        },
        || {
            Answer::refuse(
                422,
                "Pod \"p\" is invalid: metadata.uid: field is immutable",
            )
        },
    ];
    for refusal in refusals {
        let (outcome, lines) = outcome_of(refusal, Answer::ok).await;
        assert_eq!((outcome, lines.len()), (evicted(), 1));
        let (outcome, lines) = outcome_of(Answer::ok, refusal).await;
        assert_eq!((outcome, lines.len()), (evicted(), 2));
    }
}

#[tokio::test]
async fn a_deletion_that_is_refused_fails_with_the_reason() {
    let (outcome, lines) = outcome_of(Answer::ok, || Answer::refuse(403, "no way")).await;
    let message = "no way (403)".to_owned();
    assert_eq!(
        outcome,
        Outcome::EvictFailed {
            pod: pod(),
            message
        }
    );
    assert_eq!(lines.len(), 2);
}

#[tokio::test]
async fn a_lost_deletion_is_tried_again_without_new_events() {
    let mut deletions = 0;
    let script = move |seen: &Seen| {
        deletions += u32::from(seen.method == "DELETE");
        if seen.method == "DELETE" && deletions == 1 {
            Answer::Cut
        } else {
            Answer::ok()
        }
    };
    let bench = Bench::new(script).await;
    bench.written([evict()]).await;
    assert_eq!(bench.server.all("DELETE").len(), 2);
    assert_eq!(bench.server.all("events").len(), 2);
}

/// The answer of an API server whose budget allows no eviction at this moment.
fn budget_forbids() -> Answer {
    Answer::Json(
        429,
        json!({
            "kind": "Status",
            "status": "Failure",
            "reason": "TooManyRequests",
            "message": "Cannot evict pod as it would violate the pod's disruption budget.",
            "details": {"causes": [{"reason": "DisruptionBudget", "message": "needs 2"}]},
        }),
    )
}

/// What a scheduler with that method writes for that eviction, events left out.
async fn lines_by(
    method: EvictionMethod,
    write: Write,
    mut script: impl FnMut(&Seen) -> Answer + Send + 'static,
) -> (Outcome, Vec<Seen>) {
    let options = EffectOptions {
        eviction_method: method,
        ..options()
    };
    let answer = move |seen: &Seen| match seen.path.ends_with("events") {
        true => Answer::ok(),
        false => script(seen),
    };
    let mut bench = Bench::with(answer, options, TermWatch::always()).await;
    bench.effects.submit(write);
    let outcome = bench.outcome().await;
    let mut log = bench.server.log();
    log.retain(|seen| !seen.path.contains("events"));
    (outcome, log)
}

fn lines_of(log: &[Seen]) -> Vec<String> {
    log.iter().map(Seen::line).collect()
}

#[tokio::test]
async fn the_eviction_api_is_used_where_a_budget_selects_the_pod_or_always_or_never() {
    let post = format!("POST {POD}/eviction");
    let patch = format!("PATCH {POD}/status");
    let delete = format!("DELETE {POD}");
    let evicted_by_api = [post.clone(), patch.clone()];
    let deleted = [patch, delete];
    let cases = [
        (EvictionMethod::Auto, guarded(), &evicted_by_api),
        (EvictionMethod::Auto, evict(), &deleted),
        (EvictionMethod::Delete, guarded(), &deleted),
        (EvictionMethod::EvictionApi, evict(), &evicted_by_api),
    ];
    for (method, write, wanted) in cases {
        let (outcome, log) = lines_by(method, write, |_| Answer::ok()).await;
        assert_eq!(outcome, evicted(), "{method:?}");
        assert_eq!(lines_of(&log), *wanted, "{method:?}");
        if log[0].line() == post {
            assert_eq!(
                log[0].body,
                json!({
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": {"namespace": "ns", "name": "p"},
                    "deleteOptions": {"preconditions": {"uid": "u1"}},
                })
            );
        }
    }
}

#[tokio::test]
async fn a_budget_that_forbids_an_eviction_is_asked_three_times_and_the_pod_is_never_marked() {
    let (outcome, log) = lines_by(EvictionMethod::Auto, guarded(), |_| budget_forbids()).await;
    let message = "Cannot evict pod as it would violate the pod's disruption budget. (429)";
    let failed = Outcome::EvictFailed {
        pod: pod(),
        message: message.to_owned(),
    };
    assert_eq!(outcome, failed);
    let post = format!("POST {POD}/eviction");
    assert_eq!(lines_of(&log), [&*post, &*post, &*post]);
    // One that allows it meanwhile is content.
    let mut asked = 0;
    let script = move |seen: &Seen| {
        asked += u32::from(seen.method == "POST");
        match asked {
            1 => budget_forbids(),
            _ => Answer::ok(),
        }
    };
    let (outcome, log) = lines_by(EvictionMethod::Auto, guarded(), script).await;
    assert_eq!(outcome, evicted());
    let patch = format!("PATCH {POD}/status");
    assert_eq!(lines_of(&log), [post.clone(), post, patch]);
}

#[tokio::test]
async fn a_pod_of_two_budgets_is_not_evicted_and_one_whose_namespace_ends_is_deleted() {
    let two = || {
        let text = "This pod has more than one PodDisruptionBudget, which the eviction subresource \
                    does not support.";
        Answer::refuse(500, text)
    };
    let (outcome, log) = lines_by(EvictionMethod::Auto, guarded(), move |_| two()).await;
    assert!(
        matches!(&outcome, Outcome::EvictFailed { message, .. } if message.contains("more than one")),
        "{outcome:?}"
    );
    assert_eq!(log.len(), 1);
    let ending = |seen: &Seen| match seen.method.as_str() {
        "POST" => Answer::refuse(
            403,
            "unable to create new content in namespace ns because it is being terminated",
        ),
        _ => Answer::ok(),
    };
    let (outcome, log) = lines_by(EvictionMethod::Auto, guarded(), ending).await;
    assert_eq!(outcome, evicted());
    assert_eq!(
        lines_of(&log).last(),
        Some(&format!("DELETE {POD}")),
        "nothing else would take it away"
    );
}

/// An API server whose role lacks `pods/eviction`.
fn no_evictions(seen: &Seen) -> Answer {
    match seen.path.ends_with("eviction") {
        true => rbac("create", "pods/eviction"),
        false => Answer::ok(),
    }
}

#[tokio::test]
async fn one_refusal_by_the_role_proves_nothing_and_the_pod_is_not_deleted() {
    let mut asked = 0;
    let script = move |seen: &Seen| {
        asked += u32::from(seen.method == "POST");
        match asked {
            1 => no_evictions(seen),
            _ => Answer::ok(),
        }
    };
    let (outcome, log) = lines_by(EvictionMethod::Auto, guarded(), script).await;
    assert_eq!(outcome, evicted());
    let post = format!("POST {POD}/eviction");
    let patch = format!("PATCH {POD}/status");
    assert_eq!(lines_of(&log), [post.clone(), post, patch]);
}

#[tokio::test]
async fn a_role_without_evictions_deletes_once_that_is_certain_unless_told_to_evict() {
    let events = Arc::new(EventSink::new(Duration::from_secs(1)));
    for (method, wanted) in [
        (EvictionMethod::Auto, vec!["PATCH", "DELETE"]),
        (EvictionMethod::EvictionApi, vec!["POST"]),
    ] {
        tokio::time::pause();
        let server = Server::start(no_evictions).await;
        let shared = shared_with(
            &server,
            EffectOptions {
                eviction_method: method,
                ..options()
            },
        );
        prove(&shared, Target::GuardedEviction, &[WriteVerb::Patch]).await;
        // From here on a server answers, which knows no other time.
        tokio::time::resume();
        let eviction = PodToEvict {
            pod: pod(),
            reason: "preempt".to_owned(),
            group: None,
            beneficiary: None,
            guarded_by_budget: true,
        };
        evict::write(shared, Arc::clone(&events), eviction, 1).await;
        let log = server.log();
        let methods: Vec<&str> = log.iter().map(|seen| seen.method.as_str()).collect();
        assert_eq!(methods, wanted, "{method:?}");
    }
}
