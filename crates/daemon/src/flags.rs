//! The command line of `vc-scheduler` (spec/01 §1.1), and the few flags of our own.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser};
use pumice_cluster::effects::EvictionMethod;
use pumice_process::flags::{
    self, ApiServerFlags, IdleFlag, LeaseFlags, ServingFlags, boolean, duration,
};

/// Takes the place of Volcano's scheduler: same configuration, same objects, same flags.
#[derive(Debug, Parser)]
#[command(name = "pumice-scheduler", disable_version_flag = true)]
pub struct Flags {
    #[command(flatten)]
    pub connection: ApiServerFlags,
    #[command(flatten)]
    pub scheduling: Scheduling,
    #[command(flatten)]
    pub lease: LeaseFlags,
    #[command(flatten)]
    pub serving: ServingFlags,
    #[command(flatten)]
    pub dumps: DumpFlags,
    #[command(flatten)]
    pub ours: Ours,
    #[command(flatten)]
    pub traces: TraceFlags,
    #[command(flatten)]
    pub recording: RecordFlags,
    #[command(flatten)]
    pub history: HistoryFlags,
    /// Print the version and exit
    #[arg(long)]
    pub version: bool,
    /// Words that are no flag: ignored, because Volcano's chart passes some
    #[arg(hide = true)]
    pub stray: Vec<OsString>,
}

/// What is scheduled, where, and when.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Scheduling")]
pub struct Scheduling {
    /// schedulerName of the pods to schedule (repeat for several)
    #[arg(long, default_value = "volcano", value_name = "NAME")]
    pub scheduler_name: Vec<String>,
    /// Configuration file (volcano-scheduler.conf); its directory is watched
    #[arg(long, default_value = "", value_name = "FILE")]
    pub scheduler_conf: String,
    /// Exit when the configuration is missing or invalid, at start and on reload
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub disable_default_scheduler_config: bool,
    /// Longest pause between two looks at the whole cluster; changes are acted on at once
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "DURATION")]
    pub schedule_period: Duration,
    /// Queue of PodGroups and pods that name none; made when missing
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub default_queue: String,
    /// Only nodes with one of these labels, as key:value,…
    #[arg(long, value_delimiter = ',', value_name = "KEY:VALUE")]
    pub node_selector: Vec<String>,
    /// Provisioners whose volumes do not count against node limits
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub ignored_provisioners: Vec<String>,
    /// Use NodeShard objects: none, hard (only own nodes) or soft (own nodes first)
    #[arg(long, default_value = "none", value_name = "MODE")]
    pub scheduler_sharding_mode: String,
    /// Name of this scheduler's NodeShard
    #[arg(long, default_value = "volcano", value_name = "NAME")]
    pub scheduler_sharding_name: String,
    /// Watch PriorityClasses
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub priority_class: bool,
    /// Watch CSIDriver and CSIStorageCapacity
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub csi_storage: bool,
    /// Feature gates, as Name=true,Name=false
    #[arg(long, value_delimiter = ',', value_name = "NAME=BOOL")]
    pub feature_gates: Vec<String>,
    /// Longest wait for the first complete lists before the wait is logged
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "DURATION")]
    pub resource_sync_timeout: Duration,
    /// Directory of Go plugins, which cannot be loaded: refused when it holds any
    #[arg(long, default_value = "", value_name = "DIR")]
    pub plugins_dir: String,
}

/// What is written to files.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Serving and logs")]
pub struct DumpFlags {
    /// Write the state to a file on SIGUSR1 and SIGUSR2
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub cache_dumper: bool,
    /// Directory of those files
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    pub cache_dump_dir: PathBuf,
}

/// Default of `--job-work-limit`: a few tenths of a second.
const JOB_WORK_LIMIT: u64 = 50_000_000;

/// Flags that vc-scheduler does not have.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Only in Pumice")]
pub struct Ours {
    /// Decide but write nothing, beside another scheduler; see /debug/decisions
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub dry_run: bool,
    /// Watch this ConfigMap (NAMESPACE/NAME) instead of a file: its key volcano-scheduler.conf, else
    /// the only one it has, or the one that is named (NAMESPACE/NAME/KEY)
    #[arg(long, default_value = "", value_name = "NAMESPACE/NAME")]
    pub scheduler_configmap: String,
    /// Give up a gang that stays partly bound this long: its bound pods are deleted; each further
    /// time takes twice as long; 0 leaves them
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "DURATION")]
    pub partial_gang_deadline: Duration,
    /// Serve the page of `pumice ui` at --secure-address below /ui, for whom the API server lets ask
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub enable_ui: bool,
    /// How long the answer to a question of `pumice plan` may take to be made, on a copy and by a thread of its
    /// own; one at a time
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub plan_time: Duration,
    /// Look this often which nodes more would let a PodGroup run that waits for nodes, one of them at a time and for
    /// --plan-time at most: event NodesWouldHelp on it, metric pumice_helpful_nodes; 0: never
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub node_advice: Duration,
    /// Lease (NAMESPACE/NAME) of the controller that makes PodGroups for pods that name none. While it
    /// is renewed, or a pod with label app=volcano-controller is ready in NAMESPACE, pods that have a
    /// controller wait for theirs; none: they never do
    #[arg(
        long,
        default_value = "volcano-system/vc-controller-manager",
        value_name = "NAMESPACE/NAME"
    )]
    pub podgroup_controller_lease: String,
    /// Write events
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub events: bool,
    /// How long the API server keeps events (its own --event-ttl): reasons that still hold are told
    /// again before
    #[arg(long, default_value = "1h", value_parser = duration, value_name = "DURATION")]
    pub event_ttl: Duration,
    /// How long a Binding is tried before the pod is decided anew
    #[arg(long, default_value = "30s", value_parser = duration, value_name = "DURATION")]
    pub bind_timeout: Duration,
    /// How pods are evicted: delete, eviction-api (PodDisruptionBudgets are asked), or auto:
    /// eviction-api where a budget selects the pod
    #[arg(long, default_value = "auto", value_parser = eviction_method, value_name = "METHOD")]
    pub eviction_method: EvictionMethod,
    /// Work a job may take of a cycle before others go on, in looks at one node; 0: no limit
    #[arg(long, default_value_t = JOB_WORK_LIMIT, value_name = "N")]
    pub job_work_limit: u64,
    /// How often jobs that wait asleep, since they would get nothing, are tried all the same: that renews
    /// what they are told, and counts in pumice_sleep_missed_total what they would have missed; 0: in
    /// every cycle
    #[arg(long, default_value = "1m", value_parser = duration, value_name = "DURATION")]
    pub full_check_interval: Duration,
    /// Decide nothing while a kind that protects (nodes, pods, PodGroups, queues, volumes) has not been
    /// followed for this long; 0 decides all the same
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "DURATION")]
    pub watch_grace: Duration,
    /// One JSON object a log line
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub log_json: bool,
}

