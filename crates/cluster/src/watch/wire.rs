//! What a watched object says: the contract of every kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource};
use pumice_model::Delta;
use pumice_model::shard::NodeShardView;
use pumice_wire::WireObject;

use super::rules::WatchRules;
use crate::api::raw::ObjectKey;
use crate::follow::Reading;

/// What an object, or its end, tells.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// A change of the cluster, for the engine.
    Engine(Delta),
    /// The own scheduler's nodes: a shard was added or changed.
    Shard(NodeShardView),
    /// A shard is gone.
    ShardGone(String),
}

/// A wire type that is watched.
pub(super) trait Wire: Resource + Metadata<Ty = ObjectMeta> + WireObject {
    /// What the object means.
    fn means(&self, rules: &WatchRules) -> Reading<Change>;
    /// What its end means.
    fn gone(key: ObjectKey) -> Change;
}
