//! `deviceshare.NodeLockEnable`: a lock of somebody else is waited for, an old one is not.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{DevicePlugins, Lab, LabGuard, PluginSetup, Setup, eventually};
use pumice_sim::device_plugin::vgpu::{self, Generation};
use serde_json::{Value, json};

use super::{P40, all_get_their_own, annotation, create, nodes, scheduler, vgpu_pod};
use crate::deploying::grant_node_lock;
use crate::{LIMIT, stays_pending, wait_bound, wait_running};

const ARGUMENTS: [(&str, &str); 1] = [("NodeLockEnable", "true")];

fn set_lock(lab: &LabGuard, lock: Value) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {vgpu::LOCK: lock}}});
    lab.rest().patch("/api/v1/nodes/gpu-0", &patch).map(|_| ())
}

fn lock(lab: &LabGuard) -> Result<String> {
    Ok(annotation(
        &lab.rest().get("/api/v1/nodes/gpu-0")?,
        vgpu::LOCK,
    ))
}

fn minutes_ago(minutes: i64) -> Result<Value> {
    let then = jiff::Timestamp::now().checked_sub(jiff::SignedDuration::from_mins(minutes))?;
    Ok(json!(then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

#[test]
fn a_held_node_lock_is_waited_for_by_pods_with_devices_alone() -> Result<()> {
    let lab = Lab::take()?;
    grant_node_lock(lab.cluster())?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    set_lock(&lab, minutes_ago(0)?)?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    plugins.stop();
    let scheduler = scheduler(&lab, Setup::default(), &ARGUMENTS)?;
    create(&lab, &vgpu_pod("v", 1, 1000, 0))?;
    lab.gang("plain", "default", 5, 5)?;
    wait_running(&lab, &scheduler, "plain-", 5)?;
    stays_pending(&lab, "v")?;
    set_lock(&lab, Value::Null)?;
    wait_bound(&lab, &scheduler, "v", 1)?;
    // It is the scheduler's now, until the plugin has answered.
    let text = lock(&lab)?;
    let taken: jiff::Timestamp = text.parse().with_context(|| format!("lock {text:?}"))?;
    let age = jiff::Timestamp::now().duration_since(taken);
    ensure!(age.as_secs() < 300, "{text}");
    plugins.restart();
    wait_running(&lab, &scheduler, "v", 1)?;
    all_get_their_own(&scheduler, &plugins, 1)?;
    eventually(LIMIT, "the lock is gone", || {
        Ok(lock(&lab)?.is_empty().then_some(()))
    })
}

#[test]
fn an_old_or_unreadable_node_lock_is_replaced() -> Result<()> {
    for stale in [minutes_ago(6)?, json!("gpu-operator was here")] {
        let lab = Lab::take()?;
        grant_node_lock(lab.cluster())?;
        nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
        set_lock(&lab, stale)?;
        let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
        let scheduler = scheduler(&lab, Setup::default(), &ARGUMENTS)?;
        create(&lab, &vgpu_pod("v", 1, 1000, 0))?;
        wait_running(&lab, &scheduler, "v", 1)?;
        all_get_their_own(&scheduler, &plugins, 1)?;
    }
    Ok(())
}
