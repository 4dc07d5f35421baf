//! NPUs of MindCluster while others tell of them: ConfigMaps of nodes, and device plugins that make
//! vNPUs.

use pumice_devices::{ContainerFacts, ContainerKind};
use pumice_engine::Engine;
use pumice_model::Delta;
use pumice_model::object::{NodeObject, PodObject};

use super::cluster::*;

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
                    tiers: [{plugins: [{name: gang}, {name: predicates}, {name: deviceshare, \
                    arguments: {deviceshare.AscendMindClusterVNPUEnable: true}}]}]\n";

const CORES: &str = "huawei.com/npu-core";
const REAL: &str = "huawei.com/AscendReal";

/// A node with one chip.
fn npu_node() -> NodeObject {
    let node = node("n1", &format!("8c 64Gi pods=20 {CORES}=8"));
    let mut labels = node.labels.clone();
    labels.extend(pairs(&[
        ("accelerator", "huawei-Ascend310P"),
        ("servertype", "Ascend310P-8"),
        ("node.kubernetes.io/npu.chip.name", "310P3"),
    ]));
    labels.sort();
    node.labels(labels)
        .device_annotations(&[("baseDeviceInfos", "{\"Ascend310P-0\":{}}")])
        .device_capacity(vec![(CORES.to_owned(), 8000)])
}

/// A pod that asks AI cores, with this level.
fn npu_pod(name: &str, cores: i64, level: &str) -> PodObject {
    let mut pod = pod(name, &format!("1c {CORES}={cores}"));
    pod.facts.containers.push(ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: vec![(CORES.to_owned(), cores * 1000)],
    });
    pod.facts.labels = pairs(&[
        ("ring-controller.atlas", "ascend-310P"),
        ("vnpu-level", level),
    ]);
    pod
}

/// What ClusterD tells of the node: chips to give out, and unhealthy ones; or nothing any more.
fn told(lists: Option<(&str, &str)>) -> Delta {
    Delta::NodeReport {
        node: "n1".to_owned(),
        topic: "cluster-info-device".to_owned(),
        text: lists.map(|(free, unhealthy)| {
            format!(
                "{{\"DeviceList\":{{\"huawei.com/Ascend310P\":\"{free}\",\
                 \"huawei.com/Ascend310P-Unhealthy\":\"{unhealthy}\"}},\"UpdateTime\":1767261600}}"
            )
        }),
    }
}

/// Cycles until nothing is decided; Bindings of the first.
fn settle(cluster: &mut Cluster) -> Vec<String> {
    let lines = cluster.cycle();
    while !cluster.engine.cycle(0).settled {}
    lines
}

fn sleeping(engine: &mut Engine) {
    engine.set_full_check_interval_s(Some(3600));
}

#[test]
fn a_pod_that_waits_for_another_vnpu_to_be_made_is_woken_when_it_is() {
    let making = |real: Option<&str>| {
        let mut records = vec![(CORES, "0-vir02_1c")];
        records.extend(real.map(|real| (REAL, real)));
        npu_pod("a", 2, "low").on("n1").records(&*records)
    };
    let mut cluster = Cluster::under(CONF);
    sleeping(&mut cluster.engine);
    let mut cluster = cluster
        .with(told(Some(("Ascend310P-0", ""))))
        .with(npu_node())
        .with(making(None))
        .with(npu_pod("b", 2, "high"));
    assert!(settle(&mut cluster).is_empty());
    let (_, message) = cluster.why("b");
    let waits = "waiting for vNPU creation on the node";
    assert!(message.contains(waits), "{message}");
    assert!(settle(&mut cluster).is_empty());
    let made = making(Some("Ascend310P-2c.1cpu-100-0_0"));
    cluster.apply(made);
    assert_eq!(settle(&mut cluster), ["b n1"]);
}

#[test]
fn before_clusterd_has_told_anything_nobody_knows_whether_a_pod_fits() {
    let mut cluster = Cluster::under(CONF)
        .with(npu_node())
        .with(npu_pod("a", 8, "low"));
    assert!(settle(&mut cluster).is_empty());
    let (_, message) = cluster.why("a");
    let unknown =
        "Not known yet whether it ever fits: no node has told any card of the kind it asks";
    assert!(message.contains(unknown), "{message}");
    assert!(!message.contains("It never fits"), "{message}");
    // A right is missing: that is what has to be mended.
    let refused = "ConfigMaps with label a=b in namespace mindx-dl cannot be read: no right";
    let told_refusal = |cluster: &mut Cluster, text: &[&str]| {
        let texts = text.iter().map(|text| (*text).to_owned()).collect();
        cluster.engine.set_unread_reports(texts)
    };
    assert!(told_refusal(&mut cluster, &[refused]));
    assert!(!told_refusal(&mut cluster, &[refused]), "no news");
    let (_, message) = cluster.why("a");
    assert!(message.contains(&format!(" {refused}. ")), "{message}");
    let other = cluster.with(pod("other", "99c"));
    let mut cluster = other;
    settle(&mut cluster);
    let (_, message) = cluster.why("other");
    assert!(!message.contains("cannot be read"), "{message}");
    assert!(told_refusal(&mut cluster, &[]));
    let (_, message) = cluster.why("a");
    assert!(!message.contains("cannot be read"), "{message}");
    // Once it is told, it is known.
    cluster.apply(told(Some(("", "Ascend310P-0"))));
    settle(&mut cluster);
    let (_, message) = cluster.why("a");
    assert!(message.contains("It never fits"), "{message}");
}

