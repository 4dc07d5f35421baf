//! What is asked, and what is said when it is refused.

use pumice_api::{Job, Queue};
use serde_json::json;

use super::*;
use crate::scripted::{Answer, Seen, Server};

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
