use serde_json::{Value, json};

use super::*;
use pumice_scripted::{Answer, Seen, Server};

/// An API server that knows two tokens: `ours`, made for us alone, and `usual`, made for itself. Both
/// are jane's, who may get `/debug/top`.
fn answer(seen: &Seen) -> Answer {
    let mut object = seen.body.clone();
    let spec = &seen.body["spec"];
    object["status"] = match seen.path.trim_end_matches('?') {
        "/apis/authentication.k8s.io/v1/tokenreviews" => {
            let is_for_us = spec["audiences"] == json!([AUDIENCE]);
            let known = match spec["token"].as_str() {
                Some("ours") => is_for_us,
                Some("usual") => spec["audiences"] == Value::Null,
                _ => false,
            };
            match known {
                true => json!({"authenticated": true, "user": {"username": "jane", "uid": "7",
                    "groups": ["team"], "extra": {"k": ["v"]}}}),
                false => json!({"authenticated": false}),
            }
        }
        "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
            assert_eq!(spec["user"], "jane");
            assert_eq!(spec["uid"], "7");
            assert_eq!(spec["groups"], json!(["team"]));
            assert_eq!(spec["extra"], json!({"k": ["v"]}));
            assert_eq!(spec["resourceAttributes"], Value::Null);
            let asked = json!({"path": "/debug/top", "verb": "get"});
            json!({"allowed": spec["nonResourceAttributes"] == asked})
        }
        path => panic!("{path}"),
    };
    Answer::Json(201, object)
}

#[tokio::test]
async fn a_user_is_known_by_a_token_for_us_or_for_the_api_server_and_may_what_roles_say() {
    let reviews = AccessReviews::new(Server::start(answer).await.client());
    for (token, verb, path, expected) in [
        ("ours", "get", "/debug/top", Some(true)),
        ("usual", "get", "/debug/top", Some(true)),
        ("ours", "put", "/debug/top", Some(false)),
        ("ours", "get", "/debug/dump", Some(false)),
        ("ours", "get", "/debug/record", Some(false)),
        ("other", "get", "/debug/top", None),
    ] {
        let user = || "jane".to_owned();
        let expected = expected.map(|may| KnownAsker { user: user(), may });
        let known = reviews.review(token, verb, path).await;
        assert_eq!(known, Ok(expected), "{token} {verb} {path}");
    }
}

#[tokio::test]
async fn who_may_not_review_is_told_what_to_bind() {
    let status = json!({"kind": "Status", "code": 403, "message": "the scheduler must not"});
    let refuse = move |_: &Seen| Answer::Json(403, status.clone());
    let reviews = AccessReviews::new(Server::start(refuse).await.client());
    let refused = reviews.review("t", "get", "/x").await;
    let refused = refused.expect_err("refused");
    assert!(refused.contains("the scheduler must not; bind the ClusterRole system:auth-delegator"));
}
