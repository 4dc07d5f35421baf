//! `scheduling.k8s.io` CompositePodGroup: a group of PodGroups as Kubernetes itself knows it since 1.37 (spec/03 §B11).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::native_pod_group::{
    NativeDisruptionMode, NativeGroupCondition, NativeSchedulingConstraints,
};
use crate::wire::or_default;

/// A group of PodGroups or of groups like itself. What is not read of it is here so that it counts as known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompositePodGroup {
    /// `scheduling.k8s.io/v1alpha3`.
    pub api_version: String,
    /// `CompositePodGroup`.
    pub kind: String,
    /// Metadata of the group: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: CompositePodGroupSpec,
    /// What its scheduler says of it.
    #[serde(deserialize_with = "or_default")]
    pub status: CompositePodGroupStatus,
}

/// Specification of a [`CompositePodGroup`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompositePodGroupSpec {
    /// Name of the CompositePodGroup that it is part of.
    pub parent_composite_pod_group_name: Option<String>,
    /// Not read.
    pub workload_ref: Option<IgnoredAny>,
    /// How its groups are scheduled.
    #[serde(deserialize_with = "or_default")]
    pub scheduling_policy: CompositeSchedulingPolicy,
    /// Where all pods below may be placed together.
    pub scheduling_constraints: Option<NativeSchedulingConstraints>,
    /// Whether its groups may be evicted one by one.
    pub disruption_mode: Option<NativeDisruptionMode>,
    /// Name of its PriorityClass.
    #[serde(deserialize_with = "or_default")]
    pub priority_class_name: String,
    /// Priority of all pods below, which admission reads from the PriorityClass.
    pub priority: Option<i32>,
    /// `Never`, or `PreemptLowerPriority`; only with feature gate `PodGroupPreemptionPolicy`.
    pub preemption_policy: Option<String>,
}

/// Exactly one of both.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CompositeSchedulingPolicy {
    /// Each group by itself.
    pub basic: Option<IgnoredAny>,
    /// So many groups at once, or none.
    pub gang: Option<CompositeGangPolicy>,
}

/// All or nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompositeGangPolicy {
    /// Groups that have to be placed at once, at least 1.
    pub min_group_count: Option<i32>,
}

/// Status of a [`CompositePodGroup`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CompositePodGroupStatus {
    /// Conditions of the group, one of each type.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<NativeGroupCondition>,
}

impl Resource for CompositePodGroup {
    const API_VERSION: &'static str = "scheduling.k8s.io/v1alpha3";
    const GROUP: &'static str = "scheduling.k8s.io";
    const KIND: &'static str = "CompositePodGroup";
    const VERSION: &'static str = "v1alpha3";
    const URL_PATH_SEGMENT: &'static str = "compositepodgroups";
    type Scope = NamespaceResourceScope;
}

impl CompositePodGroup {
    /// Type of the condition that says whether the group has ever been placed.
    pub const PLACED_CONDITION: &'static str = "CompositePodGroupInitiallyScheduled";
}

impl Metadata for CompositePodGroup {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &Self::Ty {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Self::Ty {
        &mut self.metadata
    }
}
