//! What the accounts of the scheduler and of the controllers may write, tried as these.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Controllers, Identity, Lab, LabGuard, Rest, Setup, eventually};
use serde_json::{Value, json};

use super::{QUEUES, create_by, queue, refused};
use crate::{LIMIT, LONG, PODS, bare_pod};

const COMMANDS: &str = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands";
const EVENTS: &str = "/api/v1/namespaces/default/events";

/// Has it judge a merge patch of an account, which need not be able to read the object.
fn patch(rest: &Rest, path: &str, change: &Value) -> Result<String> {
    let object = rest.patch(&format!("{path}?dryRun=All"), change)?;
    Ok(object.to_string())
}

/// The API as this account sees it.
fn of(lab: &LabGuard, user: Identity) -> Result<Rest> {
    Ok(Rest::new(lab.cluster().client(user)?))
}

#[test]
fn of_a_pod_the_scheduler_writes_its_own_marks_and_conditions_and_nothing_else() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let mut pod = bare_pod("marked", None);
    pod["metadata"]["annotations"] = json!({"example.com/team": "a"});
    lab.rest().create(PODS, &pod)?;
    let rest = of(&lab, Identity::Scheduler)?;
    let change = |part: &str, change: Value| patch(&rest, &format!("{PODS}/marked{part}"), &change);
    const STATUS: &str = "/status";
    let mark = json!({"metadata": {"annotations": {"volcano.sh/devices-to-allocate": ""}}});
    eventually(LIMIT, "the policy is in force", || {
        let other = json!({"metadata": {"annotations": {"example.com/team": "b"}}});
        refused(change(STATUS, other), "the marks of devices")?;
        Ok(Some(()))
    })?;
    change(STATUS, mark.clone()).context("the mark")?;
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
    change(STATUS, json!({"status": {"conditions": [condition]}})).context("a condition")?;
    change(STATUS, json!({"status": {"nominatedNodeName": "n"}})).context("a nomination")?;
    for (other, words) in [
        (
            json!({"metadata": {"labels": {"a": "b"}}}),
            "the marks of devices",
        ),
        (
            json!({"metadata": {"finalizers": ["example.com/stay"]}}),
            "the marks of devices",
        ),
        (
            json!({"metadata": {"annotations": null}}),
            "the marks of devices",
        ),
        (
            json!({"status": {"phase": "Running"}}),
            "conditions and the nominated node",
        ),
        (
            json!({"status": {"podIPs": [{"ip": "10.0.0.1"}], "podIP": "10.0.0.1"}}),
            "conditions and",
        ),
    ] {
        refused(change(STATUS, other.clone()), words).with_context(|| other.to_string())?;
    }
    // Its image, for one.
    let image = json!({"spec": {"containers": [{"name": "main", "image": "example.com/other"}]}});
    for change_of_pod in [mark, image] {
        refused(change("", change_of_pod), "cannot patch resource \"pods\"")?;
    }
    Ok(())
}

/// An object that names its owner.
fn owned(kind: &str, name: &str, namespace: &str, owner: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner]},
    })
}

#[test]
fn the_controllers_write_what_jobs_own_and_no_secret_of_anybody_else() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let uid = "5e0b5e0b-0000-4000-8000-000000000000";
    let owner = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": uid,
    });
    let other = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid});
    let create = |object: &Value| create_by(&lab, Identity::Controllers.user(), object);
    eventually(LIMIT, "the policies are in force", || {
        let secret = owned("Secret", "j-ssh", "default", &other);
        refused(create(&secret), "not owned by a Job")?;
        Ok(Some(()))
    })?;
    create(&owned("Secret", "j-ssh", "default", &owner))?;
    create(&owned("ConfigMap", "j-svc", "default", &owner))?;
    for namespace in ["kube-system", "kube-public", "volcano-system"] {
        let secret = owned("Secret", "j-ssh", namespace, &owner);
        refused(
            create(&secret),
            &format!("no Secret in the namespace {namespace}"),
        )?;
    }
    let mut token = owned("Secret", "j-ssh", "default", &owner);
    token["type"] = json!("kubernetes.io/service-account-token");
    token["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": "default"});
    refused(create(&token), "the keys of the plugin ssh")?;
    refused(
        create(&owned("Secret", "token", "default", &owner)),
        "the keys of the plugin ssh",
    )?;
    refused(
        create(&owned("ConfigMap", "j-svc", "default", &other)),
        "no ConfigMap",
    )?;
    judge_what_is_there(&lab, owner)
}

