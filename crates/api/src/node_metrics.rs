//! `metrics.k8s.io/v1beta1/NodeMetrics`: what a node uses, as metrics-server tells it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Serialize};

/// What a node uses.
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeMetrics {
    /// `metrics.k8s.io/v1beta1`.
    pub api_version: String,
    /// `NodeMetrics`.
    pub kind: String,
    /// Metadata; the name is that of the node.
    pub metadata: ObjectMeta,
    /// End of the time it was measured over.
    pub timestamp: Option<Time>,
    /// Length of that time, a Go duration.
    pub window: Option<String>,
    /// How much of each resource.
    pub usage: BTreeMap<String, Quantity>,
}
