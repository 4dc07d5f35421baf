//! Command (`bus.volcano.sh/v1alpha1`, namespaced; spec/03 B6): asks a controller for an action.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::{Deserialize, Serialize};

use crate::wire::or_default;

/// An action on a Job or Queue. The controllers delete it when it is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Command {
    /// `bus.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `Command`.
    pub kind: String,
    /// Metadata of the Command: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// `AbortJob`, `ResumeJob`, `OpenQueue` or another action.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub action: String,
    /// The object to act on.
    #[serde(rename = "target", skip_serializing_if = "Option::is_none")]
    pub target_object: Option<OwnerReference>,
    /// Reason, for people.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub reason: String,
    /// Message, for people.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
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
