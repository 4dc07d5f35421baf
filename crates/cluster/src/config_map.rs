//! ConfigMaps, watched: those of a label, or one key of one, a configuration without a mounted file.

mod wanted_key;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use self::wanted_key::WantedKey;
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

/// ConfigMaps in one page of a list.
const PAGE: u32 = 500;

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigMapError {
    /// No such ConfigMap.
    #[error("ConfigMap {0} does not exist: create it with the key {1}")]
    Absent(String, String),
    /// The ConfigMap has no such key.
    #[error("ConfigMap {0} has no key {1}: add it")]
    NoKey(String, String),
    /// The ConfigMap has several keys, and none is the usual one.
    #[error(
        "ConfigMap {0} has the keys {2} and not {1}: rename the one that is meant, or name it as {0}/KEY"
    )]
    ManyKeys(String, String, String),
    /// The API server does not let us read it.
    #[error("ConfigMap {0} cannot be read: {1}")]
    Refused(String, String),
}

/// What the ConfigMap has, or why there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapText {
    /// UID of the ConfigMap; empty where it is not known.
    pub uid: String,
    /// Text under the key, or why there is none.
    pub text: Result<Arc<str>, ConfigMapError>,
}

/// Which ConfigMaps of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichConfigMaps {
    /// The one of this name.
    Named(String),
    /// Those with this label and value, `key=value`.
    Labelled(String),
}

/// What a ConfigMap has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapFound {
    /// Name of the ConfigMap.
    pub name: String,
    /// UID of the ConfigMap.
    pub uid: String,
    /// Texts by key.
    pub data: BTreeMap<String, String>,
}

impl From<ConfigMap> for ConfigMapFound {
    fn from(map: ConfigMap) -> Self {
        Self {
            name: map.metadata.name.unwrap_or_default(),
            uid: map.metadata.uid.unwrap_or_default(),
            data: map.data.unwrap_or_default(),
        }
    }
}

/// What is new of ConfigMaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigMapNews {
    /// All there are.
    Listed(Vec<ConfigMapFound>),
    /// One is new or has changed.
    Changed(ConfigMapFound),
    /// The one of this name is gone.
    Gone(String),
    /// They cannot be read or watched: why, and for which time in a row. What was told stays true as
    /// far as anybody knows.
    Failed(String, u32),
}

/// Follows ConfigMaps of a namespace: all of them first, then what changes; all of them again after
/// a watch that has ended. Ends when nobody listens any more.
pub fn watch_config_maps(
    client: Client,
    namespace: &str,
    which: WhichConfigMaps,
) -> mpsc::Receiver<ConfigMapNews> {
    let (news, receiver) = mpsc::channel(1);
    let follower = ConfigMapFollower {
        which,
        api: Api::namespaced(client, namespace),
        news: news.clone(),
    };
    tokio::spawn(async move {
        tokio::select! {
            _ = follower.run() => {}
            () = news.closed() => {}
        }
    });
    receiver
}

