//! Tests of what the thread that works is told.

use std::time::Duration;

use pumice_cluster::contact::Contact;
use pumice_cluster::follow::board::KindState;
use pumice_scripted::watch::{event, list_end};
use pumice_scripted::{Answer, Server};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, channel};

use super::*;

/// Nothing here takes this long, unless it hangs.
const HANGS: Duration = Duration::from_secs(60);

const PODS: &str = "/api/v1/pods";

/// The way to an API server of which pods are listed with these events, and which knows no other kind. What comes
/// after the list hangs.
async fn server(pods: Vec<Value>) -> ReadWay {
    let server = Server::start(move |seen| match seen.split() {
        (PODS, query) if query.contains("sendInitialEvents") => Answer::events(pods.clone()),
        (PODS, _) => Answer::Silence,
        _ => Answer::Text(404, "404 page not found\n".to_owned()),
    });
    ReadWay {
        client: server.await.client(),
        contact: Contact::default(),
    }
}

fn pod(name: &str, version: &str, containers: &Value) -> Value {
    let metadata =
        json!({"namespace": "ns", "name": name, "uid": name, "resourceVersion": version});
    json!({"metadata": metadata, "spec": {"containers": containers}})
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
        event("ADDED", pod("a", "3", &json!([]))),
        event("ADDED", pod("bad", "4", &json!("none"))),
        list_end("5"),
        event("DELETED", pod("bad", "6", &json!("none"))),
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
fn no_two_kinds_have_one_name_in_numbers() {
    let names: BTreeSet<&str> = FOLLOWED.iter().map(|kind| row(*kind).name).collect();
    assert_eq!(names.len(), FOLLOWED.len());
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
