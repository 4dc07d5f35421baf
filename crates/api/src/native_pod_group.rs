//! `scheduling.k8s.io` PodGroup: a group of pods as Kubernetes itself knows it since 1.36, named by
//! `spec.schedulingGroup` of its pods (spec/03 §B10).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::wire::or_default;

/// A group of pods. What is not read of it is here so that it counts as known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NativePodGroup {
    /// `scheduling.k8s.io` in one of its versions.
    pub api_version: String,
    /// `PodGroup`.
    pub kind: String,
    /// Metadata of the group: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: NativePodGroupSpec,
    /// Status; not read.
    pub status: Option<IgnoredAny>,
}

/// Specification of a [`NativePodGroup`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NativePodGroupSpec {
    /// How its pods are scheduled.
    #[serde(deserialize_with = "or_default")]
    pub scheduling_policy: NativeSchedulingPolicy,
    /// Name of its PriorityClass.
    #[serde(deserialize_with = "or_default")]
    pub priority_class_name: String,
    /// Not read.
    pub priority: Option<IgnoredAny>,
    /// Not read.
    pub preemption_policy: Option<IgnoredAny>,
    /// Not read.
    pub disruption_mode: Option<IgnoredAny>,
    /// Not read.
    pub scheduling_constraints: Option<IgnoredAny>,
    /// Not read.
    pub resource_claims: Option<IgnoredAny>,
    /// Not read.
    pub parent_composite_pod_group_name: Option<IgnoredAny>,
    /// Not read; since v1alpha3.
    pub workload_ref: Option<IgnoredAny>,
    /// Not read; of v1alpha2.
    pub pod_group_template_ref: Option<IgnoredAny>,
}

/// Exactly one of both.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NativeSchedulingPolicy {
    /// Each pod by itself.
    pub basic: Option<IgnoredAny>,
    /// So many at once, or none.
    pub gang: Option<NativeGangPolicy>,
}

/// All or nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NativeGangPolicy {
    /// Pods that have to be placed at once, at least 1.
    pub min_count: Option<i32>,
}

impl Resource for NativePodGroup {
    const API_VERSION: &'static str = "scheduling.k8s.io/v1beta1";
    const GROUP: &'static str = "scheduling.k8s.io";
    const KIND: &'static str = "PodGroup";
    const VERSION: &'static str = "v1beta1";
    const URL_PATH_SEGMENT: &'static str = "podgroups";
    type Scope = NamespaceResourceScope;
}

impl NativePodGroup {
    /// Versions of servers that do not serve the newest, newest first.
    pub const OLDER_VERSIONS: [&'static str; 2] =
        ["scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2"];
}

impl Metadata for NativePodGroup {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &Self::Ty {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Self::Ty {
        &mut self.metadata
    }
}
