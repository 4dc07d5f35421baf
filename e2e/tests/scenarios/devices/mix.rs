//! What of the free cards is of use to nobody, told of a live scheduler, and the mix of tasks in a ConfigMap, edited and
//! broken while it runs.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    ConfigMount, DevicePlugins, Lab, LabGuard, PluginSetup, Scheduler, Setup, programs, scratch,
};
use pumice_sim::device_plugin::vgpu::Generation;
use serde_json::{Value, json};

use super::series::wait_series;
use super::{Cards, P40, create, nodes, vgpu_pod};
use crate::{LIMIT, QUIET, wait_running};

const TWO: Cards = Cards { count: 2, ..P40 };

const CONF: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.SchedulePolicy: fragmentation
  - name: fragmentation
    arguments:
      fragmentation.configMap: volcano-system/volcano-scheduler-mix
"#;

const THIRD: &str = "10 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=8192";
const SIXTH: &str = "5 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=4096";

fn write_mix(lab: &LabGuard, text: &str) -> Result<()> {
    lab.cluster().apply(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: volcano-system\n  name: volcano-scheduler-mix\n\
         data:\n  mix: {}\n",
        Value::from(text)
    ))
}

/// What the tool says of the scheduler.
pub fn shown(scheduler: &Scheduler, words: &[&str]) -> Result<String> {
    let address = format!("http://127.0.0.1:{}", scheduler.port());
    let output = Command::new(programs::ours("pumice")?)
        .args(words)
        .args(["--server", &address])
        .output()
        .context("run pumice")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{words:?}: {error}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn useless(scheduler: &Scheduler, cards: f64) -> Result<()> {
    wait_series(
        scheduler,
        "pumice_useless_cards",
        &[("pool", "a")],
        Some(cards),
    )
}

#[test]
fn cards_that_are_of_use_to_nobody_are_told_and_the_mix_follows_its_config_map() -> Result<()> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &TWO, Generation::Latest)?;
    let pool = json!({"metadata": {"labels": {"karpenter.sh/nodepool": "a"}}});
    lab.rest().patch("/api/v1/nodes/gpu-0", &pool)?;
    write_mix(&lab, THIRD)?;
    let _plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let setup = Setup {
        conf: Some(ConfigMount::new(&scratch("mix")?, CONF)?.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    create(&lab, &vgpu_pod("one", 1, 20_000, 0))?;
    wait_running(&lab, &scheduler, "one", 1)?;
    // Of the first card 4576 of 24576 MiB are left.
    useless(&scheduler, 0.19)?;
    wait_series(
        &scheduler,
        "pumice_free_cards",
        &[("pool", "a")],
        Some(1.19),
    )?;
    let page: Value = serde_json::from_str(&shown(&scheduler, &["top", "--mix", "-o", "json"])?)?;
    assert_eq!(
        page["from"],
        "ConfigMap volcano-system/volcano-scheduler-mix"
    );
    assert_eq!(page["cards"][0]["uselessCards"], 0.19);
    assert_eq!(page["cards"][0]["pool"], "a");
    let table = shown(&scheduler, &["top", "--mix"])?;
    ensure!(table.contains("vgpu    1.19  0.19"), "{table}");
    let text = shown(&scheduler, &["explain", "pod/one"])?;
    ensure!(text.contains("gpu-0, where it is: "), "{text}");

    write_mix(&lab, &format!("{THIRD}\nnonsense\n{SIXTH}\n"))?;
    useless(&scheduler, 0.0)?;
    ensure!(
        scheduler.log().contains("line 2: `nonsense`"),
        "it is logged"
    );
    write_mix(&lab, "nonsense\n")?;
    scheduler.eventually(LIMIT, "the log says what stays", || {
        let told = "what was known before stays in use";
        Ok(scheduler.log().contains(told).then_some(()))
    })?;
    std::thread::sleep(QUIET);
    useless(&scheduler, 0.0)
}
