//! `resource.k8s.io` DeviceTaintRule: a taint that an administrator puts on devices, as if their driver had
//! published it (spec/09 §2). Kubernetes' own types take one version each, and what is read is the same in all.

use k8s_openapi::api::resource::v1::DeviceTaint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, Resource};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::wire::or_default;

/// A rule. What is not read of it is here so that it counts as known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceTaintRule {
    /// `resource.k8s.io` in one of its versions.
    pub api_version: String,
    /// `DeviceTaintRule`.
    pub kind: String,
    /// Metadata of the rule: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(deserialize_with = "or_default")]
    pub spec: DeviceTaintRuleSpec,
    /// Status; not read.
    pub status: Option<IgnoredAny>,
}

/// Specification of a [`DeviceTaintRule`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceTaintRuleSpec {
    /// Which devices; none where it is absent.
    pub device_selector: Option<DeviceTaintSelector>,
    /// What they get.
    #[serde(deserialize_with = "or_default")]
    pub taint: DeviceTaint,
}

/// Devices by the names that are there.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DeviceTaintSelector {
    /// Name of the device.
    pub device: Option<String>,
    /// Name of its driver.
    pub driver: Option<String>,
    /// Name of its pool.
    pub pool: Option<String>,
}

impl Resource for DeviceTaintRule {
    const API_VERSION: &'static str = "resource.k8s.io/v1";
    const GROUP: &'static str = "resource.k8s.io";
    const KIND: &'static str = "DeviceTaintRule";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "devicetaintrules";
    type Scope = ClusterResourceScope;
}

impl DeviceTaintRule {
    /// Versions of servers that do not serve the newest, newest first.
    pub const OLDER_VERSIONS: [&'static str; 1] = ["resource.k8s.io/v1beta2"];
}

impl Metadata for DeviceTaintRule {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &Self::Ty {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Self::Ty {
        &mut self.metadata
    }
}
