//! HyperNode (`topology.volcano.sh/v1alpha1`, cluster-scoped; spec/03 B7).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::wire::{custom_resource, or_default};

/// A performance domain of the network: nodes, or domains of a lower tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HyperNode {
    /// `topology.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `HyperNode`.
    pub kind: String,
    /// Metadata of the HyperNode: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: HyperNodeSpec,
    /// What is told of the HyperNode.
    #[serde(deserialize_with = "or_default")]
    pub status: HyperNodeStatus,
}

custom_resource!(
    HyperNode,
    "topology.volcano.sh",
    "v1alpha1",
    "hypernodes",
    ClusterResourceScope,
    spec,
    status
);

/// Specification of a [`HyperNode`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HyperNodeSpec {
    /// Tier, at least 0; lower is faster.
    // Written even when 0: the definition requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<i64>,
    /// Name of the tier.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub tier_name: String,
    /// Members, at least one.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<HyperNodeMember>,
}

/// One entry of `spec.members`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HyperNodeMember {
    /// `Node` or `HyperNode`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// Which objects of that kind; exactly one of its fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<MemberSelector>,
}

/// `members[].selector`: exactly one of its fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MemberSelector {
    /// The object of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_match: Option<ExactMatch>,
    /// Nodes whose name the pattern matches anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex_match: Option<RegexMatch>,
    /// Nodes with these labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_match: Option<LabelSelector>,
}

/// `selector.exactMatch`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ExactMatch {
    /// Name of a Node or HyperNode.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// `selector.regexMatch`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RegexMatch {
    /// Unanchored regular expression in Go's syntax.
    #[serde(deserialize_with = "or_default")]
    pub pattern: String,
}

/// Status of a [`HyperNode`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HyperNodeStatus {
    /// Conditions of the HyperNode, one of each type.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Number of nodes below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_count: Option<i64>,
}
