//! PodGroups of Kubernetes itself, and pods that name one.

use pumice_api::NativePodGroup;
use pumice_ingest::{ObjectProblem, Options};
use pumice_model::object::{GroupObject, GroupPhase};
use serde_json::{Value, json};

use super::{problems, read};

fn group(spec: Value) -> Result<GroupObject, Vec<ObjectProblem>> {
    let wire = json!({
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ns", "uid": "u",
            "annotations": {"scheduling.volcano.sh/queue-name": "research"}},
        "spec": spec,
    });
    let wire: NativePodGroup = serde_json::from_value(wire).expect("a PodGroup");
    pumice_ingest::native_pod_group(&wire, &Options::default())
}

#[test]
fn a_gang_has_its_minimum_and_pods_of_a_basic_group_go_one_by_one() {
    for (policy, minimum) in [
        (json!({"gang": {"minCount": 4}}), 4),
        (json!({"basic": {}}), 1),
    ] {
        let read = group(json!({"schedulingPolicy": policy, "priorityClassName": "high"}));
        let read = read.expect("no problems");
        assert_eq!(read.min_member, minimum);
        assert_eq!(
            (&*read.name, read.is_native),
            ("scheduling.k8s.io/train", true)
        );
        assert_eq!((&*read.queue, &*read.priority_class), ("research", "high"));
        assert_eq!(
            read.status.phase,
            GroupPhase::Inqueue,
            "its pods are there already"
        );
    }
}

#[test]
fn a_group_has_exactly_one_policy_and_a_gang_one_pod_at_least() {
    for (policy, expected) in [
        (
            json!({}),
            "spec.schedulingPolicy: neither basic nor gang is set",
        ),
        (
            json!({"basic": {}, "gang": {"minCount": 1}}),
            "spec.schedulingPolicy: both basic and gang are set",
        ),
        (
            json!({"gang": {}}),
            "spec.schedulingPolicy.gang.minCount: 0 is too small",
        ),
        (
            json!({"gang": {"minCount": -2}}),
            "spec.schedulingPolicy.gang.minCount: -2 is too small",
        ),
    ] {
        let found = problems(group(json!({"schedulingPolicy": policy})));
        assert_eq!(found, [expected]);
    }
}

#[test]
fn what_the_spec_of_a_pod_names_counts_before_its_annotation() {
    let named = |group: Value| {
        let pod = read(json!({
            "metadata": {"name": "p", "annotations": {"scheduling.k8s.io/group-name": "made"}},
            "spec": {"containers": [], "schedulingGroup": group},
        }));
        pod.expect("a pod").group
    };
    let native = Some("scheduling.k8s.io/train".to_owned());
    assert_eq!(named(json!({"podGroupName": "train"})), native);
    for nothing in [json!(null), json!({}), json!({"podGroupName": ""})] {
        assert_eq!(named(nothing).as_deref(), Some("made"));
    }
}
