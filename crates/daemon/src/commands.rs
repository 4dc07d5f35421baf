//! What others order the deciding thread to do.

use pumice_conf::Config;
use pumice_decider::ReportNews;
use pumice_devices::ReportPlace;
use pumice_model::KeptTopic;
use pumice_model::extender::ExtenderReply;
use pumice_model::object::NodeUsage;
use tokio::sync::oneshot;

/// What others order.
pub enum DecideCommand {
    /// Take this configuration from the next cycle on.
    Configure {
        /// The configuration.
        config: Box<Config>,
        /// Text of the configuration without secrets, for dumps.
        text: Option<String>,
    },
    /// The text of the device configuration at that place, or that there is none.
    DeviceConfig {
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// `device-config.yaml`.
        text: Option<String>,
    },
    /// What the ConfigMap at that place says that tasks ask.
    TaskMix {
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// `mix`.
        text: String,
    },
    /// What a plugin kept before, as the ConfigMap at that place has it.
    KeptText {
        /// What it is.
        topic: KeptTopic,
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Name of the ConfigMap.
        name: String,
        /// Empty where it has no such key; `None` where there is no such ConfigMap.
        text: Option<String>,
    },
    /// What is new of ConfigMaps that tell of the devices of nodes.
    NodeReports {
        /// Where they are.
        place: ReportPlace,
        /// What is new.
        news: ReportNews,
    },
    /// What was measured of the use of nodes, by name.
    NodeUsage(Vec<(String, NodeUsage)>),
    /// What an extender said.
    ExtenderReply(Box<ExtenderReply>),
    /// Decide nothing any more. The answer comes after all outcomes sent before were taken in.
    Rest(oneshot::Sender<()>),
}
