//! Gangs of workloads whose PodGroup comes after their pods: made by the (simulated) PodGroup
//! controller of Volcano from an annotation of the workload, or by nobody.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{
    Lab, LabGuard, PodGroupController, PodGroupSetup, Rest, Scheduler, Setup, each_at_once,
};
use serde_json::{Value, json};

use crate::{GROUPS, LIMIT, PODS, QUIET, stays_pending, wait_bound, wait_running};

const KINDS: [&str; 4] = ["Job", "Deployment", "ReplicaSet", "StatefulSet"];

/// Creates workload `w`: four pods of one CPU, which are a gang of four by its annotation.
fn create(lab: &LabGuard, kind: &str) -> Result<()> {
    let (api, plural) = match kind {
        "Job" => ("batch/v1", "jobs"),
        "Deployment" => ("apps/v1", "deployments"),
        "ReplicaSet" => ("apps/v1", "replicasets"),
        _ => ("apps/v1", "statefulsets"),
    };
    let container = json!({
        "name": "main", "image": "example.com/none", "resources": {"requests": {"cpu": "1"}},
    });
    let mut template = json!({
        "metadata": {"labels": {"app": "w"}},
        "spec": {"schedulerName": "volcano", "containers": [container]},
    });
    let mut spec = match kind {
        "Job" => json!({"parallelism": 4, "completions": 4}),
        _ => json!({"replicas": 4, "selector": {"matchLabels": {"app": "w"}}}),
    };
    match kind {
        "Job" => template["spec"]["restartPolicy"] = json!("Never"),
        "StatefulSet" => spec["podManagementPolicy"] = json!("Parallel"),
        _ => {}
    }
    spec["template"] = template;
    let annotations = json!({"scheduling.volcano.sh/group-min-member": "4"});
    let object = json!({
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "w", "annotations": annotations},
        "spec": spec,
    });
    let path = format!("/apis/{api}/namespaces/default/{plural}");
    lab.rest().create(&path, &object)?;
    Ok(())
}

fn controller(lab: &LabGuard, setup: PodGroupSetup) -> PodGroupController {
    PodGroupController::start(Rest::clone(lab.rest()), setup)
}

/// One that makes PodGroups a second after the pods.
const USUAL: PodGroupSetup = PodGroupSetup {
    delay: Some(Duration::from_secs(1)),
    lease_s: Some(15),
};

fn pods(lab: &LabGuard) -> Result<Vec<Value>> {
    lab.rest().list(PODS)
}

fn uids(lab: &LabGuard) -> Result<BTreeSet<String>> {
    let pods = pods(lab)?.into_iter();
    Ok(pods.map(|pod| pod["metadata"]["uid"].to_string()).collect())
}

/// Waits until the four pods are members of a PodGroup; its phase.
fn wait_grouped(lab: &LabGuard, scheduler: &Scheduler) -> Result<()> {
    scheduler.eventually(LIMIT, "four pods have a PodGroup", || {
        let is_member = |pod: &&Value| {
            let name = &pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"];
            name.as_str()
                .is_some_and(|name| name.starts_with("podgroup-"))
        };
        Ok((pods(lab)?.iter().filter(is_member).count() == 4).then_some(()))
    })
}

#[test]
fn a_gang_whose_podgroup_comes_late_is_bound_as_a_whole_or_not_at_all() -> Result<()> {
    each_at_once(&KINDS, KINDS.len(), |kind| {
        let lab = Lab::take()?;
        lab.nodes(3, "1", "8Gi")?;
        let _controller = controller(&lab, USUAL);
        let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
        create(&lab, kind)?;
        wait_grouped(&lab, &scheduler)?;
        stays_pending(&lab, "w-")?;
        let groups = lab.rest().list(GROUPS)?;
        ensure!(groups.len() == 1, "{kind}: {groups:?}");
        let phase = &groups[0]["status"]["phase"];
        ensure!(phase == "Pending", "{kind}: {phase}");
        let before = uids(&lab)?;
        let more = pumice_e2e::NodeShape::default().object("more");
        lab.rest().create("/api/v1/nodes", &more)?;
        wait_running(&lab, &scheduler, "w-", 4)?;
        ensure!(uids(&lab)? == before, "{kind}: pods were made anew");
        Ok(())
    })
    .map(|_| ())
}

