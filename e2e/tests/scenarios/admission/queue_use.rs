//! Who may use which queue, where that is asked: what the page of queues says, tried as jane.

use std::path::Path;

use anyhow::{Context, Result};
use pumice_e2e::{Lab, LabGuard, eventually};
use serde_json::{Value, json};

use super::{by, create_by, object, queue, refused, while_jane_edits};
use crate::{LIMIT, bare_pod};

const POLICY: &str = include_str!("../../../../deploy/optional/queue-use.yaml");
const PAGE: &str = include_str!("../../../../docs/guide/queues.md");
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const KEY: &str = "scheduling.volcano.sh/queue-name";
const SCHEDULING: &str = "scheduling.volcano.sh/v1beta1";
const BATCH: &str = "batch.volcano.sh/v1alpha1";

/// Pods with an annotation that names the queue.
fn pods_of(queue: &str) -> Value {
    let containers = json!([{"name": "main", "image": "example.com/none"}]);
    json!({
        "metadata": {"labels": {"app": "a"}, "annotations": {KEY: queue}},
        "spec": {"containers": containers, "restartPolicy": "Always"},
    })
}

/// Everything that can name a queue.
fn all_of(queue: &str) -> Vec<Value> {
    let template = json!({"spec": {"containers": [{"name": "main", "image": "example.com/none"}]}});
    let job = json!({"queue": queue, "minAvailable": 1,
        "tasks": [{"name": "t", "replicas": 1, "template": template}]});
    let mut bare = bare_pod("p", None);
    bare["metadata"]["annotations"] = json!({KEY: queue});
    let selector = json!({"matchLabels": {"app": "a"}});
    let deployment = json!({"selector": selector, "template": pods_of(queue)});
    let mut pods = pods_of(queue);
    pods["spec"]["restartPolicy"] = json!("Never");
    let cron = json!({"schedule": "@daily", "jobTemplate": {"spec": job}});
    let own_cron = json!({"schedule": "@daily", "jobTemplate": {"spec": {"template": pods}}});
    let flow = json!({"flows": [{"name": "step", "patch": {"jobSpec": {"queue": queue}}}]});
    vec![
        object(BATCH, "Job", "j", job.clone()),
        object(BATCH, "CronJob", "c", cron),
        object("flow.volcano.sh/v1alpha1", "JobTemplate", "t", job),
        object("flow.volcano.sh/v1alpha1", "JobFlow", "f", flow),
        object(
            SCHEDULING,
            "PodGroup",
            "g",
            json!({"minMember": 1, "queue": queue}),
        ),
        bare,
        object("apps/v1", "Deployment", "d", deployment),
        object("batch/v1", "Job", "b", json!({"template": pods})),
        object("batch/v1", "CronJob", "k", own_cron),
    ]
}

/// The block of the page that begins so.
fn block(begins: &str) -> Result<&'static str> {
    let mut blocks = PAGE.split("```sh\n").skip(1);
    let found = blocks.find(|block| block.starts_with(begins));
    let found = found.and_then(|block| block.split("```").next());
    found.with_context(|| format!("a block with {begins}"))
}

#[test]
fn who_may_not_use_a_queue_names_it_nowhere_and_who_may_does() -> Result<()> {
    let lab = Lab::take()?;
    for name in ["default", "research"] {
        lab.rest()
            .create(super::QUEUES, &queue(name, json!({"weight": 1})))?;
    }
    lab.cluster().apply(POLICY)?;
    let found = while_jane_edits(&lab, || judge_jane(&lab));
    let folder = Path::new(WORKSPACE);
    let clean = "kubectl annotate namespace default scheduling.volcano.sh/queue-name-
kubectl delete --ignore-not-found rolebinding/use-research clusterrole/use-research clusterrole/pumice-queue-use-any";
    lab.cluster().shell(folder, clean)?;
    found
}

fn judge_jane(lab: &LabGuard) -> Result<()> {
    let first = all_of("research").remove(0);
    eventually(LIMIT, "the policy is in force, and jane may edit", || {
        create_by(lab, "jane", &all_of("default")[0])?;
        refused(create_by(lab, "jane", &first), "may not use it")?;
        Ok(Some(()))
    })?;
    let grant = "queue \"research\": jane may not use it in the namespace default; name another queue, \
                 or have an administrator bind a ClusterRole there (kubectl -n default create \
                 rolebinding) with apiGroups: [scheduling.volcano.sh], resources: [queues], \
                 resourceNames: [research], verbs: [use]";
    for object in all_of("research") {
        let answer = create_by(lab, "jane", &object);
        refused(answer, grant).with_context(|| object.to_string())?;
    }
    for object in all_of("default") {
        create_by(lab, "jane", &object).with_context(|| object.to_string())?;
    }
    // Nobody gives a right that he does not have.
    let words = [
        "create",
        "rolebinding",
        "mine",
        "--clusterrole=pumice-queue-use-any",
        "--user=jane",
    ];
    refused(by(lab, "jane", &words, ""), "forbidden")?;
    moves(lab)?;
    lab.cluster()
        .shell(Path::new(WORKSPACE), block("kubectl apply -f - <<'ROLE'")?)?;
    eventually(LIMIT, "the right is in force", || {
        Ok(create_by(lab, "jane", &first).ok())
    })?;
    for object in all_of("research") {
        create_by(lab, "jane", &object).with_context(|| object.to_string())?;
    }
    lab.cluster().shell(
        Path::new(WORKSPACE),
        "kubectl delete rolebinding use-research",
    )?;
    // What the namespace names its administrators have chosen.
    let name = "kubectl annotate namespace default scheduling.volcano.sh/queue-name=research";
    lab.cluster().shell(Path::new(WORKSPACE), name)?;
    eventually(LIMIT, "the queue of the namespace is free", || {
        Ok(create_by(lab, "jane", &first).ok())
    })?;
    Ok(())
}

/// A group that is there moves to no queue that jane may not use, and is hers in all else.
fn moves(lab: &LabGuard) -> Result<()> {
    let groups = crate::GROUPS;
    let mut group = object(SCHEDULING, "PodGroup", "there", json!({"minMember": 1}));
    group["spec"]["queue"] = json!("research");
    lab.rest().create(groups, &group)?;
    let change = |spec: Value| {
        let change = json!({ "spec": spec }).to_string();
        let what = [
            "patch",
            "podgroups.scheduling.volcano.sh",
            "there",
            "--type=merge",
            "-p",
            &change,
        ];
        by(lab, "jane", &what, "")
    };
    let judged = change(json!({"minMember": 2}))
        .and_then(|_| change(json!({"queue": "default"})))
        .and_then(|_| refused(change(json!({"queue": "another"})), "may not use it"));
    lab.rest().delete_now(&format!("{groups}/there"))?;
    judged
}
