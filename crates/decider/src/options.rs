//! What a decider runs with.

use std::time::Duration;

/// How nodes are shared with other schedulers by NodeShard objects (spec/01 §1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Sharding {
    /// Not at all.
    None,
    /// Only nodes of the own shard.
    Hard,
    /// Nodes of the own shard first.
    Soft,
}

/// What a decider runs with.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DeciderOptions {
    /// Queue of PodGroups and pods that name none.
    pub default_queue: String,
    /// Provisioners whose volumes do not count against node limits.
    pub ignored_provisioners: Vec<String>,
    /// Longest pause between two cycles; one on an unchanged cluster costs nothing.
    pub period: Duration,
    /// How long the API server keeps events: later they are written again.
    pub event_lifetime: Duration,
    /// How nodes of other shards are used.
    pub sharding: Sharding,
    /// How long a gang may stay bound in part; zero for any time.
    pub gang_deadline: Duration,
    /// Work a job may take of a cycle; `None`: any.
    pub job_work_limit: Option<u64>,
    /// How often jobs that sleep are tried all the same; zero: in every cycle.
    pub full_check: Duration,
    /// Decide without writing.
    pub dry_run: bool,
}

impl DeciderOptions {
    /// As the flags of the scheduler are by default, but that jobs may take any part of a cycle and gangs may stay bound in
    /// part.
    pub fn unlimited() -> Self {
        Self {
            default_queue: "default".to_owned(),
            ignored_provisioners: Vec::new(),
            period: Duration::from_secs(1),
            event_lifetime: Duration::from_secs(3600),
            sharding: Sharding::None,
            gang_deadline: Duration::ZERO,
            job_work_limit: None,
            full_check: Duration::from_secs(60),
            dry_run: false,
        }
    }
}
