//! ConfigMaps, watched: those of a label, or one key of one, a configuration without a mounted file.

mod listener;
mod wanted_key;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::mpsc;

use self::listener::ConfigMapListener;
use self::wanted_key::WantedKey;
use crate::follow::board::{Board, KindReporter};
use crate::follow::{FollowLimits, FollowedKind, KindFollower, ReadWay, WatchTimes};

/// First pause after a failure: a ConfigMap is nothing that anybody waits for.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

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

/// Follows ConfigMaps of a namespace: all of them first, then what changes; all of them again after a
/// failure. Ends when nobody listens any more.
pub fn watch_config_maps(
    way: ReadWay,
    namespace: &str,
    which: WhichConfigMaps,
) -> mpsc::Receiver<ConfigMapNews> {
    let limits = FollowLimits {
        pace: WatchTimes {
            first_retry: FIRST_PAUSE,
            ..WatchTimes::default()
        },
        ..FollowLimits::default()
    };
    let (news, receiver) = mpsc::channel(1);
    let row = row(namespace, which);
    let board = Arc::new(Board::new(std::iter::once(row.slot())));
    let listener = ConfigMapListener::new(news.clone());
    let place = KindReporter::new(board, 0);
    let follower = KindFollower::new(row, listener, way, limits, place);
    tokio::spawn(async move {
        tokio::select! {
            () = follower.run() => {}
            () = news.closed() => {}
        }
    });
    receiver
}

/// What the follower must know. Who is told keeps texts himself, and writes failures to the log in his own words.
fn row(namespace: &str, which: WhichConfigMaps) -> FollowedKind {
    let (fields, labels) = match which {
        WhichConfigMaps::Named(name) => (Some(format!("metadata.name={name}")), None),
        WhichConfigMaps::Labelled(label) => (None, Some(label)),
    };
    FollowedKind {
        namespace: Some(namespace.to_owned()),
        fields,
        labels,
        retells: true,
        logs: false,
        ..FollowedKind::new("ConfigMap", "", "configmaps", vec!["v1".to_owned()])
    }
}

/// Sends the text of `key` now and at every change, and why there is none. An API server that is
/// away is a reason only as long as there was no text. Ends when nobody listens any more.
pub fn watch_config_map(
    way: ReadWay,
    namespace: &str,
    name: &str,
    key: &str,
) -> mpsc::Receiver<ConfigMapText> {
    watch_text(way, namespace, name, WantedKey::Named(key.to_owned()))
}

/// Sends the text of the usual key, or of the only one there is where the ConfigMap does not have that,
/// as [`watch_config_map`] does.
pub fn watch_usual_or_only_key(
    way: ReadWay,
    namespace: &str,
    name: &str,
    usual: &str,
) -> mpsc::Receiver<ConfigMapText> {
    let key = WantedKey::UsualOrOnly(usual.to_owned());
    watch_text(way, namespace, name, key)
}

fn watch_text(
    way: ReadWay,
    namespace: &str,
    name: &str,
    key: WantedKey,
) -> mpsc::Receiver<ConfigMapText> {
    let (sender, receiver) = mpsc::channel(1);
    let mut news = watch_config_maps(way, namespace, WhichConfigMaps::Named(name.to_owned()));
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::contact::Contact;
    use pumice_scripted::{Answer, Seen, Server};

    /// What is told when lists of ConfigMaps get this answer and nothing happens afterwards.
    async fn told(list: fn() -> Answer) -> ConfigMapText {
        let script = move |seen: &Seen| match &seen.path {
            path if path.contains("sendInitialEvents") => not_streamed(),
            path if path.contains("watch=") => Answer::Silence,
            _ => list(),
        };
        let server = Server::start(script).await;
        let mut texts = watch_config_map(way(&server), "ns", "devices", "k");
        let first = texts.recv().await.expect("the watch goes on");
        for seen in server.log() {
            let only_this = "fieldSelector=metadata.name%3Ddevices";
            assert!(seen.path.contains("/namespaces/ns/configmaps?"), "{seen:?}");
            assert!(seen.path.contains(only_this), "{seen:?}");
        }
        first
    }

    fn way(server: &Server) -> ReadWay {
        ReadWay {
            client: server.client(),
            contact: Contact::default(),
        }
    }

    /// The answer of an API server that does not stream lists.
    fn not_streamed() -> Answer {
        Answer::refuse(422, "sendInitialEvents is forbidden for watch")
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
        let mut watches = 0;
        let script = move |seen: &Seen| match &seen.path {
            path if path.contains("sendInitialEvents") => not_streamed(),
            path if path.contains("watch=") => {
                watches += 1;
                let old = json!({"kind": "Status", "code": 410, "message": "too old"});
                Answer::events(vec![match watches {
                    1 => json!({"type": "DELETED", "object": named("a", "7")}),
                    _ => json!({"type": "ERROR", "object": old}),
                }])
            }
            // No list goes back behind what was watched.
            path if path.contains("continue=") && watches > 0 => page("9", &["b"], ""),
            path if path.contains("continue=") => page("5", &["b"], ""),
            _ => page("5", &["a"], "more"),
        };
        let server = Server::start(script).await;
        let which = WhichConfigMaps::Labelled("reads=me".to_owned());
        let mut news = watch_config_maps(way(&server), "ns", which);
        let Some(ConfigMapNews::Listed(all)) = news.recv().await else {
            panic!("first all there are");
        };
        let names: Vec<&str> = all.iter().map(|map| map.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(all[0].data["k"], "v");
        let gone = ConfigMapNews::Gone("a".to_owned());
        assert_eq!(news.recv().await, Some(gone));
        // The watch has ended, and what it could go on from is too old.
        assert!(matches!(
            news.recv().await,
            Some(ConfigMapNews::Listed(all)) if all.len() == 2
        ));
        for seen in server.log() {
            assert!(seen.path.contains("labelSelector=reads%3Dme"), "{seen:?}");
        }
        let watched = server.all("resourceVersion=7");
        assert!(!watched.is_empty(), "goes on where it stopped");
    }

    #[tokio::test]
    async fn all_are_told_again_after_a_failure_though_nothing_has_changed() {
        let mut watches = 0;
        let script = move |seen: &Seen| match &seen.path {
            path if path.contains("sendInitialEvents") => not_streamed(),
            path if path.contains("watch=") => {
                watches += 1;
                match watches {
                    1 => Answer::refuse(403, "configmaps is forbidden"),
                    _ => Answer::Silence,
                }
            }
            _ => page("5", &["a"], ""),
        };
        let server = Server::start(script).await;
        let which = WhichConfigMaps::Named("a".to_owned());
        let mut news = watch_config_maps(way(&server), "ns", which);
        let listed = |news: Option<ConfigMapNews>| matches!(news, Some(ConfigMapNews::Listed(all)) if all.len() == 1);
        assert!(listed(news.recv().await));
        let denied = ConfigMapNews::Failed("configmaps is forbidden".to_owned(), 1);
        assert_eq!(news.recv().await, Some(denied));
        assert!(listed(news.recv().await));
    }

    fn named(name: &str, version: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
            "metadata": {"name": name, "uid": name, "resourceVersion": version},
        })
    }

    fn page(version: &str, names: &[&str], more: &str) -> Answer {
        let items: Vec<Value> = names.iter().map(|name| named(name, "4")).collect();
        let metadata = json!({"resourceVersion": version, "continue": more});
        let list = json!({
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items,
        });
        Answer::Json(200, list)
    }
}
