//! The device configuration, a ConfigMap of its own: watched where the scheduler's configuration
//! says it is, and only while a family is on that reads it (spec/04 §4, R2).

use std::time::Duration;

use pumice_cluster::config_map::{ConfigMapError, ConfigMapText, watch_config_map};
use pumice_cluster::follow::ReadWay;
use pumice_decider::DeviceConfigPlace;
use tokio::sync::{mpsc, watch as cell};
use tokio::time::{Instant, timeout_at};

use crate::decide::DecideCommand;

/// Key of the ConfigMap.
const KEY: &str = "device-config.yaml";

/// How long a refusal may last before the ConfigMap counts as one that may not be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hands every text to the deciding thread, and `None` where there is none. Ends when nobody tells
/// places or hears texts any more.
pub async fn follow(
    way: ReadWay,
    mut places: cell::Receiver<DeviceConfigPlace>,
    core: mpsc::Sender<DecideCommand>,
) {
    loop {
        let place = places.borrow_and_update().clone();
        let told = async {
            match &place {
                Some(place) => tell(&way, place, &core).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = told => return,
            changed = places.changed() => if changed.is_err() {
                return;
            }
        }
    }
}

async fn tell(way: &ReadWay, place: &(String, String), core: &mpsc::Sender<DecideCommand>) {
    let (namespace, name) = place;
    let mut texts = watch_config_map(way.clone(), namespace, name, KEY);
    let mut last = None;
    while let Some(read) = next(&mut texts).await {
        let text = match read.text {
            Ok(text) => Some(text.to_string()),
            Err(problem) => {
                complain(&problem, namespace);
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

/// The next word on the ConfigMap. A refusal may be that of an API server that is just starting: it
/// counts when nothing better comes for a while.
pub async fn next(texts: &mut mpsc::Receiver<ConfigMapText>) -> Option<ConfigMapText> {
    let refused = |told: &ConfigMapText| matches!(told.text, Err(ConfigMapError::Refused(..)));
    let mut told = texts.recv().await?;
    let end = Instant::now() + PATIENCE;
    while refused(&told) {
        match timeout_at(end, texts.recv()).await {
            Ok(better) => told = better?,
            Err(_) => break,
        }
    }
    Some(told)
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
