//! Claims of a pod before its Binding: volumes are claimed and nodes selected, then the claims must
//! become bound (spec/02 §6.8, VolumeBinding: PreBind).
//!
//! Needs no more than `list` and `update` of volumes and claims, which is what Volcano's role grants.
//!
//! When the bind fails a volume that nobody has bound yet is given free again. A selected node stays:
//! the provisioner may be at work, and it alone takes the selection back.

use std::sync::Arc;

use pumice_model::VolumeStep;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::rewrite::{change, read, same_claim, text};
use super::shared::WriterContext;
use super::{PodRef, VolumeWork, pod_path};
use crate::api::backoff;
use crate::api::call::Reply;

const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const VOLUMES: &str = "/api/v1/persistentvolumes";

/// Does the steps and waits until all claims are bound. Nothing is taken back here.
///
/// # Errors
/// Which claim, and why.
pub(super) async fn run(shared: &Arc<WriterContext>, work: &VolumeWork) -> Result<(), String> {
    for step in &work.steps {
        let write = match step {
            VolumeStep::BindVolume { volume, .. } => {
                let object = (VOLUMES, volume.as_str(), "");
                change(shared, object, |found| claimed(found, step)).await
            }
            VolumeStep::SelectNode {
                namespace, claim, ..
            } => {
                let path = claims_path(namespace);
                let object = (path.as_str(), claim.as_str(), "");
                change(shared, object, |found| selected(found, step)).await
            }
        };
        write.map_err(|problem| format!("binding volumes: claim {}: {problem}", name_of(step)))?;
    }
    wait(shared, work).await
}

/// Gives volumes free that are not bound yet.
pub(super) async fn roll_back(shared: &Arc<WriterContext>, work: &VolumeWork) {
    for step in work.steps.iter().rev() {
        let VolumeStep::BindVolume { volume, .. } = step else {
            continue;
        };
        let object = (VOLUMES, volume.as_str(), "");
        let freed = change(shared, object, |found| Ok(freed(found, step))).await;
        if let Err(problem) = freed {
            let claim = name_of(step);
            tracing::warn!("cannot free volume {volume} from claim {claim}: {problem}");
        }
    }
}

fn name_of(step: &VolumeStep) -> String {
    let (VolumeStep::BindVolume {
        namespace, claim, ..
    }
    | VolumeStep::SelectNode {
        namespace, claim, ..
    }) = step;
    format!("{namespace}/{claim}")
}

fn claims_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

/// The volume with the claim of a step; `None` when it has it.
fn claimed(volume: &Value, step: &VolumeStep) -> Result<Option<Value>, String> {
    let VolumeStep::BindVolume {
        volume: name,
        namespace,
        claim,
        claim_uid,
    } = step
    else {
        return Ok(None);
    };
    let owner = &volume["spec"]["claimRef"];
    if !owner.is_null() {
        let uid = owner["uid"].as_str().unwrap_or_default();
        let same = owner["namespace"] == **namespace && owner["name"] == **claim;
        if !same || !(uid.is_empty() || uid == claim_uid) {
            let (namespace, name_of) = (text(&owner["namespace"]), text(&owner["name"]));
            return Err(format!(
                "volume {name} has been taken by {namespace}/{name_of}"
            ));
        }
        if uid == claim_uid {
            return Ok(None);
        }
    }
    let mut new = whole(volume, "PersistentVolume");
    if owner.is_null() {
        // Tells the controller that the claim was found for the volume, not asked for by name.
        new["metadata"]["annotations"][BOUND_BY_CONTROLLER] = json!("yes");
    }
    new["spec"]["claimRef"] = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": claim,
        "uid": claim_uid,
    });
    Ok(Some(new))
}

/// The volume without the claim of a step; `None` when it has another, or is bound.
fn freed(volume: &Value, step: &VolumeStep) -> Option<Value> {
    let VolumeStep::BindVolume { claim_uid, .. } = step else {
        return None;
    };
    let ours = volume["spec"]["claimRef"]["uid"] == **claim_uid
        && !volume["metadata"]["annotations"][BOUND_BY_CONTROLLER].is_null();
    if !ours || volume["status"]["phase"] == "Bound" {
        return None;
    }
    let mut new = whole(volume, "PersistentVolume");
    new["spec"].as_object_mut()?.remove("claimRef");
    let annotations = &mut new["metadata"]["annotations"];
    annotations.as_object_mut()?.remove(BOUND_BY_CONTROLLER);
    Some(new)
}