/// Traces of pods; Kubernetes' own components read the same from a file (TracingConfiguration).
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Traces")]
pub struct TraceFlags {
    /// Send traces of pods, from first seen to bound, to the OpenTelemetry collector at this address, such as
    /// http://collector.monitoring:4318 (OTLP over HTTP, in JSON; /v1/traces is added); empty: none are made
    #[arg(long, default_value = "", value_name = "URL")]
    pub tracing_endpoint: String,
    /// How many pods in a million have traces; which ones, their UIDs decide
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub tracing_sampling_rate_per_million: u32,
    /// Certificates of the authorities that prove an https collector
    #[arg(long, value_name = "FILE")]
    pub tracing_ca_file: Option<PathBuf>,
}

/// The black box: what was decided from what, for `pumice replay`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Recording")]
pub struct RecordFlags {
    /// Bytes of memory for the newest of what is recorded, which `pumice record export` fetches; 0: none
    #[arg(long, default_value = "64Mi", value_parser = bytes, value_name = "BYTES")]
    pub record_memory: u64,
    /// Directory for files of what is recorded, such as one of a volume: new files that nobody else reads; empty: none
    #[arg(long, default_value = "", value_name = "DIR")]
    pub record_dir: String,
    /// Bytes of those files: the oldest are removed
    #[arg(long, default_value = "4Gi", value_parser = bytes, value_name = "BYTES")]
    pub record_size: u64,
    /// Age of those files: older ones are removed
    #[arg(long, default_value = "168h", value_parser = duration, value_name = "DURATION")]
    pub record_age: Duration,
}

/// What became of jobs, for `pumice history`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "History")]
pub struct HistoryFlags {
    /// Directory in which it is kept what became of jobs, such as one of a volume: when they waited and why, what they
    /// held, where; for `pumice history`. Each replica has its own; empty: nothing is kept
    #[arg(long, default_value = "", value_name = "DIR")]
    pub history_dir: String,
    /// Bytes of the records there: of the namespace that has most of them the oldest are removed, and what their jobs held
    /// stays in the sums of days; the file takes about twice as much
    #[arg(long, default_value = "512Mi", value_parser = bytes, value_name = "BYTES")]
    pub history_size: u64,
    /// Age of records and sums: older ones are removed
    #[arg(long, default_value = "2160h", value_parser = duration, value_name = "DURATION")]
    pub history_age: Duration,
}

/// Bytes as a quantity of Kubernetes.
fn bytes(text: &str) -> Result<u64, String> {
    let said = || format!("{text:?} is no number of bytes: write one such as 64Mi or 4Gi");
    let quantity = pumice_units::quantity::parse(text).map_err(|_| said())?;
    let whole = quantity.as_whole().ok_or_else(said)?;
    u64::try_from(whole).map_err(|_| said())
}

fn eviction_method(text: &str) -> Result<EvictionMethod, String> {
    text.parse()
}

const NO_SAMPLING: &str = "every ready node is a candidate for every pod";
const fn idle(name: &'static str, boolean: bool, why: &'static str) -> IdleFlag {
    IdleFlag::new(name, boolean, why)
}

const IDLE: [IdleFlag; 7] = [
    idle(
        "resync-period",
        false,
        "lists are repeated when a watch breaks, not by time",
    ),
    idle("minimum-feasible-nodes", false, NO_SAMPLING),
    idle("minimum-percentage-nodes-to-find", false, NO_SAMPLING),
    idle("percentage-nodes-to-find", false, NO_SAMPLING),
    idle("node-worker-threads", false, "one thread owns the state"),
    idle(
        "gate-removal-worker-num",
        false,
        "the controllers take scheduling gates away",
    ),
    idle("enable-pprof", true, "there is no Go runtime to profile"),
];

/// A parsed command line.
#[derive(Debug)]
pub struct CommandLine {
    /// What was asked for.
    pub flags: Flags,
    /// Flags that were given and do nothing, with the reason.
    pub idle: flags::IdleGiven,
}

impl CommandLine {
    /// Reads the words of a command line, the program's name first.
    ///
    /// # Errors
    /// Unknown flags and values that do not fit, in clap's words.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let idle = IDLE.iter().chain(&flags::KLOG);
        let (matches, idle) = flags::read(command(), idle, words)?;
        let flags = Flags::from_arg_matches(&matches)?;
        Ok(Self { flags, idle })
    }
}

/// Every flag, those without effect included.
#[must_use]
pub fn command() -> clap::Command {
    flags::with_idle(Flags::command(), IDLE.iter().chain(&flags::KLOG))
}

#[cfg(test)]
mod tests;
