//! Flags that all our processes have, and the rules of the peer's flag library that users rely on:
//! `_` and `-` in names are the same, a boolean takes its value only behind `=`, extra words are
//! ignored (Volcano's chart passes a literal `2>&1`).

use std::ffi::OsString;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use pumice_cluster::lease::ElectionSettings;

/// How to reach the API server.
#[derive(Clone, Debug, clap::Args)]
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

/// Leader election.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Leader election")]
pub struct LeaseFlags {
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
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Serving and logs")]
pub struct ServingFlags {
    /// Address of /metrics, and of /healthz, /readyz and /livez
    #[arg(long, default_value = ":8080", value_name = "ADDRESS")]
    pub listen_address: String,
    /// Only in Pumice: address of /configz, /debug and /metrics by TLS, for whom the API server lets ask;
    /// empty: none
    #[arg(long, default_value = ":8443", value_name = "ADDRESS")]
    pub secure_address: String,
    /// Only in Pumice: let everybody who reaches --listen-address read /configz and /debug there too,
    /// whoever it is: for trying out
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub debug_open: bool,
    /// Address of the separate health server: /healthz, /livez and /readyz for probes, which nobody
    /// can keep from their answers
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
    /// Client CA of the health server; with the two below the health server speaks TLS
    #[arg(long, default_value = "", value_name = "FILE")]
    pub ca_cert_file: String,
    /// Certificate of --secure-address, and of the health server; read again when it changes. Without
    /// it --secure-address has one that is made at the start
    #[arg(long, default_value = "", value_name = "FILE")]
    pub tls_cert_file: String,
    /// Key of that certificate
    #[arg(long, default_value = "", value_name = "FILE")]
    pub tls_private_key_file: String,
    /// Log level as klog counts it: 3 usual, 4 debug, 5 and more everything
    #[arg(short = 'v', long = "v", default_value_t = 3, value_name = "LEVEL")]
    pub verbosity: i64,
}

/// A flag that is accepted because Volcano's users set it, and does nothing here.
#[derive(Clone, Copy, Debug)]
pub struct IdleFlag {
    /// Name of the flag, without dashes.
    pub name: &'static str,
    /// A boolean takes its value only behind `=`.
    pub boolean: bool,
    /// Why it does nothing.
    pub why: &'static str,
}

impl IdleFlag {
    /// A flag without effect.
    pub const fn new(name: &'static str, boolean: bool, why: &'static str) -> Self {
        Self { name, boolean, why }
    }
}

const STDERR: &str = "logs go to standard error";
const HEADS: &str = "log lines keep their head";

/// Flags of klog that do nothing here.
pub const KLOG: [IdleFlag; 15] = [
    IdleFlag::new("log-flush-frequency", false, "logs are not buffered"),
    IdleFlag::new("logtostderr", true, STDERR),
    IdleFlag::new("alsologtostderr", true, STDERR),
    IdleFlag::new("alsologtostderrthreshold", false, STDERR),
    IdleFlag::new("stderrthreshold", false, STDERR),
    IdleFlag::new("legacy-stderr-threshold-behavior", true, STDERR),
    IdleFlag::new("vmodule", false, "levels are not set by module"),
    IdleFlag::new("log-dir", false, STDERR),
    IdleFlag::new("log-file", false, STDERR),
    IdleFlag::new("log-file-max-size", false, STDERR),
    IdleFlag::new("one-output", true, STDERR),
    IdleFlag::new("skip-headers", true, HEADS),
    IdleFlag::new("skip-log-headers", true, HEADS),
    IdleFlag::new("add-dir-header", true, HEADS),
    IdleFlag::new("log-backtrace-at", false, "there are no Go stacks"),
];

/// Flags that were given and do nothing, with the reason.
pub type IdleGiven = Vec<(&'static str, &'static str)>;

impl LeaseFlags {
    /// Namespace of the Lease.
    pub fn namespace(&self) -> &str {
        match self.lock_object_namespace.as_str() {
            "" => &self.leader_elect_resource_namespace,
            namespace => namespace,
        }
    }

    /// The election in which this replica is `identity`; `None` without election.
    pub fn election(&self, identity: &str) -> Option<ElectionSettings> {
        self.leader_elect.then(|| ElectionSettings {
            namespace: self.namespace().to_owned(),
            name: self.leader_elect_resource_name.clone(),
            identity: identity.to_owned(),
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        })
    }

    /// Checks the rules of elections.
    ///
    /// # Errors
    /// The first that does not hold, with the flag to change.
    pub fn check(&self, warnings: &mut Vec<String>) -> anyhow::Result<()> {
        let lock = &self.leader_elect_resource_lock;
        if let Some(election) = self.election("this replica") {
            election.validate()?;
            let problem = "--leader-elect-resource-lock must not be empty";
            anyhow::ensure!(!lock.is_empty(), problem);
        }
        if lock != "leases" {
            warnings.push(format!(
                "--leader-elect-resource-lock={lock} means leases, the only kind there is"
            ));
        }
        Ok(())
    }
}

/// One gate of `--feature-gates`: its name, and whether it is on.
///
/// # Errors
/// It is not written as a gate is.
pub fn feature_gate(entry: &str) -> anyhow::Result<(&str, bool)> {
    let Some((name, value)) = entry.split_once('=') else {
        anyhow::bail!("--feature-gates: {entry:?} has no value; write {entry}=true or =false");
    };
    let on = match value.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => true,
        "false" | "f" | "0" => false,
        _ => anyhow::bail!("--feature-gates: {entry:?}; write true or false"),
    };
    Ok((name.trim(), on))
}

/// The command with these flags that do nothing.
#[must_use]
pub fn with_idle<'a>(command: Command, idle: impl Iterator<Item = &'a IdleFlag>) -> Command {
    idle.fold(command, |command, flag| {
        let help = format!("No effect: {}", flag.why);
        let mut arg = Arg::new(flag.name).long(flag.name).help(help);
        if flag.boolean {
            arg = arg.num_args(0..=1).require_equals(true);
            arg = arg.default_missing_value("true").value_parser(boolean);
        }
        command.arg(arg.help_heading("Accepted without effect"))
    })
}

/// Reads the words of a command line, the program's name first; and which of `idle` were given.
///
/// # Errors
/// Unknown flags and values that do not fit, in clap's words.
pub fn read<'a>(
    command: Command,
    idle: impl Iterator<Item = &'a IdleFlag>,
    words: impl IntoIterator<Item = OsString>,
) -> Result<(ArgMatches, IdleGiven), clap::Error> {
    let matches = command.try_get_matches_from(words.into_iter().map(normalise))?;
    let given = |flag: &&IdleFlag| {
        // What this one asks for is so.
        flag.name != "logtostderr"
            && matches.value_source(flag.name) == Some(ValueSource::CommandLine)
    };
    let idle = idle.filter(given).map(|flag| (flag.name, flag.why));
    let idle = idle.collect();
    Ok((matches, idle))
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
///
/// # Errors
/// It is none.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// A duration as Go reads it, not negative.
///
/// # Errors
/// It is none, or negative.
pub fn duration(text: &str) -> Result<Duration, String> {
    let nanos =
        pumice_units::duration::parse_go_duration(text).map_err(|error| error.to_string())?;
    let nanos = u64::try_from(nanos).map_err(|_| "write 0 or more, such as 1s".to_owned())?;
    Ok(Duration::from_nanos(nanos))
}
