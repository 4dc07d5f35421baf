//! Resource claims of a pod before its Binding: what they get is written, and the pod is let in
//! (spec/09 §6).
//!
//! First the finalizer, so that nobody deletes a claim that has devices, then `status.allocation` and
//! `status.reservedFor` in one update on the version that was read. When the bind fails the pod is taken
//! out again, and what this bind has given is given back unless others use it meanwhile.

use std::sync::Arc;

use pumice_claims::{AllocatedDevice, DeviceConfigSource, DeviceToleration, TaintOperator};
use pumice_model::ClaimStep;
use pumice_model::object::{ClaimAllocation, NodeOp, NodeTerm};
use serde_json::{Map, Value, json};

use super::rewrite::{change, change_surely, same_claim};
use super::shared::WriterContext;
use super::{BindRequest, PodRef};

const PROTECTION: &str = "resource.kubernetes.io/delete-protection";
/// Pods one claim may be reserved for.
const MAX_RESERVED: usize = 256;

/// Writes what the claims of a pod get. Nothing is taken back here.
///
/// # Errors
/// Which claim, and why.
pub(super) async fn run(shared: &Arc<WriterContext>, request: &BindRequest) -> Result<(), String> {
    for step in &request.claims {
        let done = give(shared, step, &request.pod).await;
        done.map_err(|problem| {
            let ClaimStep {
                namespace, claim, ..
            } = step;
            format!("allocating resource claims: claim {namespace}/{claim}: {problem}")
        })?;
    }
    Ok(())
}

async fn give(shared: &Arc<WriterContext>, step: &ClaimStep, pod: &PodRef) -> Result<(), String> {
    let path = path_of(step);
    if step.allocation.is_some() {
        let whole = (path.as_str(), step.claim.as_str(), "");
        change(shared, whole, |found| protected(found, step)).await?;
    }
    let status = (path.as_str(), step.claim.as_str(), "/status");
    change(shared, status, |found| given(found, step, pod)).await
}

/// Gives back what was written, the last first. It takes as long as it takes: once the bind has failed the
/// devices may be given to others, so none may be left written here.
pub(super) async fn roll_back(shared: &Arc<WriterContext>, request: &BindRequest) {
    for step in request.claims.iter().rev() {
        let path = path_of(step);
        let status = (path.as_str(), step.claim.as_str(), "/status");
        let mut done = change_surely(shared, status, |found| {
            Ok(taken_back(found, step, &request.pod))
        })
        .await;
        if done.is_ok() && step.allocation.is_some() {
            let whole = (path.as_str(), step.claim.as_str(), "");
            done = change(shared, whole, |found| Ok(unprotected(found, step))).await;
        }
        if let Err(problem) = done {
            let ClaimStep {
                namespace, claim, ..
            } = step;
            tracing::warn!("cannot take back what claim {namespace}/{claim} got: {problem}");
        }
    }
}

fn path_of(step: &ClaimStep) -> String {
    let namespace = &step.namespace;
    format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims")
}

