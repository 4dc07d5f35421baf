//! Plugins that guess: every pod gets its own cards, however fast pods are bound.

use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{DevicePlugins, Lab, LabGuard, PluginSetup, Setup};
use pumice_sim::device_plugin::register::HANDSHAKE;
use pumice_sim::device_plugin::vgpu::{self, Generation};
use serde_json::json;

use super::{
    P40, all_get_their_own, annotation, create, no_card_is_overfull, nodes, pod, scheduler,
    vgpu_pod, wait_annotation,
};
use crate::{LIMIT, LONG, PODS, QUIET, bare_pod, wait_bound, wait_running, wait_running_for};

const MANY: usize = 40;

/// Pods of many sizes, one in four with two cards: no two allocations are alike.
fn create_many(lab: &LabGuard, prefix: &str, count: usize) -> Result<()> {
    let size = |n: usize| {
        let n = n as u64;
        let number = if n % 4 == 3 { 2 } else { 1 };
        (number, 1000 + 50 * n, n % 3 * 10)
    };
    let pods = (0..count).map(|n| {
        let (number, memory, cores) = size(n);
        vgpu_pod(&format!("{prefix}{n:02}"), number, memory, cores)
    });
    lab.rest().create_all(PODS, pods.collect(), 16)
}

/// v1.10 begins its search with the first pod of the cluster, whatever it is. On a cluster that is
/// some pod that runs without vGPUs, hardly ever one that is being started.
fn create_first_pod_of_the_cluster(lab: &LabGuard) -> Result<()> {
    let mut first = bare_pod("aaa", Some("10m"));
    first["spec"]["nodeName"] = json!("gpu-0");
    create(lab, &first)
}

fn everybody_gets_their_own(generation: Generation, policy: &str) -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 3, &P40, generation)?;
    create_first_pod_of_the_cluster(&lab)?;
    let handshake = annotation(&lab.rest().get("/api/v1/nodes/gpu-0")?, HANDSHAKE);
    assert_eq!(!handshake.is_empty(), generation.shakes_hands());
    let setup = PluginSetup {
        generation,
        delay: Duration::from_millis(50),
    };
    let plugins = DevicePlugins::start(&lab, setup)?;
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", policy)])?;
    create_many(&lab, "v-", MANY)?;
    wait_running_for(LONG, &lab, &scheduler, "v-", MANY)?;
    all_get_their_own(&scheduler, &plugins, MANY)?;
    no_card_is_overfull(&lab)?;
    let node = lab.rest().get("/api/v1/nodes/gpu-0")?;
    assert_eq!(
        annotation(&node, HANDSHAKE),
        handshake,
        "it is the plugin's"
    );
    Ok(())
}

#[test]
fn forty_pods_bound_at_once_get_their_own_cards_from_a_plugin_of_v1_10() -> Result<()> {
    everybody_gets_their_own(Generation::V1_10, "spread")
}

#[test]
fn forty_pods_bound_at_once_get_their_own_cards_from_a_plugin_of_v1_12() -> Result<()> {
    everybody_gets_their_own(Generation::V1_12, "spread")
}

#[test]
fn forty_pods_packed_on_few_cards_get_their_own_from_the_latest_plugin() -> Result<()> {
    everybody_gets_their_own(Generation::Latest, "binpack")
}

#[test]
fn what_is_bound_with_a_pod_is_what_the_plugin_reads() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    plugins.stop();
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", "binpack")])?;
    create(&lab, &vgpu_pod("v", 2, 3000, 50))?;
    wait_bound(&lab, &scheduler, "v", 1)?;
    let bound = pod(&lab, "v")?;
    let text = "GPU-gpu-0-0,NVIDIA,3000,50:GPU-gpu-0-1,NVIDIA,3000,50:";
    assert_eq!(annotation(&bound, vgpu::IDS), text);
    assert_eq!(annotation(&bound, vgpu::TO_ALLOCATE), text);
    assert_eq!(annotation(&bound, vgpu::NODE), "gpu-0");
    assert_eq!(annotation(&bound, vgpu::PHASE), vgpu::ALLOCATING);
    let time: u64 = annotation(&bound, vgpu::TIME).parse()?;
    let stamp: u64 = annotation(&bound, "volcano.sh/bind-time").parse()?;
    ensure!(time >= stamp && stamp > 1_700_000_000, "{time} {stamp}");
    plugins.restart();
    wait_annotation(&lab, "v", vgpu::PHASE, vgpu::SUCCESS)?;
    all_get_their_own(&scheduler, &plugins, 1)?;
    assert_eq!(annotation(&pod(&lab, "v")?, vgpu::IDS), text);
    Ok(())
}

