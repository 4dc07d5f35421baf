//! In place of Volcano's controllers: under their role, and with Jobs they have begun. And objects of
//! somebody else in the place of the Job's.

use std::path::Path;

use anyhow::{Result, ensure};
use pumice_e2e::Lab;
use serde_json::{Value, json};

use super::{JOBS, both, job, phase};
use crate::{LIMIT, LONG, wait_running_for};

/// What Volcano's chart grants its controllers of what Jobs need: group, resources, verbs.
const GRANTS: [(&str, &str, &str); 13] = [
    (
        "batch.volcano.sh",
        "jobs cronjobs",
        "create get list watch update delete",
    ),
    (
        "batch.volcano.sh",
        "jobs/status jobs/finalizers cronjobs/status cronjobs/finalizers",
        "update patch",
    ),
    ("bus.volcano.sh", "commands", "get list watch delete"),
    ("", "events", "create list watch update patch"),
    ("", "pods", "create get list watch delete patch update"),
    ("", "persistentvolumeclaims", "get list watch create"),
    ("", "services", "get list watch create delete"),
    ("", "configmaps", "get list watch create delete update"),
    ("", "secrets", "get create delete update"),
    (
        "scheduling.volcano.sh",
        "podgroups queues queues/status",
        "get list watch create delete update patch",
    ),
    ("networking.k8s.io", "networkpolicies", "get create delete"),
    ("apps", "replicasets statefulsets", "get list watch"),
    ("scheduling.k8s.io", "priorityclasses", "get list watch"),
];

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const EVENTS: &str = "/api/v1/namespaces/default/events";

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[test]
fn under_the_role_of_volcano_jobs_with_claims_and_lists_of_hosts_run_and_grow() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.will_change_installation();
    lab.nodes(2, "10", "64Gi")?;
    let rules = GRANTS.map(|(group, resources, verbs)| {
        json!({"apiGroups": [group], "resources": words(resources), "verbs": words(verbs)})
    });
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/volcano-controllers";
    lab.rest().patch(role, &json!({ "rules": rules }))?;
    let (controllers, scheduler) = both(&lab)?;
    let mut grows = job("grows", 2);
    grows["spec"]["plugins"] = json!({"svc": [], "ssh": []});
    let claim =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let mut claims = job("claims", 1);
    claims["spec"]["volumes"] = json!([{"mountPath": "/a", "volumeClaim": claim}]);
    // As Volcano's controllers leave it behind.
    let mut begun = claims.clone();
    begun["metadata"]["name"] = json!("begun");
    begun["spec"]["volumes"][0]["volumeClaimName"] = json!("begun-pvc-kv4nwni869fk");
    for job in [&grows, &claims, &begun] {
        lab.rest().create(JOBS, job)?;
    }
    wait_running_for(LONG, &lab, &scheduler, "grows-worker-", 2)
        .map_err(|error| controllers.explain(error))?;
    for (name, prefix) in [
        ("claims", "claims-pvc-"),
        ("begun", "begun-pvc-kv4nwni869fk"),
    ] {
        controllers.eventually(LIMIT, "the Job has its claim and its pod", || {
            let job = lab.rest().get(&format!("{JOBS}/{name}"))?;
            let claim = job["spec"]["volumes"][0]["volumeClaimName"].as_str();
            let is_named = claim.is_some_and(|claim| claim.starts_with(prefix));
            let pod = format!("{}/{name}-worker-0", crate::PODS);
            Ok((is_named && lab.rest().get(&pod).is_ok()).then_some(()))
        })?;
    }
    let path = format!("{JOBS}/grows");
    let mut grown = lab.rest().get(&path)?;
    grown["spec"]["tasks"][0]["replicas"] = json!(3);
    lab.rest().call(http::Method::PUT, &path, Some(&grown))?;
    wait_running_for(LONG, &lab, &scheduler, "grows-worker-", 3)
        .map_err(|error| controllers.explain(error))?;
    let map = lab.rest().get(&format!("{MAPS}/grows-svc"))?;
    assert_eq!(map["data"]["VC_WORKER_NUM"], "3");
    Ok(())
}

#[test]
fn a_service_and_a_config_map_of_somebody_else_are_left_alone_and_that_is_told() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let commands = "kubectl create configmap taken-svc --from-literal=a=b
kubectl create service clusterip taken --tcp=80";
    lab.cluster().shell(Path::new("."), commands)?;
    let (controllers, scheduler) = both(&lab)?;
    let mut taken = job("taken", 1);
    taken["spec"]["plugins"] = json!({"svc": []});
    lab.rest().create(JOBS, &taken)?;
    wait_running_for(LONG, &lab, &scheduler, "taken-worker-", 1)
        .map_err(|error| controllers.explain(error))?;
    let told = controllers.eventually(LIMIT, "it is told", || {
        let events = lab.rest().list(EVENTS)?;
        let told = events.iter().find(|event| event["reason"] == "NameTaken");
        Ok(told.map(|event| event["message"].clone()))
    })?;
    let expected = "not of this Job, but there already: ConfigMap default/taken-svc, Service \
                    default/taken;";
    ensure!(
        told.as_str().is_some_and(|told| told.starts_with(expected)),
        "{told}"
    );
    let map: Value = lab.rest().get(&format!("{MAPS}/taken-svc"))?;
    assert_eq!(map["data"], json!({"a": "b"}));
    ensure!(phase(&lab, "taken")? == "Running");
    lab.delete(&format!("{MAPS}/taken-svc"))?;
    lab.delete(&format!("{SERVICES}/taken"))
}
