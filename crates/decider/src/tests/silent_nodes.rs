//! Device plugins that do not repeat any more what they tell of their nodes.

use crate::{ReportNews, report_places};

use super::*;

/// MindCluster without ClusterD.
const CONF: &str = "\
actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: deviceshare
    arguments: {deviceshare.AscendMindClusterVNPUEnable: true}
configurations:
- name: init-params
  arguments: {useClusterInfoManager: \"false\"}
";

/// What the device plugin of a node wrote at that second.
fn written(node: &str, at_s: i64) -> ReportNews {
    let list = "{\"huawei.com/Ascend310P\":\"Ascend310P-0\"}";
    let info = format!("{{\"DeviceList\":{list},\"UpdateTime\":{at_s}}}");
    let text = format!("{{\"DeviceInfo\":{info},\"CheckCode\":\"\"}}");
    let data = vec![("DeviceInfoCfg".to_owned(), text)];
    ReportNews::One(format!("mindx-dl-deviceinfo-{node}"), Some(data))
}

#[test]
fn a_silent_device_plugin_is_told_of_once_and_what_it_told_stays_in_use() {
    let parsed = pumice_conf::parse(CONF, &pumice_engine::REGISTRY);
    let config = parsed.config.expect("it is valid");
    let plugins = report_places(&config).remove(0);
    let mut bench = Bench::new([node("n", 1000)]);
    bench.decider.configure(&config);
    let warnings = |writes: &[Write]| {
        let told = events(writes);
        told.iter()
            .filter(|(_, text)| text.contains("15 minutes"))
            .count()
    };
    for name in ["n", "unknown"] {
        bench
            .decider
            .set_node_reports(&plugins, written(name, 1000));
    }
    assert_eq!(warnings(&bench.at(1899)), 0);
    assert_eq!(bench.decider.report_due_s(), Some(1900));
    // Nobody knows of the other node.
    assert_eq!(warnings(&bench.at(1900)), 1);
    assert_eq!(warnings(&bench.at(2000)), 0);
    assert_eq!(bench.decider.silent_nodes(), 2);
    bench.decider.set_node_reports(&plugins, written("n", 1990));
    assert_eq!(bench.decider.silent_nodes(), 1);
    assert_eq!(warnings(&bench.at(2889)), 0);
    assert_eq!(warnings(&bench.at(2890)), 1);
}
