//! The ConfigMap in which the tasks are kept that were counted for the mix: watched where the scheduler's configuration says
//! it is, so that a standby knows what who leads has counted.

use pumice_cluster::config_map::{ConfigMapError, watch_config_map};
use pumice_cluster::follow::ReadWay;
use pumice_decider::MixPlace;
use pumice_engine::COUNTED_KEY;
use tokio::sync::{mpsc, watch as cell};

use crate::commands::DecideCommand;
use crate::named_map;

/// Hands every text to the deciding thread. Ends when nobody tells places or hears texts any more.
pub async fn follow(
    way: ReadWay,
    places: cell::Receiver<MixPlace>,
    core: mpsc::Sender<DecideCommand>,
) {
    named_map::follow(places, |place| tell(way.clone(), place, core.clone())).await;
}

async fn tell(
    way: ReadWay,
    (namespace, name): (String, String),
    core: mpsc::Sender<DecideCommand>,
) {
    let mut texts = watch_config_map(way, &namespace, &name, COUNTED_KEY);
    while let Some(read) = named_map::next(&mut texts).await {
        let text = match read.text {
            Ok(text) => Some(text.to_string()),
            // It is there, and nobody has written it yet.
            Err(ConfigMapError::NoKey(..)) => Some(String::new()),
            Err(problem) => {
                complain(&problem, &namespace, &name);
                None
            }
        };
        let command = DecideCommand::CountedTasks {
            namespace: namespace.clone(),
            name: name.clone(),
            text,
        };
        if core.send(command).await.is_err() {
            return;
        }
    }
}

fn complain(problem: &ConfigMapError, namespace: &str, name: &str) {
    let then = "what tasks ask is not kept until then";
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
