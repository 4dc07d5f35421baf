//! What a scheduler has recorded before it was killed, and before it ended, is decided once more.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{Lab, Scheduler, Setup, eventually, scratch};
use serde_json::Value;

use crate::{PODS, bare_pod, wait_running};

#[test]
fn what_a_scheduler_decided_before_it_was_killed_is_decided_once_more() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "4", "8Gi")?;
    let folder = scratch("recording")?;
    let setup = Setup {
        flags: vec![format!("--record-dir={}", folder.display())],
        ..Setup::default()
    };
    let mut scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("first", Some("1")))?;
    wait_running(&lab, &scheduler, "first", 1)?;
    let script = format!("pumice replay -o json '{}'", folder.display());
    let replayed = || -> Result<Value> {
        let said = lab.cluster().shell(Path::new("."), &script)?;
        Ok(serde_json::from_str(&said)?)
    };
    // What is recorded is in the file within five seconds.
    eventually(Duration::from_secs(20), "it is in the file", || {
        let report = replayed().ok();
        Ok(report.filter(|report| report["placed"] == 1))
    })?;
    scheduler.process().kill();
    let mut scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("second", Some("1")))?;
    wait_running(&lab, &scheduler, "second", 1)?;
    ensure!(scheduler.terminate()?.success());
    let report = replayed()?;
    ensure!(report["placed"] == 2, "{report}");
    ensure!(report["exactSegments"] == 2, "{report}");
    ensure!(
        report["differences"] == Value::Array(Vec::new()),
        "{report}"
    );
    Ok(())
}
