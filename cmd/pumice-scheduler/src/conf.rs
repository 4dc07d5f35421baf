//! The configuration in use, and how it changes while the daemon runs.
//!
//! Atomic between cycles: the deciding thread takes a valid configuration as a whole. An invalid
//! one changes nothing and is told by log, event and metric; at the start there is nothing to
//! keep, so the daemon is not ready until the file is good (`--disable-default-scheduler-config`:
//! it ends instead, as Volcano's does).

use std::sync::Arc;

use pumice_admin::conf_watch::{self, Pace};
use pumice_admin::metrics::Metrics;
use pumice_admin::reload::{self, Reload};
use pumice_cluster::{ObjectRef, config_map};
use pumice_conf::{CONF_KEY, DEFAULT_CONF};
use pumice_plugins::REGISTRY;
use tokio::sync::{mpsc, watch as cell};

use crate::core::Question;
use crate::device_config::{self, Place};
use crate::settings::ConfSource;
use crate::status::Status;

/// What is in use, for `/configz`.
#[derive(Clone, Debug, Default)]
pub struct InUse {
    /// Hash of its text.
    pub hash: String,
    /// The configuration.
    pub config: serde_json::Value,
}

/// The text, or one sentence why there is none.
type Text = Result<Arc<[u8]>, String>;

/// Follows the configuration and hands what is valid to the deciding thread.
pub struct Follower {
    /// Name of the source in messages.
    pub name: String,
    /// End the process when a configuration is not valid.
    pub strict: bool,
    /// The deciding thread.
    pub core: mpsc::Sender<Question>,
    /// Where the device configuration of the configuration in use is.
    pub devices: cell::Sender<Place>,
    /// For the probes.
    pub status: Arc<Status>,
    /// For `/configz`.
    pub in_use: Arc<std::sync::RwLock<Option<InUse>>>,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Writes an event about the configuration.
    pub event: Box<dyn Fn(String) + Send + Sync>,
}

/// Where the texts come from. The built-in one is sent once.
pub fn texts(source: &ConfSource, client: &kube::Client) -> mpsc::Receiver<Text> {
    let (sender, receiver) = mpsc::channel(1);
    match source {
        ConfSource::BuiltIn => {
            let text: Arc<[u8]> = DEFAULT_CONF.as_bytes().into();
            // The channel is empty and open.
            let _ = sender.try_send(Ok(text));
        }
        ConfSource::File(path) => {
            let mut contents = conf_watch::start(path, Pace::default());
            tokio::spawn(async move {
                while let Some(read) = contents.recv().await {
                    if sender.send(read.map_err(|e| e.to_string())).await.is_err() {
                        return;
                    }
                }
            });
        }
        ConfSource::ConfigMap(namespace, name) => {
            let client = client.clone();
            let mut read = config_map::watch_config_map(client, namespace, name, CONF_KEY);
            tokio::spawn(async move {
                while let Some(text) = read.recv().await {
                    let text = text.map(|text| Arc::from(text.as_bytes()));
                    if sender.send(text.map_err(|e| e.to_string())).await.is_err() {
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
        ConfSource::ConfigMap(namespace, name) => format!("ConfigMap {namespace}/{name}"),
    }
}

/// The object events about a configuration belong to, when it has one.
pub fn object(source: &ConfSource) -> Option<ObjectRef> {
    let ConfSource::ConfigMap(namespace, name) = source else {
        return None;
    };
    Some(ObjectRef {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: namespace.clone(),
        name: name.clone(),
        uid: String::new(),
    })
}

impl Follower {
    /// Follows until the texts end.
    ///
    /// # Errors
    /// The configuration is not valid and `strict` is set.
    pub async fn run(self, mut texts: mpsc::Receiver<Text>) -> anyhow::Result<()> {
        while let Some(text) = texts.recv().await {
            let problem = match text {
                Ok(bytes) => self.take(&bytes).await,
                Err(problem) => Some(problem),
            };
            if let Some(problem) = problem {
                self.refuse(&problem)?;
            }
        }
        Ok(())
    }

    /// Uses a text if it is valid; otherwise what is wrong with it.
    async fn take(&self, bytes: &[u8]) -> Option<String> {
        let before = self.hash();
        match reload::decide(before.as_deref(), bytes, &REGISTRY) {
            // A bad edit may have been taken back.
            Reload::Unchanged => {
                self.metrics.config_valid(true);
                None
            }
            Reload::Keep { diagnostics } => Some(reload::render(&diagnostics, &self.name)),
            Reload::Use {
                config,
                hash,
                diagnostics,
            } => {
                for finding in &diagnostics {
                    tracing::warn!("{}", finding.render(&self.name));
                }
                tracing::info!(%hash, "configuration in use: {}", self.name);
                let json = serde_json::to_value(&config).unwrap_or_default();
                let place = device_config::place(&config);
                let text = String::from_utf8_lossy(bytes).into_owned();
                let question = Question::Configure { config, text };
                if self.core.send(question).await.is_err() {
                    return None;
                }
                // After the configuration: the deciding thread waits for what this place has.
                self.devices.send_if_modified(|known| {
                    let moved = *known != place;
                    *known = place;
                    moved
                });
                self.used(hash, json, before.is_some());
                None
            }
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
            *in_use = Some(InUse { hash, config });
        }
        self.status.set_configuration_problem(None);
    }

    fn refuse(&self, problem: &str) -> anyhow::Result<()> {
        self.metrics.config_valid(false);
        self.metrics.config_reloaded("failure");
        let kept = self.hash().is_some();
        if !kept {
            let problem = format!("the configuration is not valid: {problem}");
            self.status.set_configuration_problem(Some(problem));
        }
        let then = if kept {
            "the configuration before it stays in use"
        } else {
            "nothing is scheduled until it is valid"
        };
        (self.event)(format!("{}: not valid, {then}: {problem}", self.name));
        if self.strict {
            anyhow::bail!("{problem}\n--disable-default-scheduler-config: the scheduler ends");
        }
        tracing::error!("{} is not valid, {then}:\n{problem}", self.name);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
