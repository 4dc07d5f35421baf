//! What the page says that the accounts of scheduler and controllers may, sentence by sentence, asked of the API server.

use anyhow::{Context, Result};
use pumice_e2e::{Cluster, Identity, Options, eventually};
use serde_json::json;

use super::{grant_mindcluster, grant_node_lock, run};
use crate::LIMIT;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Whether an account may do something: `verb group:resource/part namespace/name`, each of which may be empty.
fn may(cluster: &Cluster, account: Identity, question: &str) -> Result<bool> {
    let words: Vec<&str> = question.split(' ').collect();
    let &[verb, what, place] = words.as_slice() else {
        anyhow::bail!("{question}");
    };
    let (group, what) = what.split_once(':').context("group:resource")?;
    let (resource, part) = what.split_once('/').unwrap_or((what, ""));
    let (namespace, name) = place.split_once('/').context("namespace/name")?;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": account.user(),
            "groups": ["system:serviceaccounts", "system:serviceaccounts:volcano-system", "system:authenticated"],
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": part,
                "namespace": namespace, "name": name,
            },
        },
    });
    let answer = cluster.rest().create(REVIEWS, &review)?;
    Ok(answer["status"]["allowed"] == true)
}

/// Asks about each line: what differs from what the page says.
fn differing(cluster: &Cluster, account: Identity, allowed: bool, lines: &[&str]) -> Result<()> {
    for line in lines {
        let found = may(cluster, account, line)?;
        anyhow::ensure!(found == allowed, "{line}: allowed: {found}");
    }
    Ok(())
}

fn installed() -> Result<Cluster> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    eventually(LIMIT, "the roles are in force", || {
        let scheduler = may(
            &cluster,
            Identity::Scheduler,
            "create :pods/binding default/",
        )?;
        let controllers = may(&cluster, Identity::Controllers, "create :pods default/")?;
        let lease = "get coordination.k8s.io:leases volcano-system/vc-controller-manager";
        let lease = may(&cluster, Identity::Controllers, lease)?;
        Ok((scheduler && controllers && lease).then_some(()))
    })?;
    Ok(cluster)
}

#[test]
fn the_scheduler_may_what_the_page_says_and_nothing_else() -> Result<()> {
    let cluster = installed()?;
    let written = [
        "create :pods/binding default/",
        "patch :pods/status default/p",
        "create :pods/eviction default/p",
        "delete :pods default/p",
        "patch scheduling.volcano.sh:podgroups default/g",
        "patch scheduling.volcano.sh:queues/status /q",
        "create scheduling.volcano.sh:queues /",
        "patch shard.volcano.sh:nodeshards/status /s",
        "patch :persistentvolumeclaims default/c",
        "patch :persistentvolumes /v",
        "patch resource.k8s.io:resourceclaims default/c",
        "update resource.k8s.io:resourceclaims/status default/c",
        "update resource.k8s.io:resourceclaims/binding default/c",
        "create :events default/",
        "get coordination.k8s.io:leases volcano-system/vc-controller-manager",
        "update coordination.k8s.io:leases volcano-system/volcano",
        "get :configmaps volcano-system/volcano-scheduler-configmap",
        "watch :configmaps kube-system/volcano-vgpu-device-config",
        "watch :configmaps kube-system/hami-scheduler-device",
        "create authentication.k8s.io:tokenreviews /",
        "create authorization.k8s.io:subjectaccessreviews /",
    ];
    differing(&cluster, Identity::Scheduler, true, &written)?;
    let not = [
        "update coordination.k8s.io:leases volcano-system/vc-controller-manager",
        "get coordination.k8s.io:leases volcano-system/another",
        "update coordination.k8s.io:leases kube-system/kube-scheduler",
        "list :configmaps volcano-system/",
        "patch :configmaps volcano-system/volcano-scheduler-configmap",
        "list :configmaps kube-system/",
        "get :configmaps mindx-dl/cluster-info-node-cm",
        "get :secrets default/s",
        "create :secrets default/",
        "patch :pods default/p",
        "create :pods default/",
        "create :pods/exec default/p",
        "create :serviceaccounts/token default/default",
        "patch :nodes /n",
        "patch :nodes/status /n",
        "patch scheduling.volcano.sh:queues /q",
        "delete resource.k8s.io:resourceclaims default/c",
        "patch shard.volcano.sh:nodeshards /s",
        "patch apiextensions.k8s.io:customresourcedefinitions /c",
        "create rbac.authorization.k8s.io:clusterroles /",
        "impersonate :users /jane",
    ];
    differing(&cluster, Identity::Scheduler, false, &not)
}

