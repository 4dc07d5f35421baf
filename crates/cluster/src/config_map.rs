//! One key of one ConfigMap, watched: a configuration without a mounted file.

use std::sync::Arc;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt, reflector::Lookup};
use kube::{Api, Client};
use tokio::sync::mpsc;

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigMapError {
    /// No such ConfigMap.
    #[error("ConfigMap {0} does not exist: create it with the key {1}")]
    Absent(String, String),
    /// The ConfigMap has no such key.
    #[error("ConfigMap {0} has no key {1}: add it")]
    NoKey(String, String),
    /// The API server does not let us read it.
    #[error("ConfigMap {0} cannot be read: {1}")]
    Refused(String, String),
}

/// Sends the text of `key` now and at every change, and why there is none. An API server that is
/// away is a reason only as long as there was no text.
pub fn watch_config_map(
    client: Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> mpsc::Receiver<Result<Arc<str>, ConfigMapError>> {
    let (sender, receiver) = mpsc::channel(1);
    let (full, key) = (format!("{namespace}/{name}"), key.to_owned());
    let api: Api<ConfigMap> = Api::namespaced(client, namespace);
    let options = watcher::Config::default().fields(&format!("metadata.name={name}"));
    tokio::spawn(async move {
        let mut events = std::pin::pin!(watcher(api, options).default_backoff());
        let mut found = false;
        let mut last = None;
        loop {
            let news = match events.try_next().await {
                Ok(None) => return,
                Ok(Some(Event::Init)) => {
                    found = false;
                    continue;
                }
                Ok(Some(Event::InitApply(map) | Event::Apply(map))) => {
                    found = true;
                    text(map, &full, &key)
                }
                Ok(Some(Event::InitDone)) if found => continue,
                Ok(Some(Event::InitDone)) => Err(ConfigMapError::Absent(full.clone(), key.clone())),
                Ok(Some(Event::Delete(map))) => {
                    tracing::debug!(name = ?map.name(), "ConfigMap deleted");
                    Err(ConfigMapError::Absent(full.clone(), key.clone()))
                }
                // What was read stays as it was while the API server is away.
                Err(error) if matches!(last, Some(Ok(_))) => {
                    tracing::warn!("ConfigMap {full} cannot be watched: {error}");
                    continue;
                }
                Err(error) => Err(ConfigMapError::Refused(full.clone(), error.to_string())),
            };
            if last.as_ref() != Some(&news) {
                last = Some(news.clone());
                if sender.send(news).await.is_err() {
                    return;
                }
            }
        }
    });
    receiver
}

fn text(map: ConfigMap, full: &str, key: &str) -> Result<Arc<str>, ConfigMapError> {
    let text = map.data.and_then(|mut data| data.remove(key));
    let text = text.ok_or_else(|| ConfigMapError::NoKey(full.to_owned(), key.to_owned()))?;
    Ok(text.into())
}
