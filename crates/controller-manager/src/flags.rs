//! The command line of `vc-controller-manager` (spec/03 C0), and the few flags of our own.

use std::ffi::OsString;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser};
use pumice_controllers::list::DEFAULT_SELECTION;
use pumice_process::flags::{
    self, ApiServerFlags, IdleFlag, LeaseFlags, ServingFlags, boolean, duration,
};

/// Takes the place of Volcano's controller manager: same objects, same flags.
#[derive(Debug, Parser)]
#[command(name = "pumice-controllers", disable_version_flag = true)]
pub struct ControllerFlags {
    #[command(flatten)]
    pub connection: ApiServerFlags,
    #[command(flatten)]
    pub controlling: Controlling,
    #[command(flatten)]
    pub lease: LeaseFlags,
    #[command(flatten)]
    pub serving: ServingFlags,
    #[command(flatten)]
    pub ours: OursOfControllers,
    /// Print the version and exit
    #[arg(long)]
    pub version: bool,
    /// Words that are no flag: ignored, because Volcano's chart passes some
    #[arg(hide = true)]
    pub stray: Vec<OsString>,
}

/// What is cared for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Controllers")]
pub struct Controlling {
    /// schedulerName of the pods that get PodGroups (repeat for several)
    #[arg(long, default_value = "volcano", value_name = "NAME")]
    pub scheduler_name: Vec<String>,
    /// Which controllers run: * for all, NAME or +NAME for one, -NAME for all but one; the first entry
    /// that fits decides. A list of nothing but -NAME leaves the others on
    #[arg(
        long,
        value_delimiter = ',',
        default_value = DEFAULT_SELECTION,
        allow_hyphen_values = true,
        value_name = "NAMES"
    )]
    pub controllers: Vec<String>,
    /// PodGroups of bare pods take over annotations of the pod's owner
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub inherit_owner_annotations: bool,
    /// Feature gates, as Name=true,Name=false
    #[arg(long, value_delimiter = ',', value_name = "NAME=BOOL")]
    pub feature_gates: Vec<String>,
}

/// Flags that vc-controller-manager does not have.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Only in Pumice")]
pub struct OursOfControllers {
    /// Write events
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub events: bool,
    /// How long the API server keeps events (its own --event-ttl)
    #[arg(long, default_value = "1h", value_parser = duration, value_name = "DURATION")]
    pub event_ttl: Duration,
    /// Creations and deletions of pods under way at a time
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub concurrent_pods: usize,
    /// Open and close queues by Commands also where no policy of the API server asks whether who made a
    /// Command may update the queue: whoever may write Commands in any namespace then closes every queue
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub unguarded_queue_commands: bool,
    /// One JSON object a log line
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", value_parser = boolean, value_name = "BOOL")]
    pub log_json: bool,
}

const ONE_THREAD: &str = "one thread runs all controllers, and writes go out side by side";
const NO_SHARDS: &str = "there is no sharding controller";

const IDLE: [IdleFlag; 11] = [
    IdleFlag::new("worker-threads", false, ONE_THREAD),
    IdleFlag::new("worker-threads-for-podgroup", false, ONE_THREAD),
    IdleFlag::new("worker-threads-for-queue", false, ONE_THREAD),
    IdleFlag::new("worker-threads-for-gc", false, ONE_THREAD),
    IdleFlag::new("worker-threads-for-cronjob", false, ONE_THREAD),
    IdleFlag::new(
        "max-requeue-num",
        false,
        "nothing is given up: pauses grow from failure to failure",
    ),
    IdleFlag::new("scheduler-configs", false, NO_SHARDS),
    IdleFlag::new("shard-sync-period", false, NO_SHARDS),
    IdleFlag::new("enable-node-event-trigger", true, NO_SHARDS),
    IdleFlag::new("sharding-configmap", false, NO_SHARDS),
    IdleFlag::new("sharding-configmap-namespace", false, NO_SHARDS),
];

/// A parsed command line.
#[derive(Debug)]
pub struct ControllerCommandLine {
    /// What was asked for.
    pub flags: ControllerFlags,
    /// Flags that were given and do nothing, with the reason.
    pub idle: flags::IdleGiven,
}

impl ControllerCommandLine {
    /// Reads the words of a command line, the program's name first.
    ///
    /// # Errors
    /// Unknown flags and values that do not fit, in clap's words.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let idle = IDLE.iter().chain(&flags::KLOG);
        let (matches, idle) = flags::read(command(), idle, words)?;
        let flags = ControllerFlags::from_arg_matches(&matches)?;
        Ok(Self { flags, idle })
    }
}

/// Every flag, those without effect included.
#[must_use]
pub fn command() -> clap::Command {
    let own = ControllerFlags::command()
        .mut_arg("leader_elect_resource_name", |arg| {
            arg.default_value("vc-controller-manager")
        })
        .mut_arg("listen_address", |arg| arg.default_value(":8081"))
        .mut_arg("secure_address", |arg| arg.default_value(":8444"));
    flags::with_idle(own, IDLE.iter().chain(&flags::KLOG))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> ControllerCommandLine {
        let words = ["pumice-controllers"].iter().chain(words);
        ControllerCommandLine::read(words.map(Into::into)).expect("a valid command line")
    }

    #[test]
    fn the_arguments_of_volcanos_chart_are_accepted() {
        let line = read(&[
            "--logtostderr",
            "--enable-healthz=true",
            "--enable-metrics=true",
            "--leader-elect=true",
            "--leader-elect-resource-namespace=volcano-system",
            "--kube-api-qps=50",
            "--kube-api-burst=100",
            "--worker-threads=3",
            "--worker-threads-for-gc=5",
            "--worker-threads-for-podgroup=5",
            "--feature-gates=PriorityClass=true",
            "-v=4",
            "2>&1",
        ]);
        assert!(line.flags.serving.enable_healthz && line.flags.serving.enable_metrics);
        assert_eq!(line.flags.connection.kube_api_burst, 100);
        let idle: Vec<_> = line.idle.iter().map(|(name, _)| *name).collect();
        let threads = ["worker-threads", "worker-threads-for-podgroup"];
        assert_eq!(idle, [&threads[..], &["worker-threads-for-gc"]].concat());
    }

    #[test]
    fn defaults_are_those_of_the_peer() {
        let flags = read(&[]).flags;
        assert_eq!(flags.controlling.scheduler_name, ["volcano"]);
        assert_eq!(flags.controlling.controllers, ["*", "-sharding-controller"]);
        assert!(flags.controlling.inherit_owner_annotations && flags.lease.leader_elect);
        let lease = (
            flags.lease.namespace(),
            &*flags.lease.leader_elect_resource_name,
        );
        assert_eq!(lease, ("volcano-system", "vc-controller-manager"));
        // But not the 50 writes a second.
        assert_eq!(flags.connection.kube_api_burst, 2000);
        assert_eq!(flags.serving.listen_address, ":8081");
        assert_eq!(flags.serving.secure_address, ":8444");
        assert_eq!(flags.serving.healthz_address, ":11251");
        assert!(!flags.serving.enable_metrics && !flags.serving.enable_healthz);
    }

    #[test]
    fn a_list_that_begins_with_a_dash_is_the_flags_value() {
        for words in [
            &["--controllers=-gc-controller,-pg-controller"][..],
            &["--controllers", "-gc-controller,-pg-controller"][..],
        ] {
            let flags = read(words).flags;
            assert_eq!(
                flags.controlling.controllers,
                ["-gc-controller", "-pg-controller"]
            );
        }
    }
}
