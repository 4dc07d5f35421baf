//! What only schedulers, device plugins, nodes and controllers write, and not who may edit a namespace.

use anyhow::{Context, Result, bail, ensure};
use pumice_e2e::{Lab, LabGuard, eventually};
use serde_json::{Value, json};

use super::object;
use crate::{GROUPS, LIMIT, PODS, bare_pod};

const IDS: &str = "volcano.sh/vgpu-ids-new";
const INDEX: &str = "volcano.sh/gpu-index";
const ROLE: &str = "admission-jane-trust";

/// A pod with these annotations.
fn pod(annotations: Value) -> Value {
    let mut pod = bare_pod("trusted", None);
    pod["metadata"]["annotations"] = annotations;
    pod
}

/// Has the API server judge what somebody does, as `kubectl --dry-run=server` does.
fn by(lab: &LabGuard, user: &str, verb: &[&str], text: &str) -> Result<String> {
    let user = format!("--as={user}");
    let arguments = [verb, &[user.as_str(), "--dry-run=server"][..]].concat();
    lab.cluster().kubectl(&arguments, text)
}

fn create(lab: &LabGuard, user: &str, object: &Value) -> Result<String> {
    by(lab, user, &["create", "-f", "-"], &object.to_string())
}

/// It is refused with these words.
fn refused(answer: Result<String>, words: &str) -> Result<()> {
    let Err(error) = answer else {
        bail!("it is taken, not refused with {words:?}");
    };
    let told = format!("{error:#}");
    ensure!(told.contains(words), "it says: {told}");
    Ok(())
}

#[test]
fn who_may_edit_a_namespace_writes_neither_device_annotations_nor_statuses() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let grant = [
        "create",
        "rolebinding",
        ROLE,
        "--clusterrole=edit",
        "--user=jane",
    ];
    lab.cluster().kubectl(&grant, "")?;
    let found = judge_jane(&lab);
    lab.cluster()
        .kubectl(&["delete", "rolebinding", ROLE], "")?;
    found
}

fn judge_jane(lab: &LabGuard) -> Result<()> {
    let forged = pod(json!({IDS: "GPU-a,NVIDIA,24576,100:"}));
    eventually(
        LIMIT,
        "jane may write pods, and no device annotations",
        || {
            create(lab, "jane", &pod(json!({"example.com/team": "a"})))?;
            Ok(refused(create(lab, "jane", &forged), IDS).ok())
        },
    )?;
    // The cards that a pod may have are its user's to name, as long as it has none.
    create(lab, "jane", &pod(json!({INDEX: "0,1"}))).context(INDEX)?;
    for key in [
        "volcano.sh/bind-phase",
        "hami.io/dcu-devices-allocated",
        "hami.io/vgpu-devices-to-allocate",
        "huawei.com/npu-core",
        "huawei.com/Ascend310P",
    ] {
        refused(create(lab, "jane", &pod(json!({key: "x"}))), key)?;
    }
    let account = "system:serviceaccount:volcano-system:volcano-scheduler";
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
        annotate(account, &format!("{IDS}=GPU-b,NVIDIA,1,1:")).map(|_| ())
    };
    let changed = changes();
    lab.rest().delete_now(&format!("{PODS}/{name}"))?;
    changed?;
    judge_jane_of_groups(lab, account)
}

/// Of a PodGroup jane may write all but its status.
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
    create(lab, "jane", &group(json!({"phase": "Pending"})))?;
    for status in [
        json!({"phase": "Inqueue"}),
        json!({"phase": "Pending", "running": 3}),
    ] {
        refused(create(lab, "jane", &group(status)), "status: of a PodGroup")?;
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
