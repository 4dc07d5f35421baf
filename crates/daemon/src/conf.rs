//! The configuration in use, and how it changes while the daemon runs.
//!
//! Atomic between cycles: the deciding thread takes a valid configuration as a whole. An invalid
//! one changes nothing and is told by log, event and metric; at the start there is nothing to
//! keep, so the daemon is not ready until the file is good (`--disable-default-scheduler-config`:
//! it ends instead, as Volcano's does).

use std::sync::Arc;

use pumice_admin::conf_watch::{self, ReloadTimes};
use pumice_admin::metrics::Metrics;
use pumice_cluster::config_map;
use pumice_cluster::follow::ReadWay;
use pumice_conf::reload::{self, Reload};
use pumice_conf::{
    CONF_KEY, DEFAULT_CONF, Diagnostic, UsageSource, text_without_secrets, usage_source,
};
use pumice_decider::{DeviceConfigPlace, MixPlace, device_config_place, mix_place, report_places};
use pumice_devices::ReportPlace;
use pumice_engine::{REGISTRY, kept_place};
use pumice_model::KeptTopic;
use tokio::sync::{mpsc, watch as cell};

use crate::commands::DecideCommand;
use crate::notices::{Notice, Topic};
use crate::settings::ConfSource;
use pumice_process::DaemonStatus;

/// What is in use, for `/configz` and pages.
#[derive(Clone, Debug, Default)]
pub struct ConfInUse {
    /// Hash of its text.
    pub hash: String,
    /// The configuration.
    pub config: serde_json::Value,
    /// What is wrong with a newer one, which is not in use.
    pub refused: Option<String>,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct ConfText {
    /// The text, or one sentence why there is none.
    pub bytes: Result<Arc<[u8]>, String>,
    /// UID of the ConfigMap it was read from, where that is known.
    pub uid: String,
}

impl ConfText {
    fn of_file(bytes: Result<Arc<[u8]>, String>) -> Self {
        let uid = String::new();
        Self { bytes, uid }
    }
}

/// What is wrong with a configuration.
struct ConfProblem {
    /// With a picture of each place, on several lines.
    picture: String,
    /// In one line.
    brief: String,
}

impl ConfProblem {
    fn of(diagnostics: &[Diagnostic], name: &str) -> Self {
        Self {
            picture: reload::render(diagnostics, name),
            brief: brief(diagnostics),
        }
    }
}

fn brief(diagnostics: &[Diagnostic]) -> String {
    let all: Vec<String> = diagnostics.iter().map(Diagnostic::brief).collect();
    all.join("; ")
}

/// Follows the configuration and hands what is valid to the deciding thread.
pub struct ConfFollower {
    /// Name of the source in messages.
    pub name: String,
    /// End the process when a configuration is not valid.
    pub strict: bool,
    /// The deciding thread.
    pub core: mpsc::Sender<DecideCommand>,
    /// Where the device configuration of the configuration in use is.
    pub devices: cell::Sender<DeviceConfigPlace>,
    /// Where the mix of tasks is, in the configuration in use.
    pub mix: cell::Sender<MixPlace>,
    /// Where plugins keep what they know, in the configuration in use.
    pub kept: [(KeptTopic, cell::Sender<MixPlace>); KeptTopic::COUNT],
    /// ConfigMaps about the devices of nodes that the configuration in use has need of.
    pub reports: cell::Sender<Vec<ReportPlace>>,
    /// Who measures what nodes use, in the configuration in use.
    pub usage: cell::Sender<Option<UsageSource>>,
    /// For the probes.
    pub status: Arc<DaemonStatus>,
    /// For `/configz`.
    pub in_use: Arc<std::sync::RwLock<Option<ConfInUse>>>,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Tells operators by events.
    pub notices: mpsc::Sender<Notice>,
}

/// Where the texts come from. The built-in one is sent once.
pub fn texts(source: &ConfSource, way: &ReadWay) -> mpsc::Receiver<ConfText> {
    let (sender, receiver) = mpsc::channel(1);
    match source {
        ConfSource::BuiltIn => {
            let text: Arc<[u8]> = DEFAULT_CONF.as_bytes().into();
            // The channel is empty and open.
            let _ = sender.try_send(ConfText::of_file(Ok(text)));
        }
        ConfSource::File(path) => {
            let mut contents = conf_watch::start(path, ReloadTimes::default());
            tokio::spawn(async move {
                while let Some(read) = contents.recv().await {
                    let text = ConfText::of_file(read.map_err(|e| e.to_string()));
                    if sender.send(text).await.is_err() {
                        return;
                    }
                }
            });
        }
        ConfSource::ConfigMap(namespace, name, key) => {
            let way = way.clone();
            let mut read = match key {
                Some(key) => config_map::watch_config_map(way, namespace, name, key),
                None => config_map::watch_usual_or_only_key(way, namespace, name, CONF_KEY),
            };
            tokio::spawn(async move {
                while let Some(config_map::ConfigMapText { uid, text }) = read.recv().await {
                    let bytes = text.map(|text| Arc::from(text.as_bytes()));
                    let bytes = bytes.map_err(|e| e.to_string());
                    if sender.send(ConfText { bytes, uid }).await.is_err() {
                        return;
                    }
                }
            });
        }
    }
    receiver
}

/// Name of a source in messages.
pub fn name(source: &ConfSource) -> String {
    match source {
        ConfSource::BuiltIn => "built-in configuration".to_owned(),
        ConfSource::File(path) => path.display().to_string(),
        ConfSource::ConfigMap(namespace, name, None) => format!("ConfigMap {namespace}/{name}"),
        ConfSource::ConfigMap(namespace, name, Some(key)) => {
            format!("key {key} of ConfigMap {namespace}/{name}")
        }
    }
}

/// Tells who follows something where it is now.
fn tell_if_new<T: PartialEq>(followers: &cell::Sender<T>, now: T) {
    followers.send_if_modified(|known| {
        let moved = *known != now;
        *known = now;
        moved
    });
}

impl ConfFollower {
    /// Follows until the texts end.
    ///
    /// # Errors
    /// The configuration is not valid and `strict` is set.
    pub async fn run(self, mut texts: mpsc::Receiver<ConfText>) -> anyhow::Result<()> {
        while let Some(ConfText { bytes, uid }) = texts.recv().await {
            let problem = match bytes {
                Ok(bytes) => self.take(&bytes, &uid).await,
                Err(problem) => Some(ConfProblem {
                    picture: problem.clone(),
                    brief: problem,
                }),
            };
            let standing = problem.as_ref().map(|problem| self.told(&problem.brief));
            self.remember_refused(standing.clone());
            self.tell(Topic::InvalidConfiguration, &uid, standing).await;
            if let Some(problem) = problem {
                self.refuse(&problem.picture)?;
            }
        }
        Ok(())
    }

