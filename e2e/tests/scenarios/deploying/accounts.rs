//! What the page says that the accounts of scheduler and controllers and users may, sentence by sentence, asked of the
//! API server.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Cluster, Identity, Options, eventually};
use serde_json::json;

use super::{grant_mindcluster, grant_node_lock, run};
use crate::LIMIT;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

const SCHEDULER: &str = Identity::Scheduler.user();
const CONTROLLERS: &str = Identity::Controllers.user();

/// Whether somebody may do something: `verb group:resource/part namespace/name`, each of which may be empty. Without a
/// namespace it is all of them.
fn may(cluster: &Cluster, user: &str, question: &str) -> Result<bool> {
    let words: Vec<&str> = question.split(' ').collect();
    let &[verb, what, place] = words.as_slice() else {
        anyhow::bail!("{question}");
    };
    let (group, what) = what.split_once(':').context("group:resource")?;
    let (resource, part) = what.split_once('/').unwrap_or((what, ""));
    let (namespace, name) = place.split_once('/').context("namespace/name")?;
    let groups: &[&str] = if user.starts_with("system:serviceaccount:") {
        &[
            "system:serviceaccounts",
            "system:serviceaccounts:volcano-system",
            "system:authenticated",
        ]
    } else {
        &["system:authenticated"]
    };
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": user,
            "groups": groups,
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": part,
                "namespace": namespace, "name": name,
            },
        },
    });
    let answer = cluster.rest().create(REVIEWS, &review)?;
    Ok(answer["status"]["allowed"] == true)
}

/// Asks about each line, and each verb of it (`get,list`): what differs from what the page says.
fn differing(cluster: &Cluster, user: &str, allowed: bool, lines: &[&str]) -> Result<()> {
    for line in lines {
        let (verbs, what) = line.split_once(' ').context("a verb")?;
        for verb in verbs.split(',') {
            let found = may(cluster, user, &format!("{verb} {what}"))?;
            ensure!(found == allowed, "{user}: {verb} {what}: allowed: {found}");
        }
    }
    Ok(())
}

#[test]
fn everybody_may_what_the_page_says_and_nothing_else() -> Result<()> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    eventually(LIMIT, "the roles are in force", || {
        let scheduler = may(&cluster, SCHEDULER, "create :pods/binding default/")?;
        let controllers = may(&cluster, CONTROLLERS, "create :pods default/")?;
        let lease = "get coordination.k8s.io:leases volcano-system/vc-controller-manager";
        let lease = may(&cluster, CONTROLLERS, lease)?;
        Ok((scheduler && controllers && lease).then_some(()))
    })?;
    scheduler(&cluster)?;
    controllers(&cluster)?;
    users_of_a_namespace(&cluster)?;
    who_explains(&cluster)?;
    // Grants more, so it comes last.
    arguments_of_plugins(&cluster)
}

fn scheduler(cluster: &Cluster) -> Result<()> {
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
        "patch :pods/status /",
        "delete :pods /",
        "patch scheduling.volcano.sh:podgroups /",
        "patch :persistentvolumes /",
    ];
    differing(cluster, SCHEDULER, true, &written)?;
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
        "get,list,watch,create,update,patch :secrets /",
        "get,list,watch,create,update,patch :configmaps /",
        "get,create,update,patch apiextensions.k8s.io:customresourcedefinitions /",
        "create,update,patch :pods /",
        "create,update,patch,delete :nodes /",
        "patch,update :nodes/status /",
        "update,patch,delete scheduling.volcano.sh:queues /",
        "create,delete scheduling.volcano.sh:podgroups /",
        "get :configmaps volcano-system/another",
    ];
    differing(cluster, SCHEDULER, false, &not)
}

fn controllers(cluster: &Cluster) -> Result<()> {
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
        "list,watch,create,patch,delete batch.volcano.sh:jobs /",
        "list,watch,delete bus.volcano.sh:commands /",
        "create :secrets /",
        "create,patch :services /",
        "create :persistentvolumeclaims /",
    ];
    differing(cluster, CONTROLLERS, true, &written)?;
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
        "get,list,watch,delete,update,patch :secrets /",
        "get,list,delete :configmaps /",
        "delete :services /",
        "delete,update :persistentvolumeclaims /",
        "update,patch,delete :nodes /",
        "create,delete scheduling.volcano.sh:queues /",
        "create bus.volcano.sh:commands /",
    ];
    differing(cluster, CONTROLLERS, false, &not)
}

