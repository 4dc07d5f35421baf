//! Tells ConfigMaps as they are, and keeps nothing of them.

use k8s_openapi::api::core::v1::ConfigMap;
use pumice_wire::WireProblem;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tracing::warn;

use super::{ConfigMapFound, ConfigMapNews};
use crate::api::raw::{Meta, meta_of};
use crate::follow::{
    FollowedKind, Heard, KindListener, Ledger, LedgerNews, Reading, ReceiverGone, of_field,
};

/// Tells of ConfigMaps.
pub(super) struct ConfigMapListener {
    news: mpsc::Sender<ConfigMapNews>,
    /// What the list that is being read has brought.
    listing: Option<Vec<ConfigMapFound>>,
}

impl ConfigMapListener {
    pub(super) fn new(news: mpsc::Sender<ConfigMapNews>) -> Self {
        Self {
            news,
            listing: None,
        }
    }

    async fn send(&self, news: ConfigMapNews) -> Heard {
        self.news.send(news).await.map_err(|_| ReceiverGone)
    }
}

impl KindListener for ConfigMapListener {
    type Change = ConfigMapFound;

    fn read_json(&self, object: &RawValue) -> (Meta, Reading<ConfigMapFound>) {
        let read = serde_json::from_str::<ConfigMap>(object.get());
        let reading = match read {
            Ok(map) => Reading::Keep(map.into()),
            Err(error) => Reading::Bad(vec![of_field(WireProblem {
                path: ".".to_owned(),
                message: error.to_string(),
            })]),
        };
        (meta_of(object), reading)
    }

    async fn tell(&mut self, news: Vec<LedgerNews<ConfigMapFound>>) -> Heard {
        for news in news {
            match (news, &mut self.listing) {
                (LedgerNews::Change(map), Some(all)) => all.push(map),
                (LedgerNews::Change(map), None) => self.send(ConfigMapNews::Changed(map)).await?,
                (LedgerNews::Gone(key), Some(all)) => all.retain(|map| map.name != key.name),
                (LedgerNews::Gone(key), None) => self.send(ConfigMapNews::Gone(key.name)).await?,
                (LedgerNews::Problems { key, problems, .. }, _) => {
                    for problem in problems {
                        let (namespace, name) = (&key.namespace, &key.name);
                        warn!("ConfigMap {namespace}/{name} is set aside: {problem}");
                    }
                }
            }
        }
        Ok(())
    }

    async fn list_begins(&mut self) -> Heard {
        self.listing = Some(Vec::new());
        Ok(())
    }

    async fn listed(&mut self, _: &Ledger) -> Heard {
        let all = self.listing.take().unwrap_or_default();
        self.send(ConfigMapNews::Listed(all)).await
    }

    async fn failed(&mut self, why: &str, failures: u32) -> Heard {
        self.send(ConfigMapNews::Failed(why.to_owned(), failures))
            .await
    }

    /// Who is told knows which role it is.
    fn denial(&self, _: &FollowedKind, _: &str, message: &str) -> String {
        message.to_owned()
    }
}
