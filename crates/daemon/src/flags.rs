//! The command line of `vc-scheduler` (spec/01 §1.1), and the few flags of our own.
//!
//! Rules of the peer's flag library that users rely on: `_` and `-` in names are the same, a
//! boolean takes its value only behind `=`, extra words are ignored (Volcano's chart passes a
//! literal `2>&1`).

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Arg, CommandFactory, FromArgMatches, Parser};

/// Takes the place of Volcano's scheduler: same configuration, same objects, same flags.
#[derive(Debug, Parser)]
#[command(name = "pumice-scheduler", disable_version_flag = true)]
pub struct Flags {
    #[command(flatten)]
    pub connection: ApiServerFlags,
    #[command(flatten)]
    pub scheduling: Scheduling,
    #[command(flatten)]
    pub lease: Lease,
    #[command(flatten)]
    pub serving: Serving,
    #[command(flatten)]
    pub ours: Ours,
    /// Print the version and exit
    #[arg(long)]
    pub version: bool,
    /// Words that are no flag: ignored, because Volcano's chart passes some
    #[arg(hide = true)]
    pub stray: Vec<OsString>,
}

/// How to reach the API server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "API server")]
pub struct ApiServerFlags {
    /// URL of the API server; overrides the one of the kubeconfig
    #[arg(long, default_value = "", value_name = "URL")]
    pub master: String,
    /// Kubeconfig file; without it and --master: the pod's service account
    #[arg(long, default_value = "", value_name = "FILE")]
    pub kubeconfig: String,
    /// Writes per second
    #[arg(long, default_value_t = 2000.0, value_name = "N")]
    pub kube_api_qps: f32,
    /// Writes in a burst
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub kube_api_burst: u32,
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

/// Leader election.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Leader election")]
pub struct Lease {
    /// Take the lease before writing anything
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub leader_elect: bool,
    /// How long a lease holds without renewal
    #[arg(long, default_value = "15s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_lease_duration: Duration,
    /// How long the leader tries to renew before it stops
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_renew_deadline: Duration,
    /// Pause between tries
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_retry_period: Duration,
    /// Kind of the lock; a Lease is always used
    #[arg(long, default_value = "leases", value_name = "KIND")]
    pub leader_elect_resource_lock: String,
    /// Name of the Lease
    #[arg(long, default_value = "volcano", value_name = "NAME")]
    pub leader_elect_resource_name: String,
    /// Namespace of the Lease
    #[arg(long, default_value = "volcano-system", value_name = "NAMESPACE")]
    pub leader_elect_resource_namespace: String,
    /// Deprecated: replaces --leader-elect-resource-namespace
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub lock_object_namespace: String,
}

/// What operators see.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Serving and logs")]
pub struct Serving {
    /// Address of /metrics, /healthz, /readyz, /livez, /configz and /debug
    #[arg(long, default_value = ":8080", value_name = "ADDRESS")]
    pub listen_address: String,
    /// Address of the separate health server
    #[arg(long, default_value = ":11251", value_name = "ADDRESS")]
    pub healthz_address: String,
    /// Start the separate health server
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub enable_healthz: bool,
    /// Serve /metrics
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub enable_metrics: bool,
    /// Client CA of the health server; with the two below it speaks TLS
    #[arg(long, default_value = "", value_name = "FILE")]
    pub ca_cert_file: String,
    /// Certificate of the health server
    #[arg(long, default_value = "", value_name = "FILE")]
    pub tls_cert_file: String,
    /// Key of the health server
    #[arg(long, default_value = "", value_name = "FILE")]
    pub tls_private_key_file: String,
    /// Write the state to a file on SIGUSR1 and SIGUSR2
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub cache_dumper: bool,
    /// Directory of those files
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    pub cache_dump_dir: PathBuf,
    /// Log level as klog counts it: 3 usual, 4 debug, 5 and more everything
    #[arg(short = 'v', long = "v", default_value_t = 3, value_name = "LEVEL")]
    pub verbosity: i64,
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
    /// Watch this ConfigMap (NAMESPACE/NAME) instead of a file
    #[arg(long, default_value = "", value_name = "NAMESPACE/NAME")]
    pub scheduler_configmap: String,
    /// Give up a gang that stays partly bound this long: its bound pods are deleted; each further
    /// time takes twice as long; 0 leaves them
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "DURATION")]
    pub partial_gang_deadline: Duration,
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
    /// Serve /debug to clients that are not on this machine
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub debug_open: bool,
    /// One JSON object a log line
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub log_json: bool,
}

