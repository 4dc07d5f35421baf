//! Device plugins that do not repeat any more what they tell of their nodes.

use pumice_devices::ContainerFacts;

use crate::config_maps::report_places;
use crate::node_reports::ReportNews;

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

/// A pod that waits for one AI core.
fn asking() -> PodObject {
    let cores = ("huawei.com/npu-core".to_owned(), 1000);
    let mut pod = member("p").group(None);
    pod.request.push(cores.clone());
    pod.request.sort();
    pod.facts.containers.push(ContainerFacts {
        amounts: vec![cores],
        ..ContainerFacts::default()
    });
    let ring = ("ring-controller.atlas".to_owned(), "ascend-310P".to_owned());
    pod.facts.labels = vec![ring];
    pod
}

#[test]
fn who_waits_for_npus_is_told_that_their_configmaps_cannot_be_read() {
    let parsed = pumice_conf::parse(CONF, &pumice_engine::REGISTRY);
    let config = parsed.config.expect("it is valid");
    let place = report_places(&config).remove(0);
    let mut bench = Bench::new([queue(), node("n", 1000)]);
    bench.decider.configure(&config);
    let told = |writes: &[Write]| {
        writes.iter().any(|write| match write {
            Write::PodCondition { message, .. } => message.contains("cannot be read: no right"),
            _ => false,
        })
    };
    bench.apply(asking().delta());
    assert!(!(1000..1010).any(|now_s| told(&bench.at(now_s))));
    let refused = ReportNews::Unread("ConfigMaps of it cannot be read: no right".to_owned());
    bench.decider.set_node_reports(&place, refused);
    assert!((1010..1100).any(|now_s| told(&bench.at(now_s))));
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
