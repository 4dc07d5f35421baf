//! ConfigMaps in which others tell of the devices of nodes (spec/05 §2.3): each is watched by its name,
//! and only while a family is on that reads it.

use kube::Client;
use pumice_cluster::config_map::{ConfigMapError, watch_config_map};
use pumice_devices::ReportPlace;
use tokio::sync::{mpsc, watch as cell};
use tokio::task::JoinSet;

use crate::decide::DecideCommand;

/// Hands every text to the deciding thread, and `None` where there is none. Ends when nobody tells
/// places any more.
pub async fn follow(
    client: Client,
    mut places: cell::Receiver<Vec<ReportPlace>>,
    core: mpsc::Sender<DecideCommand>,
) {
    loop {
        // They end when the set is dropped.
        let mut watches = JoinSet::new();
        for place in places.borrow_and_update().iter() {
            watches.spawn(tell(client.clone(), place.clone(), core.clone()));
        }
        if places.changed().await.is_err() {
            return;
        }
    }
}

async fn tell(client: Client, place: ReportPlace, core: mpsc::Sender<DecideCommand>) {
    let mut texts = watch_config_map(client, &place.namespace, &place.name, &place.key);
    let mut last = None;
    let mut is_refused = false;
    while let Some(read) = texts.recv().await {
        let text = match read.text {
            Ok(text) => Some(text.to_string()),
            Err(problem) => {
                let refused = matches!(problem, ConfigMapError::Refused(..));
                if refused && !is_refused {
                    tracing::warn!(
                        "{problem}; until then nothing is known of devices it tells of; the role \
                         needs get, list and watch on it in namespace {}",
                        place.namespace
                    );
                }
                is_refused = refused;
                None
            }
        };
        if last.as_ref() == Some(&text) {
            continue;
        }
        last = Some(text.clone());
        let place = place.clone();
        let command = DecideCommand::NodeReports { place, text };
        if core.send(command).await.is_err() {
            return;
        }
    }
}
