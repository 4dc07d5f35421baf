//! HyperNode (`topology.volcano.sh/v1alpha1`, cluster-scoped; spec/03 B7).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::wire::{custom_resource, or_default};

/// A performance domain of the network: nodes, or domains of a lower tier.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HyperNode {
    /// `topology.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `HyperNode`.
    pub kind: String,
    /// Metadata of the HyperNode: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification.
    pub spec: HyperNodeSpec,
    /// What is told of the HyperNode.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HyperNodeSpec {
    /// Tier, at least 0; lower is faster.
    // Written even when 0: the definition requires it.
    pub tier: Option<i64>,
    /// Name of the tier.
    pub tier_name: String,
    /// Members, at least one.
    pub members: Vec<HyperNodeMember>,
}

/// One entry of `spec.members`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HyperNodeMember {
    /// `Node` or `HyperNode`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// Which objects of that kind; exactly one of its fields.
    pub selector: Option<MemberSelector>,
}

/// `members[].selector`: exactly one of its fields.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberSelector {
    /// The object of this name.
    pub exact_match: Option<ExactMatch>,
    /// Nodes whose name the pattern matches anywhere.
    pub regex_match: Option<RegexMatch>,
    /// Nodes with these labels.
    pub label_match: Option<LabelSelector>,
}

/// `selector.exactMatch`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExactMatch {
    /// Name of a Node or HyperNode.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// `selector.regexMatch`.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegexMatch {
    /// Unanchored regular expression in Go's syntax.
    #[serde(deserialize_with = "or_default")]
    pub pattern: String,
}

/// Status of a [`HyperNode`].
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HyperNodeStatus {
    /// Conditions of the HyperNode, one of each type.
    pub conditions: Vec<Condition>,
    /// Number of nodes below it.
    pub node_count: Option<i64>,
}
