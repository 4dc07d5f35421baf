use super::*;
use crate::effects::{Ensured, ensure_queues};

const ALL: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

#[tokio::test]
async fn queues_that_are_there_are_left_alone() {
    let server = Server::start(|_| Answer::ok()).await;
    let ensured = ensure_queues(&server.client(), &TermWatch::always(), "default").await;
    assert_eq!(ensured, Ok(Ensured::Present));
    assert_eq!(
        server.lines(),
        [format!("GET {ALL}/root"), format!("GET {ALL}/default")]
    );
}

#[tokio::test]
async fn missing_queues_are_made() {
    let script = |seen: &Seen| match seen.method.as_str() {
        "GET" => Answer::refuse(404, "not found"),
        _ => Answer::Json(201, seen.body.clone()),
    };
    let server = Server::start(script).await;
    let ensured = ensure_queues(&server.client(), &TermWatch::always(), "main").await;
    assert_eq!(ensured, Ok(Ensured::Present));
    let made: Vec<(Value, Value)> = server
        .all("POST")
        .into_iter()
        .map(|seen| {
            (
                seen.body["metadata"]["name"].clone(),
                seen.body["spec"].clone(),
            )
        })
        .collect();
    let wanted = [("root", false), ("main", true)].map(|(name, reclaimable)| {
        (
            json!(name),
            json!({"weight": 1, "reclaimable": reclaimable}),
        )
    });
    assert_eq!(made, wanted);
}

#[tokio::test]
async fn a_queue_somebody_else_makes_meanwhile_is_fine() {
    let script = |seen: &Seen| match seen.method.as_str() {
        "GET" => Answer::refuse(404, "not found"),
        _ => Answer::refuse(409, "already exists"),
    };
    let server = Server::start(script).await;
    let ensured = ensure_queues(&server.client(), &TermWatch::always(), "default").await;
    assert_eq!(ensured, Ok(Ensured::Present));
}

#[tokio::test]
async fn without_the_kind_there_is_nothing_to_make() {
    let server = Server::start(|_| Answer::refuse(404, "page not found")).await;
    let ensured = ensure_queues(&server.client(), &TermWatch::always(), "default").await;
    assert_eq!(ensured, Ok(Ensured::NoQueueKind));
    assert_eq!(server.log().len(), 2);
}

#[tokio::test]
async fn a_refusal_names_the_queue_and_the_permission() {
    let server = Server::start(|seen: &Seen| rbac(&seen.method, "queues")).await;
    let error = ensure_queues(&server.client(), &TermWatch::always(), "default")
        .await
        .expect_err("refused");
    let text = error.to_string();
    assert!(
        text.contains("queue \"root\"") && text.contains("grant get and create"),
        "{text}"
    );
}

#[tokio::test]
async fn trouble_is_waited_out() {
    let mut answers = vec![Answer::ok(), Answer::ok(), Answer::Cut];
    let server = Server::start(move |_: &Seen| answers.pop().expect("no more")).await;
    let ensured = ensure_queues(&server.client(), &TermWatch::always(), "default").await;
    assert_eq!(ensured, Ok(Ensured::Present));
}

#[tokio::test]
async fn outside_a_term_no_queue_is_made() {
    let server = Server::start(|_| Answer::refuse(404, "not found")).await;
    let (_sender, term) = TermWatch::new(Duration::from_secs(10));
    let ensured = ensure_queues(&server.client(), &term, "default").await;
    assert_eq!(ensured, Ok(Ensured::NoTerm));
    assert_eq!(server.lines(), [format!("GET {ALL}/root")]);
}
