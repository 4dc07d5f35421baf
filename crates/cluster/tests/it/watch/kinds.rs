//! Kinds that are not installed, or not allowed.

use pumice_cluster::follow::board::KindState;
use serde_json::json;

use super::setup::{options, watch};
use super::turns::Turn;
use super::turns::Turn::{List, Status, Watch};
use super::wire::*;
use pumice_scripted::Then;

#[tokio::test]
async fn a_kind_that_is_not_installed_counts_as_empty_and_is_noticed_when_it_is() {
    let script = vec![
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        List(list("9", None, &[queue("q", "3", json!(2))])),
        Watch(Vec::new(), Then::End),
        // The custom resource is deleted, and its queues with it.
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        List(list("40", None, &[queue("q", "35", json!(3))])),
        rest(),
    ];
    let mut setup = watch(options(), vec![(QUEUES, script)]).await;
    setup.handle.wait_synced().await;
    assert_eq!(setup.deltas().await, ["+queue q 2"]);
    assert_eq!(setup.deltas().await, ["-queue q"]);
    assert_eq!(setup.deltas().await, ["+queue q 3"]);
    let status = setup
        .until("Queue", |status| status.state == KindState::Synced)
        .await;
    assert_eq!((status.required, status.objects), (false, 1));
}

#[tokio::test]
async fn an_api_server_that_forgets_a_kind_for_a_moment_deletes_nothing() {
    let script = vec![
        List(list("9", None, &[queue("q", "3", json!(2))])),
        Watch(Vec::new(), Then::Cut),
        Status(404, "404 page not found"),
        List(list(
            "12",
            None,
            &[queue("q", "3", json!(2)), queue("r", "11", json!(1))],
        )),
        rest(),
    ];
    let mut setup = watch(options(), vec![(QUEUES, script)]).await;
    assert_eq!(setup.deltas().await, ["+queue q 2"]);
    assert_eq!(setup.deltas().await, ["+queue r 1"]);
}

#[tokio::test]
async fn an_absent_kind_that_is_required_keeps_the_gate_closed() {
    let script = vec![
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
    ];
    let setup = watch(options(), vec![(PODS, script)]).await;
    let failing = |status: &KindState| matches!(status, KindState::Failing { .. });
    setup
        .until("Pod", |status| {
            failing(&status.state) && status.counts.failures == 2
        })
        .await;
    setup.until("Service", |status| status.settled).await;
    assert!(!setup.handle.synced());
}

/// The error a kind shows.
fn error(state: &KindState) -> &str {
    match state {
        KindState::Failing { error } => error,
        _ => "",
    }
}

/// More than are asked for before a test is over.
fn denials() -> Vec<Turn> {
    vec![Status(403, "forbidden"); 10_000]
}

#[tokio::test]
async fn a_denial_names_the_rule_and_opens_the_gate_for_kinds_that_can_be_missed() {
    let setup = watch(options(), vec![(SERVICES, denials())]).await;
    setup.handle.wait_synced().await;
    let status = setup.kind("Service");
    let rule = r#"{apiGroups: [""], resources: ["services"], verbs: ["list", "watch"]}"#;
    assert!(error(&status.state).contains(rule), "{:?}", status.state);
}

#[tokio::test]
async fn an_api_server_that_denies_what_is_required_is_not_believed_on_anything() {
    let script = vec![(SERVICES, denials()), (NODES, denials())];
    let setup = watch(options(), script).await;
    let status = setup
        .until("Node", |status| status.counts.failures >= 10)
        .await;
    let rule = r#"{apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch"]}"#;
    assert!(error(&status.state).contains(rule), "{:?}", status.state);
    setup
        .until("Service", |status| status.counts.failures >= 10)
        .await;
    setup.until("Pod", |status| status.settled).await;
    assert!(!setup.kind("Service").settled && !setup.kind("Node").settled);
    assert!(!setup.handle.synced());
}

#[tokio::test]
async fn a_denial_that_is_lifted_fills_the_kind() {
    let script = vec![
        Status(403, "forbidden"),
        List(list("9", None, &[node("a", "3")])),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a"]);
    setup.handle.wait_synced().await;
    let status = setup
        .until("Node", |status| status.state == KindState::Synced)
        .await;
    assert_eq!(status.objects, 1);
}
