use expect_test::expect_file;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
    ResourceQuota, Service,
};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::resource::v1::{
    DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use pumice_api::{
    CompositePodGroup, DeviceTaintRule, HyperNode, Job, NativePodGroup, NodeMetrics, NodeShard,
    Numatopology, PodGroup, Queue,
};
use pumice_schema::tracer::Types;

macro_rules! kinds {
    ($($group:literal: $($kind:ident),*;)*) => {{
        let types = Types::default();
        $($(types.add::<$kind>(concat!($group, "/", stringify!($kind)));)*)*
        types
    }};
}

#[test]
fn the_table_of_fields_is_that_of_the_types() {
    let types = kinds!(
        "": Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
            ResourceQuota, Service;
        "apps": Deployment, ReplicaSet, StatefulSet;
        "batch.volcano.sh": Job;
        "metrics.k8s.io": NodeMetrics;
        "node.k8s.io": RuntimeClass;
        "nodeinfo.volcano.sh": Numatopology;
        "policy": PodDisruptionBudget;
        "resource.k8s.io": DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
        "scheduling.k8s.io": CompositePodGroup, PriorityClass;
        "scheduling.volcano.sh": PodGroup, Queue;
        "shard.volcano.sh": NodeShard;
        "storage.k8s.io": CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment;
        "topology.volcano.sh": HyperNode;
    );
    types.add::<NativePodGroup>("scheduling.k8s.io/PodGroup");
    expect_file![concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/wire/src/fields.txt"
    )]
    .assert_eq(&types.text());
}
