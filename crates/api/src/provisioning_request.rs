//! ProvisioningRequest (`autoscaling.x-k8s.io/v1`, namespaced): room for a group of pods, which Cluster Autoscaler is to find or
//! buy as a whole (spec/17 §6).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::wire::custom_resource;

/// Room that is asked for.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProvisioningRequest {
    /// `autoscaling.x-k8s.io/v1`.
    pub api_version: String,
    /// `ProvisioningRequest`.
    pub kind: String,
    /// Metadata of the request: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// For which pods.
    pub spec: ProvisioningRequestSpec,
    /// What the autoscaler says of it.
    pub status: ProvisioningRequestStatus,
}

custom_resource!(
    ProvisioningRequest,
    "autoscaling.x-k8s.io",
    "v1",
    "provisioningrequests",
    NamespaceResourceScope,
    spec,
    status
);

/// Specification of a [`ProvisioningRequest`], which nobody may change.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProvisioningRequestSpec {
    /// How the room is found, as `check-capacity.autoscaling.x-k8s.io`.
    pub provisioning_class_name: String,
    /// Pods, 1 to 32 sets of them.
    pub pod_sets: Vec<ProvisionedPods>,
    /// Parameters of the class.
    pub parameters: BTreeMap<String, String>,
}

/// Pods of one template.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProvisionedPods {
    /// PodTemplate of the namespace.
    pub pod_template_ref: PodTemplateRef,
    /// Number of pods, at least 1.
    pub count: i32,
}

/// Names a PodTemplate of the same namespace.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PodTemplateRef {
    /// Name of the PodTemplate.
    pub name: String,
}

/// Status of a [`ProvisioningRequest`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProvisioningRequestStatus {
    /// `Accepted`, `Provisioned`, `Failed`, `BookingExpired`, `CapacityRevoked`.
    pub conditions: Vec<Condition>,
    /// What the class says besides.
    pub provisioning_class_details: BTreeMap<String, String>,
}