/// The claim as it is written: items of lists have no kind.
fn whole(claim: &Value) -> Value {
    let mut new = claim.clone();
    new["apiVersion"] = json!("resource.k8s.io/v1");
    new["kind"] = json!("ResourceClaim");
    new
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn is_usable(claim: &Value, step: &ClaimStep) -> Result<(), String> {
    same_claim(claim, &step.claim_uid)?;
    match claim["metadata"]["deletionTimestamp"].is_null() {
        true => Ok(()),
        false => Err("it is being deleted".to_owned()),
    }
}

/// The claim with the finalizer; `None` when it has it.
fn protected(claim: &Value, step: &ClaimStep) -> Result<Option<Value>, String> {
    is_usable(claim, step)?;
    let mut finalizers = list(&claim["metadata"]["finalizers"]);
    if finalizers.iter().any(|finalizer| finalizer == PROTECTION) {
        return Ok(None);
    }
    finalizers.push(json!(PROTECTION));
    let mut new = whole(claim);
    new["metadata"]["finalizers"] = json!(finalizers);
    Ok(Some(new))
}

/// The claim without the finalizer; `None` when it has none, or devices.
fn unprotected(claim: &Value, step: &ClaimStep) -> Option<Value> {
    let finalizers = list(&claim["metadata"]["finalizers"]);
    let is_free = claim["status"]["allocation"].is_null();
    let is_ours = same_claim(claim, &step.claim_uid).is_ok();
    if !is_free || !is_ours || !finalizers.iter().any(|finalizer| finalizer == PROTECTION) {
        return None;
    }
    let mut new = whole(claim);
    let others = finalizers
        .into_iter()
        .filter(|finalizer| finalizer != PROTECTION);
    new["metadata"]["finalizers"] = others.collect();
    Some(new)
}

fn is_reserved(claim: &Value, pod: &PodRef) -> bool {
    let users = &claim["status"]["reservedFor"];
    list(users).iter().any(|user| user["uid"] == *pod.uid)
}

/// The claim with what it gets, and with the pod; `None` when it has both.
fn given(claim: &Value, step: &ClaimStep, pod: &PodRef) -> Result<Option<Value>, String> {
    is_usable(claim, step)?;
    let found = &claim["status"]["allocation"];
    let mut new = whole(claim);
    match (&step.allocation, found.is_null()) {
        (Some(allocation), true) => {
            if !new["status"].is_object() {
                new["status"] = json!({});
            }
            new["status"]["allocation"] = allocation_json(allocation);
        }
        (Some(allocation), false) if !is_same(found, allocation) => {
            return Err("it has been given other devices meanwhile".to_owned());
        }
        (None, true) => return Err("its devices have been taken back meanwhile".to_owned()),
        (_, false) if is_reserved(claim, pod) => return Ok(None),
        (_, false) => {}
    }
    let mut users = list(&claim["status"]["reservedFor"]);
    if !is_reserved(claim, pod) {
        if users.len() >= MAX_RESERVED {
            return Err(format!("{MAX_RESERVED} pods use it, and no more may"));
        }
        users.push(json!({ "resource": "pods", "name": pod.name, "uid": pod.uid }));
    }
    new["status"]["reservedFor"] = json!(users);
    Ok(Some(new))
}

/// The claim without the pod, and without what this bind has given unless others use it; `None` when there
/// is nothing to take back.
fn taken_back(claim: &Value, step: &ClaimStep, pod: &PodRef) -> Option<Value> {
    if same_claim(claim, &step.claim_uid).is_err() {
        return None;
    }
    let users = list(&claim["status"]["reservedFor"]);
    let others: Vec<Value> = users
        .iter()
        .filter(|user| user["uid"] != *pod.uid)
        .cloned()
        .collect();
    let found = &claim["status"]["allocation"];
    let given_here = step
        .allocation
        .as_ref()
        .is_some_and(|given| is_same(found, given));
    let gives_back = given_here && others.is_empty();
    if users.len() == others.len() && !gives_back {
        return None;
    }
    let mut new = whole(claim);
    let status = new["status"].as_object_mut()?;
    match others.is_empty() {
        true => status.remove("reservedFor"),
        false => status.insert("reservedFor".to_owned(), json!(others)),
    };
    if gives_back {
        status.remove("allocation");
    }
    Some(new)
}

/// The same devices for the same requests.
fn is_same(found: &Value, allocation: &ClaimAllocation) -> bool {
    let results = list(&found["devices"]["results"]);
    let ours = &allocation.devices.devices;
    results.len() == ours.len()
        && results.iter().zip(ours).all(|(found, ours)| {
            found["request"] == *ours.request
                && found["driver"] == *ours.key.driver
                && found["pool"] == *ours.key.pool
                && found["device"] == *ours.key.device
        })
}

/// `status.allocation`.
fn allocation_json(allocation: &ClaimAllocation) -> Value {
    let devices = allocation.devices.devices.iter();
    let mut made =
        json!({ "devices": { "results": devices.map(device_json).collect::<Vec<_>>() } });
    let config: Vec<Value> = allocation.devices.config.iter().map(config_json).collect();
    if !config.is_empty() {
        made["devices"]["config"] = json!(config);
    }
    if let Some(terms) = &allocation.nodes {
        let terms: Vec<Value> = terms.iter().map(term_json).collect();
        made["nodeSelector"] = json!({ "nodeSelectorTerms": terms });
    }
    made
}

fn device_json(device: &AllocatedDevice) -> Value {
    let mut made = json!({
        "request": device.request,
        "driver": device.key.driver,
        "pool": device.key.pool,
        "device": device.key.device,
    });
    if device.admin_access {
        made["adminAccess"] = json!(true);
    }
    if !device.tolerations.is_empty() {
        let all = device.tolerations.iter();
        made["tolerations"] = all.map(toleration_json).collect();
    }
    if let Some((id, consumed)) = &device.share {
        made["shareID"] = json!(id);
        let amounts = consumed.iter();
        let amounts: Map<String, Value> = amounts
            .map(|(name, amount)| (name.clone(), json!(amount.to_string())))
            .collect();
        made["consumedCapacity"] = Value::Object(amounts);
    }
    made
}

fn toleration_json(toleration: &DeviceToleration) -> Value {
    let mut made = Map::new();
    let operator = match toleration.operator {
        TaintOperator::Exists => "Exists",
        TaintOperator::Equal | TaintOperator::Unknown => "Equal",
    };
    made.insert("operator".to_owned(), json!(operator));
    let texts = [
        ("key", &toleration.key),
        ("value", &toleration.value),
        ("effect", &toleration.effect),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        made.insert(name.to_owned(), json!(text));
    }
    if let Some(seconds) = toleration.seconds {
        made.insert("tolerationSeconds".to_owned(), json!(seconds));
    }
    Value::Object(made)
}

fn config_json(config: &pumice_claims::AllocatedConfig) -> Value {
    let source = match config.source {
        DeviceConfigSource::Class => "FromClass",
        DeviceConfigSource::Claim => "FromClaim",
    };
    let opaque: Value = serde_json::from_str(&config.opaque).unwrap_or_default();
    let mut made = json!({ "source": source, "opaque": opaque });
    if !config.requests.is_empty() {
        made["requests"] = json!(config.requests);
    }
    made
}

fn term_json(term: &NodeTerm) -> Value {
    let mut made = json!({});
    let expressions = term.expressions.iter().map(|expression| {
        let (operator, values) = match &expression.op {
            NodeOp::In(values) => ("In", values.clone()),
            NodeOp::NotIn(values) => ("NotIn", values.clone()),
            NodeOp::Exists => ("Exists", Vec::new()),
            NodeOp::DoesNotExist => ("DoesNotExist", Vec::new()),
            NodeOp::Gt(than) => ("Gt", vec![than.to_string()]),
            NodeOp::Lt(than) => ("Lt", vec![than.to_string()]),
        };
        requirement_json(&expression.key, operator, &values)
    });
    let fields = term.fields.iter().map(|(is, name)| {
        let operator = if *is { "In" } else { "NotIn" };
        requirement_json("metadata.name", operator, std::slice::from_ref(name))
    });
    let lists = [
        ("matchExpressions", expressions.collect::<Vec<_>>()),
        ("matchFields", fields.collect()),
    ];
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        made[name] = json!(list);
    }
    made
}

fn requirement_json(key: &str, operator: &str, values: &[String]) -> Value {
    match values {
        [] => json!({ "key": key, "operator": operator }),
        values => json!({ "key": key, "operator": operator, "values": values }),
    }
}
