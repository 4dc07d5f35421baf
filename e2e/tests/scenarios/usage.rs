//! Pods go by what is measured of nodes (spec/02 §21), and a source that fails stops nobody.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use pumice_e2e::{ConfigMount, Lab, LabGuard, Scheduler, Setup, scratch};
use pumice_scripted::{Answer, Seen, Server};
use serde_json::{Value, json};

use crate::shown::in_a_pod;
use crate::{LIMIT, PODS, bare_pod, stays_pending, wait_running};

/// A server that says of instant queries that so much of each node is in use, in percent: of cpu, and half as much
/// of its memory.
fn uses(first: f64, second: f64) -> impl FnMut(&Seen) -> Answer + Send + 'static {
    let nodes = [("n-0", first), ("n-1", second)];
    move |seen| Answer::Json(200, vector(&nodes, seen.path.contains("MemAvailable")))
}

fn vector(nodes: &[(&str, f64)], of_memory: bool) -> Value {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now_s.map_or(0, |since| since.as_secs());
    let sample = |(node, used): &(&str, f64)| {
        let used = if of_memory { used / 2.0 } else { *used };
        json!({"metric": {"instance": node}, "value": [now_s, used.to_string()]})
    };
    let result: Vec<Value> = nodes.iter().map(sample).collect();
    json!({"status": "success", "data": {"resultType": "vector", "result": result}})
}

fn conf(source: &Server) -> String {
    format!(
        r#"
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: usage
    arguments:
      thresholds: {{cpu: 80, mem: 80}}
metrics:
  type: prometheus
  address: {}
  interval: 1s
"#,
        source.url()
    )
}

fn wait_metric(scheduler: &Scheduler, name: &str, value: f64) -> Result<()> {
    scheduler.eventually(LIMIT, &format!("{name} is {value}"), || {
        Ok((scheduler.metric(name)? == Some(value)).then_some(()))
    })
}

/// Pods of one CPU that run on this node and no other.
fn run_on(
    lab: &LabGuard,
    scheduler: &Scheduler,
    prefix: &str,
    count: usize,
    node: &str,
) -> Result<()> {
    for at in 0..count {
        let pod = bare_pod(&format!("{prefix}-{at}"), Some("1"));
        lab.rest().create(PODS, &pod)?;
    }
    wait_running(lab, scheduler, &format!("{prefix}-"), count)?;
    let bound = lab.bound(&format!("{prefix}-"))?;
    ensure!(bound.values().all(|on| on == node), "{bound:?}");
    Ok(())
}

/// The scheduler's own pod shows that its source tells nothing.
fn wait_event(lab: &LabGuard, scheduler: &Scheduler) -> Result<()> {
    scheduler.eventually(LIMIT, "an event says that the source is silent", || {
        let events = lab
            .rest()
            .list("/api/v1/namespaces/volcano-system/events")?;
        let mut told = events
            .iter()
            .map(|event| (&event["reason"], &event["message"]));
        let is_it = |(reason, message): (&Value, &Value)| {
            *reason == "NoNodeUsage" && message.to_string().contains("tells nothing")
        };
        Ok(told.any(is_it).then_some(()))
    })
}

#[test]
fn pods_avoid_a_busy_node_and_go_on_when_nobody_measures() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "32", "64Gi")?;
    let source = Server::apart(uses(95.0, 20.0));
    let mount = ConfigMount::new(&scratch("conf")?, &conf(&source))?;
    let setup = Setup {
        conf: Some(mount.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &in_a_pod(&lab, setup)?)?;
    wait_metric(&scheduler, "pumice_node_usage_nodes", 2.0)?;
    run_on(&lab, &scheduler, "calm", 3, "n-1")?;

    // Both are busy: a pod waits and says so, until one is calm.
    source.change(uses(95.0, 96.0));
    scheduler.eventually(LIMIT, "a pod is told that nodes are busy", || {
        lab.rest().delete_now(&format!("{PODS}/probe-0"))?;
        lab.rest().create(PODS, &bare_pod("probe-0", Some("1")))?;
        std::thread::sleep(crate::QUIET * 2);
        let text = lab.rest().get(&format!("{PODS}/probe-0"))?["status"].to_string();
        Ok(text.contains("CPU load of the node exceeds").then_some(()))
    })?;
    stays_pending(&lab, "probe-")?;
    source.change(uses(30.0, 96.0));
    wait_running(&lab, &scheduler, "probe-", 1)?;

    // A source that says something else, and one that is gone: what it told last counts, and pods are placed.
    source.change(|_| Answer::Text(200, "<html>please log in</html>".to_owned()));
    wait_metric(&scheduler, "pumice_node_usage_source_up", 0.0)?;
    wait_event(&lab, &scheduler)?;
    ensure!(
        scheduler
            .log()
            .contains("the source of node usage tells nothing"),
        "the log says so"
    );
    run_on(&lab, &scheduler, "nonsense", 2, "n-0")?;
    source.change(|_| Answer::Cut);
    run_on(&lab, &scheduler, "silent", 2, "n-0")?;
    wait_metric(&scheduler, "pumice_node_usage_source_up", 0.0)?;

    source.change(uses(97.0, 10.0));
    wait_metric(&scheduler, "pumice_node_usage_source_up", 1.0)?;
    run_on(&lab, &scheduler, "again", 2, "n-1")
}

#[test]
fn a_scheduler_whose_source_never_answered_places_pods_anywhere() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "1", "64Gi")?;
    let source = Server::apart(|_| Answer::Cut);
    let mount = ConfigMount::new(&scratch("conf")?, &conf(&source))?;
    let setup = Setup {
        conf: Some(mount.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    for name in ["any-0", "any-1"] {
        lab.rest().create(PODS, &bare_pod(name, Some("1")))?;
    }
    wait_running(&lab, &scheduler, "any-", 2)?;
    wait_metric(&scheduler, "pumice_node_usage_source_up", 0.0)
}
