//! JobTemplate (`flow.volcano.sh/v1alpha1`, namespaced; spec/03 B5).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

use crate::job::JobSpec;
use crate::wire::custom_resource;

/// What a JobFlow makes Jobs of.
#[kubernetes_fields]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobTemplate {
    /// `flow.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `JobTemplate`.
    pub kind: String,
    /// Metadata of the JobTemplate: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Specification of the Jobs.
    pub spec: JobSpec,
    /// What is told of the JobTemplate.
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
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobTemplateStatus {
    /// Names of the Jobs made from it.
    pub job_depends_on_list: Vec<String>,
}
