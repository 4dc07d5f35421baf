//! Pure logic of the Volcano controllers: objects in, writes out.
//!
//! So far the Job controller ([`job`]): what the admission webhook does to a Job, the PodGroup and
//! pods made for it, and its status; PodGroups of other pods ([`pod_group`]); states of queues
//! ([`queue`]); pods that wait for their queue behind a gate ([`queue_gate`]); Jobs by schedule
//! ([`cron_job`]) and after one another ([`job_flow`], [`job_template`]); and HyperNodes by labels
//! of nodes ([`hyper_node`]); and room for the pods of a gang, asked of Cluster Autoscaler at once
//! ([`provisioning`]).
//!
//! Invariant: no clock, no randomness, no cluster. What a controller would ask the API server for
//! (priority classes, existing pods) is passed in.

pub mod cron_job;
pub mod finished_jobs;
pub mod hyper_node;
pub mod job;
pub mod job_flow;
pub mod job_template;
pub mod list;
mod options;
pub mod pod_group;
pub mod provisioning;
pub mod queue;
pub mod queue_gate;
mod requester;
pub mod runtime;
mod usage;
