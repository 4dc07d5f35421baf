//! What a running scheduler sees: `explain`, `top`, `queues`, `cards`; and what users do with objects of
//! a cluster: `job`, `queue`.
//!
//! ```text
//!  SchedulerConnection (flags) ─► pumice_cluster::remote ─► /debug/… of the leader ─► a view of pumice_engine
//!                                                                              └► table, JSON, YAML
//!  ClusterConnection (flags) ──► pumice_cluster::remote::ClusterObjects ─► Jobs, Queues, Commands ─┘
//! ```

pub mod cards;
pub mod explain;
pub mod job;
pub mod queue;
pub mod queues;
mod scheduler;
pub mod top;
mod user;
mod words;

#[cfg(test)]
mod tests;
