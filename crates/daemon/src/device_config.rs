//! The device configuration, a ConfigMap of its own: watched where the scheduler's configuration
//! says it is, and only while a family is on that reads it (spec/04 §4, R2).

use pumice_cluster::config_map::{ConfigMapError, watch_config_map};
use pumice_cluster::follow::ReadWay;
use pumice_decider::DeviceConfigPlace;
use tokio::sync::{mpsc, watch as cell};

use crate::commands::DecideCommand;
use crate::named_map;

/// Key of the ConfigMap.
const KEY: &str = "device-config.yaml";

/// Hands every text to the deciding thread, and `None` where there is none. Ends when nobody tells
/// places or hears texts any more.
pub async fn follow(
    way: ReadWay,
    places: cell::Receiver<DeviceConfigPlace>,
    core: mpsc::Sender<DecideCommand>,
) {
    named_map::follow(places, |place| tell(way.clone(), place, core.clone())).await;
}

async fn tell(way: ReadWay, place: (String, String), core: mpsc::Sender<DecideCommand>) {
    let (namespace, name) = place;
    let mut texts = watch_config_map(way, &namespace, &name, KEY);
    let mut last = None;
    while let Some(read) = named_map::next(&mut texts).await {
        let text = match read.text {
            Ok(text) => Some(text.to_string()),
            Err(problem) => {
                complain(&problem, &namespace);
                None
            }
        };
        if last.as_ref() == Some(&text) {
            continue;
        }
        last = Some(text.clone());
        let (namespace, name) = (namespace.clone(), name.clone());
        let command = DecideCommand::DeviceConfig {
            namespace,
            name,
            text,
        };
        if core.send(command).await.is_err() {
            return;
        }
    }
}

fn complain(problem: &ConfigMapError, namespace: &str) {
    let then = "the built-in device configuration is used";
    match problem {
        // Only few clusters need one.
        ConfigMapError::Absent(..) => tracing::info!("{problem}; until then {then}"),
        ConfigMapError::NoKey(..) | ConfigMapError::ManyKeys(..) => {
            tracing::warn!("{problem}; until then {then}")
        }
        ConfigMapError::Refused(..) => tracing::warn!(
            "{problem}; until then {then}; the role needs get, list and watch on configmaps of the \
             core group in namespace {namespace}"
        ),
    }
}
