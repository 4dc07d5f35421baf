//! Ascend NPUs of MindCluster and of HAMi.

mod bad_input;
mod hami;
mod reports;
mod restart;

use anyhow::Result;
use pumice_e2e::{ConfigMount, LabGuard, NodeShape, Scheduler, Setup, eventually, scratch};
use serde_json::{Value, json};

use super::{annotation, create, pod};
use crate::LIMIT;

/// AI cores of MindCluster, and chips a pod was given.
const CORES: &str = "huawei.com/npu-core";
/// Chips of HAMi, and what a pod was given of them.
const CHIPS: &str = "huawei.com/Ascend310P";
/// MiB of each chip.
const MEMORY: &str = "huawei.com/Ascend310P-memory";
/// What a pod holds of chips of HAMi.
const HELD: &str = "hami.io/Ascend310P-devices-allocated";

/// Both modes; what MindCluster tells is in ConfigMaps of each node.
const CONF: &str = "\
actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.AscendMindClusterVNPUEnable: true
      deviceshare.AscendHAMiVNPUEnable: true
      deviceshare.SchedulePolicy: binpack
      deviceshare.KnownGeometriesCMName: hami-scheduler-device
configurations:
- name: init-params
  arguments: {\"useClusterInfoManager\":\"false\",\"presetVirtualDevice\":\"false\"}
";

fn setup() -> Result<Setup> {
    let conf = ConfigMount::new(&scratch("npus")?, CONF)?.file();
    Ok(Setup {
        conf: Some(conf),
        ..Setup::default()
    })
}

/// A node with chips of MindCluster, 8 AI cores each.
fn mind_node(name: &str, chips: u32, server: &str) -> Value {
    let label = |key, value: &str| (key, value.to_owned());
    let shape = NodeShape {
        labels: vec![
            label("accelerator", "huawei-Ascend310P"),
            label("servertype", server),
            label("node.kubernetes.io/npu.chip.name", "310P3"),
        ],
        ..NodeShape::default()
    };
    let mut node = shape.object(name);
    let infos = (0..chips).map(|chip| (format!("Ascend310P-{chip}"), json!({"IP": ""})));
    let infos = Value::Object(infos.collect());
    node["metadata"]["annotations"] = json!({"baseDeviceInfos": infos.to_string()});
    for part in ["capacity", "allocatable"] {
        node["status"][part][CORES] = json!((8 * chips).to_string());
    }
    node
}

/// A node with chips of HAMi, `<name>-0` …
fn hami_node(name: &str, chips: u32) -> Value {
    let mut node = NodeShape::default().object(name);
    let chip = |index| {
        json!({
            "id": format!("{name}-{index}"), "index": index, "count": 7, "devmem": 21527,
            "devcore": 8, "type": "Ascend310P", "health": true,
        })
    };
    let register = Value::Array((0..chips).map(chip).collect());
    let key = "hami.io/node-register-Ascend310P";
    node["metadata"]["annotations"] = json!({key: register.to_string()});
    for part in ["capacity", "allocatable"] {
        node["status"][part][CHIPS] = json!((7 * chips).to_string());
    }
    node
}

pub(super) fn add_node(lab: &LabGuard, node: &Value) -> Result<()> {
    lab.rest().create("/api/v1/nodes", node).map(|_| ())
}

pub(super) fn asking(name: &str, limits: &[(&str, Value)]) -> Value {
    let mut pod = crate::bare_pod(name, Some("100m"));
    for (resource, amount) in limits {
        pod["spec"]["containers"][0]["resources"]["limits"][*resource] = amount.clone();
    }
    pod
}

/// A pod that asks for AI cores of MindCluster, with these labels besides.
fn mind_pod(name: &str, cores: u64, labels: &[(&str, &str)]) -> Value {
    let mut pod = asking(name, &[(CORES, json!(cores))]);
    pod["metadata"]["labels"] = json!({"ring-controller.atlas": "ascend-310P"});
    for (key, value) in labels {
        pod["metadata"]["labels"][*key] = json!(value);
    }
    pod
}

/// A pod that asks for a part of a chip of HAMi.
fn hami_pod(name: &str, memory: u64) -> Value {
    asking(name, &[(CHIPS, json!(1)), (MEMORY, json!(memory))])
}

/// Writes a ConfigMap as the device plugin of a node does, or NodeD.
fn tell(lab: &LabGuard, namespace: &str, name: &str, key: &str, text: &Value) -> Result<()> {
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": namespace, "name": name, "labels": {"mx-consumer-cim": "true"},
        },
        "data": {key: text.to_string()},
    });
    lab.cluster().apply(&map.to_string())
}

/// What the device plugin of a node tells: chips that are unhealthy, seconds since 1970, and the check
/// code.
fn tell_devices(lab: &LabGuard, node: &str, unhealthy: &str, at: i64, code: &str) -> Result<()> {
    let text = json!({
        "DeviceInfo": {
            "DeviceList": {
                "huawei.com/Ascend310P": "", "huawei.com/Ascend310P-Unhealthy": unhealthy,
            },
            "UpdateTime": at,
        },
        "CheckCode": code,
    });
    let name = format!("mindx-dl-deviceinfo-{node}");
    tell(lab, "kube-system", &name, "DeviceInfoCfg", &text)
}

fn now_s() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Waits until a pod is told this.
pub(super) fn is_told(
    lab: &LabGuard,
    scheduler: &Scheduler,
    name: &str,
    parts: &[&str],
) -> Result<()> {
    let what = format!("{name} is told {parts:?}");
    scheduler.eventually(LIMIT, &what, || {
        let object = pod(lab, name)?;
        let conditions = object["status"]["conditions"].as_array();
        let all = conditions.into_iter().flatten();
        let mut messages = all.filter_map(|one| one["message"].as_str());
        let told = messages.any(|text| parts.iter().all(|part| text.contains(part)));
        Ok(told.then_some(()))
    })
}

/// Waits until a pod has chips, and gives the annotation that says which.
pub(super) fn chips_of(
    lab: &LabGuard,
    scheduler: &Scheduler,
    name: &str,
    key: &str,
) -> Result<String> {
    scheduler.eventually(LIMIT, &format!("{name} has chips"), || {
        let text = annotation(&pod(lab, name)?, key);
        Ok((!text.is_empty()).then_some(text))
    })
}

/// Waits for a warning event of a node that has this in its text.
fn node_is_warned_of(lab: &LabGuard, node: &str, part: &str) -> Result<()> {
    eventually(LIMIT, &format!("an event of {node} has {part:?}"), || {
        let events = lab.rest().list("/api/v1/events")?;
        let told = events.iter().any(|event| {
            event["involvedObject"]["name"] == node
                && event["type"] == "Warning"
                && event["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(part))
        });
        Ok(told.then_some(()))
    })
}
