//! Kubernetes and Volcano objects to model objects: the one place where wire fields become model
//! fields.
//!
//! ```text
//!  v1/Node ─► node ─┐
//!  v1/Pod  ─► pod ──┤     request   affinity   spread   selector   image
//!  PodGroup, Queue ─┼──►  (what a field means, defaults an API server would have set)
//!  PersistentVolume ┤     volume     claim
//!  PriorityClass … ─┘         │
//!                             ▼
//!            pumice_model::object::…  or  every Problem of the object
//! ```
//!
//! Objects need not have passed an API server: what its defaulting sets may be absent, and what its
//! validation refuses and scheduling cannot do without is refused here, with the path of the field.
//! An object with a [`ObjectProblem`] is rejected whole; all its problems are reported together. What others would
//! be given again if it were left out (a pod on a node, a claim that has devices or a volume) counts all the same,
//! with its problems beside it: [`Readable`].
//!
//! Invariant: pure; knows neither clock nor cluster, one object at a time.

mod affinity;
mod allocation;
mod allowance;
mod amount;
mod bounds;
mod claim;
mod composite_group;
mod device;
mod device_claim;
mod device_words;
mod group;
mod hyper_node;
mod image;
mod measured;
mod meta;
mod native_group;
mod node;
mod numa;
mod options;
mod pod;
mod problem;
mod queue;
mod request;
mod run_time;
mod selector;
mod shard;
mod spread;
mod taint_rule;
mod usage;
mod volume;
mod workload;

pub use allowance::{pod_disruption_budget, resource_quota};
pub use amount::{quantity_text, resource_list};
pub use claim::{
    csi_driver, csi_node, csi_storage_capacity, ephemeral_claims, persistent_volume_claim,
    storage_class, volume_attachment,
};
pub use composite_group::composite_pod_group;
pub use device_claim::{device_class, resource_claim, resource_claim_template, resource_slice};
pub use group::pod_group;
pub use hyper_node::hyper_node;
pub use measured::{
    Measured, UsageNews, node_usages, of_custom_metrics, of_elasticsearch, of_prometheus,
};
pub use meta::named;
pub use native_group::native_pod_group;
pub use node::node;
pub use numa::{numatopology, numatopology_doubt};
pub use options::Options;
pub use pod::pod;
pub use problem::{ObjectProblem, Readable};
pub use queue::{namespace, priority_class, queue};
pub use shard::node_shard;
pub use taint_rule::device_taint_rule;
pub use usage::{node_usage, node_usage_doubts};
pub use volume::persistent_volume;
pub use workload::{replica_set, replication_controller, service, stateful_set};
