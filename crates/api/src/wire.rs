//! Shapes several kinds share, and how absent values travel.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use pumice_api_derive::kubernetes_fields;
use serde::{Deserialize, Deserializer, Serialize};

/// Resource name to quantity, as in the core API.
pub type ResourceList = BTreeMap<String, Quantity>;

/// `NetworkTopologySpec` (spec/03 part B, shared shapes).
#[kubernetes_fields]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkTopology {
    /// `hard` (also when empty) or `soft`.
    pub mode: String,
    /// Highest tier the pods may span, at least 0.
    pub highest_tier_allowed: Option<i64>,
    /// Highest tier the pods may span, by name of the tier instead of its number.
    pub highest_tier_name: String,
}

/// Reads null as the default: the API server drops nulls of optional fields, so manifests that
/// have not passed one may carry them.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// For fields whose Go form is a number that is left out when 0.
pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Defines the `k8s_openapi` identity of a custom resource and its default, which names the kind.
macro_rules! custom_resource {
    (
        $kind:ident, $group:literal, $version:literal, $plural:literal, $scope:ident,
        $($field:ident),+
    ) => {
        impl k8s_openapi::Resource for $kind {
            const API_VERSION: &'static str = concat!($group, "/", $version);
            const GROUP: &'static str = $group;
            const KIND: &'static str = stringify!($kind);
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = k8s_openapi::$scope;
        }

        impl k8s_openapi::ListableResource for $kind {
            const LIST_KIND: &'static str = concat!(stringify!($kind), "List");
        }

        impl k8s_openapi::Metadata for $kind {
            type Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }

        impl Default for $kind {
            fn default() -> Self {
                Self {
                    api_version: concat!($group, "/", $version).to_owned(),
                    kind: stringify!($kind).to_owned(),
                    metadata: Default::default(),
                    $($field: Default::default(),)+
                }
            }
        }
    };
}

pub(crate) use custom_resource;
