use super::*;

fn evict() -> Write {
    Write::Evict {
        pod: pod(),
        reason: "preempt".to_owned(),
        group: Some(group()),
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
            "Pod is evicted, because of preempt",
        ],
        [
            "DisruptionTarget",
            "True",
            "PreemptionByScheduler",
            "volcano: preempting to accommodate a higher priority pod",
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
        ("Pod", "Warning", "Pod is evicted, because of preempt"),
        ("PodGroup", "Normal", "preempt"),
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
    let refusals: [fn() -> Answer; 3] = [
        || Answer::refuse(404, "not found"),
        || {
            Answer::refuse(
                409,
                "Precondition failed: UID in precondition: a, in object: b",
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