/// A flag that is accepted because Volcano's users set it, and does nothing here.
struct Idle {
    name: &'static str,
    /// A boolean takes its value only behind `=`.
    boolean: bool,
    why: &'static str,
}

const fn idle(name: &'static str, boolean: bool, why: &'static str) -> Idle {
    Idle { name, boolean, why }
}

const NO_SAMPLING: &str = "every ready node is a candidate for every pod";
const STDERR: &str = "logs go to standard error";
const HEADS: &str = "log lines keep their head";

const IDLE: [Idle; 22] = [
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
        "no workers remove scheduling gates",
    ),
    idle("enable-pprof", true, "there is no Go runtime to profile"),
    idle("log-flush-frequency", false, "logs are not buffered"),
    idle("logtostderr", true, STDERR),
    idle("alsologtostderr", true, STDERR),
    idle("alsologtostderrthreshold", false, STDERR),
    idle("stderrthreshold", false, STDERR),
    idle("legacy-stderr-threshold-behavior", true, STDERR),
    idle("vmodule", false, "levels are not set by module"),
    idle("log-dir", false, STDERR),
    idle("log-file", false, STDERR),
    idle("log-file-max-size", false, STDERR),
    idle("one-output", true, STDERR),
    idle("skip-headers", true, HEADS),
    idle("skip-log-headers", true, HEADS),
    idle("add-dir-header", true, HEADS),
    idle("log-backtrace-at", false, "there are no Go stacks"),
];

/// A parsed command line.
#[derive(Debug)]
pub struct CommandLine {
    /// What was asked for.
    pub flags: Flags,
    /// Flags that were given and do nothing, with the reason.
    pub idle: Vec<(&'static str, &'static str)>,
}

impl CommandLine {
    /// Reads the words of a command line, the program's name first.
    ///
    /// # Errors
    /// Unknown flags and values that do not fit, in clap's words.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = command().try_get_matches_from(words.into_iter().map(normalise))?;
        let given = |flag: &&Idle| {
            // What this one asks for is so.
            flag.name != "logtostderr"
                && matches.value_source(flag.name) == Some(ValueSource::CommandLine)
        };
        let idle = IDLE.iter().filter(given).map(|flag| (flag.name, flag.why));
        Ok(Self {
            idle: idle.collect(),
            flags: Flags::from_arg_matches(&matches)?,
        })
    }
}

/// Every flag, those without effect included.
#[must_use]
pub fn command() -> clap::Command {
    IDLE.iter().fold(Flags::command(), |command, flag| {
        let help = format!("No effect: {}", flag.why);
        let mut arg = Arg::new(flag.name).long(flag.name).help(help);
        if flag.boolean {
            arg = arg.num_args(0..=1).require_equals(true);
            arg = arg.default_missing_value("true").value_parser(boolean);
        }
        command.arg(arg.help_heading("Accepted without effect"))
    })
}

/// A word with `_` in the name of a flag written as `-`.
fn normalise(word: OsString) -> OsString {
    let Some(flag) = word.to_str().and_then(|text| text.strip_prefix("--")) else {
        return word;
    };
    let (name, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (flag, None),
    };
    let name = name.replace('_', "-");
    match value {
        Some(value) => format!("--{name}={value}").into(),
        None => format!("--{name}").into(),
    }
}

/// A boolean as Go reads it.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// A duration as Go reads it, not negative.
fn duration(text: &str) -> Result<Duration, String> {
    let nanos = pumice_conf::parse_go_duration(text).map_err(|error| error.to_string())?;
    let nanos = u64::try_from(nanos).map_err(|_| "write 0 or more, such as 1s".to_owned())?;
    Ok(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests;
