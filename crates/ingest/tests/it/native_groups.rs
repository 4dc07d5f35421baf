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
fn conditions_are_read_as_those_of_other_groups_in_the_words_of_each_version() {
    let conditions = |told: &[(&str, &str)]| {
        let one = |(kind, status): &(&str, &str)| {
            json!({"type": kind, "status": status, "reason": "R", "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1})
        };
        let wire = json!({
            "metadata": {"name": "train", "namespace": "ns", "uid": "u"},
            "spec": {"schedulingPolicy": {"basic": {}}},
            "status": {
                "conditions": told.iter().map(one).collect::<Vec<_>>(),
                "resourceClaimStatuses": [{"name": "c", "resourceClaimName": "train-c"}],
            },
        });
        let wire: NativePodGroup = serde_json::from_value(wire).expect("a PodGroup");
        let read = pumice_ingest::native_pod_group(&wire, &Options::default());
        let status = read.expect("no problems").status;
        let said = status.conditions.into_iter();
        let said = said.map(|one| {
            format!(
                "{}={} {} {}",
                one.kind, one.status, one.message, one.transition_s
            )
        });
        (status.phase, said.collect::<Vec<_>>().join("; "))
    };
    for kind in ["PodGroupInitiallyScheduled", "PodGroupScheduled"] {
        let (phase, said) = conditions(&[(kind, "True"), ("DisruptionTarget", "False")]);
        assert_eq!(phase, GroupPhase::Running);
        assert_eq!(
            said,
            "Scheduled=True m 1767225600; DisruptionTarget=False m 1767225600"
        );
        let (phase, said) = conditions(&[(kind, "False")]);
        assert_eq!(phase, GroupPhase::Inqueue);
        assert_eq!(said, "Unschedulable=True m 1767225600");
        let (phase, _) = conditions(&[(kind, "True"), ("BoundInPart", "True")]);
        assert_eq!(phase, GroupPhase::Unknown);
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

#[test]
fn how_a_group_is_evicted_is_read_in_the_words_of_each_version() {
    let whole = |mode: Value| {
        let policy = json!({"basic": {}});
        let spec = json!({"schedulingPolicy": policy, "disruptionMode": mode});
        group(spec).map(|group| group.native.goes_whole)
    };
    for (mode, goes_whole) in [
        (json!(null), false),
        (json!("Pod"), false),
        (json!({"single": {}}), false),
        (json!("PodGroup"), true),
        (json!({"all": {}}), true),
        (json!({"single": null, "all": {}}), true),
    ] {
        assert_eq!(whole(mode.clone()), Ok(goes_whole), "{mode}");
    }
    let expected = "spec.disruptionMode: \"Half\" is no mode";
    assert_eq!(problems(whole(json!("Half"))), [expected]);
    let expected = "spec.disruptionMode: \"all, single\" is no mode";
    assert_eq!(
        problems(whole(json!({"single": {}, "all": {}}))),
        [expected]
    );
}

#[test]
fn importance_and_place_of_a_group_are_read_and_what_is_not_done_is_named() {
    let read = |more: Value| {
        let mut spec = json!({"schedulingPolicy": {"gang": {"minCount": 2}}});
        let all = spec.as_object_mut().expect("a map");
        all.extend(more.as_object().expect("a map").clone());
        group(spec)
    };
    let all = read(json!({
        "priorityClassName": "high",
        "priority": 70,
        "preemptionPolicy": "Never",
        "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
    }));
    let all = all.expect("no problems");
    assert_eq!(all.native.priority, Some(70));
    assert!(all.native.never_preempts && all.native.unserved.is_empty());
    assert_eq!(all.named_label(), Some("example.com/rack"));
    let part = read(json!({"parentCompositePodGroupName": "all"})).expect("no problems");
    assert_eq!((&*part.native.parent, &*part.native.unserved), ("all", ""));
    let two = json!({"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}});
    let path = "spec.schedulingConstraints.topology";
    assert_eq!(
        problems(read(two)),
        [format!("{path}: more than one is set")]
    );
    let none = json!({"schedulingConstraints": {"topology": [{}]}});
    assert_eq!(problems(read(none)), [format!("{path}: it has no key")]);
    assert_eq!(
        read(json!({"schedulingConstraints": {}}))
            .expect("none")
            .topology,
        None
    );
}

#[test]
fn a_pod_that_names_two_groups_says_so_unless_a_controller_made_the_other_one() {
    let names = |spec: Value, annotation: &str| {
        let pod = read(json!({
            "metadata": {"name": "p", "annotations": {"scheduling.k8s.io/group-name": annotation}},
            "spec": {"containers": [], "schedulingGroup": spec},
        }));
        pod.expect("a pod").names_another_group
    };
    let native = || json!({"podGroupName": "train"});
    assert!(names(native(), "other"));
    assert!(!names(native(), "podgroup-0123"));
    assert!(!names(native(), ""));
    assert!(!names(json!(null), "other"));
}

#[test]
fn claims_of_a_group_are_read_and_those_that_no_pod_could_name_are_told() {
    let with = |claims: Value| {
        group(json!({"schedulingPolicy": {"basic": {}}, "resourceClaims": claims}))
            .map(|group| group.native.claims)
    };
    let link = json!({"name": "link", "resourceClaimName": "c"});
    let made = json!({"name": "gpu", "resourceClaimTemplateName": "t"});
    let read = with(json!([link, made])).expect("no problems");
    let read: Vec<_> = read
        .iter()
        .map(|one| (&*one.entry, one.claim.as_deref(), one.template.as_deref()))
        .collect();
    assert_eq!(read, [("link", Some("c"), None), ("gpu", None, Some("t"))]);
    let named = |name: &str| json!({"name": name, "resourceClaimName": "c"});
    let five = ["a", "b", "c", "d", "e"].map(named);
    let source = "not exactly one of resourceClaimName and resourceClaimTemplateName is set";
    let both = json!({"name": "a", "resourceClaimName": "c", "resourceClaimTemplateName": "t"});
    for (claims, expected) in [
        (json!(five), "spec.resourceClaims: 5 are set".to_owned()),
        (
            json!([named("a"), named("a")]),
            "spec.resourceClaims[1].name: \"a\" is no name of one claim".to_owned(),
        ),
        (
            json!([{"resourceClaimName": "c"}]),
            "spec.resourceClaims[0].name: \"\" is no name of one claim".to_owned(),
        ),
        (
            json!([{"name": "a"}]),
            format!("spec.resourceClaims[0]: {source}"),
        ),
        (json!([both]), format!("spec.resourceClaims[0]: {source}")),
    ] {
        assert_eq!(problems(with(claims)), [expected]);
    }
    assert!(with(json!(["a", "b", "c", "d"].map(named))).is_ok());
}
