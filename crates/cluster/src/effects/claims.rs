//! Resource claims of a pod before its Binding: what they get is written, and the pod is let in
//! (spec/09 §6).
//!
//! First the finalizer, so that nobody deletes a claim that has devices, then `status.allocation` and
//! `status.reservedFor` in one update on the version that was read. When the bind fails the pod is taken
//! out again, and the devices are given back unless others use the claim meanwhile. A claim that is reserved for a
//! PodGroup keeps them, which is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pumice_claims::{AllocatedDevice, DeviceConfigSource, DeviceToleration, TaintOperator};
use pumice_model::claim::{ClaimGift, ClaimReading, ClaimReturn, ClaimStep, FoundDevices};
use pumice_model::object::{ClaimAllocation, NodeOp, NodeTerm, WrittenClaim};
use serde_json::{Map, Value, json};

use super::rewrite::{change, change_surely, same_claim, text};
use super::shared::WriterContext;
use super::{BindFailure, BindRequest, Outcome, PodRef};

const PROTECTION: &str = "resource.kubernetes.io/delete-protection";
/// How often the finalizer is added before a bind gives up.
const MAX_PROTECTIONS: u32 = 5;

/// Writes what the claims of a pod get; the claims then, as far as their versions are known. Nothing is taken
/// back here.
///
/// # Errors
/// Which claim, and why.
pub(super) async fn run(
    shared: &Arc<WriterContext>,
    request: &BindRequest,
) -> Result<Vec<WrittenClaim>, String> {
    let mut all = Vec::new();
    for step in &request.claims {
        let ClaimStep {
            namespace, claim, ..
        } = step;
        let done = give(shared, step, &request.pod).await;
        let version = done.map_err(|problem| {
            format!("allocating resource claims: claim {namespace}/{claim}: {problem}")
        })?;
        all.extend(version.map(|version| written(step, version)));
    }
    Ok(all)
}

async fn give(
    shared: &Arc<WriterContext>,
    step: &ClaimStep,
    pod: &PodRef,
) -> Result<Option<u64>, String> {
    let path = path_of(step);
    let whole = (path.as_str(), step.claim.as_str(), "");
    let status = (path.as_str(), step.claim.as_str(), "/status");
    for _ in 0..MAX_PROTECTIONS {
        if step.allocation.is_some() {
            change(shared, whole, |found| protected(found, step, pod)).await?;
        }
        let is_protected = AtomicBool::new(true);
        let version = change(shared, status, |found| {
            let gift = step.gives(&reading(found, step, pod))?;
            is_protected.store(gift != ClaimGift::Unprotected, Ordering::Relaxed);
            Ok(given(found, gift, step, pod))
        })
        .await?;
        if is_protected.into_inner() {
            return Ok(version);
        }
    }
    Err("its finalizer is taken away again and again".to_owned())
}

/// Gives back what was written, the last first. It takes as long as it takes: once the bind has failed the
/// devices may be given to others, so none may be left written here.
pub(super) async fn roll_back(
    shared: &Arc<WriterContext>,
    request: &BindRequest,
    failure: &BindFailure,
) {
    let is_elsewhere = matches!(failure, BindFailure::BoundElsewhere(_));
    let mut left = Vec::new();
    for step in request.claims.iter().rev() {
        let path = path_of(step);
        let status = (path.as_str(), step.claim.as_str(), "/status");
        let stays = AtomicBool::new(false);
        let mut done = change_surely(shared, status, |found| {
            let reading = reading(found, step, &request.pod);
            stays.store(step.leaves(&reading), Ordering::Relaxed);
            Ok(taken_back(found, step, &request.pod, is_elsewhere))
        })
        .await;
        if let (Ok(Some(version)), true) = (&done, stays.into_inner()) {
            left.push(written(step, *version));
        }
        if done.is_ok() {
            let whole = (path.as_str(), step.claim.as_str(), "");
            done = change(shared, whole, |found| {
                Ok(unprotected(found, step, &request.pod))
            })
            .await;
        }
        if let Err(problem) = done {
            let ClaimStep {
                namespace, claim, ..
            } = step;
            tracing::warn!("cannot take back what claim {namespace}/{claim} got: {problem}");
        }
    }
    if !left.is_empty() {
        shared.tell(Outcome::ClaimsLeft { claims: left });
    }
}

/// A claim that has what was decided, in this version.
fn written(step: &ClaimStep, version: u64) -> WrittenClaim {
    WrittenClaim {
        namespace: step.namespace.clone(),
        claim: step.claim.clone(),
        version,
    }
}

/// Gives back the devices of a claim that keep a pod from nodes, if it is still what was decided about.
pub(super) async fn return_devices(shared: Arc<WriterContext>, claim: ClaimReturn) {
    let path = path_in(&claim.namespace);
    let status = (path.as_str(), claim.claim.as_str(), "/status");
    let done = change_surely(&shared, status, |found| returned(found, &claim).map(Some)).await;
    if let Err(message) = done {
        shared.tell(Outcome::DevicesKept { claim, message });
    }
}

