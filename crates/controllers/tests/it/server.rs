//! The API server in memory does what controllers count on.

use jiff::Timestamp;
use pumice_controllers::runtime::{ApiVerb, ApiWrite, ManagedKind, ManagedRef, WriteOutcome};
use serde_json::{Value, json};

use crate::cluster::{ApiServer, Dice, merge};

fn server() -> ApiServer {
    ApiServer::new(Timestamp::UNIX_EPOCH)
}

fn pod(name: &str, owner: Option<&Value>) -> Value {
    let owners: Vec<Value> = owner.into_iter().map(reference).collect();
    json!({
        "metadata": {"namespace": "n", "name": name, "ownerReferences": owners},
        "spec": {"containers": []},
        "status": {"phase": "Running"},
    })
}

fn reference(owner: &Value) -> Value {
    let meta = &owner["metadata"];
    json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": meta["name"],
        "uid": meta["uid"], "controller": true, "blockOwnerDeletion": true})
}

fn job(server: &mut ApiServer) -> ManagedRef {
    let job = json!({"metadata": {"namespace": "n", "name": "j"}, "spec": {"tasks": []}});
    server.apply(ManagedKind::Job, job)
}

fn text<'a>(server: &'a ApiServer, of: &ManagedRef, field: &str) -> &'a str {
    let object = server.get(of).expect("there");
    object["metadata"][field].as_str().unwrap_or_default()
}

#[test]
fn a_stale_version_is_outdated_and_another_uid_is_absent() {
    let mut server = server();
    let of = job(&mut server);
    let old = text(&server, &of, "resourceVersion").to_owned();
    let patch = |meta: Value| ApiWrite {
        of: of.clone(),
        verb: ApiVerb::Merge {
            patch: json!({"metadata": meta, "status": {"version": 1}}),
            status: true,
        },
    };
    let first = server.execute(&patch(json!({"resourceVersion": old})));
    assert!(matches!(first, WriteOutcome::Done(Some(_))), "{first:?}");
    let second = server.execute(&patch(json!({"resourceVersion": old})));
    assert_eq!(second, WriteOutcome::Outdated);
    let other = server.execute(&patch(json!({"uid": "other"})));
    assert_eq!(other, WriteOutcome::Absent);
    assert_eq!(
        server.get(&of).map(|job| &job["status"]["version"]),
        Some(&json!(1))
    );
}

#[test]
fn what_an_object_owned_goes_with_it_and_a_bound_pod_when_its_kubelet_ended_it() {
    let mut server = server();
    let of = job(&mut server);
    let owner = server.get(&of).cloned();
    let free = server.apply(ManagedKind::Pod, pod("free", owner.as_ref()));
    let bound = server.apply(ManagedKind::Pod, pod("bound", owner.as_ref()));
    let other = server.apply(ManagedKind::Pod, pod("other", None));
    server.start_pod(&bound);
    assert_eq!(server.delete(&of, "", true), WriteOutcome::Done(None));
    assert_ne!(
        text(&server, &of, "deletionTimestamp"),
        "",
        "it waits for what it owns"
    );
    assert_eq!(server.get(&free), None);
    assert_ne!(text(&server, &bound, "deletionTimestamp"), "");
    server.finish_deletions();
    assert_eq!((server.get(&bound), server.get(&of)), (None, None));
    assert!(server.get(&other).is_some());
}

#[test]
fn status_is_a_subresource_where_the_definition_says_so() {
    let mut server = server();
    let of = job(&mut server);
    let patch = json!({"spec": {"queue": "q"}, "status": {"version": 1}});
    let plain = ApiVerb::Merge {
        patch,
        status: false,
    };
    server.execute(&ApiWrite {
        of: of.clone(),
        verb: plain,
    });
    let job = server.get(&of).cloned().unwrap_or_default();
    assert_eq!(
        (&job["spec"]["queue"], &job["status"]),
        (&json!("q"), &Value::Null)
    );
    assert_eq!(job["metadata"]["generation"], 2);
}

#[test]
fn patches_merge_and_chance_repeats_itself() {
    let mut object = json!({"a": {"b": 1, "c": 2}, "d": [1]});
    merge(
        &mut object,
        &json!({"a": {"b": null}, "d": [2], "e": {"f": null, "g": 1}}),
    );
    assert_eq!(object, json!({"a": {"c": 2}, "d": [2], "e": {"g": 1}}));
    let rolls = |seed| {
        let mut dice = Dice::new(seed);
        (0..8).map(|_| dice.roll(6)).collect::<Vec<_>>()
    };
    assert_eq!(rolls(3), rolls(3));
    assert_ne!(rolls(3), rolls(4));
}
