//! What a simulated scheduler is told besides objects and configuration, by flags as the daemon's.

use clap::{Args, ValueEnum};
use pumice_ingest::Options;
use pumice_model::object::Shard;
use pumice_sim::{Mode, OwnShard, SimulationSettings};

use crate::bad_input::BadInput;

/// Sharding modes of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShardingMode {
    /// No sharding
    None,
    /// Only nodes of the own shard
    Hard,
    /// Nodes of the own shard first
    Soft,
}

/// Arguments of commands that simulate.
#[derive(Args)]
pub struct ClusterArguments {
    /// Start of the virtual clock; default: the epoch
    #[arg(long, value_name = "RFC3339")]
    now: Option<String>,
    /// Scheduler names that are ours (repeat for several)
    #[arg(
        long = "scheduler-name",
        default_value = "volcano",
        value_name = "NAME"
    )]
    scheduler_names: Vec<String>,
    /// Queue of PodGroups and pods that name none
    #[arg(long, default_value = "default", value_name = "NAME")]
    default_queue: String,
    /// Only nodes with one of these labels, as `key:value,…`
    #[arg(long, value_delimiter = ',', value_name = "KEY:VALUE")]
    node_selector: Vec<String>,
    /// Provisioners whose volumes do not count against the limits of nodes
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    ignored_provisioners: Vec<String>,
    /// Sharding mode of the daemon
    #[arg(long, value_enum, default_value = "none")]
    scheduler_sharding_mode: ShardingMode,
    /// Own shard
    #[arg(long, default_value = "volcano", value_name = "NAME")]
    scheduler_sharding_name: String,
}

impl ClusterArguments {
    /// What a simulation needs to know, to be run until nothing changes.
    ///
    /// # Errors
    /// A time or label is not one.
    pub fn settings(&self) -> anyhow::Result<SimulationSettings> {
        let now_s = match &self.now {
        None => 0,
        Some(text) => text.parse::<jiff::Timestamp>().map(|now| now.as_second()).map_err(|_| {
            BadInput(format!(
                "error: --now: {text:?} is not a time in the form of RFC 3339\n  = help: write it \
                 like 2026-01-31T12:00:00Z"
            ))
        })?,
    };
        let selector = self.node_selector.iter();
        let node_selector = selector
            .filter(|entry| !entry.is_empty())
            .map(|entry| label(entry))
            .collect::<Result<_, _>>()?;
        Ok(SimulationSettings {
            mode: Mode::FixedPoint,
            now_s,
            default_queue: self.default_queue.clone(),
            options: Options {
                scheduler_names: self.scheduler_names.clone(),
                annotations: pumice_engine::annotations_read(),
            },
            ignored_provisioners: self.ignored_provisioners.clone(),
            node_selector,
            shard: self.own_shard(),
        })
    }

    fn own_shard(&self) -> Option<OwnShard> {
        let others = match self.scheduler_sharding_mode {
            ShardingMode::None => return None,
            ShardingMode::Hard => Shard::Never,
            ShardingMode::Soft => Shard::Later,
        };
        Some(OwnShard {
            name: self.scheduler_sharding_name.clone(),
            others,
        })
    }
}

/// One entry of `--node-selector`. The daemon, like Volcano's, passes over what is none.
fn label(entry: &str) -> Result<(String, String), BadInput> {
    match entry.split_once(':') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(BadInput(format!(
            "error: --node-selector: {entry:?} is not of the form key:value\n  = help: write the \
             label of the nodes that take part, such as disk:ssd"
        ))),
    }
}
