//! Shared GPUs and NPUs: the real scheduler, real annotations, and device plugins that guess their pods.

mod config_map;
mod faults;
mod kept_mix;
mod mig;
mod mix;
mod node_lock;
mod npus;
mod plugins;
mod series;
mod vendors;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    ConfigMount, DevicePlugins, LabGuard, Scheduler, Setup, eventually, gpu_node, scratch,
};
use pumice_sim::device_plugin::register::{NodeConfig, NodePlugin, PhysicalCard};
use pumice_sim::device_plugin::vgpu::{self, Generation};
use serde_json::{Value, json};

use crate::{LONG, PODS};

/// Cards of one kind on every node.
struct Cards {
    count: u32,
    product: &'static str,
    memory_mib: u64,
    mode: &'static str,
}

const P40: Cards = Cards {
    count: 4,
    product: "Tesla P40",
    memory_mib: 24576,
    mode: "hami-core",
};

const A100: Cards = Cards {
    count: 1,
    product: "NVIDIA A100-PCIE-40GB",
    memory_mib: 40960,
    mode: "mig",
};

/// Creates nodes `<prefix>-0` … with these cards, named `GPU-<node>-<index>`.
fn nodes(
    lab: &LabGuard,
    prefix: &str,
    count: usize,
    cards: &Cards,
    generation: Generation,
) -> Result<()> {
    for n in 0..count {
        let name = format!("{prefix}-{n}");
        let card = |minor| PhysicalCard {
            uuid: format!("GPU-{name}-{minor}"),
            product: cards.product.to_owned(),
            memory_mib: cards.memory_mib,
            minor,
            healthy: true,
        };
        let config = NodeConfig {
            generation,
            mode: cards.mode.to_owned(),
            ..NodeConfig::default()
        };
        let plugin = NodePlugin::new(config, (0..cards.count).map(card).collect());
        let now = "2026-01-01 10:00:00.123456789 +0000 UTC m=+30.012345678";
        lab.rest()
            .create("/api/v1/nodes", &gpu_node(&name, &plugin, now))?;
    }
    Ok(())
}

/// A pod that asks for vGPUs: how many, MiB of each, percent of the cores of each.
fn vgpu_pod(name: &str, number: u64, memory: u64, cores: u64) -> Value {
    let mut pod = crate::bare_pod(name, Some("100m"));
    pod["spec"]["containers"][0]["resources"]["limits"] = json!({
        "volcano.sh/vgpu-number": number,
        "volcano.sh/vgpu-memory": memory,
        "volcano.sh/vgpu-cores": cores,
    });
    pod
}

fn create(lab: &LabGuard, pod: &Value) -> Result<()> {
    lab.rest().create(PODS, pod).map(|_| ())
}

fn pod(lab: &LabGuard, name: &str) -> Result<Value> {
    lab.rest().get(&format!("{PODS}/{name}"))
}

fn annotation(object: &Value, key: &str) -> String {
    let text = object["metadata"]["annotations"][key].as_str();
    text.unwrap_or_default().to_owned()
}

/// A scheduler with the plugin `deviceshare` and these further arguments.
fn scheduler(lab: &LabGuard, setup: Setup, arguments: &[(&str, &str)]) -> Result<Scheduler> {
    Scheduler::start(lab.cluster(), &with_devices(setup, arguments)?)
}

fn with_devices(setup: Setup, arguments: &[(&str, &str)]) -> Result<Setup> {
    let mut text =
        "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n  \
                    - name: gang\n- plugins:\n  - name: predicates\n  - name: nodeorder\n  - name: \
                    deviceshare\n    arguments:\n      deviceshare.VGPUEnable: true\n"
            .to_owned();
    for (name, value) in arguments {
        text.push_str(&format!("      deviceshare.{name}: {value}\n"));
    }
    let conf = ConfigMount::new(&scratch("devices")?, &text)?.file();
    Ok(Setup {
        conf: Some(conf),
        ..setup
    })
}

/// Waits until plugins have served this many containers, and checks that each got its own cards.
fn all_get_their_own(
    scheduler: &Scheduler,
    plugins: &DevicePlugins,
    containers: usize,
) -> Result<()> {
    let what = format!("{containers} containers are served");
    scheduler.eventually(LONG, &what, || {
        let strayed = plugins.strayed();
        if !strayed.is_empty() {
            return Ok(Some(()));
        }
        Ok((plugins.services().len() == containers).then_some(()))
    })?;
    let strayed = plugins.strayed();
    ensure!(strayed.is_empty(), "not their own cards: {strayed:#?}");
    Ok(())
}

/// What pods hold of one card.
#[derive(Default)]
struct Held {
    slots: u64,
    memory: u64,
    cores: u64,
    /// Partitions as `group-position`.
    units: Vec<String>,
}

