//! Controllers from outside: objects as users write them in, writes out.

mod cluster;
mod cron_job;
mod definitions;
mod hyper_node;
mod job;
mod job_controller;
mod job_flow;
mod job_plugins;
mod list;
mod pod_group;
mod provisioning;
mod queue;
mod queue_gate;
mod runtime;
mod server;
mod together;
