//! What operators are told of the daemon itself, as events that `kubectl describe` shows: on the
//! object its configuration comes from, and on its own pod.
//!
//! A notice stands until it is taken back, but for one that tells what has happened, which is written once. The
//! leader writes it, and again before the API server
//! forgets it; a replica that stands by keeps what it would say.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, PodSpec};
use kube::{Api, Client};
use pumice_cluster::ObjectRef;
use pumice_cluster::effects::{Effects, Write};
use pumice_cluster::lease::TermWatch;
use pumice_cluster::pods;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::settings::ConfSource;

/// How often it is looked whether there is something to write.
const LOOK: Duration = Duration::from_secs(2);

/// Notices that may wait to be taken in.
pub const MAX_WAITING: usize = 64;

/// What a notice is about; its name is the reason of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Another configuration is in use. Told once.
    ConfigurationInUse,
    /// The configuration cannot be used.
    InvalidConfiguration,
    /// Something in the configuration in use has no effect, or a surprising one.
    ConfigurationWarnings,
    /// Custom resource definitions are missing.
    MissingDefinitions,
    /// The source of node usage tells nothing.
    NoNodeUsage,
    /// The extender fails again and again.
    ExtenderFails,
}

impl Topic {
    fn reason(self) -> &'static str {
        match self {
            Self::ConfigurationInUse => "ConfigurationInUse",
            Self::InvalidConfiguration => "InvalidConfiguration",
            Self::ConfigurationWarnings => "ConfigurationWarnings",
            Self::MissingDefinitions => "MissingDefinitions",
            Self::NoNodeUsage => "NoNodeUsage",
            Self::ExtenderFails => "ExtenderFails",
        }
    }

    /// It is about the text of the configuration, which tells the UID of its ConfigMap.
    fn is_of_configuration(self) -> bool {
        matches!(
            self,
            Self::ConfigurationInUse | Self::InvalidConfiguration | Self::ConfigurationWarnings
        )
    }

    /// What is said when the matter is settled.
    fn settled(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::InvalidConfiguration => Some(("ConfigurationInUse", "it is valid again")),
            Self::ConfigurationInUse | Self::ConfigurationWarnings => None,
            Self::MissingDefinitions => Some(("DefinitionsInstalled", "they are installed now")),
            Self::NoNodeUsage => Some((
                "NodeUsageMeasured",
                "the source of node usage answers again",
            )),
            Self::ExtenderFails => Some(("ExtenderAnswers", "the extender answers again")),
        }
    }
}

/// Something to tell, or that it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What it is about: one of a kind stands.
    pub topic: Topic,
    /// UID of the ConfigMap the configuration was read from, where it is known.
    pub uid: String,
    /// What to say; `None` when there is nothing to say any more.
    pub message: Option<String>,
}

/// A notice that stands.
struct StandingNotice {
    uid: String,
    message: String,
    written: Option<Instant>,
}

/// Writes notices.
pub struct Notices {
    /// Reads the objects events are about.
    pub client: Client,
    /// Writes events.
    pub effects: Arc<Effects>,
    /// Only a leader writes.
    pub term: TermWatch,
    /// Where the configuration comes from.
    pub source: ConfSource,
    /// What stands is written again after this time.
    pub again: Duration,
}