/// Cards by UUID, from what is written on all pods that have a node and have not ended.
fn held(lab: &LabGuard) -> Result<BTreeMap<String, Held>> {
    let mut cards: BTreeMap<String, Held> = BTreeMap::new();
    for pod in lab.rest().list("/api/v1/pods")? {
        let ended = matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        );
        if pod["spec"]["nodeName"].is_null() || ended {
            continue;
        }
        let text = annotation(&pod, vgpu::IDS);
        for device in text.split([';', ':']).filter(|piece| !piece.is_empty()) {
            let fields: Vec<&str> = device.split(',').collect();
            let [id, "NVIDIA", memory, cores] = fields[..] else {
                anyhow::bail!("{text:?} on {}", pod["metadata"]["name"]);
            };
            let (card, unit) = id.split_once('[').unwrap_or((id, ""));
            let entry = cards.entry(card.to_owned()).or_default();
            entry.slots += 1;
            entry.memory += memory.parse::<u64>()?;
            entry.cores += cores.parse::<u64>()?;
            entry.units.push(unit.trim_end_matches(']').to_owned());
        }
    }
    Ok(cards)
}

/// No card is over its memory, slots or cores; no partition has two holders; all partitions of a
/// card are of one group.
fn no_card_is_overfull(lab: &LabGuard) -> Result<()> {
    let held = held(lab)?;
    for node in lab.rest().list("/api/v1/nodes")? {
        let register = annotation(&node, "volcano.sh/node-vgpu-register");
        for card in register.split(':').filter(|card| !card.is_empty()) {
            let fields: Vec<&str> = card.split(',').collect();
            let Some(held) = held.get(fields[0]) else {
                continue;
            };
            let (slots, memory): (u64, u64) = (fields[1].parse()?, fields[2].parse()?);
            ensure!(held.memory <= memory, "{card}: {} MiB held", held.memory);
            ensure!(held.slots <= slots, "{card}: {} slots held", held.slots);
            if fields[5] == "mig" {
                one_holder_each(card, &held.units)?;
            } else {
                ensure!(held.cores <= 100, "{card}: {} % held", held.cores);
            }
        }
    }
    Ok(())
}

fn one_holder_each(card: &str, units: &[String]) -> Result<()> {
    let distinct: BTreeSet<&String> = units.iter().collect();
    ensure!(
        distinct.len() == units.len(),
        "{card}: held twice: {units:?}"
    );
    let group = |unit: &String| unit.rsplit_once('-').map(|(group, _)| group.to_owned());
    let groups: BTreeSet<_> = units.iter().map(group).collect();
    ensure!(groups.len() == 1, "{card}: several groups: {units:?}");
    Ok(())
}

/// Writes the device configuration, or takes it away.
fn write_device_config(lab: &LabGuard, text: Option<&str>) -> Result<()> {
    let Some(text) = text else {
        let maps = "/api/v1/namespaces/kube-system/configmaps";
        return lab.delete(&format!("{maps}/volcano-vgpu-device-config"));
    };
    lab.cluster().apply(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: kube-system\n  name: \
         volcano-vgpu-device-config\ndata:\n  device-config.yaml: {}\n",
        Value::from(text)
    ))
}

/// A device configuration with one geometry of the A100: this group of instances of one kind.
fn geometry(group: &str, memory: u64, count: u32) -> String {
    format!(
        "nvidia:\n  resourceCountName: volcano.sh/vgpu-number\n  resourceMemoryName: \
         volcano.sh/vgpu-memory\n  resourceCoreName: volcano.sh/vgpu-cores\n  \
         knownMigGeometries:\n  - models: [ \"A100-PCIE-40GB\" ]\n    allowedGeometries:\n    - \
         group: {group}\n      geometries:\n      - name: slice\n        memory: {memory}\n        \
         count: {count}\n"
    )
}

/// Waits until the text that gives a pod its cards is there, and gives it.
fn allocation(lab: &LabGuard, scheduler: &Scheduler, name: &str) -> Result<String> {
    let what = format!("{name} has its cards");
    scheduler.eventually(LONG, &what, || {
        let text = annotation(&pod(lab, name)?, vgpu::IDS);
        Ok((!text.is_empty()).then_some(text))
    })
}

/// Waits until an annotation of a pod is this.
fn wait_annotation(lab: &LabGuard, name: &str, key: &str, value: &str) -> Result<()> {
    eventually(LONG, &format!("{key} of {name} is {value:?}"), || {
        let object = pod(lab, name)?;
        let now = object["metadata"]["annotations"][key]
            .as_str()
            .context("it is there")?;
        Ok((now == value).then_some(()))
    })
}
