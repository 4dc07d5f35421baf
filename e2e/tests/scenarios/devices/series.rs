//! The gauges of cards on `/metrics` (spec/04 §16).

use anyhow::Result;
use pumice_e2e::{DevicePlugins, Lab, PluginSetup, Scheduler, Setup};
use pumice_sim::device_plugin::vgpu::Generation;

use super::{P40, create, nodes, scheduler, vgpu_pod};
use crate::{LIMIT, PODS, wait_running};

const OF_CARD: [(&str, f64); 4] = [
    ("volcano_vgpu_device_shared_number", 2.0),
    ("volcano_vgpu_device_allocated_memory", 3000.0),
    ("volcano_vgpu_device_allocated_cores", 30.0),
    ("volcano_vgpu_device_memory_limit", 24576.0),
];

const OF_POD: [(&str, f64); 2] = [
    (
        "volcano_vgpu_device_memory_allocation_for_a_certain_pod",
        2000.0,
    ),
    (
        "volcano_vgpu_device_core_allocation_for_a_certain_pod",
        20.0,
    ),
];

/// The value of the series with these labels, in any order; `None` if there is none.
fn series(text: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let fits = |line: &&str| {
        let rest = line.strip_prefix(name);
        let has = |(key, value): &(&str, &str)| line.contains(&format!("{key}=\"{value}\""));
        rest.is_some_and(|rest| rest.starts_with('{')) && labels.iter().all(has)
    };
    let line = text.lines().find(fits)?;
    line.rsplit_once(' ')?.1.parse().ok()
}

pub(super) fn wait_series(
    scheduler: &Scheduler,
    name: &str,
    labels: &[(&str, &str)],
    value: Option<f64>,
) -> Result<()> {
    scheduler.eventually(LIMIT, &format!("{name}{labels:?} is {value:?}"), || {
        let (_, text) = scheduler.get("/metrics")?;
        Ok((series(&text, name, labels) == value).then_some(()))
    })
}

#[test]
fn gauges_of_cards_follow_pods_and_nodes() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    let _plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", "binpack")])?;
    create(&lab, &vgpu_pod("one", 1, 1000, 10))?;
    wait_running(&lab, &scheduler, "one", 1)?;
    create(&lab, &vgpu_pod("two", 1, 2000, 20))?;
    wait_running(&lab, &scheduler, "two", 1)?;
    let card = [("devID", "GPU-gpu-0-0"), ("NodeName", "gpu-0")];
    let of_two = [card[0], card[1], ("podName", "two")];
    for (name, value) in OF_CARD {
        wait_series(&scheduler, name, &card, Some(value))?;
    }
    for (name, value) in OF_POD {
        wait_series(&scheduler, name, &of_two, Some(value))?;
    }
    lab.delete(&format!("{PODS}/two"))?;
    for (name, _) in OF_POD {
        wait_series(&scheduler, name, &of_two, None)?;
    }
    let memory = "volcano_vgpu_device_allocated_memory";
    wait_series(&scheduler, memory, &card, Some(1000.0))?;
    lab.delete(&format!("{PODS}/one"))?;
    lab.delete("/api/v1/nodes/gpu-0")?;
    for (name, _) in OF_CARD {
        wait_series(&scheduler, name, &card, None)?;
    }
    Ok(())
}