impl Notices {
    /// Works until nobody sends notices any more.
    pub async fn run(self, mut notices: mpsc::Receiver<Notice>) {
        let mut standing: BTreeMap<Topic, StandingNotice> = BTreeMap::new();
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                notice = notices.recv() => match notice {
                    Some(notice) => self.take(&mut standing, notice).await,
                    None => return,
                },
                _ = look.tick() => {}
            }
            if !self.term.is_leader() {
                continue;
            }
            for (topic, notice) in &mut standing {
                if notice.written.is_none_or(|at| at.elapsed() >= self.again) {
                    notice.written = Some(Instant::now());
                    let text = (topic.reason(), true, notice.message.as_str());
                    self.write(*topic, &notice.uid, text).await;
                }
            }
        }
    }

    async fn take(&self, standing: &mut BTreeMap<Topic, StandingNotice>, notice: Notice) {
        let Notice {
            topic,
            uid,
            message,
        } = notice;
        let Some(message) = message else {
            let told = standing.remove(&topic).and_then(|before| before.written);
            if let (Some(_), Some((reason, text))) = (told, topic.settled()) {
                self.write(topic, &uid, (reason, false, text)).await;
            }
            return;
        };
        if topic == Topic::ConfigurationInUse {
            // In the words of what is over, if an invalid one was told of: it is one event.
            let invalid = standing.remove(&Topic::InvalidConfiguration);
            let again = invalid
                .and_then(|before| before.written)
                .map_or("", |_| "; it is valid again");
            if self.term.is_leader() {
                let text = format!("{message}{again}");
                self.write(topic, &uid, (topic.reason(), false, &text))
                    .await;
            }
            return;
        }
        let same = standing.get(&topic).is_some_and(|s| s.message == message);
        if !same {
            let new = StandingNotice {
                uid,
                message,
                written: None,
            };
            standing.insert(topic, new);
        }
    }

    async fn write(&self, topic: Topic, uid: &str, (reason, warning, text): (&str, bool, &str)) {
        for about in self.owners(topic, uid).await {
            self.effects.submit(Write::Event {
                about,
                warning,
                reason: reason.to_owned(),
                message: text.to_owned(),
            });
        }
    }

    /// The objects an operator would look at.
    async fn owners(&self, topic: Topic, uid: &str) -> Vec<ObjectRef> {
        match &self.source {
            ConfSource::ConfigMap(namespace, name, _) if topic.is_of_configuration() => {
                vec![config_map(namespace, name, uid)]
            }
            source => self.own_pod(source).await,
        }
    }

    /// The pod this runs in and, where a file of it is the configuration, the ConfigMap behind.
    async fn own_pod(&self, source: &ConfSource) -> Vec<ObjectRef> {
        let Some(mut own) = pumice_process::identity::own_pod("pumice-scheduler") else {
            return Vec::new();
        };
        let pod = pods::get(&self.client, &own.namespace, &own.name).await;
        let Ok(Some(pod)) = pod else {
            return vec![own];
        };
        if own.uid.is_empty() {
            own.uid = pod.metadata.uid.unwrap_or_default();
        }
        let namespace = own.namespace.clone();
        let mut owners = vec![own];
        let ConfSource::File(path) = source else {
            return owners;
        };
        let mounted = pod.spec.as_ref().and_then(|spec| mounted(spec, path));
        if let Some(name) = mounted {
            let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &namespace);
            if let Ok(map) = maps.get(&name).await {
                let uid = map.metadata.uid.unwrap_or_default();
                owners.push(config_map(&namespace, &name, &uid));
            }
        }
        owners
    }
}

fn config_map(namespace: &str, name: &str, uid: &str) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    }
}

/// Name of the ConfigMap that is mounted where the file is.
fn mounted(spec: &PodSpec, file: &Path) -> Option<String> {
    let mounts = spec
        .containers
        .iter()
        .flat_map(|container| container.volume_mounts.iter().flatten());
    let holds = mounts.filter(|mount| file.starts_with(&mount.mount_path));
    let mount = holds.max_by_key(|mount| mount.mount_path.len())?;
    let volumes = spec.volumes.iter().flatten();
    let volume = volumes.into_iter().find(|v| v.name == mount.name)?;
    Some(volume.config_map.as_ref()?.name.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_config_map_behind_a_mounted_file_is_found() {
        let spec: PodSpec = serde_json::from_value(json!({
            "containers": [{"name": "c", "volumeMounts": [
                {"name": "tmp", "mountPath": "/"},
                {"name": "conf", "mountPath": "/volcano.scheduler"},
            ]}],
            "volumes": [
                {"name": "tmp", "emptyDir": {}},
                {"name": "conf", "configMap": {"name": "volcano-scheduler-configmap"}},
            ],
        }))
        .expect("a pod");
        let found = |path: &str| mounted(&spec, Path::new(path));
        let name = found("/volcano.scheduler/volcano-scheduler.conf");
        assert_eq!(name.as_deref(), Some("volcano-scheduler-configmap"));
        assert_eq!(found("/etc/volcano-scheduler.conf"), None);
    }
}