fn users_of_a_namespace(cluster: &Cluster) -> Result<()> {
    for (user, role) in [("jane", "edit"), ("joe", "view")] {
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={user}"));
        cluster.kubectl(&["create", "rolebinding", &user[7..], &role, &user], "")?;
    }
    eventually(LIMIT, "the page's question is answered", || {
        Ok(run(cluster, "What users may do", 0).ok())
    })?;
    for what in [
        "batch.volcano.sh:jobs",
        "batch.volcano.sh:cronjobs",
        "flow.volcano.sh:jobflows",
        "flow.volcano.sh:jobtemplates",
        "bus.volcano.sh:commands",
        "scheduling.volcano.sh:podgroups",
    ] {
        differing(
            cluster,
            "jane",
            true,
            &[&format!("create,delete {what} default/")],
        )?;
        differing(
            cluster,
            "joe",
            true,
            &[&format!("get,list {what} default/")],
        )?;
        differing(
            cluster,
            "joe",
            false,
            &[&format!("create,delete {what} default/")],
        )?;
    }
    let queues = ["create,update,patch,delete scheduling.volcano.sh:queues /"];
    differing(cluster, "jane", false, &queues)?;
    // The role is for one namespace, and so is what it shows.
    let shown = [
        "queues.scheduling.volcano.sh",
        "hypernodes.topology.volcano.sh",
    ];
    for what in shown {
        ensure!(!lists_all(cluster, "joe", what), "{what}");
    }
    let whole = ["--clusterrole=view", "--user=joe"];
    let binding = ["create", "clusterrolebinding", "joe", whole[0], whole[1]];
    cluster.kubectl(&binding, "")?;
    eventually(LIMIT, "bound in the whole cluster, view shows them", || {
        let all = shown.iter().all(|what| lists_all(cluster, "joe", what));
        Ok(all.then_some(()))
    })
}

/// Whether somebody sees all objects of a kind, by asking for them.
fn lists_all(cluster: &Cluster, user: &str, what: &str) -> bool {
    let user = format!("--as={user}");
    cluster.kubectl(&["get", what, "-A", &user], "").is_ok()
}

/// Who is bound to the role of explain may forward a port and no more.
fn who_explains(cluster: &Cluster) -> Result<()> {
    let asked = [
        "get coordination.k8s.io:leases volcano-system/",
        "get,list :pods volcano-system/",
        "create :pods/portforward volcano-system/",
    ];
    differing(cluster, "jane", false, &asked)?;
    run(cluster, "What users may do", 1)?;
    eventually(LIMIT, "what `pumice explain` asks for is allowed", || {
        Ok(differing(cluster, "jane", true, &asked).ok())
    })?;
    let not = [
        "create :pods/exec volcano-system/",
        "get :secrets volcano-system/",
        "update coordination.k8s.io:leases volcano-system/",
    ];
    differing(cluster, "jane", false, &not)
}

/// What the page has granted for arguments of plugins is that and no more.
fn arguments_of_plugins(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(&["create", "namespace", "mindx-dl"], "")?;
    grant_node_lock(cluster)?;
    grant_mindcluster(cluster)?;
    let granted = [
        "patch :nodes /n",
        "list :configmaps mindx-dl/",
        "get :configmaps mindx-dl/cluster-info-node-cm",
    ];
    eventually(LIMIT, "what is granted is in force", || {
        Ok(differing(cluster, SCHEDULER, true, &granted).ok())
    })?;
    let not = [
        "update :nodes /n",
        "patch :nodes/status /n",
        "delete :nodes /n",
        "patch :configmaps mindx-dl/cluster-info-node-cm",
        "list :configmaps default/",
        "list :secrets mindx-dl/",
    ];
    differing(cluster, SCHEDULER, false, &not)?;
    differing(cluster, CONTROLLERS, false, &granted)
}
