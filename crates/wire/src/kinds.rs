//! Every wire type that is read.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job as BatchJob;
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
    Command, CompositePodGroup, CronJob, DeviceTaintRule, HyperNode, Job, JobFlow, JobTemplate,
    NativePodGroup, NodeMetrics, NodeShard, Numatopology, PodGroup, ProvisioningRequest, Queue,
};

use crate::bound;
use crate::object::WireObject;
use crate::problem::{WireProblem, read};
use crate::workload_ref;

impl WireObject for Pod {
    #[inline(never)]
    fn read(json: &[u8]) -> Result<Self, WireProblem> {
        let mut pod = read(json)?;
        workload_ref::fill(&mut pod, json);
        Ok(pod)
    }

    fn read_in_part(json: &[u8]) -> Option<(Self, Vec<WireProblem>)> {
        bound::read(json)
    }
}

macro_rules! wire_objects {
    ($($kind:ident),* $(,)?) => {
        $(
            impl WireObject for $kind {
                // Without it the compiler could make this code again in every crate that calls it.
                #[inline(never)]
                fn read(json: &[u8]) -> Result<Self, WireProblem> {
                    read(json)
                }
            }
        )*
    };
}

wire_objects!(
    BatchJob,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Command,
    CompositePodGroup,
    CronJob,
    DaemonSet,
    Deployment,
    DeviceClass,
    DeviceTaintRule,
    HyperNode,
    Job,
    JobFlow,
    JobTemplate,
    Namespace,
    NativePodGroup,
    Node,
    NodeMetrics,
    NodeShard,
    Numatopology,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    ProvisioningRequest,
    Queue,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceQuota,
    ResourceSlice,
    RuntimeClass,
    Service,
    StatefulSet,
    StorageClass,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    VolumeAttachment,
);