#[test]
fn what_the_page_has_granted_for_arguments_of_plugins_is_that_and_no_more() -> Result<()> {
    let cluster = installed()?;
    cluster.kubectl(&["create", "namespace", "mindx-dl"], "")?;
    grant_node_lock(&cluster)?;
    grant_mindcluster(&cluster)?;
    let granted = [
        "patch :nodes /n",
        "list :configmaps mindx-dl/",
        "get :configmaps mindx-dl/cluster-info-node-cm",
    ];
    eventually(LIMIT, "what is granted is in force", || {
        Ok(differing(&cluster, Identity::Scheduler, true, &granted).ok())
    })?;
    let not = [
        "update :nodes /n",
        "patch :nodes/status /n",
        "delete :nodes /n",
        "patch :configmaps mindx-dl/cluster-info-node-cm",
        "list :configmaps default/",
        "list :secrets mindx-dl/",
    ];
    differing(&cluster, Identity::Scheduler, false, &not)?;
    differing(&cluster, Identity::Controllers, false, &granted)
}

#[test]
fn the_controllers_may_what_the_page_says_and_nothing_else() -> Result<()> {
    let cluster = installed()?;
    let written = [
        "create :pods default/",
        "patch :pods default/p",
        "delete :pods default/p",
        "create scheduling.volcano.sh:podgroups default/",
        "patch scheduling.volcano.sh:podgroups default/g",
        "create batch.volcano.sh:jobs default/",
        "create :configmaps default/",
        "patch :configmaps default/c",
        "patch :services default/s",
        "patch networking.k8s.io:networkpolicies default/n",
        "create :secrets default/",
        "create :persistentvolumeclaims default/",
        "create topology.volcano.sh:hypernodes /",
        "delete bus.volcano.sh:commands default/c",
        "patch batch.volcano.sh:jobs/status default/j",
        "update batch.volcano.sh:cronjobs/status default/j",
        "update flow.volcano.sh:jobflows/status default/f",
        "update flow.volcano.sh:jobtemplates/status default/t",
        "patch scheduling.volcano.sh:queues /q",
        "patch scheduling.volcano.sh:queues/status /q",
        "patch topology.volcano.sh:hypernodes/status /h",
        "update coordination.k8s.io:leases volcano-system/vc-controller-manager",
        "get :configmaps volcano-system/volcano-controller-configmap",
        "list admissionregistration.k8s.io:validatingadmissionpolicies /",
        "create authentication.k8s.io:tokenreviews /",
        "create authorization.k8s.io:subjectaccessreviews /",
    ];
    differing(&cluster, Identity::Controllers, true, &written)?;
    let not = [
        "update coordination.k8s.io:leases volcano-system/volcano",
        "get coordination.k8s.io:leases kube-system/kube-controller-manager",
        "get :configmaps volcano-system/volcano-scheduler-configmap",
        "get :configmaps default/c",
        "list :configmaps kube-system/",
        "get :secrets default/s",
        "list :secrets volcano-system/",
        "patch :secrets default/j-ssh",
        "delete :secrets default/j-ssh",
        "delete :persistentvolumeclaims default/c",
        "create :pods/binding default/",
        "create :pods/exec default/p",
        "create :serviceaccounts/token default/default",
        "patch :nodes /n",
        "patch :nodes/status /n",
        "create scheduling.volcano.sh:queues /",
        "delete scheduling.volcano.sh:queues /q",
        "create bus.volcano.sh:commands default/",
        "patch admissionregistration.k8s.io:validatingadmissionpolicies /pumice-commands",
        "create rbac.authorization.k8s.io:clusterroles /",
        "impersonate :users /jane",
    ];
    differing(&cluster, Identity::Controllers, false, &not)
}
