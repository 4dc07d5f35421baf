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
    let groups = ["Queue", "PodGroup", native];
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
    let path = |name: &str| KINDS.iter().find(|kind| kind.name == name).unwrap().path();
    assert_eq!(path("Pod"), "/api/v1/pods");
    assert_eq!(path("StatefulSet"), "/apis/apps/v1/statefulsets");
    let group = "/apis/scheduling.volcano.sh/v1beta1/podgroups";
    assert_eq!(path("PodGroup"), group);
}

#[test]
fn a_kind_with_versions_is_asked_for_in_each_and_then_from_the_start() {
    let find = |name: &str| KINDS.into_iter().find(|kind| kind.name == name).unwrap();
    let mut kind = find("PodGroup.scheduling.k8s.io");
    let mut paths = Vec::new();
    for _ in 0..4 {
        let (next, is_older) = kind.in_another_version();
        paths.push((kind.path(), is_older));
        kind = next;
    }
    let path = |version: &str| format!("/apis/scheduling.k8s.io/{version}/podgroups");
    let expected = [
        (path("v1beta1"), true),
        (path("v1alpha3"), true),
        (path("v1alpha2"), false),
        (path("v1beta1"), true),
    ];
    assert_eq!(paths, expected);
    let (rules, is_older) = find("DeviceTaintRule").in_another_version();
    assert!(is_older && find("DeviceTaintRule").path().contains("/v1/"));
    assert_eq!(
        rules.path(),
        "/apis/resource.k8s.io/v1beta2/devicetaintrules"
    );
    let (pod, is_older) = find("Pod").in_another_version();
    assert_eq!((pod.path().as_str(), is_older), ("/api/v1/pods", false));
}
