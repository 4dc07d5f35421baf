//! HyperNodes, and what PodGroups ask of them (spec/08).

use super::Selector;

/// A HyperNode: nodes, or domains of a lower tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct HyperNodeObject {
    /// Name, unique in the cluster.
    pub name: String,
    /// UID; empty where it is unknown.
    pub uid: String,
    /// `spec.tier`; lower is faster.
    pub tier: i64,
    /// `spec.tierName`; empty when absent.
    pub tier_name: String,
    /// `spec.members`.
    pub members: Vec<HyperNodeMembers>,
}

/// One entry of `spec.members`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum HyperNodeMembers {
    /// The node of this name.
    Node(String),
    /// Nodes whose name has this pattern in it ([`crate::network::name_pattern`]).
    NodesNamed(String),
    /// Nodes with these labels; no requirement selects nothing.
    NodesLabelled(Selector),
    /// The HyperNode of this name.
    Child(String),
    /// HyperNodes whose name has this pattern in it.
    ChildrenNamed(String),
}

/// What a PodGroup, or a policy of its sub-groups, asks of the network (spec/08 §3).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TopologyRequest {
    /// As close together as possible.
    Soft,
    /// Within one domain of at most this tier.
    Hard(HighestTier),
}

/// The highest tier of a domain that will do.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum HighestTier {
    /// `highestTierAllowed`.
    Number(i64),
    /// `highestTierName`.
    Name(String),
    /// Neither is there.
    Missing,
    /// No tier: all nodes of the domain have the same value of this label.
    Label(String),
}
