//! Wire types of the Volcano custom resources, annotation keys and resource names.
//!
//! Plain data as it travels: camelCase, every field absent or defaulted as the custom resource
//! definitions say (spec/03 part B), and null where a sloppy writer left null. Core types (Pod,
//! Node …) are those of [`k8s_openapi`]. The only logic here is what every reader of the wire
//! needs: how quantities add up to a pod's request ([`request`]), and the
//! syntax of names ([`name`]). With the feature `schema` also the custom resource definitions of
//! these types.
//!
//! Invariant: this crate decides nothing; defaults of the admission webhooks live in
//! `pumice-controllers`, the meaning of fields in `pumice-ingest`.

pub mod command;
pub mod composite_pod_group;
#[cfg(feature = "schema")]
pub mod crds;
pub mod cron_job;
mod device_taint_rule;
pub mod hyper_node;
pub mod job;
pub mod job_flow;
pub mod job_template;
pub mod keys;
pub mod name;
pub mod native_pod_group;
pub mod node_metrics;
pub mod node_shard;
pub mod numatopology;
pub mod pod_group;
pub mod provisioning_request;
pub mod queue;
pub mod request;
mod wire;

pub use command::Command;
pub use composite_pod_group::{
    CompositeGangPolicy, CompositePodGroup, CompositePodGroupSpec, CompositeSchedulingPolicy,
};
pub use cron_job::CronJob;
pub use device_taint_rule::{DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector};
pub use hyper_node::HyperNode;
pub use job::Job;
pub use job_flow::JobFlow;
pub use job_template::JobTemplate;
pub use k8s_openapi;
pub use native_pod_group::{
    NativeGangPolicy, NativePodGroup, NativePodGroupSpec, NativeSchedulingPolicy,
};
pub use node_metrics::NodeMetrics;
pub use node_shard::NodeShard;
pub use numatopology::Numatopology;
pub use pod_group::PodGroup;
pub use provisioning_request::ProvisioningRequest;
pub use queue::Queue;
pub use wire::{NetworkTopology, ResourceList};