/// The claim with the node of a step; `None` when it has it, or is bound.
fn selected(claim: &Value, step: &VolumeStep) -> Result<Option<Value>, String> {
    let VolumeStep::SelectNode {
        claim_uid, node, ..
    } = step
    else {
        return Ok(None);
    };
    same_claim(claim, claim_uid)?;
    let annotation = &claim["metadata"]["annotations"][SELECTED_NODE];
    if is_bound(claim) || *annotation == **node {
        return Ok(None);
    }
    if let Some(other) = annotation.as_str().filter(|other| !other.is_empty()) {
        return Err(format!("a volume is being provisioned for node {other}"));
    }
    let mut new = whole(claim, "PersistentVolumeClaim");
    new["metadata"]["annotations"][SELECTED_NODE] = json!(node);
    Ok(Some(new))
}

/// The object as it is written: items of lists have no kind, and annotations may be missing.
fn whole(object: &Value, kind: &str) -> Value {
    let mut new = object.clone();
    new["apiVersion"] = json!("v1");
    new["kind"] = json!(kind);
    if new["metadata"]["annotations"].is_null() {
        new["metadata"]["annotations"] = json!({});
    }
    new
}

fn is_bound(claim: &Value) -> bool {
    !text(&claim["spec"]["volumeName"]).is_empty()
        && !claim["metadata"]["annotations"][BIND_COMPLETED].is_null()
}

/// Waits until all claims are bound.
async fn wait(shared: &Arc<WriterContext>, work: &VolumeWork) -> Result<(), String> {
    let end = Instant::now() + work.timeout;
    let mut waiting: Vec<&VolumeStep> = work.steps.iter().collect();
    let mut tries = 0;
    loop {
        let mut open = Vec::new();
        for step in waiting {
            if !check(shared, step).await? {
                open.push(step);
            }
        }
        let Some(first) = open.first() else {
            return Ok(());
        };
        if Instant::now() >= end {
            let (claim, limit) = (name_of(first), work.timeout);
            return Err(format!(
                "binding volumes: claim {claim} is not bound after {limit:?}"
            ));
        }
        check_pod(shared, &work.pod).await?;
        waiting = open;
        tokio::time::sleep(backoff::pause(tries)).await;
        tries += 1;
    }
}

/// Whether the claim of a step is bound.
///
/// # Errors
/// Why it will not be.
async fn check(shared: &Arc<WriterContext>, step: &VolumeStep) -> Result<bool, String> {
    let (VolumeStep::BindVolume {
        namespace,
        claim,
        claim_uid,
        ..
    }
    | VolumeStep::SelectNode {
        namespace,
        claim,
        claim_uid,
        ..
    }) = step;
    let found = read(shared, &claims_path(namespace), claim).await?;
    // What may pass by itself is waited for like the claim.
    let Ok(found) = found else { return Ok(false) };
    let say = |problem: &str| format!("binding volumes: claim {}: {problem}", name_of(step));
    let found = found.ok_or_else(|| say("it does not exist any more"))?;
    same_claim(&found, claim_uid).map_err(|problem| say(&problem))?;
    if is_bound(&found) {
        return match step {
            VolumeStep::BindVolume { volume, .. } if found["spec"]["volumeName"] != **volume => {
                let other = text(&found["spec"]["volumeName"]);
                Err(say(&format!(
                    "it was bound to volume {other}, not to {volume}"
                )))
            }
            _ => Ok(true),
        };
    }
    if !found["metadata"]["deletionTimestamp"].is_null() {
        return Err(say("it is being deleted"));
    }
    match step {
        VolumeStep::SelectNode { node, .. }
            if found["metadata"]["annotations"][SELECTED_NODE] != **node =>
        {
            // So the provisioner says that it cannot.
            Err(format!("provisioning failed for PVC \"{}\"", name_of(step)))
        }
        _ => Ok(false),
    }
}

/// Nothing is waited for once the pod is gone.
async fn check_pod(shared: &Arc<WriterContext>, pod: &PodRef) -> Result<(), String> {
    match shared.read(pod_path(pod)).await {
        Reply::Refused(refusal) if refusal.code == 404 => Err("the pod is gone".to_owned()),
        Reply::Ok(body) => {
            let found: Value = serde_json::from_slice(&body).unwrap_or_default();
            let uid = text(&found["metadata"]["uid"]);
            let other = !uid.is_empty() && uid != pod.uid;
            match other || !found["metadata"]["deletionTimestamp"].is_null() {
                true => Err("the pod is gone".to_owned()),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
