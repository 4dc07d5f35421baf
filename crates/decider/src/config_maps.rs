//! The ConfigMaps that a configuration has need of, but for the mix of tasks.

use pumice_conf::Config;
use pumice_devices::{ReportPlace, families};

/// Namespace and name of the ConfigMap with the device configuration; `None` where nothing would
/// read it.
pub type DeviceConfigPlace = Option<(String, String)>;

/// Where a configuration has the device configuration.
pub fn device_config_place(config: &Config) -> DeviceConfigPlace {
    let settings = pumice_plugins::device_settings(config);
    settings.reads_config_map().then_some(settings.config_map)
}

/// ConfigMaps that tell of the devices of nodes, of which a configuration has need.
pub fn report_places(config: &Config) -> Vec<ReportPlace> {
    families::report_places(&pumice_plugins::device_settings(config))
}
