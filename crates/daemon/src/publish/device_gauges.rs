//! What the engine found out about devices: events for owners, gauges for dashboards.

use pumice_admin::metrics::{CardFamily, CardValue, Metrics};
use pumice_cluster::ObjectRef;
use pumice_cluster::effects::Write;
use pumice_devices::FAMILIES;
use pumice_engine::Engine;
use pumice_model::{DeviceNote, NoteAbout};

use super::Publisher;

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

fn about(about: NoteAbout) -> ObjectRef {
    let object = |kind: &str, namespace, name: String, uid| ObjectRef {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace,
        name,
        uid,
    };
    match about {
        // Events on nodes carry the name as UID.
        NoteAbout::Node(name) => object("Node", String::new(), name.clone(), name),
        NoteAbout::Pod {
            namespace,
            name,
            uid,
        } => object("Pod", namespace, name, uid),
        NoteAbout::ConfigMap(namespace, name) => {
            object("ConfigMap", namespace, name, String::new())
        }
    }
}

impl Publisher {
    /// Tells owners what was found about their devices.
    pub fn tell_devices(&mut self, engine: &mut Engine) {
        for DeviceNote { about: whose, text } in engine.take_device_notes() {
            // What is wrong with a ConfigMap is logged when it is read.
            let logged = matches!(whose, NoteAbout::ConfigMap(..));
            let about = about(whose);
            if !logged {
                tracing::warn!("devices of {about}: {text}");
            }
            self.write(Write::Event {
                about,
                warning: true,
                reason: "Devices".to_owned(),
                message: text,
            });
        }
    }
}
