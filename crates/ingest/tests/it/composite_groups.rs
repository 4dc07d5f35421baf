//! CompositePodGroups of Kubernetes itself.

use pumice_api::CompositePodGroup;
use pumice_ingest::{ObjectProblem, Options};
use pumice_model::object::{CompositePolicy, GroupObject, GroupPhase, PreemptableMark};
use serde_json::{Value, json};

use super::problems;

fn composite(spec: Value) -> Result<GroupObject, Vec<ObjectProblem>> {
    let wire = json!({
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "all", "namespace": "ns", "uid": "u",
            "annotations": {"scheduling.volcano.sh/queue-name": "research"}},
        "spec": spec,
        "status": {"conditions": [{"type": "CompositePodGroupInitiallyScheduled", "status": "True",
            "reason": "Scheduled", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    });
    let wire: CompositePodGroup = serde_json::from_value(wire).expect("a CompositePodGroup");
    pumice_ingest::composite_pod_group(&wire, &Options::default())
}

#[test]
fn a_group_of_groups_is_read_with_its_policy_parent_queue_and_importance() {
    let read = composite(json!({
        "parentCompositePodGroupName": "up",
        "workloadRef": {"name": "w"},
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
        "disruptionMode": {"all": {}},
        "priorityClassName": "high",
        "priority": 70,
        "preemptionPolicy": "Never",
    }));
    let read = read.expect("no problems");
    assert_eq!(read.name, "scheduling.k8s.io/CompositePodGroup/all");
    assert_eq!((&*read.queue, &*read.priority_class), ("research", "high"));
    assert_eq!(read.named_label(), Some("example.com/rack"));
    assert_eq!(read.preemptable, PreemptableMark::Unsaid);
    assert_eq!(read.status.phase, GroupPhase::Running, "it was placed");
    let native = read.native;
    assert_eq!((&*native.parent, native.priority), ("up", Some(70)));
    assert_eq!(native.composite, Some(CompositePolicy::Gang(2)));
    assert!(native.goes_whole && native.never_preempts && native.tree.is_none());
    let basic = composite(json!({"schedulingPolicy": {"basic": {}}})).expect("no problems");
    assert_eq!(basic.native.composite, Some(CompositePolicy::Basic));
    assert_eq!(basic.native.parent, "");
}

#[test]
fn exactly_one_policy_with_a_count_of_groups_is_asked_for() {
    let path = "spec.schedulingPolicy";
    for (policy, expected) in [
        (json!({}), format!("{path}: neither basic nor gang is set")),
        (
            json!({"basic": {}, "gang": {"minGroupCount": 1}}),
            format!("{path}: both basic and gang are set"),
        ),
        (
            json!({"gang": {"minGroupCount": 0}}),
            format!("{path}.gang.minGroupCount: 0 is too small"),
        ),
        (
            json!({"gang": {}}),
            format!("{path}.gang.minGroupCount: 0 is too small"),
        ),
    ] {
        let read = composite(json!({"schedulingPolicy": policy}));
        assert_eq!(problems(read), [expected]);
    }
}
