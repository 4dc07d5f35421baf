//! The device configuration, edited, broken and deleted while the scheduler runs.

use anyhow::{Result, ensure};
use pumice_e2e::{DevicePlugins, Lab, LabGuard, PluginSetup, Scheduler, Setup};
use pumice_sim::device_plugin::vgpu::Generation;

use super::{
    A100, Cards, P40, all_get_their_own, allocation, create, geometry, no_card_is_overfull, nodes,
    scheduler, vgpu_pod, write_device_config,
};
use crate::{LIMIT, QUIET, stays_pending};

const FOUR: Cards = Cards { count: 4, ..A100 };

fn place(lab: &LabGuard, scheduler: &Scheduler, name: &str, memory: u64) -> Result<String> {
    create(lab, &vgpu_pod(name, 1, memory, 0))?;
    allocation(lab, scheduler, name)
}

#[test]
fn device_configuration_is_followed_and_a_broken_one_changes_nothing() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "mig", 1, &FOUR, Generation::Latest)?;
    write_device_config(&lab, Some(&geometry("small", 5120, 7)))?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = scheduler(&lab, Setup::default(), &[("SchedulePolicy", "spread")])?;
    let first = place(&lab, &scheduler, "first", 3000)?;
    assert_eq!(first, "GPU-mig-0-0[small-0],NVIDIA,3000,0:");

    // Spread takes idle cards, which are split as the new text says.
    write_device_config(&lab, Some(&geometry("large", 20480, 2)))?;
    std::thread::sleep(QUIET);
    let second = place(&lab, &scheduler, "second", 3001)?;
    assert_eq!(second, "GPU-mig-0-1[large-0],NVIDIA,3001,0:");

    write_device_config(&lab, Some("nvidia:\n  knownMigGeometries: 7\n"))?;
    scheduler.eventually(LIMIT, "the log names the ConfigMap", || {
        Ok(scheduler
            .log()
            .contains("volcano-vgpu-device-config")
            .then_some(()))
    })?;
    let third = place(&lab, &scheduler, "third", 3002)?;
    assert_eq!(third, "GPU-mig-0-2[large-0],NVIDIA,3002,0:");

    write_device_config(&lab, Some(&geometry("whole", 40960, 1)))?;
    std::thread::sleep(QUIET);
    let fourth = place(&lab, &scheduler, "fourth", 3003)?;
    assert_eq!(fourth, "GPU-mig-0-3[whole-0],NVIDIA,3003,0:");
    all_get_their_own(&scheduler, &plugins, 4)?;
    no_card_is_overfull(&lab)
}

#[test]
fn without_device_configuration_cards_in_use_stay_in_use_and_others_work_on() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "mig", 1, &A100, Generation::Latest)?;
    nodes(&lab, "gpu", 1, &P40, Generation::Latest)?;
    write_device_config(&lab, Some(&geometry("whole", 40960, 1)))?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = scheduler(&lab, Setup::default(), &[])?;
    let mut wants_mig = vgpu_pod("m-0", 1, 3000, 0);
    wants_mig["metadata"]["annotations"] = serde_json::json!({"volcano.sh/vgpu-mode": "mig"});
    create(&lab, &wants_mig)?;
    let text = allocation(&lab, &scheduler, "m-0")?;
    assert_eq!(text, "GPU-mig-0-0[whole-0],NVIDIA,3000,0:");
    write_device_config(&lab, None)?;
    std::thread::sleep(QUIET);
    // Whatever the table is now: the only card is held by a partition that takes all of it.
    wants_mig["metadata"]["name"] = serde_json::json!("m-1");
    create(&lab, &wants_mig)?;
    stays_pending(&lab, "m-1")?;
    let text = place(&lab, &scheduler, "v", 3001)?;
    ensure!(text.starts_with("GPU-gpu-0-"), "{text}");
    all_get_their_own(&scheduler, &plugins, 2)?;
    no_card_is_overfull(&lab)?;
    // Back again, nothing has changed.
    write_device_config(&lab, Some(&geometry("whole", 40960, 1)))?;
    stays_pending(&lab, "m-1")
}
