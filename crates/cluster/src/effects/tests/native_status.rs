//! Conditions of PodGroups of Kubernetes itself.

use pumice_model::object::{
    BOUND_IN_PART, COMPOSITE_GROUP, GroupCondition, GroupStatus, NATIVE_GROUP, SCHEDULED,
    UNSCHEDULABLE,
};

use super::*;
use crate::follow::board::{Board, KindReporter, KindSlot};
use crate::watch::NATIVE_GROUPS;

/// Path of the groups in a version.
fn groups(version: &str) -> String {
    format!("/apis/scheduling.k8s.io/{version}/namespaces/ns/podgroups")
}

/// A status with these conditions, all of which hold.
fn status(kinds: &[&str]) -> Write {
    told(kinds, "1/2 nodes")
}

/// A status with these conditions, all of which hold and say this.
fn told(kinds: &[&str], message: &str) -> Write {
    let condition = |kind: &&str| GroupCondition {
        kind: (*kind).to_owned(),
        status: "True".to_owned(),
        message: message.to_owned(),
        ..GroupCondition::default()
    };
    Write::GroupStatus {
        namespace: "ns".to_owned(),
        name: format!("{NATIVE_GROUP}train"),
        uid: "g1".to_owned(),
        status: GroupStatus::of_native(kinds.iter().map(condition).collect()),
        urgent: false,
    }
}

/// What a watch knows that listed the groups in this version.
fn seen_in(version: &str) -> Picture {
    let slot = KindSlot {
        kind: NATIVE_GROUPS,
        required: false,
        protects: true,
        always_served: false,
    };
    let board = Arc::new(Board::new([slot].into_iter()));
    KindReporter::new(Arc::clone(&board), 0).set_version(version);
    Picture::new(board, Duration::ZERO)
}

#[tokio::test]
async fn conditions_are_patched_through_the_status_and_a_transition_has_one_time() {
    let mut bench = Bench::new(|_| Answer::ok()).await;
    bench.written([status(&[UNSCHEDULABLE])]).await;
    let outcome = bench.outcome().await;
    let written = matches!(&outcome, Outcome::GroupStatusWritten { namespace, name, .. }
        if namespace == "ns" && name == "scheduling.k8s.io/train");
    assert!(
        written,
        "by the name by which all groups are known: {outcome:?}"
    );
    bench.written([told(&[UNSCHEDULABLE], "0/2 nodes")]).await;
    bench.written([status(&[SCHEDULED, UNSCHEDULABLE])]).await;
    let log = bench.server.log();
    let path = format!("PATCH {}/train/status", groups("v1beta1"));
    assert_eq!(bench.server.lines(), vec![path; 3]);
    assert_eq!(log[0].media, "application/strategic-merge-patch+json");
    let mut bodies: Vec<Value> = log.iter().map(|seen| seen.body.clone()).collect();
    let mut had_time = Vec::new();
    for body in &mut bodies {
        let condition = body["status"]["conditions"][0].as_object_mut();
        had_time.push(
            condition
                .expect("one")
                .remove("lastTransitionTime")
                .is_some(),
        );
    }
    assert_eq!(had_time, [true, false, true], "the second is no transition");
    let kind = "PodGroupInitiallyScheduled";
    let gone = json!({"$patch": "delete", "type": BOUND_IN_PART});
    let body = |status: &str, reason: &str, message: &str| {
        let own = json!({"type": kind, "status": status, "reason": reason, "message": message});
        json!({"metadata": {"uid": "g1"}, "status": {"conditions": [own, gone]}})
    };
    assert_eq!(bodies[0], body("False", "Unschedulable", "1/2 nodes"));
    let placed = "enough of its pods have nodes";
    assert_eq!(bodies[2], body("True", "Scheduled", placed));
}

#[tokio::test]
async fn an_older_server_is_told_in_its_version_and_its_words() {
    let picture = seen_in("scheduling.k8s.io/v1alpha2");
    let bench = Bench::seeing(|_| Answer::ok(), options(), TermWatch::always(), picture).await;
    bench
        .written([status(&[UNSCHEDULABLE, BOUND_IN_PART])])
        .await;
    let path = format!("PATCH {}/train/status", groups("v1alpha2"));
    assert_eq!(bench.server.lines(), [path]);
    let body = &bench.server.log()[0].body;
    let conditions = body["status"]["conditions"].as_array().expect("a list");
    let told = conditions
        .iter()
        .map(|one| (&one["type"], &one["status"], &one["reason"]));
    let told: Vec<String> = told.map(|one| format!("{one:?}")).collect();
    let expected = [
        (
            json!("PodGroupScheduled"),
            json!("False"),
            json!("Unschedulable"),
        ),
        (json!("BoundInPart"), json!("True"), json!("GangIncomplete")),
    ];
    let expected: Vec<String> = expected
        .map(|(a, b, c)| format!("{:?}", (&a, &b, &c)))
        .into();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn without_patch_the_group_is_read_and_its_status_put_with_what_others_wrote() {
    let object = json!({
        "metadata": {"name": "train", "uid": "g1", "resourceVersion": "7"},
        "status": {
            "conditions": [
                {"type": "DisruptionTarget", "status": "False", "reason": "R", "message": "m"},
                {"type": BOUND_IN_PART, "status": "True", "reason": "R", "message": "m"},
            ],
            "resourceClaimStatuses": [{"name": "c"}],
        },
    });
    let script = move |seen: &Seen| match seen.method.as_str() {
        "PATCH" => rbac("patch", "it"),
        "GET" => Answer::Json(200, json!({"items": [object]})),
        _ => Answer::ok(),
    };
    let bench = Bench::new(script).await;
    bench.written([status(&[SCHEDULED])]).await;
    let puts = bench.server.all("PUT");
    assert_eq!(puts[0].path, format!("{}/train/status", groups("v1beta1")));
    let status = &puts[0].body["status"];
    let kinds = status["conditions"].as_array().expect("a list").iter();
    let kinds: Vec<&Value> = kinds.map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["DisruptionTarget", "PodGroupInitiallyScheduled"]);
    assert_eq!(status["resourceClaimStatuses"], json!([{"name": "c"}]));
}

#[tokio::test]
async fn a_composite_group_is_told_in_its_one_version_under_its_own_condition() {
    let picture = seen_in("scheduling.k8s.io/v1alpha2");
    let mut bench = Bench::seeing(|_| Answer::ok(), options(), TermWatch::always(), picture).await;
    let Write::GroupStatus { status, .. } = told(&[SCHEDULED], "") else {
        panic!("a status");
    };
    let write = Write::GroupStatus {
        namespace: "ns".to_owned(),
        name: format!("{COMPOSITE_GROUP}all"),
        uid: "g2".to_owned(),
        status,
        urgent: false,
    };
    bench.written([write]).await;
    let all = "/apis/scheduling.k8s.io/v1alpha3/namespaces/ns/compositepodgroups";
    assert_eq!(bench.server.lines(), [format!("PATCH {all}/all/status")]);
    let condition = &bench.server.log()[0].body["status"]["conditions"][0];
    let said = (&condition["type"], &condition["status"]);
    let expected = (
        &json!("CompositePodGroupInitiallyScheduled"),
        &json!("True"),
    );
    assert_eq!(said, expected);
    let outcome = bench.outcome().await;
    assert!(
        matches!(&outcome, Outcome::GroupStatusWritten { name, .. } if *name == format!("{COMPOSITE_GROUP}all")),
        "{outcome:?}"
    );
}
