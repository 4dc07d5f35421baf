//! The ConfigMaps in which plugins keep what they know: watched where the scheduler's configuration says they are, so that a
//! standby knows what who leads has kept.

use pumice_cluster::config_map::{ConfigMapError, watch_config_map};
use pumice_cluster::follow::ReadWay;
use pumice_decider::MixPlace;
use pumice_model::KeptTopic;
use tokio::sync::{mpsc, watch as cell};

use crate::commands::DecideCommand;
use crate::named_map;

/// Hands every text to the deciding thread. Ends when nobody tells places or hears texts any more.
pub async fn follow(
    topic: KeptTopic,
    way: ReadWay,
    places: cell::Receiver<MixPlace>,
    core: mpsc::Sender<DecideCommand>,
) {
    named_map::follow(places, |place| {
        tell(topic, way.clone(), place, core.clone())
    })
    .await;
}

async fn tell(
    topic: KeptTopic,
    way: ReadWay,
    (namespace, name): (String, String),
    core: mpsc::Sender<DecideCommand>,
) {
    let mut texts = watch_config_map(way, &namespace, &name, topic.key());
    while let Some(read) = named_map::next(&mut texts).await {
        let text = match read.text {
            Ok(text) => Some(text.to_string()),
            // It is there, and nobody has written it yet.
            Err(ConfigMapError::NoKey(..)) => Some(String::new()),
            Err(problem) => {
                complain(topic, &problem, &namespace, &name);
                None
            }
        };
        let command = DecideCommand::KeptText {
            topic,
            namespace: namespace.clone(),
            name: name.clone(),
            text,
        };
        if core.send(command).await.is_err() {
            return;
        }
    }
}

fn complain(topic: KeptTopic, problem: &ConfigMapError, namespace: &str, name: &str) {
    let then = match topic {
        KeptTopic::Tasks => "what tasks ask is not kept until then",
        KeptTopic::Use => "what was used is not kept until then",
        KeptTopic::Places => "places of jobs are not kept for who leads next until then",
        KeptTopic::RunTimes => "how long jobs ran is not kept until then",
    };
    match problem {
        ConfigMapError::Refused(..) => tracing::warn!(
            "{problem}; {then}; the role needs get, list, watch and patch on this ConfigMap in namespace {namespace}"
        ),
        ConfigMapError::Absent(..) => tracing::warn!(
            "{problem}; {then}; make it: kubectl -n {namespace} create configmap {name}"
        ),
        ConfigMapError::NoKey(..) | ConfigMapError::ManyKeys(..) => {
            tracing::warn!("{problem}; {then}")
        }
    }
}
