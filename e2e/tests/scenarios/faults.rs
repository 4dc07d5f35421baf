//! Objects that vanish in the middle, and writes that are refused.

use anyhow::{Context, Result, ensure};
use http::Method;
use pumice_e2e::{Identity, Lab, LabGuard, Rest, Scheduler, Setup, eventually, is_status};
use serde_json::{Value, json};

use crate::{
    LIMIT, LONG, PODS, bare_pod, behind_proxy, binds_of, hold_binds, no_node_is_overfull,
    stays_pending, wait_running, wait_running_for,
};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1";

/// Refuses requests for these resources unless the expression holds.
fn deny(lab: &LabGuard, name: &str, resource: &str, operation: &str, unless: &str) -> Result<()> {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"],
                "operations": [operation], "resources": [resource],
            }]},
            "validations": [{
                "expression": unless, "reason": "Forbidden", "message": "exceeded quota: e2e",
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    lab.rest()
        .create(&format!("{POLICIES}/validatingadmissionpolicies"), &policy)?;
    lab.rest().create(
        &format!("{POLICIES}/validatingadmissionpolicybindings"),
        &binding,
    )?;
    Ok(())
}

fn allow(lab: &LabGuard, name: &str) -> Result<()> {
    lab.delete(&format!(
        "{POLICIES}/validatingadmissionpolicybindings/{name}"
    ))?;
    lab.delete(&format!("{POLICIES}/validatingadmissionpolicies/{name}"))
}

/// Refuses Bindings of pods whose name begins with `denied`, and waits until that is in force.
fn deny_binds(lab: &LabGuard) -> Result<()> {
    let unless = "!object.metadata.name.startsWith('denied')";
    deny(lab, "binds", "pods/binding", "CREATE", unless)?;
    let mut probe = bare_pod("denied-probe", None);
    probe["spec"]["schedulerName"] = json!("nobody");
    lab.rest().create(PODS, &probe)?;
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": "denied-probe"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n-0"},
    });
    let path = format!("{PODS}/denied-probe/binding?dryRun=All");
    eventually(LIMIT, "the policy is in force", || {
        match lab.rest().create(&path, &binding) {
            Err(error) if is_status(&error, 403) => Ok(Some(())),
            other => other.map(|_| None),
        }
    })?;
    lab.delete(&format!("{PODS}/denied-probe"))
}

#[test]
fn a_pod_whose_bind_is_denied_holds_up_nobody_and_runs_when_it_is_allowed() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "10", "64Gi")?;
    deny_binds(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(PODS, &bare_pod("denied", Some("1")))?;
    lab.gang("a", "default", 10, 10)?;
    wait_running(&lab, &scheduler, "a-", 10)?;
    stays_pending(&lab, "denied")?;
    allow(&lab, "binds")?;
    wait_running_for(LONG, &lab, &scheduler, "denied", 1)
}

#[test]
fn a_gang_with_one_denied_bind_is_completed_when_it_is_allowed() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "4", "64Gi")?;
    deny_binds(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("denied", "default", 4, 4)?;
    stays_pending(&lab, "denied-")?;
    allow(&lab, "binds")?;
    wait_running_for(LONG, &lab, &scheduler, "denied-", 4)?;
    no_node_is_overfull(&lab)
}

#[test]
fn a_scheduler_that_may_not_write_pod_status_still_binds() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let user = Identity::Scheduler.user();
    let unless = format!("request.userInfo.username != '{user}'");
    deny(&lab, "status", "pods/status", "UPDATE", &unless)?;
    lab.rest().create(PODS, &bare_pod("huge", Some("40")))?;
    let own = Rest::new(lab.cluster().client(Identity::Scheduler)?);
    let patch: Value = json!({"status": {"reason": "probe"}});
    eventually(LIMIT, "the policy is in force", || {
        match own.call(
            Method::PATCH,
            &format!("{PODS}/huge/status?dryRun=All"),
            Some(&patch),
        ) {
            Err(error) if is_status(&error, 403) => Ok(Some(())),
            other => other.map(|_| None),
        }
    })?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("a", "default", 4, 4)?;
    wait_running(&lab, &scheduler, "a-", 4)?;
    assert_eq!(scheduler.get("/livez")?.0, 200);
    Ok(())
}

#[test]
fn a_pod_deleted_while_it_is_being_bound_is_forgotten() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "2", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let seconds = std::time::Duration::from_secs(3);
    proxy.inject(1, pumice_e2e::Fault::Delay(seconds), binds_of("gone"));
    lab.rest().create(PODS, &bare_pod("gone", Some("2")))?;
    scheduler.eventually(LIMIT, "the bind is under way", || {
        Ok((proxy.hits() == 1).then_some(()))
    })?;
    lab.delete(&format!("{PODS}/gone"))?;
    // Its room is free again.
    lab.rest().create(PODS, &bare_pod("next", Some("2")))?;
    wait_running(&lab, &scheduler, "next", 1)?;
    no_node_is_overfull(&lab)
}

#[test]
fn a_pod_made_anew_under_the_same_name_is_not_bound_by_an_old_decision() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "2", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let seconds = std::time::Duration::from_secs(3);
    proxy.inject(1, pumice_e2e::Fault::Delay(seconds), binds_of("again"));
    lab.rest().create(PODS, &bare_pod("again", Some("1")))?;
    scheduler.eventually(LIMIT, "the bind is under way", || {
        Ok((proxy.hits() == 1).then_some(()))
    })?;
    lab.delete(&format!("{PODS}/again"))?;
    // Too large for every node, so any bind of it would be that of its predecessor.
    lab.rest().create(PODS, &bare_pod("again", Some("40")))?;
    lab.rest().create(PODS, &bare_pod("other", Some("2")))?;
    wait_running(&lab, &scheduler, "other", 1)?;
    std::thread::sleep(seconds);
    stays_pending(&lab, "again")
}

#[test]
fn a_node_deleted_while_pods_are_being_bound_to_it_stops_nobody() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    hold_binds(&proxy, "a-");
    lab.gang("a", "default", 4, 4)?;
    scheduler.eventually(LIMIT, "binds are under way", || {
        Ok((proxy.hits() > 0).then_some(()))
    })?;
    lab.delete("/api/v1/nodes/n-0")?;
    let node = pumice_e2e::NodeShape::default().object("other");
    lab.rest().create("/api/v1/nodes", &node)?;
    lab.gang("b", "default", 4, 4)?;
    wait_running(&lab, &scheduler, "b-", 4)?;
    let places = lab.bound("b-")?;
    ensure!(places.values().all(|node| node == "other"), "{places:?}");
    let (status, text) = scheduler.get("/livez").context("the scheduler answers")?;
    ensure!(status == 200, "/livez: {status} {text}");
    Ok(())
}
