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
/// away is a reason only as long as there was no text. Ends when nobody listens any more.
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
            let event = tokio::select! {
                event = events.try_next() => event,
                () = sender.closed() => return,
            };
            let news = match event {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::scripted::{Answer, Server};

    /// What is told when lists of ConfigMaps get this answer and nothing happens afterwards.
    async fn told(list: fn() -> Answer) -> Result<Arc<str>, ConfigMapError> {
        let script = move |seen: &crate::scripted::Seen| match seen.path.contains("watch=") {
            true => Answer::Silence,
            false => list(),
        };
        let server = Server::start(script).await;
        let mut texts = watch_config_map(server.client(), "ns", "devices", "k");
        let first = texts.recv().await.expect("the watch goes on");
        let path = &server.log()[0].path;
        let only_this = "fieldSelector=metadata.name%3Ddevices";
        assert!(path.contains("/namespaces/ns/") && path.contains(only_this));
        first
    }

    fn list(items: &Value) -> Answer {
        let metadata = json!({"resourceVersion": "5"});
        let list = json!({
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items,
        });
        Answer::Json(200, list)
    }

    #[tokio::test]
    async fn a_text_is_told_and_why_there_is_none() {
        let name = || ("ns/devices".to_owned(), "k".to_owned());
        let found = told(|| list(&json!([{"metadata": {"name": "devices"}, "data": {"k": "v"}}])));
        assert_eq!(found.await, Ok("v".into()));
        let other = told(|| list(&json!([{"metadata": {"name": "devices"}, "data": {"l": "v"}}])));
        assert_eq!(other.await, Err(ConfigMapError::NoKey(name().0, name().1)));
        let absent = told(|| list(&json!([]))).await;
        assert_eq!(absent, Err(ConfigMapError::Absent(name().0, name().1)));
        let denied = told(|| Answer::refuse(403, "configmaps is forbidden")).await;
        let Err(ConfigMapError::Refused(_, why)) = denied else {
            panic!("{denied:?}");
        };
        assert!(why.contains("forbidden"), "{why}");
    }
}
