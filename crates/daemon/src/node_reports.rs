//! ConfigMaps in which others tell of the devices of nodes (spec/05 §2.3): watched by name or by label,
//! and only while a family is on that reads them.

use pumice_cluster::config_map::{
    ConfigMapFound, ConfigMapNews, WhichConfigMaps, watch_config_maps,
};
use pumice_cluster::follow::ReadWay;
use pumice_decider::{ReportData, ReportNews};
use pumice_devices::{ReportMaps, ReportPlace};
use tokio::sync::{mpsc, watch as cell};
use tokio::task::JoinSet;

use crate::commands::DecideCommand;

/// Failure from which on it is told that ConfigMaps cannot be read: the first one may be that of an API
/// server that is just starting.
const TOLD_FAILURE: u32 = 2;

/// Hands what is new to the deciding thread. Ends when nobody tells places any more.
pub async fn follow(
    way: ReadWay,
    mut places: cell::Receiver<Vec<ReportPlace>>,
    core: mpsc::Sender<DecideCommand>,
) {
    loop {
        // They end when the set is dropped.
        let mut watches = JoinSet::new();
        for place in places.borrow_and_update().iter() {
            watches.spawn(tell(way.clone(), place.clone(), core.clone()));
        }
        if places.changed().await.is_err() {
            return;
        }
    }
}

async fn tell(way: ReadWay, place: ReportPlace, core: mpsc::Sender<DecideCommand>) {
    let which = match &place.maps {
        ReportMaps::Named(name) => WhichConfigMaps::Named(name.clone()),
        ReportMaps::Labelled(label) => WhichConfigMaps::Labelled((*label).to_owned()),
    };
    let mut maps = watch_config_maps(way, place.namespace, which);
    let (mut is_known, mut is_told) = (false, false);
    while let Some(news) = maps.recv().await {
        let news = match news {
            ConfigMapNews::Listed(all) => ReportNews::All(all.into_iter().map(texts).collect()),
            ConfigMapNews::Changed(map) => {
                let (name, data) = texts(map);
                ReportNews::One(name, Some(data))
            }
            ConfigMapNews::Gone(name) => ReportNews::One(name, None),
            ConfigMapNews::Failed(why, failures) => {
                if failures < TOLD_FAILURE || is_told {
                    continue;
                }
                is_told = true;
                let text = complaint(&place, &why, is_known);
                tracing::warn!("{text}");
                ReportNews::Unread(text)
            }
        };
        if !matches!(news, ReportNews::Unread(_)) {
            (is_known, is_told) = (true, false);
        }
        let place = place.clone();
        let command = DecideCommand::NodeReports { place, news };
        if core.send(command).await.is_err() {
            return;
        }
    }
}

fn texts(map: ConfigMapFound) -> (String, ReportData) {
    (map.name, map.data.into_iter().collect())
}

/// What is told, in the log and to who waits for what they tell of.
fn complaint(place: &ReportPlace, why: &str, is_known: bool) -> String {
    let namespace = place.namespace;
    let (which, right) = match &place.maps {
        ReportMaps::Named(name) => (
            format!("ConfigMap {namespace}/{name}"),
            "scheduler_mindcluster_enable",
        ),
        ReportMaps::Labelled(label) => (
            format!("ConfigMaps with label {label} in namespace {namespace}"),
            "scheduler_mindcluster_nodes_enable",
        ),
    };
    let then = match is_known {
        true => "what was read of them stays in use",
        false => "until then nothing is known of devices they tell of",
    };
    format!(
        "{which} cannot be read: {why}; {then}; the role needs list and watch on configmaps in \
         namespace {namespace} (custom.{right} of the chart, or as deploy/README.md says)"
    )
}
