//! What pods and nodes may have wrong: each is told what, and what is allowed; others go on.

use anyhow::{Result, ensure};
use pumice_e2e::{DevicePlugins, Lab, PluginSetup, Scheduler};
use serde_json::{Value, json};

use super::{
    CHIPS, CORES, HELD, MEMORY, add_node, asking, chips_of, create, hami_node, hami_pod, is_told,
    mind_node, mind_pod, node_is_warned_of, now_s, setup, tell_devices,
};
use crate::deploying::grant_mindcluster_nodes;

/// A pod, and what it is to be told.
type Case = (Value, &'static [&'static str]);

/// What is written wrong for NPUs of MindCluster, and what is told of it.
fn mind_cases() -> Vec<Case> {
    let mut at_odds = mind_pod("bad-node", 2, &[]);
    at_odds["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "odd"});
    vec![
        (
            mind_pod("bad-dvpp", 4, &[("vnpu-dvpp", "maybe")]),
            &["vnpu-dvpp", "\"maybe\"", "yes, no or null"],
        ),
        (
            mind_pod("bad-pair", 1, &[("vnpu-dvpp", "yes")]),
            &["vnpu-dvpp", "\"yes\"", "must be null"],
        ),
        (
            mind_pod("bad-cores", 3, &[]),
            &["3 huawei.com/npu-core", "1, 2, 4 or a multiple of 8"],
        ),
        (
            mind_pod("bad-ring", 2, &[("ring-controller.atlas", "ascend-910")]),
            &["ring-controller.atlas", "\"ascend-910\"", "ascend-310P"],
        ),
        (
            at_odds,
            &["contradictory labels", "servertype", "Ascend310P-10"],
        ),
    ]
}

/// What is written wrong for NPUs of HAMi, and what is told of it.
fn hami_cases() -> Vec<Case> {
    let core = "huawei.com/Ascend310P-core";
    let part = |memory: Value| [(CHIPS, json!(1)), (MEMORY, memory)];
    let mut listed = hami_pod("bad-uuid", 3000);
    listed["metadata"]["annotations"] = json!({"hami.io/use-Ascend310P-uuid": "none"});
    vec![
        (
            asking("bad-chip", &[("huawei.com/Ascend999", json!(1))]),
            &["huawei.com/Ascend999", "there are huawei.com/Ascend910A"],
        ),
        (
            asking("bad-size", &part(json!(30000))),
            &["30000", "MiB", "from 1 to 24576"],
        ),
        (
            asking("bad-unit", &part(json!("2Gi"))),
            &["MiB", "write 2048"],
        ),
        (
            asking("bad-count", &[(MEMORY, json!(4096))]),
            &["without huawei.com/Ascend310P", "add the number of chips"],
        ),
        (
            asking("bad-parts", &[(CHIPS, json!(2)), (MEMORY, json!(4096))]),
            &["partial memory allocation"],
        ),
        (
            asking(
                "bad-core",
                &[&part(json!(3000))[..], &[(core, json!(50))]].concat(),
            ),
            &["only supported in hami-core mode"],
        ),
        (listed, &["UUID not allowed"]),
    ]
}

#[test]
fn whoever_asks_npus_in_a_wrong_way_is_told_and_others_go_on() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().create_namespace("mindx-dl")?;
    grant_mindcluster_nodes(lab.cluster())?;
    add_node(&lab, &mind_node("mind", 2, "Ascend310P-8"))?;
    // 16 AI cores are no multiple of 10.
    add_node(&lab, &mind_node("odd", 2, "Ascend310P-10"))?;
    add_node(&lab, &hami_node("hami", 2))?;
    for node in ["mind", "odd"] {
        tell_devices(&lab, node, "", now_s(), "")?;
    }
    let _plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &setup()?)?;
    let cases: Vec<Case> = mind_cases().into_iter().chain(hami_cases()).collect();
    for (pod, _) in &cases {
        create(&lab, pod)?;
    }
    create(&lab, &mind_pod("good-mind", 4, &[("vnpu-level", "middle")]))?;
    create(&lab, &hami_pod("good-hami", 3000))?;
    // A count of 0 asks nothing.
    let nothing = [(CHIPS, json!(0)), (CORES, json!(0))];
    create(&lab, &asking("good-zero", &nothing))?;
    let text = chips_of(&lab, &scheduler, "good-mind", CORES)?;
    assert_eq!(text, "0-vir04_3c");
    let text = chips_of(&lab, &scheduler, "good-hami", HELD)?;
    assert_eq!(text, "hami-0,Ascend310P,3072,0:;");
    crate::wait_running(&lab, &scheduler, "good-", 3)?;
    for (pod, parts) in &cases {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        is_told(&lab, &scheduler, name, parts)?;
    }
    node_is_warned_of(&lab, "odd", "servertype")?;
    let bound = lab.bound("bad-")?;
    ensure!(bound.is_empty(), "{bound:?}");
    Ok(())
}
