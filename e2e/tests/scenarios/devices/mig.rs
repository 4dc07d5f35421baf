//! MIG: an instance has one holder, from the decision on.

use std::time::Duration;

use anyhow::Result;
use pumice_e2e::{DevicePlugins, Fault, Lab, PluginSetup};
use pumice_sim::device_plugin::vgpu::Generation;
use serde_json::{Value, json};

use super::{
    A100, all_get_their_own, allocation, create, geometry, held, no_card_is_overfull, nodes,
    scheduler, vgpu_pod, write_device_config,
};
use crate::{LIMIT, LONG, behind_proxy, binds_of, stays_pending, wait_running_for};

fn mig_pod(name: &str, memory: u64) -> Value {
    let mut pod = vgpu_pod(name, 1, memory, 0);
    pod["metadata"]["annotations"] = json!({"volcano.sh/vgpu-mode": "mig"});
    pod
}

#[test]
fn cycles_before_a_bind_is_seen_never_share_an_instance() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "mig", 1, &A100, Generation::Latest)?;
    write_device_config(&lab, Some(&geometry("group1", 5120, 7)))?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = scheduler(&lab, setup, &[("SchedulePolicy", "binpack")])?;
    let while_others_are_decided = Fault::Delay(Duration::from_secs(3));
    proxy.inject(1, while_others_are_decided, binds_of("m-"));
    create(&lab, &mig_pod("m-0", 3000))?;
    scheduler.eventually(LIMIT, "the first bind is under way", || {
        Ok((proxy.hits() == 1).then_some(()))
    })?;
    // One pod a cycle, while the first one is not seen on its node.
    for n in 1..7 {
        create(&lab, &mig_pod(&format!("m-{n}"), 3000 + n))?;
        std::thread::sleep(Duration::from_millis(200));
    }
    wait_running_for(LONG, &lab, &scheduler, "m-", 7)?;
    all_get_their_own(&scheduler, &plugins, 7)?;
    no_card_is_overfull(&lab)?;
    let mut units = held(&lab)?.remove("GPU-mig-0-0").unwrap_or_default().units;
    units.sort();
    let seven: Vec<String> = (0..7).map(|n| format!("group1-{n}")).collect();
    assert_eq!(units, seven);
    create(&lab, &mig_pod("eighth", 3000))?;
    stays_pending(&lab, "eighth")
}

#[test]
fn a_request_of_3_gb_gets_a_5_gb_slice_and_keeps_its_request_in_the_text() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "mig", 1, &A100, Generation::Latest)?;
    write_device_config(&lab, Some(&geometry("group1", 5120, 7)))?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = scheduler(&lab, pumice_e2e::Setup::default(), &[])?;
    create(&lab, &mig_pod("m", 3000))?;
    let text = allocation(&lab, &scheduler, "m")?;
    assert_eq!(text, "GPU-mig-0-0[group1-0],NVIDIA,3000,0:");
    all_get_their_own(&scheduler, &plugins, 1)
}
