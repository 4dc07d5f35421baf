//! Flags and environment, checked together: what the daemon runs with.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use pumice_decider::Sharding;
use pumice_process::flags::feature_gate;

use crate::flags::{CommandLine, Flags};
use crate::history::HistoryBounds;
use crate::recording::RecordingBounds;

/// Where the configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfSource {
    /// The built-in one.
    BuiltIn,
    /// A file whose directory is watched.
    File(PathBuf),
    /// A ConfigMap, by namespace and name, and the key where one is named.
    ConfigMap(String, String, Option<String>),
}

/// Membership of a group of schedulers that share pods and nodes by hash (spec/01 §1.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardMember {
    /// Own name, `<base>-<ordinal>`.
    pub name: String,
    /// Number of members.
    pub count: u32,
}

/// What the daemon runs with.
#[derive(Debug)]
pub struct DaemonSettings {
    /// Flags as they were given.
    pub flags: Flags,
    /// Where the configuration comes from.
    pub conf: ConfSource,
    /// Pairs of `--node-selector`.
    pub node_selector: Vec<(String, String)>,
    /// Sharding by NodeShard objects.
    pub sharding: Sharding,
    /// Sharding by hash.
    pub member: Option<ShardMember>,
    /// Namespace and name of the lease of the controller that makes PodGroups, if there may be one.
    pub group_controller: Option<(String, String)>,
    /// Watch workloads, for the default topology spread (gate `WorkLoadSupport`).
    pub workloads: bool,
    /// Watch priority classes.
    pub priority_classes: bool,
    /// Watch Numatopologies (gate `ResourceTopology`).
    pub numatopologies: bool,
    /// What is recorded.
    pub recording: RecordingBounds,
    /// What is kept of jobs.
    pub history: HistoryBounds,
    /// What the user should know; logged once.
    pub warnings: Vec<String>,
}

impl DaemonSettings {
    /// Checks a command line; `env` answers for the environment.
    ///
    /// # Errors
    /// The first thing that is wrong, with the flag or variable and what to write instead.
    pub fn check(line: CommandLine, env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let CommandLine { flags, idle } = line;
        let mut warnings: Vec<String> = idle
            .iter()
            .map(|(name, why)| format!("--{name} has no effect: {why}"))
            .collect();
        flags.lease.check(&mut warnings)?;
        check_traces(&flags, &mut warnings)?;
        if flags.ours.enable_ui && flags.serving.secure_address.is_empty() {
            warnings.push("--enable-ui has no effect without --secure-address".to_owned());
        }
        check_plugins_dir(&flags.scheduling.plugins_dir)?;
        let gates = FeatureGates::read(&flags.scheduling.feature_gates, &mut warnings)?;
        ensure!(
            !flags.scheduling.default_queue.is_empty(),
            "--default-queue is empty: name the queue of PodGroups that name none"
        );
        Ok(Self {
            conf: conf_source(&flags)?,
            node_selector: node_selector(&flags.scheduling.node_selector, &mut warnings),
            sharding: sharding(&flags.scheduling.scheduler_sharding_mode, &mut warnings),
            member: member(env)?,
            group_controller: group_controller(&flags.ours.podgroup_controller_lease)?,
            workloads: gates.workloads,
            priority_classes: gates.priority_class && flags.scheduling.priority_class,
            numatopologies: gates.numatopologies,
            recording: recording(&flags)?,
            history: history(&flags, &mut warnings)?,
            flags,
            warnings,
        })
    }

    /// Source of events: the scheduler's name if there is one, else `volcano` (spec/01 §9.1).
    pub fn event_source(&self) -> &str {
        match self.flags.scheduling.scheduler_name.as_slice() {
            [name] => name,
            _ => "volcano",
        }
    }
}

