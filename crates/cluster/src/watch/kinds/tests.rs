use super::*;

fn names(options: &WatchOptions) -> Vec<&'static str> {
    table(options).map(|kind| kind.name).collect()
}

#[test]
fn switched_off_features_are_not_watched() {
    let all = names(&WatchOptions {
        shard: Some("volcano".to_owned()),
        ..WatchOptions::default()
    });
    assert_eq!(all.len(), KINDS.len());
    let few = names(&WatchOptions {
        workloads: false,
        priority_class: false,
        numatopologies: false,
        csi: false,
        ..WatchOptions::default()
    });
    let storage = [
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "VolumeAttachment",
    ];
    let native = "PodGroup.scheduling.k8s.io";
    let groups = ["Queue", "PodGroup", native, "CompositePodGroup"];
    let mut expected = vec!["Node", "Namespace", "Pod"];
    expected.extend(groups);
    expected.push("Service");
    expected.extend(storage);
    expected.extend(["PodDisruptionBudget", "ResourceQuota"]);
    let claims = [
        "DeviceClass",
        "ResourceSlice",
        "ResourceClaim",
        "DeviceTaintRule",
    ];
    expected.extend(claims);
    expected.push("HyperNode");
    assert_eq!(few, expected);
}

#[test]
fn paths_are_those_of_the_group_and_version() {
    let row = |name: &str| KINDS.iter().find(|kind| kind.name == name).unwrap().row();
    let path = |name: &str| row(name).collection().path;
    assert_eq!(path("Pod"), "/api/v1/pods");
    assert_eq!(path("StatefulSet"), "/apis/apps/v1/statefulsets");
    let group = "/apis/scheduling.volcano.sh/v1beta1/podgroups";
    assert_eq!(path("PodGroup"), group);
}

#[test]
fn a_kind_with_versions_is_asked_for_in_each_and_then_from_the_start() {
    let find = |name: &str| KINDS.iter().find(|kind| kind.name == name).unwrap().row();
    // The path asked for, and whether an older version follows on it.
    let steps = |name: &str, count: usize| {
        let mut kind = find(name);
        let step = |_| (kind.collection().path, kind.try_another_version());
        (0..count).map(step).collect::<Vec<_>>()
    };
    let path = |version: &str| format!("/apis/scheduling.k8s.io/{version}/podgroups");
    let expected = [
        (path("v1beta1"), true),
        (path("v1alpha3"), true),
        (path("v1alpha2"), false),
        (path("v1beta1"), true),
    ];
    assert_eq!(steps("PodGroup.scheduling.k8s.io", 4), expected);
    let composite = "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups".to_owned();
    assert_eq!(steps("CompositePodGroup", 1), [(composite, false)]);
    let path = |version: &str| format!("/apis/resource.k8s.io/{version}/devicetaintrules");
    let expected = [(path("v1"), true), (path("v1beta2"), false)];
    assert_eq!(steps("DeviceTaintRule", 2), expected);
    assert_eq!(steps("Pod", 1), [("/api/v1/pods".to_owned(), false)]);
}
