//! Missing kinds and permissions, odd objects, a slow API server.

use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{Fault, Identity, Lab, Matcher, Rest, Scheduler, Setup, eventually, is_status};
use serde_json::{Value, json};

use crate::{
    LIMIT, LONG, PODS, bare_pod, behind_proxy, no_node_is_overfull, stays_pending, wait_running,
    wait_running_for,
};

/// Short of the API server's limit for all annotations of an object, 256 KiB.
const NEARLY_TOO_LARGE: usize = 240 * 1024;

#[test]
fn without_the_kind_pod_group_bare_pods_run_and_gangs_run_once_it_is_there() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    lab.will_change_installation();
    let kind = "podgroups.scheduling.volcano.sh";
    lab.cluster()
        .kubectl(&["delete", "crd", kind, "--timeout=30s"], "")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(PODS, &bare_pod("bare", Some("1")))?;
    wait_running(&lab, &scheduler, "bare", 1)?;
    lab.cluster().install()?;
    lab.gang("late", "default", 3, 3)?;
    wait_running_for(LONG, &lab, &scheduler, "late-", 3)
}

#[test]
fn a_kind_it_may_not_read_is_named_and_costs_no_more_than_its_feature() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    lab.will_change_installation();
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/volcano-scheduler";
    let mut role = lab.rest().get(roles)?;
    let rules = role["rules"].as_array().cloned().unwrap_or_default();
    let of_kind = |all: &Vec<Value>| all.contains(&json!("priorityclasses"));
    let is_kept = |rule: &Value| !rule["resources"].as_array().is_some_and(of_kind);
    let kept: Vec<Value> = rules.iter().filter(|rule| is_kept(rule)).cloned().collect();
    ensure!(
        kept.len() + 1 == rules.len(),
        "one rule is for PriorityClasses: {role}"
    );
    role["rules"] = json!(kept);
    lab.rest().patch(roles, &json!({"rules": role["rules"]}))?;
    let own = Rest::new(lab.cluster().client(Identity::Scheduler)?);
    eventually(LIMIT, "the permission is gone", || {
        match own.list("/apis/scheduling.k8s.io/v1/priorityclasses") {
            Err(error) if is_status(&error, 403) => Ok(Some(())),
            other => other.map(|_| None),
        }
    })?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("a", "default", 3, 3)?;
    wait_running(&lab, &scheduler, "a-", 3)?;
    let log = scheduler.log().to_lowercase();
    ensure!(
        log.contains("priorityclass"),
        "the log names the kind:\n{log}"
    );
    Ok(())
}

#[test]
fn nothing_is_decided_before_all_pods_are_known() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    for n in 0..4 {
        let mut pod = bare_pod(&format!("there-{n}"), Some("1"));
        pod["spec"]["nodeName"] = json!("n-0");
        lab.rest().create(PODS, &pod)?;
    }
    lab.gang("waits", "default", 2, 2)?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let lists_pods: Matcher = Box::new(|_, path| path.starts_with("/api/v1/pods"));
    proxy.inject(1, Fault::Delay(Duration::from_secs(5)), lists_pods);
    let mut scheduler = Scheduler::launch(lab.cluster(), &setup)?;
    stays_pending(&lab, "waits-")?;
    scheduler.wait_ready()?;
    assert_eq!(proxy.hits(), 1);
    stays_pending(&lab, "waits-")?;
    no_node_is_overfull(&lab)
}

#[test]
fn a_slow_api_server_delays_and_breaks_nothing() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let pause = Duration::from_millis(700);
    proxy.inject(usize::MAX, Fault::Delay(pause), Box::new(|_, _| true));
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.gang("slow", "default", 20, 20)?;
    wait_running_for(LONG, &lab, &scheduler, "slow-", 20)?;
    no_node_is_overfull(&lab)
}

#[test]
fn odd_annotations_and_large_objects_hurt_nobody() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let mut odd = bare_pod("odd", Some("1"));
    odd["metadata"]["annotations"] = json!({
        "volcano.sh/task-index": "minus one",
        "volcano.sh/preemptable": "perhaps",
        "scheduling.k8s.io/group-name": "nobody made this group",
        "volcano.sh/task-priority": "99999999999999999999",
    });
    lab.rest().create(PODS, &odd)?;
    let mut large = bare_pod("large", Some("1"));
    large["metadata"]["annotations"] = json!({"example.com/text": "x".repeat(NEARLY_TOO_LARGE)});
    lab.rest().create(PODS, &large)?;
    lab.gang("a", "default", 3, 3)?;
    wait_running(&lab, &scheduler, "large", 1)?;
    wait_running(&lab, &scheduler, "a-", 3)?;
    assert_eq!(scheduler.get("/livez")?.0, 200);
    stays_pending(&lab, "odd")
}