#[test]
fn without_a_podgroup_controller_each_pod_is_bound_by_itself_and_a_late_group_kills_none()
-> Result<()> {
    each_at_once(&KINDS, KINDS.len(), |kind| {
        let lab = Lab::take()?;
        lab.nodes(3, "1", "8Gi")?;
        let setup = Setup {
            flags: vec!["--partial-gang-deadline=2s".to_owned()],
            ..Setup::default()
        };
        let scheduler = Scheduler::start(lab.cluster(), &setup)?;
        create(&lab, kind)?;
        wait_running(&lab, &scheduler, "w-", 3)?;
        let before = uids(&lab)?;
        // Volcano's controllers are installed afterwards, and make a gang of the four.
        let _controller = controller(&lab, USUAL);
        wait_grouped(&lab, &scheduler)?;
        std::thread::sleep(Duration::from_secs(6));
        ensure!(uids(&lab)? == before, "{kind}: pods were deleted");
        wait_running(&lab, &scheduler, "w-", 3)?;
        let log = scheduler.log();
        ensure!(!log.contains("is given up"), "{kind}: {log}");
        Ok(())
    })
    .map(|_| ())
}

#[test]
fn a_pod_says_what_it_waits_for_until_the_podgroup_controller_is_gone() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(3, "1", "8Gi")?;
    let controller = controller(
        &lab,
        PodGroupSetup {
            delay: None,
            lease_s: Some(1),
        },
    );
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    create(&lab, "ReplicaSet")?;
    scheduler.eventually(LIMIT, "the pods say that they wait", || {
        let says = |pod: &&Value| {
            let conditions = pod["status"]["conditions"].to_string();
            conditions.contains(
                "waits for its PodGroup: vc-controller-manager is alive (lease \
                 volcano-system/vc-controller-manager) and makes one for pods of ReplicaSet w.",
            )
        };
        Ok((pods(&lab)?.iter().filter(says).count() == 4).then_some(()))
    })?;
    std::thread::sleep(QUIET);
    stays_pending(&lab, "w-")?;
    drop(controller);
    wait_bound(&lab, &scheduler, "w-", 3)
}

#[test]
fn controllers_without_election_are_known_by_their_pod() -> Result<()> {
    const OF_VOLCANO: &str = "/api/v1/namespaces/volcano-system/pods";
    let lab = Lab::take()?;
    lab.nodes(3, "1", "8Gi")?;
    let container = json!({"name": "main", "image": "example.com/vc-controller-manager"});
    let pod = json!({
        "metadata": {"name": "volcano-controllers-a", "labels": {"app": "volcano-controller"}},
        "spec": {"nodeName": "n-0", "containers": [container]},
    });
    lab.rest()
        .create(OF_VOLCANO, &pumice_e2e::restricted(pod))?;
    let name = "pod volcano-system/volcano-controllers-a";
    let _controller = controller(
        &lab,
        PodGroupSetup {
            lease_s: None,
            ..USUAL
        },
    );
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    scheduler.eventually(LIMIT, "the controllers are found", || {
        Ok(scheduler.log().contains(name).then_some(()))
    })?;
    create(&lab, "Job")?;
    wait_grouped(&lab, &scheduler)?;
    stays_pending(&lab, "w-")?;
    lab.rest()
        .delete_now(&format!("{OF_VOLCANO}/volcano-controllers-a"))?;
    let more = pumice_e2e::NodeShape::default().object("more");
    lab.rest().create("/api/v1/nodes", &more)?;
    wait_running(&lab, &scheduler, "w-", 4)
}