/// The claim without devices.
fn returned(found: &Value, claim: &ClaimReturn) -> Result<Value, String> {
    let meta = &found["metadata"];
    same_claim(found, &claim.claim_uid)?;
    if text(&meta["resourceVersion"]).parse() != Ok(claim.version) {
        return Err("it has changed meanwhile".to_owned());
    }
    let mut new = whole(found);
    if let Some(status) = new["status"].as_object_mut() {
        status.remove("allocation");
        status.remove("reservedFor");
    }
    Ok(new)
}

fn path_of(step: &ClaimStep) -> String {
    path_in(&step.namespace)
}

fn path_in(namespace: &str) -> String {
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

/// What counts of it.
fn reading<'a>(claim: &'a Value, step: &ClaimStep, pod: &PodRef) -> ClaimReading<'a> {
    let has = |array: &Value, is_it: &dyn Fn(&Value) -> bool| {
        let mut items = array.as_array().into_iter().flatten();
        items.any(is_it)
    };
    let (meta, status) = (&claim["metadata"], &claim["status"]);
    let (found, users) = (&status["allocation"], &status["reservedFor"]);
    let is_ours = |ours: &ClaimAllocation| is_same(found, ours);
    let consumer = step.consumer(&pod.uid);
    ClaimReading {
        uid: meta["uid"].as_str(),
        deleting: !meta["deletionTimestamp"].is_null(),
        is_protected: has(&meta["finalizers"], &|finalizer| finalizer == PROTECTION),
        devices: match found.is_null() {
            true => FoundDevices::Nothing,
            false if step.decided().is_some_and(is_ours) => FoundDevices::AsDecided,
            false => FoundDevices::Others,
        },
        users: users.as_array().map_or(0, Vec::len),
        has_consumer: has(users, &|user| user["uid"] == *consumer),
    }
}

/// The claim with the finalizer; `None` when it has it.
fn protected(claim: &Value, step: &ClaimStep, pod: &PodRef) -> Result<Option<Value>, String> {
    if !step.protects(&reading(claim, step, pod))? {
        return Ok(None);
    }
    let mut finalizers = list(&claim["metadata"]["finalizers"]);
    finalizers.push(json!(PROTECTION));
    let mut new = whole(claim);
    new["metadata"]["finalizers"] = json!(finalizers);
    Ok(Some(new))
}

/// The claim without the finalizer; `None` when it has none, or devices.
fn unprotected(claim: &Value, step: &ClaimStep, pod: &PodRef) -> Option<Value> {
    if !step.unprotects(&reading(claim, step, pod)) {
        return None;
    }
    let finalizers = list(&claim["metadata"]["finalizers"]).into_iter();
    let mut new = whole(claim);
    let others = finalizers.filter(|finalizer| finalizer != PROTECTION);
    new["metadata"]["finalizers"] = others.collect();
    Some(new)
}

/// The claim with what it gets, and with the pod or its group; `None` when it has both, or may not get it yet.
fn given(claim: &Value, gift: ClaimGift, step: &ClaimStep, pod: &PodRef) -> Option<Value> {
    let ClaimGift::Missing(change) = gift else {
        return None;
    };
    let mut new = whole(claim);
    if !new["status"].is_object() {
        new["status"] = json!({});
    }
    if let Some(allocation) = step.allocation.as_deref().filter(|_| change.devices) {
        new["status"]["allocation"] = allocation_json(allocation);
    }
    if change.consumer {
        let mut users = list(&claim["status"]["reservedFor"]);
        users.push(match &step.group {
            None => json!({ "resource": "pods", "name": pod.name, "uid": pod.uid }),
            Some(group) => json!({
                "apiGroup": "scheduling.k8s.io",
                "resource": "podgroups",
                "name": group.name,
                "uid": group.uid,
            }),
        });
        new["status"]["reservedFor"] = json!(users);
    }
    Some(new)
}

/// The claim without the pod, which may be bound elsewhere, and without devices unless others use it; `None`
/// when there is nothing to take back.
fn taken_back(claim: &Value, step: &ClaimStep, pod: &PodRef, is_elsewhere: bool) -> Option<Value> {
    let change = step.takes_back(&reading(claim, step, pod), is_elsewhere)?;
    let users = list(&claim["status"]["reservedFor"]).into_iter();
    let others: Vec<Value> = users.filter(|user| user["uid"] != *pod.uid).collect();
    let mut new = whole(claim);
    let status = new["status"].as_object_mut()?;
    match others.is_empty() {
        true => status.remove("reservedFor"),
        false => status.insert("reservedFor".to_owned(), json!(others)),
    };
    if change.devices {
        status.remove("allocation");
    }
    Some(new)
}

/// Whether an allocation that was found gives the same devices for the same requests.
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
