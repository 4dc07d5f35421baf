//! Processes that are killed with Jobs in flight.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{Controllers, Identity, Lab, LabGuard, Scheduler, Setup};
use serde_json::{Value, json};

use super::{JOBS, both, job, runs, seen};
use crate::LONG;

/// Moments that look like chance and can be had again.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(50 + (self.0 >> 33) % 1200)
    }
}

/// Jobs of three pods: every other one succeeds, the others are restarted until they may not.
fn in_flight(lab: &LabGuard, prefix: &str, count: usize) -> Result<()> {
    let jobs = (0..count).map(|n| {
        let mut object = job(&format!("{prefix}-{n}"), 3);
        if n % 2 == 0 {
            runs(&mut object, 0, "sleep 2");
        } else {
            runs(&mut object, 0, "sleep 1; exit 1");
            object["spec"]["policies"] = json!([{"event": "PodFailed", "action": "RestartJob"}]);
        }
        object
    });
    lab.rest().create_all(JOBS, jobs.collect(), 8)
}

/// Waits for the end of all of them, and looks whether every pod was made as often as it must be.
fn end_as_if_nothing_had_happened(
    lab: &LabGuard,
    controllers: &Controllers,
    prefix: &str,
) -> Result<()> {
    controllers.eventually(LONG * 2, "all Jobs have ended", || {
        let jobs = lab.rest().list(JOBS)?;
        let phase = |job: &Value| seen(job).phase;
        let is_open = |job: &&Value| !matches!(phase(job).as_str(), "Completed" | "Failed");
        let open: Vec<String> = jobs
            .iter()
            .filter(is_open)
            .map(|job| format!("{} {}", job["metadata"]["name"], job["status"]))
            .collect();
        ensure!(open.is_empty(), "{}: {}", open.len(), open.join("\n"));
        Ok(Some(()))
    })?;
    for object in lab.rest().list(JOBS)? {
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let number = name
            .rsplit('-')
            .next()
            .and_then(|text| text.parse::<usize>().ok());
        let is_good = number.is_some_and(|number| number % 2 == 0);
        let seen = seen(&object);
        let expected = if is_good {
            ("Completed", 0)
        } else {
            ("Failed", 3)
        };
        ensure!(
            (seen.phase.as_str(), seen.retries) == expected,
            "{name}: {}",
            seen.status
        );
        ensure!(
            is_good || seen.reason == "MaxRetry",
            "{name}: {}",
            seen.status
        );
        let count = |key: &str| seen.status[key].as_i64().unwrap_or(0);
        // Those that run when another fails for the last time are deleted.
        let least = if is_good {
            ("succeeded", 3)
        } else {
            ("failed", 1)
        };
        ensure!(count(least.0) >= least.1, "{name}: {}", seen.status);
    }
    let made = accepted(lab, Identity::Controllers, "create", None, prefix)?;
    for (pod, times) in &made {
        let number = pod
            .split('-')
            .nth(1)
            .and_then(|text| text.parse::<usize>().ok());
        let rounds = if number.is_some_and(|number| number % 2 == 0) {
            1
        } else {
            3
        };
        // Of a request that was under way at a crash the log may say that it failed.
        ensure!(*times <= rounds, "{pod} was made {times} times");
    }
    Ok(())
}

/// Writes the API server has accepted, by the name of the pod.
pub(super) fn accepted(
    lab: &LabGuard,
    who: Identity,
    verb: &str,
    subresource: Option<&str>,
    prefix: &str,
) -> Result<BTreeMap<String, usize>> {
    let text = std::fs::read_to_string(lab.cluster().folder().join("audit.log"))?;
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let about = &entry["objectRef"];
        let name = about["name"].as_str().unwrap_or_default();
        let is_meant = entry["user"]["username"] == who.user()
            && entry["verb"] == verb
            && about["resource"] == "pods"
            && about["subresource"].as_str() == subresource
            && entry["responseStatus"]["code"]
                .as_u64()
                .is_some_and(|code| code < 300)
            && name.starts_with(prefix);
        if is_meant {
            *found.entry(name.to_owned()).or_default() += 1;
        }
    }
    Ok(found)
}

#[test]
fn thirty_jobs_end_as_they_must_however_often_the_controllers_are_killed() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(4, "32", "256Gi")?;
    let (mut controllers, _scheduler) = both(&lab)?;
    in_flight(&lab, "flying", 30)?;
    let mut moments = Moments(13);
    for _ in 0..15 {
        std::thread::sleep(moments.next());
        controllers.process().kill();
        controllers = Controllers::launch(lab.cluster(), &Setup::default())?;
    }
    end_as_if_nothing_had_happened(&lab, &controllers, "flying-")
}

#[test]
fn scheduler_and_controllers_killed_together_lose_nothing_and_bind_nothing_twice() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(4, "32", "256Gi")?;
    let (mut controllers, mut scheduler) = both(&lab)?;
    in_flight(&lab, "downed", 14)?;
    let mut moments = Moments(31);
    for _ in 0..6 {
        std::thread::sleep(moments.next() * 2);
        controllers.process().kill();
        scheduler.process().kill();
        scheduler = Scheduler::launch(lab.cluster(), &Setup::default())?;
        controllers = Controllers::launch(lab.cluster(), &Setup::default())?;
    }
    let ended = end_as_if_nothing_had_happened(&lab, &controllers, "downed-");
    ended.map_err(|error| scheduler.explain(error))?;
    for (pod, times) in accepted(
        &lab,
        Identity::Scheduler,
        "create",
        Some("binding"),
        "downed-",
    )? {
        ensure!(times <= 3, "{pod} was bound {times} times");
    }
    Ok(())
}

#[test]
fn jobs_go_on_after_the_api_server_was_killed() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(4, "32", "256Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    in_flight(&lab, "cut", 12)?;
    std::thread::sleep(Duration::from_millis(1500));
    lab.cluster_mut().restart_apiserver()?;
    end_as_if_nothing_had_happened(&lab, &controllers, "cut-")
}
