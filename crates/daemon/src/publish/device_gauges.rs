//! Gauges of shared devices, for dashboards.

use pumice_admin::metrics::{CardFamily, CardValue, Metrics};
use pumice_devices::FAMILIES;
use pumice_engine::Engine;

/// Families of gauges of all kinds of devices.
pub fn families() -> Vec<CardFamily> {
    let gauges = FAMILIES.iter().flat_map(|spec| spec.gauges);
    let family = |(name, help, by_pod): &(&'static str, &'static str, bool)| CardFamily {
        name,
        help,
        by_pod: *by_pod,
    };
    gauges.map(family).collect()
}

/// Gauges of the nodes that changed.
pub fn publish(metrics: &Metrics, engine: &mut Engine) {
    let gauges = engine.device_gauges();
    if gauges.all {
        let nodes = gauges.nodes.iter().map(|(node, _)| node.as_str());
        metrics.keep_cards(&nodes.collect());
    }
    for (node, values) in &gauges.nodes {
        let values = values.iter().map(|gauge| CardValue {
            name: gauge.name,
            card: &gauge.card,
            pod: gauge.pod.as_deref(),
            value: gauge.value,
        });
        metrics.cards(node, &values.collect::<Vec<_>>());
    }
}