/// Sends the text of `key` now and at every change, and why there is none. An API server that is
/// away is a reason only as long as there was no text. Ends when nobody listens any more.
pub fn watch_config_map(
    client: Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> mpsc::Receiver<ConfigMapText> {
    watch_text(client, namespace, name, WantedKey::Named(key.to_owned()))
}

/// Sends the text of the usual key, or of the only one there is where the ConfigMap does not have that,
/// as [`watch_config_map`] does.
pub fn watch_usual_or_only_key(
    client: Client,
    namespace: &str,
    name: &str,
    usual: &str,
) -> mpsc::Receiver<ConfigMapText> {
    let key = WantedKey::UsualOrOnly(usual.to_owned());
    watch_text(client, namespace, name, key)
}

fn watch_text(
    client: Client,
    namespace: &str,
    name: &str,
    key: WantedKey,
) -> mpsc::Receiver<ConfigMapText> {
    let (sender, receiver) = mpsc::channel(1);
    let mut news = watch_config_maps(client, namespace, WhichConfigMaps::Named(name.to_owned()));
    let mut teller = TextTeller {
        full: format!("{namespace}/{name}"),
        key,
        last: None,
        texts: sender.clone(),
    };
    tokio::spawn(async move {
        let tell = async {
            while let Some(news) = news.recv().await {
                if teller.tell(news).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = tell => {}
            () = sender.closed() => {}
        }
    });
    receiver
}

/// Nobody listens any more.
struct NobodyListens;

struct ConfigMapFollower {
    which: WhichConfigMaps,
    api: Api<ConfigMap>,
    news: mpsc::Sender<ConfigMapNews>,
}

impl ConfigMapFollower {
    async fn run(self) -> Result<std::convert::Infallible, NobodyListens> {
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
            let why = match &error {
                kube::Error::Api(status) => status.message.clone(),
                error => describe(error),
            };
            self.tell(ConfigMapNews::Failed(why, failures)).await?;
            sleep(pause(&error, failures)).await;
        }
    }

    /// Lists, in pages; the version to go on from.
    async fn list(&self) -> Result<Result<String, kube::Error>, NobodyListens> {
        let mut page = match &self.which {
            WhichConfigMaps::Named(name) => {
                ListParams::default().fields(&format!("metadata.name={name}"))
            }
            WhichConfigMaps::Labelled(label) => ListParams::default().labels(label).limit(PAGE),
        };
        let mut all = Vec::new();
        loop {
            let list = match self.api.list(&page).await {
                Ok(list) => list,
                Err(error) => return Ok(Err(error)),
            };
            all.extend(list.items.into_iter().map(ConfigMapFound::from));
            let more = list.metadata.continue_.filter(|token| !token.is_empty());
            let Some(token) = more else {
                self.tell(ConfigMapNews::Listed(all)).await?;
                return Ok(Ok(list.metadata.resource_version.unwrap_or_default()));
            };
            page = page.continue_token(&token);
        }
    }

    /// Watches until that ends; why, unless it was time.
    async fn watch(&self, version: &str) -> Result<Option<kube::Error>, NobodyListens> {
        let only_these = match &self.which {
            WhichConfigMaps::Named(name) => {
                WatchParams::default().fields(&format!("metadata.name={name}"))
            }
            WhichConfigMaps::Labelled(label) => WatchParams::default().labels(label),
        };
        let events = match self.api.watch(&only_these.timeout(WATCH_S), version).await {
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
            let news = match event {
                WatchEvent::Added(map) | WatchEvent::Modified(map) => {
                    ConfigMapNews::Changed(map.into())
                }
                WatchEvent::Deleted(map) => ConfigMapNews::Gone(map.name_any()),
                WatchEvent::Bookmark(_) => continue,
                // The version is too old: listed again.
                WatchEvent::Error(_) => return Ok(None),
            };
            self.tell(news).await?;
        }
    }

    async fn tell(&self, news: ConfigMapNews) -> Result<(), NobodyListens> {
        self.news.send(news).await.map_err(|_| NobodyListens)
    }
}

/// Makes of news what a text is, or why there is none.
struct TextTeller {
    full: String,
    key: WantedKey,
    last: Option<ConfigMapText>,
    texts: mpsc::Sender<ConfigMapText>,
}

impl TextTeller {
    async fn tell(&mut self, news: ConfigMapNews) -> Result<(), NobodyListens> {
        let map = match news {
            ConfigMapNews::Listed(mut all) => all.pop(),
            ConfigMapNews::Changed(map) => Some(map),
            ConfigMapNews::Gone(_) => None,
            ConfigMapNews::Failed(why, failures) => return self.failed(why, failures).await,
        };
        let (uid, text) = match map {
            None => {
                let (full, key) = (self.full.clone(), self.key.name().to_owned());
                (String::new(), Err(ConfigMapError::Absent(full, key)))
            }
            Some(mut map) => {
                let text = self.key.take(&self.full, &mut map.data);
                (map.uid, text)
            }
        };
        self.send(ConfigMapText { uid, text }).await
    }

    /// What was read stays as it was while the API server is away.
    async fn failed(&mut self, why: String, failures: u32) -> Result<(), NobodyListens> {
        if self.last.as_ref().is_none_or(|last| last.text.is_err()) {
            let uid = String::new();
            let text = Err(ConfigMapError::Refused(self.full.clone(), why));
            return self.send(ConfigMapText { uid, text }).await;
        }
        if failures == 2 {
            tracing::warn!(
                "ConfigMap {} cannot be watched, what was read of it stays in use: {why}",
                self.full
            );
        }
        Ok(())
    }

    async fn send(&mut self, text: ConfigMapText) -> Result<(), NobodyListens> {
        if self.last.as_ref() == Some(&text) {
            return Ok(());
        }
        self.last = Some(text.clone());
        self.texts.send(text).await.map_err(|_| NobodyListens)
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

    #[tokio::test]
    async fn those_of_a_label_are_listed_in_pages_and_told_one_by_one_afterwards() {
        let script = |seen: &crate::scripted::Seen| match &seen.path {
            path if path.contains("watch=") => {
                let gone = json!({"type": "DELETED", "object": named("a")});
                Answer::Json(200, gone)
            }
            path if path.contains("continue=") => page(&["b"], ""),
            _ => page(&["a"], "more"),
        };
        let server = Server::start(script).await;
        let which = WhichConfigMaps::Labelled("reads=me".to_owned());
        let mut news = watch_config_maps(server.client(), "ns", which);
        let Some(ConfigMapNews::Listed(all)) = news.recv().await else {
            panic!("first all there are");
        };
        let names: Vec<&str> = all.iter().map(|map| map.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(all[0].data["k"], "v");
        let gone = ConfigMapNews::Gone("a".to_owned());
        assert_eq!(news.recv().await, Some(gone));
        // The watch has ended.
        assert!(matches!(
            news.recv().await,
            Some(ConfigMapNews::Listed(all)) if all.len() == 2
        ));
        for seen in server.log() {
            assert!(seen.path.contains("labelSelector=reads%3Dme"), "{seen:?}");
        }
    }

    fn named(name: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "uid": name},
            "data": {"k": "v"},
        })
    }

    fn page(names: &[&str], more: &str) -> Answer {
        let items: Vec<Value> = names.iter().map(|name| named(name)).collect();
        let metadata = json!({"resourceVersion": "5", "continue": more});
        let list = json!({
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items,
        });
        Answer::Json(200, list)
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
