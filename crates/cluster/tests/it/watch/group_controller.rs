//! Whether somebody makes PodGroups is known before the gate opens, and told when it changes.

use pumice_cluster::follow::board::KindState;
use pumice_cluster::watch::{WatchInput, WatchOptions};
use serde_json::{Value, json};

use super::setup::{Setup, options, watch};
use super::turns::Turn::{self, List, Status};

const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/vc-controller-manager";

const ALIVE: &str = "group controller Some(\"lease volcano-system/vc-controller-manager\")";

fn lease(holder: &str, renewed: &str) -> Turn {
    let spec: Value = json!({
        "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed,
        "leaseTransitions": 3,
    });
    let metadata = json!({"namespace": "volcano-system", "name": "vc-controller-manager"});
    List(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec,
    }))
}

const PODS: &str = "/api/v1/namespaces/volcano-system/pods";

/// A list with one pod of the controllers.
fn pods(ready: &str) -> Turn {
    let metadata = json!({"namespace": "volcano-system", "name": "volcano-controllers-a"});
    let conditions = json!([{"type": "Ready", "status": ready}]);
    let pod = json!({"metadata": metadata, "status": {"conditions": conditions}});
    let metadata = json!({"resourceVersion": "1"});
    List(json!({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": [pod]}))
}

async fn beside(script: Vec<Turn>) -> Setup {
    let no_pods = List(json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []}));
    beside_pods(script, vec![no_pods; 9]).await
}

async fn beside_pods(script: Vec<Turn>, pods: Vec<Turn>) -> Setup {
    let name = (
        "volcano-system".to_owned(),
        "vc-controller-manager".to_owned(),
    );
    let options = WatchOptions {
        group_controller: Some(name),
        ..options()
    };
    watch(options, vec![(LEASE, script), (PODS, pods)]).await
}

fn missing() -> Turn {
    Status(
        404,
        "leases.coordination.k8s.io \"vc-controller-manager\" not found",
    )
}

#[tokio::test]
async fn a_controller_that_renews_its_lease_is_told_before_the_gate_opens() {
    let long_ago = "2001-01-01T00:00:00.000000Z";
    let mut setup = beside(vec![lease("a", long_ago)]).await;
    let WatchInput::Deltas(deltas) = setup.next().await else {
        panic!("the gate opened first");
    };
    assert_eq!(format!("{deltas:?}").matches("GroupController").count(), 1);
    setup.handle.wait_synced().await;
    assert_eq!(setup.next().await, WatchInput::Synced);
}

#[tokio::test]
async fn a_controller_that_comes_and_whose_lease_is_deleted_is_told() {
    let comes = lease("a", "2026-01-01T00:00:00.000000Z");
    let mut setup = beside(vec![missing(), comes, missing()]).await;
    setup.handle.wait_synced().await;
    assert_eq!(setup.deltas().await, [ALIVE]);
    assert_eq!(setup.deltas().await, ["group controller None"]);
}

#[tokio::test]
async fn a_lease_that_may_not_be_read_opens_the_gate_and_names_the_rule() {
    let mut setup = beside(vec![Status(403, "leases is forbidden"); 9]).await;
    setup.handle.wait_synced().await;
    assert_eq!(setup.next().await, WatchInput::Synced);
    let status = setup.kind("Lease");
    assert!(!status.required);
    let KindState::Failing { error } = status.state else {
        panic!("{:?}", status.state);
    };
    let rule =
        "resources: [\"leases\"], resourceNames: [\"vc-controller-manager\"], verbs: [\"get\"]";
    assert!(error.contains(rule), "{error}");
}

#[tokio::test]
async fn an_api_server_without_an_answer_changes_nothing() {
    let alive = || lease("a", "2026-01-01T00:00:00.000000Z");
    let away = || Status(500, "etcd is away");
    let script = vec![away(), alive(), away(), away(), alive(), missing()];
    let mut setup = beside(script).await;
    assert_eq!(setup.deltas().await, [ALIVE]);
    assert_eq!(
        setup.deltas().await,
        ["group controller None"],
        "once deleted"
    );
}

#[tokio::test]
async fn a_ready_pod_of_a_controller_without_lease_shows_it_at_work() {
    let script = vec![missing(), missing()];
    let mut setup = beside_pods(script, vec![pods("False"), pods("True")]).await;
    let told = ["group controller Some(\"pod volcano-system/volcano-controllers-a\")"];
    assert_eq!(setup.deltas().await, told);
    let asked = setup.requests(PODS);
    let query = &asked[0];
    assert!(
        query.contains("labelSelector=app%3Dvolcano-controller"),
        "{query}"
    );
    assert!(
        query.contains("resourceVersion=0"),
        "from the cache: {query}"
    );
}

#[tokio::test]
async fn pods_that_cannot_be_looked_for_hold_up_the_gate_and_are_named() {
    let away = Status(500, "etcd is away");
    let setup = beside_pods(vec![missing(); 9], vec![away; 3]).await;
    let status = setup
        .until("Lease", |status| {
            matches!(status.state, KindState::Failing { .. })
        })
        .await;
    let KindState::Failing { error } = status.state else {
        panic!("{:?}", status.state);
    };
    let says = "pods with label app=volcano-controller in namespace volcano-system";
    assert!(error.contains(says), "{error}");
}
