//! Who goes for a gang of higher priority: all of a group, or as few of its pods as it takes, as the group says.

use anyhow::{Result, ensure};
use pumice_e2e::{Lab, LabGuard, Scheduler, Setup, scratch};
use serde_json::{Value, json};

use super::{NATIVE, bound_names, native_group, native_member, wait_placed};
use crate::{PODS, stays_pending, wait_running};

/// Others go for a gang, whole gangs or what they can spare.
const CONF: &str = r#"actions: "enqueue, allocate, gangpreempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: nodeorder
"#;

/// A scheduler with [`CONF`], and PriorityClasses `low` and `high`.
fn preempting(lab: &LabGuard) -> Result<Scheduler> {
    for (name, value) in [("low", 10), ("high", 100)] {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value,
        });
        lab.rest()
            .create("/apis/scheduling.k8s.io/v1/priorityclasses", &class)?;
    }
    let path = scratch("native")?.join("volcano-scheduler.conf");
    std::fs::write(&path, CONF)?;
    let setup = Setup {
        conf: Some(path),
        ..Setup::default()
    };
    Scheduler::start(lab.cluster(), &setup)
}

/// Makes a group of a class and so many pods of it.
fn make(lab: &LabGuard, name: &str, class: &str, spec: &Value, pods: usize) -> Result<()> {
    let mut spec = spec.clone();
    spec["priorityClassName"] = json!(class);
    let made = lab.rest().create(NATIVE, &native_group(name, &spec))?;
    ensure!(made["spec"]["priority"].is_number(), "{made}");
    for n in 0..pods {
        let mut pod = native_member(&format!("{name}-{n}"), name);
        pod["spec"]["priorityClassName"] = json!(class);
        lab.rest().create(PODS, &pod)?;
    }
    Ok(())
}

/// Runs a low group of three on three places, and asks for one with a high gang; how many of the low one stay.
fn who_stays(mode: &Value) -> Result<usize> {
    let lab = Lab::take()?;
    lab.nodes(3, "1", "8Gi")?;
    let scheduler = preempting(&lab)?;
    let low = json!({"schedulingPolicy": {"basic": {}}, "disruptionMode": mode});
    make(&lab, "low", "low", &low, 3)?;
    wait_running(&lab, &scheduler, "low-", 3)?;
    let high = json!({"schedulingPolicy": {"gang": {"minCount": 1}}});
    make(&lab, "high", "high", &high, 1)?;
    wait_running(&lab, &scheduler, "high-", 1)?;
    wait_placed(&lab, &scheduler, "high", true)?;
    std::thread::sleep(crate::QUIET);
    Ok(bound_names(&lab, "low")?.len())
}

#[test]
fn of_a_group_that_may_be_split_no_more_pods_go_than_it_takes() -> Result<()> {
    let stay = who_stays(&json!({"single": {}}))?;
    ensure!(stay == 2, "{stay} stay");
    Ok(())
}

#[test]
fn a_group_that_goes_whole_goes_with_all_of_its_pods() -> Result<()> {
    let stay = who_stays(&json!({"all": {}}))?;
    ensure!(stay == 0, "{stay} stay");
    Ok(())
}

#[test]
fn nobody_goes_for_a_gang_that_has_no_room_even_without_them() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "1", "8Gi")?;
    let scheduler = preempting(&lab)?;
    let low = json!({"schedulingPolicy": {"basic": {}}, "disruptionMode": {"single": {}}});
    make(&lab, "low", "low", &low, 2)?;
    wait_running(&lab, &scheduler, "low-", 2)?;
    let high = json!({"schedulingPolicy": {"gang": {"minCount": 3}}});
    make(&lab, "high", "high", &high, 3)?;
    wait_placed(&lab, &scheduler, "high", false)?;
    stays_pending(&lab, "high-")?;
    ensure!(lab.running("low-")? == 2, "somebody went for nothing");
    Ok(())
}
