//! What only schedulers, device plugins, nodes and controllers write, and not who may edit a namespace.

use anyhow::{Context, Result};
use pumice_e2e::{Identity, Lab, LabGuard, eventually};
use serde_json::{Value, json};

use super::{by, create_by, object, refused, while_jane_edits};
use crate::{GROUPS, LIMIT, PODS, bare_pod};

const IDS: &str = "volcano.sh/vgpu-ids-new";
const INDEX: &str = "volcano.sh/gpu-index";

/// A pod with these annotations.
fn pod(annotations: Value) -> Value {
    let mut pod = bare_pod("trusted", None);
    pod["metadata"]["annotations"] = annotations;
    pod
}

#[test]
fn who_may_edit_a_namespace_writes_neither_device_annotations_nor_statuses() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    while_jane_edits(&lab, || judge_jane(&lab))
}

fn judge_jane(lab: &LabGuard) -> Result<()> {
    let forged = pod(json!({IDS: "GPU-a,NVIDIA,24576,100:"}));
    eventually(
        LIMIT,
        "jane may write pods, and no device annotations",
        || {
            create_by(lab, "jane", &pod(json!({"example.com/team": "a"})))?;
            Ok(refused(create_by(lab, "jane", &forged), IDS).ok())
        },
    )?;
    // The cards that a pod may have are its user's to name, as long as it has none.
    create_by(lab, "jane", &pod(json!({INDEX: "0,1"}))).context(INDEX)?;
    for key in [
        "volcano.sh/bind-phase",
        "hami.io/dcu-devices-allocated",
        "hami.io/vgpu-devices-to-allocate",
        "huawei.com/npu-core",
        "huawei.com/Ascend310P",
    ] {
        refused(create_by(lab, "jane", &pod(json!({key: "x"}))), key)?;
    }
    // A node is chosen by the scheduler; a pod of another one is not ours to judge.
    let mut placed = pod(json!({}));
    placed["spec"]["nodeName"] = json!("n1");
    refused(create_by(lab, "jane", &placed), "spec.nodeName: n1")?;
    placed["spec"]["schedulerName"] = json!("default-scheduler");
    create_by(lab, "jane", &placed).context("of another scheduler")?;
    lab.rest().create(PODS, &placed)?;
    let joins = [
        "annotate",
        "pod",
        "trusted",
        "scheduling.k8s.io/group-name=g",
    ];
    let joined = refused(by(lab, "jane", &joins, ""), "spec.nodeName: n1");
    let other = by(lab, "jane", &["annotate", "pod", "trusted", "a=b"], "");
    lab.rest().delete_now(&format!("{PODS}/trusted"))?;
    joined?;
    other?;
    placed["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": "g"});
    refused(create_by(lab, "jane", &placed), "spec.nodeName: n1")?;
    lab.rest()
        .create(PODS, &pod(json!({IDS: "GPU-a,NVIDIA,1,1:"})))?;
    let name = "trusted";
    let annotate = |user: &str, change: &str| {
        by(
            lab,
            user,
            &["annotate", "pod", name, "--overwrite", change],
            "",
        )
    };
    let changes = || -> Result<()> {
        refused(annotate("jane", &format!("{IDS}=GPU-b,NVIDIA,1,1:")), IDS)?;
        refused(annotate("jane", &format!("{IDS}-")), IDS)?;
        annotate("jane", "example.com/team=b")?;
        annotate("plugin", &format!("{IDS}=GPU-b,NVIDIA,1,1:")).map(|_| ())
    };
    let changed = as_plugin(lab, changes);
    lab.rest().delete_now(&format!("{PODS}/{name}"))?;
    changed?;
    judge_jane_of_groups(lab, Identity::Scheduler.user())
}

/// Lets `plugin` do what device plugins do while something is looked at.
fn as_plugin(lab: &LabGuard, look: impl FnOnce() -> Result<()>) -> Result<()> {
    let folder = lab.cluster().folder();
    let grant =
        "kubectl create clusterrole admission-plugin --verb=get,patch --resource=pods,nodes/status
kubectl create clusterrolebinding admission-plugin --clusterrole=admission-plugin --user=plugin";
    lab.cluster().shell(folder, grant)?;
    let found = look();
    let back = "kubectl delete clusterrole/admission-plugin clusterrolebinding/admission-plugin";
    lab.cluster().shell(folder, back)?;
    found
}

/// Tries that jane may write all of a PodGroup but its status.
fn judge_jane_of_groups(lab: &LabGuard, account: &str) -> Result<()> {
    let group = |status: Value| {
        let mut group = object(
            "scheduling.volcano.sh/v1beta1",
            "PodGroup",
            "g",
            json!({"minMember": 1}),
        );
        group["status"] = status;
        group
    };
    create_by(lab, "jane", &group(json!({"phase": "Pending"})))?;
    for status in [
        json!({"phase": "Inqueue"}),
        json!({"phase": "Pending", "running": 3}),
    ] {
        refused(
            create_by(lab, "jane", &group(status)),
            "status: of a PodGroup",
        )?;
    }
    lab.rest().create(GROUPS, &group(json!({})))?;
    let patch = r#"{"status":{"phase":"Inqueue"}}"#;
    let patch = |user: &str| {
        by(
            lab,
            user,
            &[
                "patch",
                "podgroups.scheduling.volcano.sh",
                "g",
                "--type=merge",
                "-p",
                patch,
            ],
            "",
        )
    };
    let patched = refused(patch("jane"), "status: of a PodGroup").and_then(|()| patch(account));
    lab.rest().delete_now(&format!("{GROUPS}/g"))?;
    patched.map(|_| ())
}