#[test]
fn a_pod_that_is_held_back_for_the_plugin_says_so() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    plugins.stop();
    let scheduler = scheduler(&lab, Setup::default(), &[])?;
    create(&lab, &vgpu_pod("v-0", 1, 1000, 0))?;
    wait_bound(&lab, &scheduler, "v-0", 1)?;
    create(&lab, &vgpu_pod("v-1", 1, 2000, 0))?;
    let why = "until the device plugin there is done with pod default/v-0";
    scheduler.eventually(LIMIT, "the pod's condition says so", || {
        let conditions = pod(&lab, "v-1")?["status"]["conditions"].to_string();
        Ok(conditions.contains(why).then_some(()))
    })?;
    let described = lab.cluster().kubectl(&["describe", "pod", "v-1"], "")?;
    let flat: Vec<&str> = described.split_whitespace().collect();
    ensure!(flat.join(" ").contains(why), "{described}");
    let (_, explained) = scheduler.get("/debug/explain/default/v-1")?;
    ensure!(explained.contains(why), "{explained}");
    ensure!(scheduler.metric("pumice_pending_pods")? >= Some(1.0));
    plugins.restart();
    wait_running_for(LONG, &lab, &scheduler, "v-", 2)?;
    let bound = pod(&lab, "v-1")?;
    let conditions = bound["status"]["conditions"].as_array().cloned();
    let scheduled = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "PodScheduled");
    ensure!(scheduled.is_some_and(|c| c["status"] == "True"), "{bound}");
    Ok(())
}

#[test]
fn binds_go_on_while_no_plugin_answers() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    plugins.stop();
    let scheduler = scheduler(&lab, Setup::default(), &[])?;
    for (name, memory) in [("v-0", 1000), ("v-1", 2000), ("v-2", 3000)] {
        create(&lab, &vgpu_pod(name, 1, memory, 0))?;
    }
    // Pods without devices do not wait for anything.
    lab.gang("plain", "default", 10, 10)?;
    wait_running(&lab, &scheduler, "plain-", 10)?;
    // The others wait for the plugin for a while each, and are bound then.
    let what = "all pods with devices are bound";
    scheduler.eventually(2 * LONG, what, || {
        Ok((lab.bound("v-")?.len() == 3).then_some(()))
    })?;
    no_card_is_overfull(&lab)
}

#[test]
fn pods_that_may_be_mistaken_for_one_another_do_not_wait_for_the_plugin() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    plugins.stop();
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", "binpack")])?;
    let alike = (0..6).map(|n| vgpu_pod(&format!("v-{n}"), 1, 1000, 10));
    lab.rest().create_all(PODS, alike.collect(), 6)?;
    // One after the other they would take much longer.
    wait_bound(&lab, &scheduler, "v-", 6)?;
    plugins.restart();
    all_get_their_own(&scheduler, &plugins, 6)?;
    no_card_is_overfull(&lab)
}

#[test]
fn plugins_started_anew_serve_everybody_their_own_cards() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 2, &P40, Generation::Latest)?;
    let setup = PluginSetup {
        delay: Duration::from_millis(200),
        ..PluginSetup::default()
    };
    let plugins = DevicePlugins::start(&lab, setup)?;
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", "spread")])?;
    create_many(&lab, "v-", 12)?;
    scheduler.eventually(LIMIT, "some are served", || {
        Ok((plugins.services().len() >= 3).then_some(()))
    })?;
    plugins.stop();
    std::thread::sleep(QUIET);
    plugins.restart();
    all_get_their_own(&scheduler, &plugins, 12)?;
    wait_running(&lab, &scheduler, "v-", 12)
}

#[test]
fn a_slow_plugin_slows_down_nobody_else() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 2, &P40, Generation::V1_12)?;
    let setup = PluginSetup {
        generation: Generation::V1_12,
        delay: Duration::from_secs(3),
    };
    let plugins = DevicePlugins::start(&lab, setup)?;
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", "spread")])?;
    create_many(&lab, "v-", 6)?;
    lab.gang("plain", "default", 20, 20)?;
    wait_running(&lab, &scheduler, "plain-", 20)?;
    all_get_their_own(&scheduler, &plugins, 6)?;
    wait_running(&lab, &scheduler, "v-", 6)
}
