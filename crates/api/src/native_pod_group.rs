//! `scheduling.k8s.io` PodGroup: a group of pods as Kubernetes itself knows it since 1.36, named by
//! `spec.schedulingGroup` of its pods (spec/03 §B10).

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

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
    /// What its scheduler says of it.
    #[serde(deserialize_with = "or_default")]
    pub status: NativePodGroupStatus,
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
    /// Priority of its pods, which admission reads from the PriorityClass.
    pub priority: Option<i32>,
    /// `Never`, or `PreemptLowerPriority`; since v1alpha3, and only with feature gate `PodGroupPreemptionPolicy`.
    pub preemption_policy: Option<String>,
    /// Whether its pods may be evicted one by one.
    pub disruption_mode: Option<NativeDisruptionMode>,
    /// Where its pods may be placed together.
    pub scheduling_constraints: Option<NativeSchedulingConstraints>,
    /// Claims that its pods share.
    #[serde(deserialize_with = "or_default")]
    pub resource_claims: Vec<NativeGroupClaim>,
    /// Name of the CompositePodGroup that it is part of; since v1alpha3.
    pub parent_composite_pod_group_name: Option<String>,
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

/// How pods of a group may be evicted: a word in v1alpha2, an object with one field in later versions.
#[derive(Clone, Debug, PartialEq)]
pub enum NativeDisruptionMode {
    /// `Pod`, or `single`: one by one.
    Single,
    /// `PodGroup`, or `all`: all of them or none.
    All,
    /// Something else, as it is written.
    Unknown(String),
}

impl<'de> Deserialize<'de> for NativeDisruptionMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DisruptionModeVisitor)
    }
}

/// Reads both forms of a [`NativeDisruptionMode`].
struct DisruptionModeVisitor;

impl<'de> Visitor<'de> for DisruptionModeVisitor {
    type Value = NativeDisruptionMode;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Pod, PodGroup, or an object with field single or all")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(NativeDisruptionMode::Unknown(number.to_string()))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
        Ok(match word {
            "Pod" => NativeDisruptionMode::Single,
            "PodGroup" => NativeDisruptionMode::All,
            other => NativeDisruptionMode::Unknown(other.to_owned()),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut named = Vec::new();
        while let Some((field, value)) = map.next_entry::<String, Option<IgnoredAny>>()? {
            named.extend(value.map(|_| field));
        }
        Ok(match &*named.join(", ") {
            "single" => NativeDisruptionMode::Single,
            "all" => NativeDisruptionMode::All,
            other => NativeDisruptionMode::Unknown(other.to_owned()),
        })
    }
}

/// Where pods of a group may be placed together.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NativeSchedulingConstraints {
    /// At most one.
    #[serde(deserialize_with = "or_default")]
    pub topology: Vec<NativeTopologyConstraint>,
}

/// All pods of the group have to be on nodes with the same value of a label.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NativeTopologyConstraint {
    /// Key of the label.
    #[serde(deserialize_with = "or_default")]
    pub key: String,
}

/// A claim that pods of a group share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NativeGroupClaim {
    /// Name of the claim among those of the group, under which pods name it too.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Name of the ResourceClaim, if it is one that somebody made.
    pub resource_claim_name: Option<String>,
    /// Name of the template of which Kubernetes makes it.
    pub resource_claim_template_name: Option<String>,
}

/// Status of a [`NativePodGroup`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NativePodGroupStatus {
    /// Conditions of the group, one of each type.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<NativeGroupCondition>,
    /// Which claims were made of templates; not read.
    pub resource_claim_statuses: Option<IgnoredAny>,
}

/// One condition of a [`NativePodGroup`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NativeGroupCondition {
    /// `PodGroupInitiallyScheduled`, `PodGroupScheduled`, `DisruptionTarget`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// Why the condition has its status, in one word.
    #[serde(deserialize_with = "or_default")]
    pub reason: String,
    /// Why the condition has its status, for people.
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    /// When its status changed.
    pub last_transition_time: Option<Time>,
    /// Not read.
    pub observed_generation: Option<IgnoredAny>,
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

    /// Types of the condition that says whether the group has ever been placed: since v1alpha3, and in v1alpha2.
    pub const PLACED_CONDITIONS: [&'static str; 2] =
        ["PodGroupInitiallyScheduled", "PodGroupScheduled"];

    /// Type of that condition in an API version.
    pub fn placed_condition(api_version: &str) -> &'static str {
        let [newer, oldest] = Self::PLACED_CONDITIONS;
        match api_version == Self::OLDER_VERSIONS[1] {
            true => oldest,
            false => newer,
        }
    }
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
