//! NodeShards.

use pumice_api::NodeShard;
use pumice_model::shard::NodeShardView;

/// What a NodeShard says of the nodes that schedulers share.
pub fn node_shard(wire: &NodeShard) -> NodeShardView {
    let set = |names: &Vec<String>| names.iter().cloned().collect();
    NodeShardView {
        name: wire.metadata.name.clone().unwrap_or_default(),
        desired: set(&wire.spec.nodes_desired),
        in_use: set(&wire.status.nodes_in_use),
        to_remove: set(&wire.status.nodes_to_remove),
        to_add: set(&wire.status.nodes_to_add),
    }
}