    /// Uses a text if it is valid; otherwise what is wrong with it.
    async fn take(&self, bytes: &[u8], uid: &str) -> Option<ConfProblem> {
        let before = self.hash();
        let hash = conf_watch::text_hash(bytes);
        match reload::decide(before.as_deref(), bytes, hash, &REGISTRY) {
            // A bad edit may have been taken back.
            Reload::Unchanged => {
                self.metrics.config_valid(true);
                None
            }
            Reload::Keep { diagnostics } => Some(ConfProblem::of(&diagnostics, &self.name)),
            Reload::Use {
                config,
                hash,
                diagnostics,
            } => {
                for finding in &diagnostics {
                    tracing::warn!("{}", finding.render(&self.name));
                }
                tracing::info!(%hash, "configuration in use: {}", self.name);
                let json = serde_json::to_value(config.without_secrets()).unwrap_or_default();
                let (place, reports) = (device_config_place(&config), report_places(&config));
                let mix = mix_place(&config);
                let kept = self
                    .kept
                    .each_ref()
                    .map(|(topic, _)| kept_place(*topic, &config));
                let text = String::from_utf8_lossy(bytes);
                let text = text_without_secrets(&text, &config, &REGISTRY);
                let usage = usage_source(&config.metrics);
                let command = DecideCommand::Configure { config, text };
                if self.core.send(command).await.is_err() {
                    return None;
                }
                // After the configuration: the deciding thread waits for what this place has.
                tell_if_new(&self.devices, place);
                tell_if_new(&self.mix, mix);
                for ((_, followers), place) in self.kept.iter().zip(kept) {
                    tell_if_new(followers, place);
                }
                tell_if_new(&self.reports, reports);
                tell_if_new(&self.usage, usage);
                if before.is_some() {
                    let changed = format!("{}: changed, and in use now: {hash}", self.name);
                    self.tell(Topic::ConfigurationInUse, uid, Some(changed))
                        .await;
                }
                self.used(hash, json, before.is_some());
                self.metrics.config_warnings(diagnostics.len());
                let warnings = (!diagnostics.is_empty()).then(|| brief(&diagnostics));
                self.tell(Topic::ConfigurationWarnings, uid, warnings).await;
                None
            }
        }
    }

    /// A notice stands, or is over.
    async fn tell(&self, topic: Topic, uid: &str, message: Option<String>) {
        let uid = uid.to_owned();
        let notice = Notice {
            topic,
            uid,
            message,
        };
        // Nobody listens in a dry run.
        let _ = self.notices.send(notice).await;
    }

    fn told(&self, problem: &str) -> String {
        format!("{}: not valid, {}: {problem}", self.name, self.then())
    }

    /// What is done without a valid configuration.
    fn then(&self) -> &'static str {
        match self.hash() {
            Some(_) => "the configuration before it stays in use",
            None => "nothing is scheduled until it is valid",
        }
    }

    fn hash(&self) -> Option<String> {
        let in_use = self.in_use.read().ok()?;
        in_use.as_ref().map(|in_use| in_use.hash.clone())
    }

    fn used(&self, hash: String, config: serde_json::Value, reloaded: bool) {
        self.metrics.config_valid(true);
        self.metrics.config_in_use(&hash);
        if reloaded {
            self.metrics.config_reloaded("success");
        }
        if let Ok(mut in_use) = self.in_use.write() {
            *in_use = Some(ConfInUse {
                hash,
                config,
                refused: None,
            });
        }
        self.status.set_configuration_problem(None);
    }

    fn remember_refused(&self, problem: Option<String>) {
        if let Ok(mut in_use) = self.in_use.write()
            && let Some(in_use) = in_use.as_mut()
        {
            in_use.refused = problem;
        }
    }

    fn refuse(&self, problem: &str) -> anyhow::Result<()> {
        self.metrics.config_valid(false);
        self.metrics.config_reloaded("failure");
        let kept = self.hash().is_some();
        if !kept {
            let problem = format!("the configuration is not valid: {problem}");
            self.status.set_configuration_problem(Some(problem));
        }
        if self.strict {
            anyhow::bail!("{problem}\n--disable-default-scheduler-config: the scheduler ends");
        }
        tracing::error!("{} is not valid, {}:\n{problem}", self.name, self.then());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
