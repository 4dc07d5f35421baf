//! Volumes, claims, classes, and what CSI drivers say of nodes.

use k8s_openapi::serde::de::DeserializeOwned;
use pumice_ingest::{
    Readable, csi_node, csi_storage_capacity, ephemeral_claims, persistent_volume,
    persistent_volume_claim, storage_class,
};
use pumice_model::object::{AccessModes, ClaimRef, Disk, PodClaim, VolumeSource};
use serde_json::{Value, json};

use crate::{problems, read_spec};

fn wire<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object")
}

#[test]
fn a_pod_mounts_claims_once_and_its_own_under_the_name_of_both() {
    let pod = read_spec(json!({"volumes": [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"name": "none", "emptyDir": {}},
    ]}));
    let claim = |name: &str, ephemeral| PodClaim {
        name: name.to_owned(),
        ephemeral,
    };
    assert_eq!(pod.claims, [claim("data", false), claim("p-tmp", true)]);
    assert_eq!((pod.disks, pod.inline_volumes), (vec![], vec![]));
}

#[test]
fn in_line_disks_are_told_with_their_defaults_and_drivers() {
    let pod = read_spec(json!({"volumes": [
        {"name": "g", "gcePersistentDisk": {"pdName": "d", "readOnly": true}},
        {"name": "e", "awsElasticBlockStore": {"volumeID": "v"}},
        {"name": "i", "iscsi": {"iqn": "q", "lun": 0, "targetPortal": "t"}},
        {"name": "r", "rbd": {"monitors": ["m"], "image": "i"}},
        {"name": "z", "azureDisk": {"diskName": "n", "diskURI": "u"}},
    ]}));
    let gce = Disk::GcePersistentDisk {
        name: "d".to_owned(),
        read_only: true,
    };
    let rbd = Disk::Rbd {
        monitors: vec!["m".to_owned()],
        pool: "rbd".to_owned(),
        image: "i".to_owned(),
        read_only: false,
    };
    assert_eq!(pod.disks.len(), 4);
    assert_eq!((&pod.disks[0], &pod.disks[3]), (&gce, &rbd));
    let drivers: Vec<&str> = pod
        .inline_volumes
        .iter()
        .map(|v| v.driver.as_str())
        .collect();
    assert_eq!(
        drivers,
        [
            "pd.csi.storage.gke.io",
            "ebs.csi.aws.com",
            "disk.csi.azure.com"
        ]
    );
}

#[test]
fn a_volume_is_available_by_its_phase_or_before_any_controller_saw_it() {
    let volume = |status: Value, claim: Value| {
        let spec = json!({
            "storageClassName": "local", "capacity": {"storage": "1Gi"}, "claimRef": claim,
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "volumeMode": "Block",
            "csi": {"driver": "d", "volumeHandle": "h"},
        });
        let object = json!({"metadata": {"name": "v"}, "spec": spec, "status": status});
        persistent_volume(&wire(object)).expect("no problems")
    };
    let fresh = volume(json!({}), Value::Null);
    assert_eq!(
        (fresh.class.as_str(), fresh.capacity, fresh.block),
        ("local", 1 << 30, true)
    );
    let modes = AccessModes::READ_WRITE_ONCE.and(AccessModes::READ_ONLY_MANY);
    assert_eq!(fresh.modes, modes);
    let source = VolumeSource {
        driver: "d".to_owned(),
        handle: "h".to_owned(),
        migrated_from: String::new(),
    };
    assert_eq!(fresh.source, Some(source));
    assert!(fresh.available);
    assert!(volume(json!({"phase": "Available"}), Value::Null).available);
    assert!(!volume(json!({"phase": "Released"}), Value::Null).available);
    let taken = volume(
        json!({}),
        json!({"namespace": "ns", "name": "c", "uid": "u"}),
    );
    assert!(!taken.available);
    let owner = ClaimRef {
        namespace: "ns".to_owned(),
        name: "c".to_owned(),
        uid: "u".to_owned(),
    };
    assert_eq!(taken.claim, Some(owner));
}

#[test]
fn where_an_affinity_is_not_written_a_volume_goes_everywhere() {
    let volume = |affinity: Value| {
        let object = json!({"metadata": {"name": "v"}, "spec": {"nodeAffinity": affinity}});
        persistent_volume(&wire(object)).expect("no problems")
    };
    assert_eq!(volume(Value::Null).node_affinity, None);
    let nowhere = json!({"required": {"nodeSelectorTerms": []}});
    assert_eq!(volume(nowhere).node_affinity, Some(vec![]));
}