#[test]
fn what_configmaps_tell_of_a_node_is_followed() {
    let mut cluster = Cluster::under(CONF);
    sleeping(&mut cluster.engine);
    let mut cluster = cluster.with(npu_node()).with(npu_pod("a", 8, "low"));
    let waits = |cluster: &mut Cluster, why: &str| {
        assert!(settle(cluster).is_empty());
        let (_, message) = cluster.why("a");
        assert!(message.contains(why), "{message}");
    };
    let silent = "node(s) had NPUs of which no device plugin has told yet";
    waits(&mut cluster, silent);
    cluster.apply(told(Some(("", "Ascend310P-0"))));
    waits(&mut cluster, "node(s) had no NPU that may be given out");
    cluster.apply(told(None));
    waits(&mut cluster, silent);
    cluster.apply(told(Some(("Ascend310P-0", ""))));
    assert_eq!(settle(&mut cluster), ["a n1"]);
}

#[test]
fn of_which_gang_a_pod_is_matters_only_while_vnpus_of_its_gang_are_being_made() {
    let asks = |gang: &str, name: &str, level| npu_pod(name, 2, level).group(gang);
    let being_made = |real: &[(&str, &str)]| {
        let records = [&[(CORES, "0-vir02")], real].concat();
        asks("a", "a0", "high").on("n1").records(&*records).delta()
    };
    let mut cluster = Cluster::under(CONF)
        .with(told(Some(("Ascend310P-0", ""))))
        .with(npu_node())
        .with(group("a", 1))
        .with(group("b", 1))
        .with(asks("a", "a1", "low"))
        .with(asks("b", "b1", "low"));
    let are_alike = |cluster: &Cluster| {
        let state = cluster.engine.state();
        let judged = ["a1", "b1"].map(|uid| {
            let task = state.population().task_by_uid(uid).expect("known");
            state
                .supplies()
                .devices()
                .judged_as(state.task(task).demand)
        });
        judged[0] == judged[1]
    };
    assert!(are_alike(&cluster));
    cluster.apply(being_made(&[]));
    assert!(!are_alike(&cluster));
    assert_eq!(settle(&mut cluster), ["a1 n1"]);
    cluster.apply(being_made(&[(REAL, "Ascend310P-2c-100-0_0")]));
    assert!(are_alike(&cluster));
    assert_eq!(settle(&mut cluster), ["b1 n1"]);
}

#[test]
fn a_queue_is_limited_in_ai_cores() {
    let limited = CONF.replace(
        "{name: predicates}",
        "{name: predicates}, {name: proportion}",
    );
    let mut cluster = Cluster::under(&limited)
        .with(queue("small").capability(&format!("{CORES}=4")))
        .with(told(Some(("Ascend310P-0", ""))))
        .with(npu_node());
    for name in ["a", "b", "c"] {
        cluster = cluster.with(npu_pod(name, 2, "low").queue("small"));
    }
    assert_eq!(settle(&mut cluster), ["a n1", "b n1"]);
    let (_, message) = cluster.why("c");
    let short = "insufficient huawei.com/npu-core (capability 4, used 4, asked 2)";
    assert!(message.contains(short), "{message}");
}

#[test]
fn with_three_vgroups_in_use_a_vnpu_of_four_ai_cores_waits() {
    let made = |name: &str, group: u32| {
        let real = format!("Ascend310P-1c-100-0_{group}");
        npu_pod(name, 1, "low")
            .on("n1")
            .records(&[(CORES, "0-vir01"), (REAL, &real)])
    };
    let mut cluster = Cluster::under(CONF);
    sleeping(&mut cluster.engine);
    let mut cluster = cluster
        .with(told(Some(("Ascend310P-0", ""))))
        .with(npu_node());
    for (name, group) in [("a", 0), ("b", 1), ("c", 2)] {
        cluster = cluster.with(made(name, group));
    }
    let mut cluster = cluster.with(npu_pod("d", 4, "low"));
    assert!(settle(&mut cluster).is_empty());
    let (_, message) = cluster.why("d");
    let why = "no NPU with a free vGroup for 4 huawei.com/npu-core";
    assert!(message.contains(why), "{message}");
    assert!(message.contains("3 vGroups in use"), "{message}");
    // The driver may put several into one.
    cluster.apply(Delta::PodDelete("c".to_owned()));
    cluster.apply(made("e", 1));
    assert_eq!(settle(&mut cluster), ["d n1"]);
}