/// What exists already is not theirs to read, and to change only what a Job owns.
fn judge_what_is_there(lab: &LabGuard, owner: Value) -> Result<()> {
    let commands = "kubectl create secret generic theirs --from-literal=a=b
kubectl create configmap theirs --from-literal=a=b";
    let folder = lab.cluster().folder().to_owned();
    lab.cluster().shell(&folder, commands)?;
    let rest = of(lab, Identity::Controllers)?;
    let change = |kind: &str, change: &Value| {
        patch(
            &rest,
            &format!("/api/v1/namespaces/default/{kind}/theirs"),
            change,
        )
    };
    let looks = || -> Result<()> {
        // A patch that changes nothing would show it.
        refused(change("secrets", &json!({})), "cannot")?;
        for verb in ["get", "list", "watch", "patch", "update", "delete"] {
            let account = format!("--as={}", Identity::Controllers.user());
            let question = ["auth", "can-i", verb, "secrets", &account, "-q", "-A"];
            ensure!(
                lab.cluster().kubectl(&question, "").is_err(),
                "{verb} secrets"
            );
        }
        let taken_over = json!({"metadata": {"ownerReferences": [owner]}, "data": {"a": "c"}});
        refused(change("configmaps", &taken_over), "not owned by a Job")
    };
    let found = looks();
    lab.cluster()
        .shell(&folder, "kubectl delete secret/theirs configmap/theirs")?;
    found
}

#[test]
fn a_command_closes_a_queue_where_the_policy_asks_who_made_it_and_nowhere_else() -> Result<()> {
    let lab = Lab::take()?;
    lab.rest()
        .create(QUEUES, &queue("q", json!({"weight": 1})))?;
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    let folder = lab.cluster().folder().to_owned();
    // Whoever may write Commands in some namespace.
    let command = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
        "metadata": {"name": "close", "namespace": "default"}, "action": "CloseQueue",
        "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "q", "uid": ""},
    });
    lab.rest().create(COMMANDS, &command)?;
    controllers.eventually(LIMIT, "the Command is refused", || {
        let told = lab.rest().list(EVENTS)?;
        let is_told = told.iter().any(|event| {
            let message = event["message"].as_str().unwrap_or_default();
            event["involvedObject"]["name"] == "close"
                && message.contains("pumice-commands is missing")
        });
        let is_gone = lab.rest().list(COMMANDS)?.is_empty();
        Ok((is_told && is_gone).then_some(()))
    })?;
    let state = || -> Result<Value> {
        let queue = lab.rest().get(&format!("{QUEUES}/q"))?;
        Ok(queue["status"]["state"].clone())
    };
    controllers.eventually(LIMIT, "the queue is Open", || {
        Ok((state()? == "Open").then_some(()))
    })?;
    // The tool waits for ten seconds; the controllers may take longer here, where much runs at once.
    controllers.eventually(LONG, "the tool says why the Command is refused", || {
        let told = lab.cluster().shell(&folder, "pumice queue close q").err();
        let told = told.map(|error| format!("{error:#}")).unwrap_or_default();
        let why = "pumice-commands is missing, or may not be read; install it";
        Ok(told.contains(why).then_some(()))
    })?;
    lab.cluster().install_policies()?;
    // As soon as the policy is in force.
    controllers.eventually(LONG, "an administrator closes the queue", || {
        Ok(lab.cluster().shell(&folder, "pumice queue close q").ok())
    })?;
    controllers.eventually(LIMIT, "the queue is Closed", || {
        Ok((state()? == "Closed").then_some(()))
    })
}
