//! Plugin `sla`: what becomes of jobs that may wait for some seconds only.

use anyhow::{Result, ensure};
use pumice_e2e::{ConfigMount, Lab, LabGuard, Scheduler, Setup, pod_group, scratch};
use serde_json::{Value, json};

use crate::{
    GROUPS, LIMIT, PODS, bare_pod, no_node_is_overfull, stays_pending, wait_bound, wait_running,
};

/// Alone in the first tier, `sla` goes before the reservations of overcommit and before gangs.
const CONF: &str = r#"
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: sla
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: overcommit
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// Longer than [`stays_pending`] looks, by more than the second to which ages are cut.
const LIMIT_OF_A_JOB: &str = "6s";

/// A PodGroup that needs all its pods and asks for their cpus, and its pods `<name>-0` ….
fn create(lab: &LabGuard, name: &str, pods: i64, cpu: i64, limit: Option<&str>) -> Result<()> {
    let annotations = limit.map_or(
        json!({}),
        |limit| json!({"volcano.sh/sla-waiting-time": limit}),
    );
    let spec = json!({"minMember": pods, "minResources": {"cpu": (pods * cpu).to_string()}});
    create_group(lab, name, &annotations, &spec)?;
    create_members(lab, name, pods, cpu)
}

fn create_group(lab: &LabGuard, name: &str, annotations: &Value, spec: &Value) -> Result<()> {
    let mut group = pod_group(name, spec);
    group["metadata"]["annotations"] = annotations.clone();
    lab.rest().create(GROUPS, &group)?;
    Ok(())
}

fn create_members(lab: &LabGuard, name: &str, pods: i64, cpu: i64) -> Result<()> {
    for at in 0..pods {
        let mut pod = bare_pod(&format!("{name}-{at}"), Some(&cpu.to_string()));
        pod["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": name});
        lab.rest().create(PODS, &pod)?;
    }
    Ok(())
}

/// Two nodes of 4 cpus, 2 of which a pod has that runs for a long time.
fn start(lab: &LabGuard) -> Result<(ConfigMount, Scheduler)> {
    lab.nodes(2, "4", "64Gi")?;
    let mount = ConfigMount::new(&scratch("sla")?, CONF)?;
    let setup = Setup {
        conf: Some(mount.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("service", Some("2")))?;
    wait_running(lab, &scheduler, "service", 1)?;
    Ok((mount, scheduler))
}

fn wait_phase(lab: &LabGuard, scheduler: &Scheduler, name: &str, phase: &str) -> Result<()> {
    scheduler.eventually(LIMIT, &format!("{name} is {phase}"), || {
        Ok((lab.group_phase(name)? == phase).then_some(()))
    })
}

#[test]
fn a_job_is_admitted_past_an_earlier_bigger_one_when_its_time_runs_out() -> Result<()> {
    let lab = Lab::take()?;
    let (_mount, scheduler) = start(&lab)?;
    // Of 8 × 1.2 cpus 2 are used and 6 are reserved for a gang of which one pod fits.
    create(&lab, "big", 2, 3, None)?;
    wait_phase(&lab, &scheduler, "big", "Inqueue")?;
    create(&lab, "patient", 1, 2, None)?;
    create(&lab, "hasty", 1, 2, Some(LIMIT_OF_A_JOB))?;
    stays_pending(&lab, "hasty-")?;
    wait_running(&lab, &scheduler, "hasty-", 1)?;
    for group in ["big-", "patient-"] {
        let bound = lab.bound(group)?;
        ensure!(bound.is_empty(), "bound: {bound:?}");
    }
    let phase = lab.group_phase("patient")?;
    ensure!(phase == "Pending", "patient is {phase}");
    no_node_is_overfull(&lab)
}

#[test]
fn what_a_job_could_have_is_kept_for_it_once_its_time_has_run_out() -> Result<()> {
    let lab = Lab::take()?;
    let (_mount, scheduler) = start(&lab)?;
    // One of its pods has the idle node; the other needs that of the service too.
    create(&lab, "big", 2, 4, Some(LIMIT_OF_A_JOB))?;
    stays_pending(&lab, "big-")?;
    ensure!(
        lab.group_phase("big")? == "Pending",
        "too big to be admitted"
    );
    wait_phase(&lab, &scheduler, "big", "Inqueue")?;
    // It asks for no reservation, so it is admitted, and it fits on the idle node only.
    create_group(&lab, "late", &json!({}), &json!({"minMember": 1}))?;
    create_members(&lab, "late", 1, 3)?;
    wait_phase(&lab, &scheduler, "late", "Inqueue")?;
    stays_pending(&lab, "late-")?;
    lab.delete(&format!("{PODS}/service"))?;
    wait_running(&lab, &scheduler, "big-", 2)?;
    stays_pending(&lab, "late-")?;
    no_node_is_overfull(&lab)
}

#[test]
fn a_limit_that_cannot_be_read_is_told_on_its_podgroup() -> Result<()> {
    let lab = Lab::take()?;
    let (_mount, scheduler) = start(&lab)?;
    create(&lab, "unclear", 1, 1, Some("tomorrow"))?;
    wait_bound(&lab, &scheduler, "unclear-", 1)?;
    scheduler.eventually(LIMIT, "an event tells", || {
        let events = lab.rest().list("/api/v1/namespaces/default/events")?;
        let tells = |event: &Value| {
            let message = event["message"].as_str().unwrap_or_default();
            event["involvedObject"]["name"] == "unclear"
                && event["reason"] == "InvalidAnnotation"
                && message.contains("`tomorrow` is no duration")
        };
        Ok(events.iter().any(tells).then_some(()))
    })?;
    wait_running(&lab, &scheduler, "unclear-", 1)
}