#[test]
fn a_claim_that_names_no_class_differs_from_one_without() {
    let claim = |annotations: Value, spec: Value| {
        let metadata = json!({"name": "c", "namespace": "ns", "annotations": annotations});
        let object = json!({"metadata": metadata, "spec": spec});
        let claim = persistent_volume_claim(&wire(object)).and_then(Readable::certain);
        claim.expect("no problems")
    };
    assert_eq!(claim(Value::Null, json!({})).class, None);
    let none = claim(Value::Null, json!({"storageClassName": ""}));
    assert_eq!(none.class.as_deref(), Some(""));
    let old = json!({"volume.beta.kubernetes.io/storage-class": "old"});
    assert_eq!(claim(old, json!({})).class.as_deref(), Some("old"));
    // The annotation counts by being there.
    let bound = json!({"pv.kubernetes.io/bind-completed": ""});
    let bound = claim(bound, json!({"volumeName": "v"}));
    assert!(bound.is_bound());
    assert!(!claim(Value::Null, json!({"volumeName": "v"})).is_bound());
}

#[test]
fn the_claims_of_a_pod_belong_to_it() {
    let pod = json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "spec": {"volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {
            "spec": {"storageClassName": "s", "resources": {"requests": {"storage": "2Gi"}}},
        }}}], "containers": []},
    });
    let claims = ephemeral_claims(&wire(pod)).expect("no problems");
    assert_eq!(claims.len(), 1);
    let claim = &claims[0];
    assert_eq!(
        (claim.namespace.as_str(), claim.name.as_str()),
        ("ns", "p-tmp")
    );
    assert_eq!((claim.owner_uid.as_str(), claim.request), ("u", 2 << 30));
}

#[test]
fn a_class_knows_the_driver_its_volumes_count_for() {
    let class = |object: Value| storage_class(&wire(object)).expect("no problems");
    let plain = class(json!({"metadata": {"name": "s"}, "provisioner": "d"}));
    assert_eq!((plain.driver.as_str(), plain.delayed), ("d", false));
    let named = class(json!({
        "metadata": {"name": "s"}, "provisioner": "d",
        "parameters": {"csi.storage.k8s.io/csi-driver-name": "other"},
        "volumeBindingMode": "WaitForFirstConsumer",
    }));
    assert_eq!((named.driver.as_str(), named.delayed), ("other", true));
    let in_tree = json!({"metadata": {"name": "s"}, "provisioner": "kubernetes.io/aws-ebs"});
    let in_tree = class(in_tree);
    assert_eq!(in_tree.driver, "ebs.csi.aws.com");
    assert_eq!(in_tree.migrated_from, "kubernetes.io/aws-ebs");
}

#[test]
fn a_driver_without_a_count_is_unlimited() {
    let node = json!({
        "metadata": {"name": "n", "annotations": {
            "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs, other",
        }},
        "spec": {"drivers": [
            {"name": "a", "nodeID": "n", "allocatable": {"count": 3}},
            {"name": "b", "nodeID": "n", "topologyKeys": ["zone"]},
        ]},
    });
    let node = csi_node(&wire(node)).expect("no problems");
    let limits: Vec<Option<i64>> = node.drivers.iter().map(|driver| driver.limit).collect();
    assert_eq!(limits, [Some(3), None]);
    assert_eq!(node.migrated, ["kubernetes.io/aws-ebs", "other"]);
}

#[test]
fn the_largest_volume_counts_before_the_whole_capacity() {
    let capacity = |object: Value| csi_storage_capacity(&wire(object)).expect("no problems");
    let name = json!({"name": "c"});
    let both = json!({
        "metadata": name, "storageClassName": "s", "capacity": "9Gi", "maximumVolumeSize": "2Gi",
    });
    assert_eq!(capacity(both).largest, Some(2 << 30));
    let whole = json!({"metadata": name, "storageClassName": "s", "capacity": "9Gi"});
    let whole = capacity(whole);
    assert_eq!((whole.largest, whole.topology), (Some(9 << 30), None));
}

#[test]
fn unreadable_amounts_and_modes_are_told_with_their_field() {
    let volume = json!({"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "-1Gi"}}});
    assert_eq!(
        problems(persistent_volume(&wire(volume))),
        ["spec.capacity.storage: \"-1Gi\" is negative"]
    );
    let class = json!({
        "metadata": {"name": "s"}, "provisioner": "d", "volumeBindingMode": "Later",
    });
    assert_eq!(
        problems(storage_class(&wire(class))),
        ["volumeBindingMode: \"Later\" is not a binding mode"]
    );
}
