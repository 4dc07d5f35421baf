//! What tasks were seen to ask, kept in a ConfigMap across restarts of the scheduler.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    ConfigMount, DevicePlugins, Lab, LabGuard, PluginSetup, Scheduler, Setup, eventually, scratch,
};
use pumice_sim::device_plugin::vgpu::Generation;
use serde_json::{Value, json};

use super::mix::shown;
use super::{Cards, P40, create, nodes, vgpu_pod};
use crate::{LIMIT, LONG, PODS, wait_running};

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
      fragmentation.keepIn: volcano-system/volcano-scheduler-counted
      fragmentation.scarcity: false
"#;

const MAPS: &str = "/api/v1/namespaces/volcano-system/configmaps";

/// What three of four tasks ask, and the fourth.
const OFTEN: (&str, u64) = ("often", 8192);
const SELDOM: (&str, u64) = ("seldom", 4096);

/// A node with cards, and the ConfigMap with this in it.
fn cluster(data: &Value) -> Result<LabGuard> {
    let lab = Lab::take()?;
    nodes(&lab, "gpu", 1, &TWO, Generation::Latest)?;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"namespace": "volcano-system", "name": "volcano-scheduler-counted"},
    });
    lab.rest().create(MAPS, &map)?;
    Ok(lab)
}

fn setup(elects: bool) -> Result<Setup> {
    Ok(Setup {
        conf: Some(ConfigMount::new(&scratch("kept-mix")?, CONF)?.file()),
        elects,
        ..Setup::default()
    })
}

fn kept(lab: &LabGuard) -> Result<String> {
    let map = lab
        .rest()
        .get(&format!("{MAPS}/volcano-scheduler-counted"))?;
    let text = map["data"]["counted"].as_str();
    Ok(text.unwrap_or_default().to_owned())
}

/// Tasks come, get their cards, and are gone again.
fn tasks_come_and_go(lab: &LabGuard, scheduler: &Scheduler, names: &[(&str, u64)]) -> Result<()> {
    for (name, memory) in names {
        create(lab, &vgpu_pod(name, 1, *memory, 0))?;
        wait_running(lab, scheduler, name, 1)?;
    }
    for (name, _) in names {
        lab.delete(&format!("{PODS}/{name}"))?;
    }
    Ok(())
}

/// Waits until the page tells both classes, as often as they came.
fn both_are_told(scheduler: &Scheduler) -> Result<()> {
    scheduler.eventually(LIMIT, "the mix is what came before", || {
        let page: Value =
            serde_json::from_str(&shown(scheduler, &["top", "--mix", "-o", "json"])?)?;
        ensure!(page["from"] == "what tasks asked", "{page}");
        let classes = page["classes"].as_array().context("classes")?;
        let told = classes.iter().map(|class| {
            let percent = class["weightPercent"].as_f64().unwrap_or_default();
            let asks = class["asks"].as_str().unwrap_or_default();
            (percent.round() as u64, asks.contains("vgpu-memory=8192"))
        });
        let told: Vec<(u64, bool)> = told.collect();
        ensure!(told == [(75, true), (25, false)], "{page}");
        Ok(Some(()))
    })
}

#[test]
fn what_was_counted_outlives_a_restart_in_order_and_then_one_by_force() -> Result<()> {
    let lab = cluster(&json!({}))?;
    let _plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let mut first = Scheduler::start(lab.cluster(), &setup(true)?)?;
    let (often, seldom) = (OFTEN.1, SELDOM.1);
    tasks_come_and_go(
        &lab,
        &first,
        &[("a", often), ("b", often), ("c", often), ("d", seldom)],
    )?;
    let status = first.terminate()?;
    ensure!(status.success(), "it ended with {status}");
    let text = kept(&lab)?;
    ensure!(text.lines().count() == 3, "{text}");

    let mut second = Scheduler::start(lab.cluster(), &setup(true)?)?;
    both_are_told(&second)?;
    second.process().kill();
    // Nobody came, so nobody had anything to write.
    ensure!(kept(&lab)? == text, "{}", kept(&lab)?);
    let third = Scheduler::start(lab.cluster(), &setup(false)?)?;
    both_are_told(&third)
}

#[test]
fn nonsense_in_the_config_map_is_told_and_replaced() -> Result<()> {
    let other = "{\"format\":1,\"asOf\":\"yesterday\"";
    let lab = cluster(&json!({"counted": other, "notes": "somebody's own"}))?;
    let _plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &setup(false)?)?;
    scheduler.eventually(LIMIT, "the log says what is wrong", || {
        let log = scheduler.log();
        let told = "tasks counted before, in ConfigMap volcano-system/volcano-scheduler-counted";
        let line = log.lines().find(|line| line.contains(told));
        Ok(line
            .filter(|line| line.contains("the text is replaced"))
            .map(|_| ()))
    })?;
    tasks_come_and_go(&lab, &scheduler, &[OFTEN])?;
    eventually(LONG, "the text is replaced", || {
        let text = kept(&lab)?;
        let is_ours = text.lines().count() == 2 && text.contains("8192");
        Ok(is_ours.then_some(()))
    })
    .map_err(|error| scheduler.explain(error))?;
    let map = lab
        .rest()
        .get(&format!("{MAPS}/volcano-scheduler-counted"))?;
    ensure!(map["data"]["notes"] == "somebody's own", "{map}");
    Ok(())
}
