//! The ConfigMap with the mix of tasks: watched where the scheduler's configuration says it is.

use pumice_cluster::config_map::{ConfigMapError, watch_config_map};
use pumice_cluster::follow::ReadWay;
use pumice_decider::MixPlace;
use pumice_engine::MIX_KEY;
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

/// A ConfigMap that is gone, or has no such key any more, takes nothing back.
async fn tell(
    way: ReadWay,
    (namespace, name): (String, String),
    core: mpsc::Sender<DecideCommand>,
) {
    let mut texts = watch_config_map(way, &namespace, &name, MIX_KEY);
    let mut is_known = false;
    while let Some(read) = named_map::next(&mut texts).await {
        match read.text {
            Ok(text) => {
                is_known = true;
                let command = DecideCommand::TaskMix {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    text: text.to_string(),
                };
                if core.send(command).await.is_err() {
                    return;
                }
            }
            Err(problem) => complain(&problem, &namespace, is_known),
        }
    }
}

fn complain(problem: &ConfigMapError, namespace: &str, is_known: bool) {
    let then = match is_known {
        true => "the mix of tasks that was read of it stays in use",
        false => "until then the mix of tasks is what they are seen to ask",
    };
    match problem {
        ConfigMapError::Refused(..) => tracing::warn!(
            "{problem}; {then}; the role needs get, list and watch on configmaps of the core group in namespace \
             {namespace}"
        ),
        ConfigMapError::Absent(..) | ConfigMapError::NoKey(..) | ConfigMapError::ManyKeys(..) => {
            tracing::warn!("{problem}; {then}")
        }
    }
}