/// Nothing is sent without an address, and a dry run binds nothing that could be followed.
fn check_traces(flags: &Flags, warnings: &mut Vec<String>) -> anyhow::Result<()> {
    let traces = &flags.traces;
    let rate = traces.tracing_sampling_rate_per_million;
    ensure!(
        rate <= 1_000_000,
        "--tracing-sampling-rate-per-million={rate}: write a number up to 1000000, which means all pods"
    );
    let endpoint = &traces.tracing_endpoint;
    let is_url = endpoint.starts_with("http://") || endpoint.starts_with("https://");
    ensure!(
        is_url || endpoint.is_empty(),
        "--tracing-endpoint={endpoint}: write the URL of the collector, such as http://collector:4318"
    );
    if !endpoint.is_empty() && flags.ours.dry_run {
        warnings
            .push("--tracing-endpoint has no effect with --dry-run: no pod is bound".to_owned());
    }
    Ok(())
}

/// Least of what is recorded, where something is: less holds no copy of a small cluster.
const LEAST_RECORDED: u64 = 1 << 20;

/// Least age of history.
const LEAST_AGE: Duration = Duration::from_secs(3600);

/// A dry run holds nothing.
fn history(flags: &Flags, warnings: &mut Vec<String>) -> anyhow::Result<HistoryBounds> {
    let given = &flags.history;
    let size = given.history_size;
    ensure!(
        size >= LEAST_RECORDED,
        "--history-size={size}: write 1Mi or more"
    );
    ensure!(
        given.history_age >= LEAST_AGE,
        "--history-age={}s: write 1h or more",
        given.history_age.as_secs()
    );
    let is_named = !given.history_dir.is_empty();
    if is_named && flags.ours.dry_run {
        warnings.push(
            "--history-dir has no effect with --dry-run: what it decides is held by nobody"
                .to_owned(),
        );
    }
    let folder = (is_named && !flags.ours.dry_run).then(|| PathBuf::from(&given.history_dir));
    Ok(HistoryBounds {
        folder,
        size,
        age: given.history_age,
    })
}

fn recording(flags: &Flags) -> anyhow::Result<RecordingBounds> {
    let given = &flags.recording;
    let sizes = [
        (
            "record-memory",
            given.record_memory,
            given.record_memory != 0,
        ),
        ("record-size", given.record_size, true),
    ];
    for (flag, size, is_used) in sizes {
        ensure!(
            size >= LEAST_RECORDED || !is_used,
            "--{flag}={size}: write 1Mi or more"
        );
    }
    Ok(RecordingBounds {
        memory: usize::try_from(given.record_memory).unwrap_or(usize::MAX),
        folder: (!given.record_dir.is_empty()).then(|| PathBuf::from(&given.record_dir)),
        size: given.record_size,
        age: given.record_age,
    })
}

/// Go plugins cannot be loaded; starting without them would schedule by other rules.
fn check_plugins_dir(folder: &str) -> anyhow::Result<()> {
    if folder.is_empty() {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("--plugins-dir={folder}: the directory cannot be read"))?;
    for entry in entries {
        let path = entry
            .with_context(|| format!("--plugins-dir={folder}"))?
            .path();
        if path.extension().is_some_and(|extension| extension == "so") {
            bail!(
                "--plugins-dir: {} is a Go plugin, which this scheduler cannot load; serve it over \
                 HTTP and name it with the `extender` plugin, or remove the flag",
                path.display()
            );
        }
    }
    Ok(())
}

fn conf_source(flags: &Flags) -> anyhow::Result<ConfSource> {
    let (file, map) = (
        &flags.scheduling.scheduler_conf,
        &flags.ours.scheduler_configmap,
    );
    match (file.as_str(), map.as_str()) {
        ("", "") if flags.scheduling.disable_default_scheduler_config => bail!(
            "--disable-default-scheduler-config is set and there is no configuration: name one with \
             --scheduler-conf"
        ),
        ("", "") => Ok(ConfSource::BuiltIn),
        (file, "") => Ok(ConfSource::File(PathBuf::from(file))),
        ("", map) => config_map(map).with_context(|| {
            format!(
                "--scheduler-configmap={map}: write NAMESPACE/NAME, or NAMESPACE/NAME/KEY for a key \
                 of several"
            )
        }),
        _ => bail!("give --scheduler-conf or --scheduler-configmap, not both"),
    }
}

