//! The configuration file: read at the start, read again when it changes.

use anyhow::{Result, ensure};
use pumice_e2e::{ConfigMount, Lab, LabGuard, Scheduler, Setup, scratch};

use crate::{LIMIT, PODS, bare_pod, stays_pending, wait_running};

/// Pods without requests are placed by backfill alone.
const WITHOUT_BACKFILL: &str = r#"
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

const BROKEN: &str = "actions: \"enqueue, allocate\"\ntiers:\n- plugins: [\n";

fn with_backfill() -> String {
    WITHOUT_BACKFILL.replace("allocate\"", "allocate, backfill\"")
}

fn wait_valid(scheduler: &Scheduler, valid: f64) -> Result<()> {
    scheduler.eventually(LIMIT, &format!("pumice_config_valid is {valid}"), || {
        Ok((scheduler.metric("pumice_config_valid")? == Some(valid)).then_some(()))
    })
}

fn start(lab: &LabGuard, text: &str) -> Result<(ConfigMount, Setup)> {
    lab.nodes(1, "4", "8Gi")?;
    let mount = ConfigMount::new(&scratch("conf")?, text)?;
    let setup = Setup {
        conf: Some(mount.file()),
        ..Setup::default()
    };
    Ok((mount, setup))
}

#[test]
fn a_changed_configuration_is_taken_over_without_a_restart() -> Result<()> {
    let lab = Lab::take()?;
    let (mut mount, setup) = start(&lab, WITHOUT_BACKFILL)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("light", None))?;
    lab.rest().create(PODS, &bare_pod("sized", Some("1")))?;
    wait_running(&lab, &scheduler, "sized", 1)?;
    stays_pending(&lab, "light")?;
    mount.replace(&with_backfill())?;
    wait_running(&lab, &scheduler, "light", 1)
}

#[test]
fn a_broken_configuration_is_told_and_the_last_good_one_stays() -> Result<()> {
    let lab = Lab::take()?;
    let (mut mount, setup) = start(&lab, &with_backfill())?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    wait_valid(&scheduler, 1.0)?;
    mount.replace(BROKEN)?;
    wait_valid(&scheduler, 0.0)?;
    ensure!(
        scheduler.log().contains("volcano-scheduler.conf"),
        "the log names the file"
    );
    lab.rest().create(PODS, &bare_pod("light", None))?;
    wait_running(&lab, &scheduler, "light", 1)?;
    mount.replace(WITHOUT_BACKFILL)?;
    wait_valid(&scheduler, 1.0)?;
    lab.rest().create(PODS, &bare_pod("another", None))?;
    stays_pending(&lab, "another")
}

#[test]
fn a_scheduler_started_with_a_broken_configuration_is_not_ready_until_it_is_mended() -> Result<()> {
    let lab = Lab::take()?;
    let (mut mount, setup) = start(&lab, BROKEN)?;
    let mut scheduler = Scheduler::launch(lab.cluster(), &setup)?;
    let said = scheduler.eventually(LIMIT, "/readyz says why it is not ready", || {
        let (status, text) = scheduler.get("/readyz")?;
        Ok((status != 200 && text.contains("config")).then_some(text))
    })?;
    ensure!(!said.is_empty());
    mount.replace(&with_backfill())?;
    scheduler.wait_ready()?;
    lab.rest().create(PODS, &bare_pod("light", None))?;
    wait_running(&lab, &scheduler, "light", 1)
}

#[test]
fn a_watched_config_map_is_used_and_followed() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    let write = |text: &str| {
        lab.cluster().apply(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: volcano-system\n  name: \
             volcano-scheduler-configmap\ndata:\n  volcano-scheduler.conf: {}\n",
            serde_json::Value::from(text)
        ))
    };
    write(WITHOUT_BACKFILL)?;
    let flag = "--scheduler-configmap=volcano-system/volcano-scheduler-configmap";
    let setup = Setup {
        flags: vec![flag.to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("light", None))?;
    stays_pending(&lab, "light")?;
    write(BROKEN)?;
    wait_valid(&scheduler, 0.0)?;
    write(&with_backfill())?;
    wait_valid(&scheduler, 1.0)?;
    wait_running(&lab, &scheduler, "light", 1)
}
