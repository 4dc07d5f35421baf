//! Command (`bus.volcano.sh/v1alpha1`, namespaced; spec/03 B6): asks a controller for an action.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

/// An action on a Job or Queue. The controllers delete it when it is done.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Command {
    /// `bus.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `Command`.
    pub kind: String,
    /// Metadata of the Command: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// `AbortJob`, `ResumeJob`, `OpenQueue` or another action.
    pub action: String,
    /// The object to act on.
    #[serde(rename = "target")]
    pub target_object: Option<OwnerReference>,
    /// Reason, for people.
    pub reason: String,
    /// Message, for people.
    pub message: String,
}

crate::wire::custom_resource!(
    Command,
    "bus.volcano.sh",
    "v1alpha1",
    "commands",
    NamespaceResourceScope,
    action,
    target_object,
    reason,
    message
);
