//! Tests of what the thread that works is told.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use pumice_cluster::contact::Contact;
use pumice_cluster::follow::board::KindState;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, channel};

use super::*;

/// Nothing here takes this long, unless it hangs.
const HANGS: Duration = Duration::from_secs(60);

const PODS: &str = "/api/v1/pods";

/// The way to an API server of which pods are listed with these events, and which knows no other kind. What comes
/// after the list hangs.
async fn server(pods: Vec<Value>) -> ReadWay {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let lines: String = pods.iter().map(|event| format!("{event}\n")).collect();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let lines = lines.clone();
            let take = service_fn(move |request: Request<Incoming>| {
                let lines = lines.clone();
                async move { answer(&request, lines).await }
            });
            let served = hyper::server::conn::http1::Builder::new();
            tokio::spawn(served.serve_connection(TokioIo::new(stream), take));
        }
    });
    let mut config = kube::Config::new(url.parse().expect("a URL"));
    // Not the system's, which may have none.
    config.root_cert = Some(Vec::new());
    config.default_retry = false;
    ReadWay {
        client: kube::Client::try_from(config).expect("a client"),
        contact: Contact::default(),
    }
}

async fn answer(
    request: &Request<Incoming>,
    lines: String,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (path, query) = (request.uri().path(), request.uri().query());
    let is_list = query.is_some_and(|query| query.contains("sendInitialEvents"));
    let (code, text) = match path {
        PODS if is_list => (200, lines),
        PODS => std::future::pending().await,
        _ => (404, "404 page not found\n".to_owned()),
    };
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = http::StatusCode::from_u16(code).expect("a status");
    Ok(answer)
}

fn event(kind: &str, name: &str, version: &str, containers: &Value) -> Value {
    let metadata =
        json!({"namespace": "ns", "name": name, "uid": name, "resourceVersion": version});
    json!({"type": kind, "object": {"metadata": metadata, "spec": {"containers": containers}}})
}

fn list_end(version: &str) -> Value {
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    let metadata = json!({"resourceVersion": version, "annotations": annotations});
    json!({"type": "BOOKMARK", "object": {"metadata": metadata}})
}

/// The next that is told of pods, in short, or that every kind was listed.
async fn next(inputs: &mut Receiver<ManagerInput>) -> String {
    loop {
        let input = tokio::time::timeout(HANGS, inputs.recv()).await;
        match input.expect("it does not hang").expect("it goes on") {
            ManagerInput::ListBegins(ManagedKind::Pod) => return "list begins".to_owned(),
            ManagerInput::Seen(object) => return format!("seen {}", object.reference()),
            ManagerInput::Gone { of, uid } => return format!("gone {of} {uid}"),
            ManagerInput::Listed {
                kind: ManagedKind::Pod,
                there,
            } => {
                let names = there.iter().map(|of| of.name.as_str());
                return format!("listed {}", names.collect::<Vec<_>>().join(" "));
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_list_is_framed_and_what_cannot_be_read_is_there_until_it_is_gone() {
    let way = server(vec![
        event("ADDED", "a", "3", &json!([])),
        event("ADDED", "bad", "4", &json!("none")),
        list_end("5"),
        event("DELETED", "bad", "6", &json!("none")),
    ])
    .await;
    let (sender, mut inputs) = channel(100);
    let watch = watch(&way, &FollowLimits::default(), &sender);
    let expected = [
        "list begins",
        "seen Pod ns/a",
        "listed a bad",
        "gone Pod ns/bad bad",
    ];
    for expected in expected {
        assert_eq!(next(&mut inputs).await, expected);
    }
    let kinds = watch.kinds();
    let pods = kinds.iter().find(|kind| kind.kind == "Pod");
    let pods = pods.expect("pods are followed");
    assert_eq!((pods.objects, pods.counts.unreadable), (1, 1));
}

#[tokio::test]
async fn kinds_that_are_not_installed_hold_up_nothing_and_pods_do() {
    let way = server(vec![list_end("5")]).await;
    let (sender, mut inputs) = channel(1_000);
    let watch = watch(&way, &FollowLimits::default(), &sender);
    let mut listed = BTreeSet::new();
    loop {
        let input = tokio::time::timeout(HANGS, inputs.recv()).await;
        match input.expect("it does not hang").expect("it goes on") {
            ManagerInput::Listed { kind, there } => {
                assert_eq!(there, BTreeSet::new());
                listed.insert(kind);
            }
            ManagerInput::Synced => break,
            _ => {}
        }
    }
    assert_eq!(listed, FOLLOWED.iter().copied().collect());
    for status in watch.kinds() {
        let expected = match status.kind {
            "Pod" => KindState::Synced,
            _ => KindState::Absent,
        };
        assert_eq!(status.state, expected, "{}", status.kind);
    }
}

#[test]
fn without_these_nothing_is_done_and_they_are_looked_at() {
    let rows = FOLLOWED.iter().map(|kind| row(*kind));
    let required: BTreeSet<&str> = rows
        .filter(|row| row.required && row.protects)
        .map(|row| row.name)
        .collect();
    let expected = ["Command", "Job", "Pod", "PodGroup", "Queue"];
    assert_eq!(required, BTreeSet::from(expected));
}
