//! What is asked, and what is said when it is refused.

use pumice_api::{Job, Queue};
use serde_json::json;

use super::*;
use crate::remote::LogPart;
use pumice_scripted::{Answer, Seen, Server};

async fn cluster(answer: impl Fn(&Seen) -> Answer + Send + 'static) -> ClusterObjects {
    ClusterObjects::with(Server::start(answer).await.client())
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message});
    Answer::Json(code, status)
}

#[tokio::test]
async fn paths_are_those_of_the_kind() {
    assert_eq!(
        path::<Job>("team", "a/b"),
        "/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs/a%2Fb"
    );
    assert_eq!(
        path::<Queue>("", ""),
        "/apis/scheduling.volcano.sh/v1beta1/queues"
    );
    let objects =
        cluster(|seen| Answer::Json(200, json!({"items": [{"line": seen.line()}]}))).await;
    let found = objects.list::<Job>("", "").await.expect("a list");
    assert_eq!(found[0]["line"], "GET /apis/batch.volcano.sh/v1alpha1/jobs");
}

#[tokio::test]
async fn what_is_not_there_is_told_apart_from_a_kind_that_is_not() {
    let objects = cluster(|seen| match seen.path.contains("/queues") {
        true => status(404, "NotFound", "queues \"q\" not found"),
        false => Answer::Json(404, json!("404 page not found")),
    })
    .await;
    assert_eq!(objects.get::<Queue>("", "q").await, Ok(None));
    assert_eq!(objects.delete::<Queue>("", "q").await, Ok(false));
    let error = objects.get::<Job>("default", "j").await;
    let error = error.expect_err("no such kind").to_string();
    assert!(
        error.starts_with("the cluster has no jobs.batch.volcano.sh"),
        "{error}"
    );
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    for (answer, expected) in [
        (
            (403, "Forbidden", "jane cannot create resource jobs"),
            "grant create on jobs.batch.volcano.sh",
        ),
        (
            (
                403,
                "Forbidden",
                "ValidatingAdmissionPolicy 'p' denied request: no",
            ),
            "the API server refuses it: ValidatingAdmissionPolicy",
        ),
        (
            (
                403,
                "Forbidden",
                "jobs \"j\" is forbidden: exceeded quota: q",
            ),
            "the API server refuses it: jobs \"j\" is forbidden: exceeded quota",
        ),
        (
            (409, "AlreadyExists", "jobs \"j\" already exists"),
            "the API server refuses it: jobs \"j\" already exists",
        ),
        (
            (422, "Invalid", "spec.tasks: Required value"),
            "refuses it: spec.tasks: Required value",
        ),
    ] {
        let (code, reason, message) = answer;
        let objects = cluster(move |_| status(code, reason, message)).await;
        let error = objects.create::<Job>("default", &json!({}), false).await;
        let error = error.expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_patch_is_a_json_patch_and_says_when_its_object_is_gone() {
    let objects = cluster(|seen| match seen.path.contains("/jobs/j?") {
        true => Answer::Json(200, json!({"media": seen.media, "body": seen.body})),
        false => status(404, "NotFound", "no such job"),
    })
    .await;
    let patch = json!([{"op": "replace", "path": "/spec/tasks/0/replicas", "value": 3}]);
    let done = objects.patch::<Job>("team", "j", &patch).await;
    let expected = json!({"media": "application/json-patch+json", "body": patch});
    assert_eq!(done, Ok(Some(expected)));
    assert_eq!(objects.patch::<Job>("team", "k", &patch).await, Ok(None));
}

#[tokio::test]
async fn what_a_pod_has_written_comes_line_by_line_and_why_there_is_nothing() {
    let objects = cluster(|seen| match &seen.path {
        path if path.ends_with("/pods/p/log?container=c&tailLines=2&previous=true") => {
            Answer::Json(200, json!(["a", "b"]))
        }
        path if path.contains("/pods/new/") => {
            status(400, "BadRequest", "container \"c\" is waiting to start")
        }
        _ => status(404, "NotFound", "no such pod"),
    })
    .await;
    let part = LogPart {
        container: Some("c".to_owned()),
        tail: Some(2),
        previous: true,
        ..LogPart::default()
    };
    let mut lines = Vec::new();
    let found = objects
        .logs("team", "p", &part, |line| lines.push(line))
        .await;
    assert_eq!(
        (found, lines.concat().as_str()),
        (Ok(true), "[\"a\",\"b\"]")
    );
    let none = LogPart::default();
    let gone = objects.logs("team", "gone", &none, |_| ()).await;
    assert_eq!(gone, Ok(false));
    let new = objects.logs("team", "new", &none, |_| ()).await;
    let error = new.expect_err("refused").to_string();
    assert!(error.contains("is waiting to start"), "{error}");
}
