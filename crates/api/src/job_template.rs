//! JobTemplate (`flow.volcano.sh/v1alpha1`, namespaced; spec/03 B5).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::job::JobSpec;
use crate::wire::{custom_resource, or_default};

/// What a JobFlow makes Jobs of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobTemplate {
    /// `flow.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `JobTemplate`.
    pub kind: String,
    /// Metadata of the JobTemplate: name, labels, owners and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Specification of the Jobs.
    #[serde(deserialize_with = "or_default")]
    pub spec: JobSpec,
    /// What is told of the JobTemplate.
    #[serde(deserialize_with = "or_default")]
    pub status: JobTemplateStatus,
}

custom_resource!(
    JobTemplate,
    "flow.volcano.sh",
    "v1alpha1",
    "jobtemplates",
    NamespaceResourceScope,
    spec,
    status
);

/// Status of a [`JobTemplate`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobTemplateStatus {
    /// Names of the Jobs made from it.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub job_depends_on_list: Vec<String>,
}
