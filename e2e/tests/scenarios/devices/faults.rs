//! Restarts and pods that vanish, while plugins are at work.

use std::time::Duration;

use anyhow::{Result, ensure};
use http::Method;
use pumice_e2e::{DevicePlugins, Lab, PluginSetup, Scheduler, Setup};
use pumice_sim::device_plugin::vgpu::{self, Generation};
use serde_json::json;

use super::{
    P40, all_get_their_own, create, no_card_is_overfull, nodes, scheduler, vgpu_pod,
    wait_annotation, with_devices,
};
use crate::{LIMIT, LONG, PODS, accepted_binds, stays_pending, wait_bound, wait_running_for};

#[test]
fn a_scheduler_killed_in_the_middle_hands_nothing_out_twice() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 2, &P40, Generation::V1_12)?;
    let setup = PluginSetup {
        generation: Generation::V1_12,
        delay: Duration::from_millis(300),
    };
    let plugins = DevicePlugins::start(&lab, setup)?;
    let conf = with_devices(Setup::default(), &[("SchedulePolicy", "binpack")])?;
    let mut first = Scheduler::start(lab.cluster(), &conf)?;
    // Eight cards of 24576 MiB hold three of these each, and no more.
    let pods = (0..26).map(|n| vgpu_pod(&format!("v-{n:02}"), 1, 8000 + n, 30));
    lab.rest().create_all(PODS, pods.collect(), 16)?;
    first.eventually(LIMIT, "some are bound", || {
        Ok((lab.bound("v-")?.len() >= 5).then_some(()))
    })?;
    first.process().kill();
    let second = Scheduler::start(lab.cluster(), &conf)?;
    wait_running_for(LONG, &lab, &second, "v-", 24)?;
    all_get_their_own(&second, &plugins, 24)?;
    std::thread::sleep(crate::QUIET);
    assert_eq!(lab.bound("v-")?.len(), 24);
    no_card_is_overfull(&lab)?;
    let binds = accepted_binds(&lab)?;
    let twice: Vec<_> = binds
        .iter()
        .filter(|(pod, count)| pod.starts_with("v-") && **count > 1)
        .collect();
    ensure!(twice.is_empty(), "{twice:?}");
    Ok(())
}

/// Binds a pod while no plugin answers, lets `end` end it, and sees that the next one gets its own
/// cards.
fn its_turn_is_taken_away(end: impl Fn(&Lab) -> Result<()>) -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    plugins.stop();
    // Deleted pods stay, as long as their kubelet does not answer.
    lab.kubelet().pause();
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", "spread")])?;
    create(&lab, &vgpu_pod("dies", 1, 1000, 0))?;
    wait_bound(&lab, &scheduler, "dies", 1)?;
    wait_annotation(&lab, "dies", vgpu::PHASE, vgpu::ALLOCATING)?;
    end(&lab)?;
    wait_annotation(&lab, "dies", vgpu::TO_ALLOCATE, "")?;
    wait_annotation(&lab, "dies", vgpu::TIME, vgpu::NEVER)?;
    create(&lab, &vgpu_pod("next", 1, 2000, 0))?;
    wait_bound(&lab, &scheduler, "next", 1)?;
    lab.kubelet().resume();
    plugins.restart();
    wait_running_for(LONG, &lab, &scheduler, "next", 1)?;
    // Its kubelet does not start the other one any more.
    all_get_their_own(&scheduler, &plugins, 1)
}

#[test]
fn a_pod_deleted_before_its_plugin_answered_takes_nobodys_turn() -> Result<()> {
    its_turn_is_taken_away(|lab| {
        let path = format!("{PODS}/dies");
        lab.rest().call(Method::DELETE, &path, None).map(|_| ())
    })
}

#[test]
fn a_pod_that_failed_before_its_plugin_answered_takes_nobodys_turn() -> Result<()> {
    its_turn_is_taken_away(|lab| {
        let status = json!({"status": {"phase": "Failed", "reason": "Evicted"}});
        let path = format!("{PODS}/dies/status");
        lab.rest().patch(&path, &status).map(|_| ())
    })
}

#[test]
fn cards_of_a_pod_that_is_going_are_not_given_to_another() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = scheduler(&lab, Setup::default(), &[])?;
    create(&lab, &vgpu_pod("goes", 4, 20000, 0))?;
    wait_running_for(LONG, &lab, &scheduler, "goes", 1)?;
    lab.kubelet().pause();
    let path = format!("{PODS}/goes");
    lab.rest().call(Method::DELETE, &path, None)?;
    create(&lab, &vgpu_pod("waits", 4, 10000, 0))?;
    stays_pending(&lab, "waits")?;
    lab.kubelet().resume();
    wait_running_for(LONG, &lab, &scheduler, "waits", 1)?;
    all_get_their_own(&scheduler, &plugins, 2)
}