/// The ConfigMap of `NAMESPACE/NAME` or `NAMESPACE/NAME/KEY`.
fn config_map(text: &str) -> Option<ConfSource> {
    let parts: Vec<&str> = text.split('/').collect();
    let (namespace, name, key) = match parts[..] {
        [namespace, name] => (namespace, name, None),
        [namespace, name, key] => (namespace, name, Some(key)),
        _ => return None,
    };
    let complete = parts.iter().all(|part| !part.is_empty());
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    complete.then(|| ConfSource::ConfigMap(namespace, name, key.map(str::to_owned)))
}

/// Namespace and name of `NAMESPACE/NAME`.
fn namespaced(text: &str) -> Option<(String, String)> {
    let (namespace, name) = text.split_once('/')?;
    let complete = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
    complete.then(|| (namespace.to_owned(), name.to_owned()))
}

/// The lease of the controller that makes PodGroups.
fn group_controller(text: &str) -> anyhow::Result<Option<(String, String)>> {
    if matches!(text, "" | "none") {
        return Ok(None);
    }
    let lease = namespaced(text);
    let problem = || format!("--podgroup-controller-lease={text}: write NAMESPACE/NAME, or none");
    lease.with_context(problem).map(Some)
}

fn node_selector(entries: &[String], warnings: &mut Vec<String>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for entry in entries {
        match entry.split_once(':') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                pairs.push((key.trim().to_owned(), value.trim().to_owned()));
            }
            _ => warnings.push(format!(
                "--node-selector: {entry:?} is ignored; write label:value"
            )),
        }
    }
    pairs
}

fn sharding(mode: &str, warnings: &mut Vec<String>) -> Sharding {
    match mode {
        "hard" => Sharding::Hard,
        "soft" => Sharding::Soft,
        "none" | "" => Sharding::None,
        other => {
            warnings.push(format!(
                "--scheduler-sharding-mode={other} means none; write none, hard or soft"
            ));
            Sharding::None
        }
    }
}

fn member(env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<ShardMember>> {
    if env("MULTI_SCHEDULER_ENABLE").as_deref() != Some("true") {
        return Ok(None);
    }
    let name = env("SCHEDULER_POD_NAME").unwrap_or_default();
    ensure!(
        name.contains('-'),
        "MULTI_SCHEDULER_ENABLE is true, but SCHEDULER_POD_NAME={name:?} is not <base>-<ordinal>: set \
         it from the pod's name"
    );
    let count = env("SCHEDULER_NUM").and_then(|text| text.parse().ok());
    Ok(Some(ShardMember {
        name,
        count: count.unwrap_or(1),
    }))
}

/// Feature gates that mean something here.
struct FeatureGates {
    workloads: bool,
    priority_class: bool,
    numatopologies: bool,
}

impl FeatureGates {
    fn read(entries: &[String], warnings: &mut Vec<String>) -> anyhow::Result<Self> {
        let mut gates = Self {
            workloads: true,
            priority_class: true,
            numatopologies: true,
        };
        for entry in entries.iter().filter(|entry| !entry.trim().is_empty()) {
            let (name, on) = feature_gate(entry)?;
            match name {
                "WorkLoadSupport" => gates.workloads = on,
                "PriorityClass" => gates.priority_class = on,
                "ResourceTopology" => gates.numatopologies = on,
                "SchedulingGatesQueueAdmission" => warnings.push(format!(
                    "feature gate {name} has no effect here: the controllers take the gates away"
                )),
                other => warnings.push(format!("feature gate {other} has no effect")),
            }
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests;
