//! What device plugins and NodeD tell of nodes in ConfigMaps, while the scheduler runs.

use anyhow::Result;
use pumice_e2e::{DevicePlugins, Lab, PluginSetup, Scheduler};
use serde_json::json;

use super::{
    CORES, add_node, chips_of, create, is_told, mind_node, mind_pod, node_is_warned_of, now_s,
    setup, tell, tell_devices,
};
use crate::LIMIT;
use crate::deploying::grant_mindcluster_nodes;

#[test]
fn what_each_node_tells_of_its_npus_is_followed_once_it_may_be_read() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().create_namespace("mindx-dl")?;
    add_node(&lab, &mind_node("npu", 3, "Ascend310P-8"))?;
    // An hour ago, and nothing since.
    tell_devices(&lab, "npu", "", now_s() - 3600, "")?;
    let _plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &setup()?)?;
    create(&lab, &mind_pod("first", 8, &[]))?;
    is_told(&lab, &scheduler, "first", &["no device plugin has told"])?;
    scheduler.eventually(LIMIT, "the log says which right is missing", || {
        let log = scheduler.log();
        Ok(log
            .contains("scheduler_mindcluster_nodes_enable")
            .then_some(()))
    })?;
    grant_mindcluster_nodes(lab.cluster())?;
    assert_eq!(chips_of(&lab, &scheduler, "first", CORES)?, "0");
    node_is_warned_of(&lab, "npu", "15 minutes")?;

    tell_devices(&lab, "npu", "Ascend310P-1", now_s(), "")?;
    create(&lab, &mind_pod("two", 16, &[]))?;
    is_told(&lab, &scheduler, "two", &["unhealthy"])?;
    create(&lab, &mind_pod("second", 8, &[]))?;
    assert_eq!(chips_of(&lab, &scheduler, "second", CORES)?, "2");
    lab.delete(&format!("{}/two", crate::PODS))?;

    let status = json!({"NodeInfo": {"FaultDevList": [], "NodeStatus": "UnHealthy"}});
    tell(
        &lab,
        "mindx-dl",
        "mindx-dl-nodeinfo-npu",
        "NodeInfo",
        &status,
    )?;
    create(&lab, &mind_pod("third", 1, &[]))?;
    is_told(
        &lab,
        &scheduler,
        "third",
        &["taken out of service by NodeD"],
    )?;
    lab.delete("/api/v1/namespaces/mindx-dl/configmaps/mindx-dl-nodeinfo-npu")?;
    is_told(&lab, &scheduler, "third", &["unhealthy"])?;

    tell_devices(&lab, "npu", "", now_s(), "4f00")?;
    is_told(
        &lab,
        &scheduler,
        "third",
        &["nothing readable was told", "CheckCode"],
    )?;
    node_is_warned_of(&lab, "npu", "CheckCode")?;
    lab.delete("/api/v1/namespaces/kube-system/configmaps/mindx-dl-deviceinfo-npu")?;
    is_told(&lab, &scheduler, "third", &["no device plugin has told"])?;
    tell_devices(&lab, "npu", "", now_s(), "")?;
    // The chips of the others are theirs, whatever was told meanwhile.
    assert_eq!(chips_of(&lab, &scheduler, "third", CORES)?, "1-vir01");
    Ok(())
}
