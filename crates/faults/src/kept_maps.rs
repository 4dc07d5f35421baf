//! What a process hears of the ConfigMaps in which plugins keep what they know.

use std::collections::BTreeMap;

use pumice_conf::Config;
use pumice_engine::kept_place;
use pumice_model::{Delta, KeptTopic};

use super::server::VirtualServer;

/// See the module.
#[derive(Clone, Debug)]
pub struct KeptMaps {
    /// Namespace and name of each that the configuration names.
    places: Vec<(KeptTopic, (String, String))>,
    /// What each says, as far as it was heard.
    heard: BTreeMap<KeptTopic, String>,
}

impl KeptMaps {
    /// Those of a configuration, of which nothing was heard.
    pub fn of(config: &Config) -> Self {
        let place = |topic| Some((topic, kept_place(topic, config)?));
        Self {
            places: KeptTopic::ALL.into_iter().filter_map(place).collect(),
            heard: BTreeMap::new(),
        }
    }

    /// What they say by now that says something else than before.
    pub fn hear(&mut self, server: &VirtualServer) -> Vec<Delta> {
        let mut news = Vec::new();
        for (topic, (namespace, name)) in &self.places {
            let text = server.kept.get(topic);
            if self.heard.get(topic) == text {
                continue;
            }
            match text {
                Some(text) => self.heard.insert(*topic, text.clone()),
                None => self.heard.remove(topic),
            };
            news.push(Delta::KeptText {
                topic: *topic,
                namespace: namespace.clone(),
                name: name.clone(),
                text: text.cloned(),
            });
        }
        news
    }
}
