//! One key of one ConfigMap, watched: a configuration without a mounted file.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::client::describe;

/// First pause after a failure, and after a watch that ended; it doubles from failure to failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause while the API server refuses: a role is mended by hand.
const LONGEST_REFUSED: Duration = Duration::from_secs(60);
/// Longest pause while the API server is away.
const LONGEST_AWAY: Duration = Duration::from_secs(10);
/// Seconds after which the API server ends a watch, and when one that is still open is dead.
const WATCH_S: u32 = 290;
const DEAD_AFTER: Duration = Duration::from_secs(300);

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

/// What the ConfigMap has, or why there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapText {
    /// UID of the ConfigMap; empty where it is not known.
    pub uid: String,
    /// The text.
    pub text: Result<Arc<str>, ConfigMapError>,
}

/// Sends the text of `key` now and at every change, and why there is none. An API server that is
/// away is a reason only as long as there was no text. Ends when nobody listens any more.
pub fn watch_config_map(
    client: Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> mpsc::Receiver<ConfigMapText> {
    let (sender, receiver) = mpsc::channel(1);
    let follower = ConfigMapFollower {
        full: format!("{namespace}/{name}"),
        only_this: format!("metadata.name={name}"),
        key: key.to_owned(),
        api: Api::namespaced(client, namespace),
        last: None,
        news: sender.clone(),
    };
    tokio::spawn(async move {
        tokio::select! {
            _ = follower.run() => {}
            () = sender.closed() => {}
        }
    });
    receiver
}

/// Nobody listens any more.
struct NobodyListens;

struct ConfigMapFollower {
    full: String,
    only_this: String,
    key: String,
    api: Api<ConfigMap>,
    last: Option<ConfigMapText>,
    news: mpsc::Sender<ConfigMapText>,
}

impl ConfigMapFollower {
    async fn run(mut self) -> Result<std::convert::Infallible, NobodyListens> {
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let failure = match self.list().await? {
                Ok(version) => self.watch(&version).await?,
                Err(error) => Some(error),
            };
            let Some(error) = failure else {
                failures = 0;
                sleep(FIRST_PAUSE).await;
                continue;
            };
            failures = match began.elapsed() >= LONGEST_REFUSED {
                true => 1,
                false => failures + 1,
            };
            self.failed(&error, failures).await?;
            sleep(pause(&error, failures)).await;
        }
    }

    /// Lists; the version to go on from.
    async fn list(&mut self) -> Result<Result<String, kube::Error>, NobodyListens> {
        let only_this = ListParams::default().fields(&self.only_this);
        let mut list = match self.api.list(&only_this).await {
            Ok(list) => list,
            Err(error) => return Ok(Err(error)),
        };
        let version = list.metadata.resource_version.take().unwrap_or_default();
        match list.items.pop() {
            Some(map) => self.tell_text(map).await?,
            None => self.tell_absent().await?,
        }
        Ok(Ok(version))
    }

    /// Watches until that ends; why, unless it was time.
    async fn watch(&mut self, version: &str) -> Result<Option<kube::Error>, NobodyListens> {
        let only_this = WatchParams::default()
            .fields(&self.only_this)
            .timeout(WATCH_S);
        let events = match self.api.watch(&only_this, version).await {
            Ok(events) => events,
            Err(error) => return Ok(Some(error)),
        };
        let mut events = std::pin::pin!(events);
        loop {
            let event = match timeout(DEAD_AFTER, events.try_next()).await {
                Err(_) | Ok(Ok(None)) => return Ok(None),
                Ok(Ok(Some(event))) => event,
                Ok(Err(error)) => return Ok(Some(error)),
            };
            match event {
                WatchEvent::Added(map) | WatchEvent::Modified(map) => self.tell_text(map).await?,
                WatchEvent::Deleted(_) => self.tell_absent().await?,
                WatchEvent::Bookmark(_) => {}
                // The version is too old: listed again.
                WatchEvent::Error(_) => return Ok(None),
            }
        }
    }

    async fn tell_text(&mut self, map: ConfigMap) -> Result<(), NobodyListens> {
        let uid = map.metadata.uid.clone().unwrap_or_default();
        let text = text(map, &self.full, &self.key);
        self.tell(ConfigMapText { uid, text }).await
    }

    async fn tell_absent(&mut self) -> Result<(), NobodyListens> {
        let absent = ConfigMapError::Absent(self.full.clone(), self.key.clone());
        self.tell(ConfigMapText {
            uid: String::new(),
            text: Err(absent),
        })
        .await
    }

    /// What was read stays as it was while the API server is away.
    async fn failed(&mut self, error: &kube::Error, failures: u32) -> Result<(), NobodyListens> {
        let known = self.last.as_ref().is_some_and(|last| last.text.is_ok());
        let error = match error {
            kube::Error::Api(status) => status.message.clone(),
            error => describe(error),
        };
        if !known {
            let refused = ConfigMapError::Refused(self.full.clone(), error);
            return self
                .tell(ConfigMapText {
                    uid: String::new(),
                    text: Err(refused),
                })
                .await;
        }
        if failures == 2 {
            tracing::warn!(
                "ConfigMap {} cannot be watched, what was read of it stays in use: {error}",
                self.full
            );
        }
        Ok(())
    }

    async fn tell(&mut self, news: ConfigMapText) -> Result<(), NobodyListens> {
        if self.last.as_ref() == Some(&news) {
            return Ok(());
        }
        self.last = Some(news.clone());
        self.news.send(news).await.map_err(|_| NobodyListens)
    }
}

/// How long to wait after so many failures in a row.
fn pause(error: &kube::Error, failures: u32) -> Duration {
    let longest = match error {
        kube::Error::Api(status) if (400..500).contains(&status.code) => LONGEST_REFUSED,
        _ => LONGEST_AWAY,
    };
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(10));
    doubled.min(longest)
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
    async fn told(list: fn() -> Answer) -> ConfigMapText {
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
        let found = told(|| list(&one("k"))).await;
        assert_eq!((found.uid.as_str(), found.text), ("u", Ok("v".into())));
        let other = told(|| list(&one("l"))).await;
        let no_key = ConfigMapError::NoKey(name().0, name().1);
        assert_eq!((other.uid.as_str(), other.text), ("u", Err(no_key)));
        let absent = told(|| list(&json!([]))).await.text;
        assert_eq!(absent, Err(ConfigMapError::Absent(name().0, name().1)));
        let denied = told(|| Answer::refuse(403, "configmaps is forbidden")).await;
        let Err(ConfigMapError::Refused(_, why)) = denied.text else {
            panic!("{denied:?}");
        };
        assert_eq!(why, "configmaps is forbidden");
    }

    fn one(key: &str) -> Value {
        json!([{"metadata": {"name": "devices", "uid": "u"}, "data": {key: "v"}}])
    }

    #[test]
    fn who_may_not_read_asks_ever_less_often() {
        let refused = kube::Error::Api(Box::new(
            kube::core::Status::failure("no", "").with_code(403),
        ));
        let pauses = [1, 2, 3, 6, 7, 100].map(|failures| pause(&refused, failures).as_secs());
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60]);
        let away = kube::Error::Api(Box::new(
            kube::core::Status::failure("no", "").with_code(503),
        ));
        assert_eq!(pause(&away, 100), LONGEST_AWAY);
    }
}
