//! Claims of groups (spec/09 §9), made and given back by the controller of claims of Kubernetes itself.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, Options, Scheduler, Setup};
use serde_json::{Value, json};

use super::{NATIVE, native_group, native_member, wait_event, wait_told};
use crate::claims::{CLAIMS, devices};
use crate::{LIMIT, PODS, stays_pending, wait_running};

const TEMPLATES: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates";

/// A template of claims of one GPU.
fn make_template(lab: &Lab, name: &str) -> Result<()> {
    let request = json!({"name": "gpu", "exactly": {"deviceClassName": "gpu"}});
    let template = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    });
    lab.rest().create(TEMPLATES, &template)?;
    Ok(())
}

/// A gang whose pods share a claim of a GPU.
fn make_sharing(lab: &Lab, name: &str, count: usize) -> Result<()> {
    let claim = json!({"name": "gpu", "resourceClaimTemplateName": "shared"});
    let spec = json!({
        "schedulingPolicy": {"gang": {"minCount": count}},
        "resourceClaims": [claim],
    });
    lab.rest().create(NATIVE, &native_group(name, &spec))?;
    let pods = (0..count).map(|n| member(&format!("{name}-{n}"), name, "shared"));
    lab.rest().create_all(PODS, pods.collect(), 16)
}

/// A pod of a group with a claim of a template, which it calls like the group's.
fn member(name: &str, group: &str, template: &str) -> Value {
    let mut pod = native_member(name, group);
    let spec = &mut pod["spec"];
    spec["resourceClaims"] = json!([{"name": "gpu", "resourceClaimTemplateName": template}]);
    spec["containers"][0]["resources"]["claims"] = json!([{"name": "gpu"}]);
    pod
}

/// Claims that belong to a pod or PodGroup.
fn claims_of(lab: &Lab, kind: &str, name: &str) -> Result<Vec<Value>> {
    let is_owner = |owner: &Value| owner["kind"] == kind && owner["name"] == name;
    let mut all = lab.rest().list(CLAIMS)?;
    all.retain(|claim| {
        let owners = claim["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| owners.iter().any(is_owner))
    });
    Ok(all)
}

/// The one claim of a PodGroup.
fn claim_of(lab: &Lab, group: &str) -> Result<Value> {
    let mut all = claims_of(lab, "PodGroup", group)?;
    ensure!(all.len() == 1, "{group} has {} claims", all.len());
    all.pop().context("a claim")
}

/// The device of the claim of a PodGroup, which is reserved for that and for nobody else.
fn device_of(lab: &Lab, group: &str) -> Result<String> {
    let uid = lab.rest().get(&format!("{NATIVE}/{group}"))?["metadata"]["uid"].clone();
    let status = claim_of(lab, group)?["status"].clone();
    let expected = json!([{
        "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": group, "uid": uid,
    }]);
    ensure!(status["reservedFor"] == expected, "{status}");
    let device = status["allocation"]["devices"]["results"][0]["device"].as_str();
    Ok(device.context("a device")?.to_owned())
}

fn start() -> Result<(Lab, Scheduler)> {
    let lab = Lab::start(Options {
        with_claim_controller: true,
        ..Options::default()
    })?;
    lab.nodes(2, "4", "64Gi")?;
    devices(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    Ok((lab, scheduler))
}

#[test]
fn pods_of_a_gang_share_the_claim_of_their_group_which_has_its_device_until_the_group_is_gone()
-> Result<()> {
    let (lab, mut scheduler) = start()?;
    for template in ["shared", "own"] {
        make_template(&lab, template)?;
    }
    make_sharing(&lab, "first", 2)?;
    wait_running(&lab, &scheduler, "first-", 2)?;
    let device = device_of(&lab, "first")?;
    let mut nodes = lab.bound("first-")?.into_values();
    ensure!(nodes.all(|node| node == "n-0"), "the devices are on n-0");
    // Another template under the same name is a claim of the pod itself.
    lab.rest()
        .create(PODS, &member("first-own", "first", "own"))?;
    wait_running(&lab, &scheduler, "first-", 3)?;
    let own = claims_of(&lab, "Pod", "first-own")?
        .pop()
        .context("a claim")?;
    let users = &own["status"]["reservedFor"];
    ensure!(
        users[0]["resource"] == "pods" && users[0]["name"] == "first-own",
        "{users}"
    );

    // Four pods need one device on the one node that has it, and one of its CPUs is left: nothing is written.
    // Pods made in the same second have no order, so any of them can be the one without room.
    make_sharing(&lab, "whole", 4)?;
    wait_told(&lab, &scheduler, "whole-", "Insufficient cpu")?;
    stays_pending(&lab, "whole-")?;
    let status = claim_of(&lab, "whole")?["status"].clone();
    ensure!(
        status["allocation"].is_null() && status["reservedFor"].is_null(),
        "{status}"
    );

    // Another process knows for whom the device is, whose pods are gone and whose group is not.
    scheduler.process().kill();
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    for pod in ["first-0", "first-1", "first-own"] {
        lab.delete(&format!("{PODS}/{pod}"))?;
    }
    wait_running(&lab, &scheduler, "whole-", 4)?;
    let other = device_of(&lab, "whole")?;
    ensure!(
        other != device && device_of(&lab, "first")? == device,
        "{device}, {other}"
    );
    lab.delete(&format!("{NATIVE}/first"))?;
    scheduler.eventually(LIMIT, "the claim of a group that is gone goes", || {
        Ok(claims_of(&lab, "PodGroup", "first")?
            .is_empty()
            .then_some(()))
    })
}

#[test]
fn what_keeps_the_claim_of_a_group_from_being_made_is_told_where_one_looks() -> Result<()> {
    let (lab, scheduler) = start()?;
    make_sharing(&lab, "early", 1)?;
    let part = "is not made yet: kube-controller-manager makes it for PodGroup early";
    wait_told(&lab, &scheduler, "early-0", part)?;
    let why = wait_event(&lab, &scheduler, "early", "FailedResourceClaimCreation")?;
    ensure!(why.contains("resource claim template \"shared\""), "{why}");
    make_template(&lab, "shared")?;
    wait_running(&lab, &scheduler, "early-", 1)?;
    device_of(&lab, "early").map(|_| ())
}
