//! PodGroups of Kubernetes itself on a real API server (spec/03 §B10, §B11).
//!
//! The scenarios of Kubernetes' own tests of its gang scheduling are among them, in our words: those of
//! `test/e2e/scheduling` and what `test/integration/scheduler/podgroup` asks besides.

mod bad_input;
mod claims;
mod faults;
mod placing;
mod preempting;
mod trees;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, Scheduler};
use serde_json::{Value, json};

use crate::{LIMIT, PODS, bare_pod};

/// Collection of PodGroups of Kubernetes itself, in the version that this API server has.
const NATIVE: &str = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";

/// The condition that says whether a PodGroup has ever been placed.
const PLACED: &str = "PodGroupInitiallyScheduled";

/// A PodGroup with this spec.
fn native_group(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// Makes a PodGroup of so many pods at once or none.
pub(crate) fn make_gang(lab: &Lab, name: &str, count: usize) -> Result<()> {
    let spec = json!({"schedulingPolicy": {"gang": {"minCount": count}}});
    lab.rest().create(NATIVE, &native_group(name, &spec))?;
    Ok(())
}

/// Makes a PodGroup each of whose pods goes by itself.
fn make_basic(lab: &Lab, name: &str) -> Result<()> {
    let spec = json!({"schedulingPolicy": {"basic": {}}});
    lab.rest().create(NATIVE, &native_group(name, &spec))?;
    Ok(())
}

/// A pod of such a group, one CPU.
pub(crate) fn native_member(name: &str, group: &str) -> Value {
    let mut pod = bare_pod(name, Some("1"));
    pod["spec"]["schedulingGroup"] = json!({"podGroupName": group});
    pod
}

/// Makes pods `<group>-<n>` of a group.
fn make_members(lab: &Lab, group: &str, numbers: std::ops::Range<usize>) -> Result<()> {
    let pods = numbers.map(|n| native_member(&format!("{group}-{n}"), group));
    lab.rest().create_all(PODS, pods.collect(), 16)
}

/// A condition of a PodGroup, if it has one of this type.
fn condition_of(lab: &Lab, name: &str, kind: &str) -> Result<Option<Value>> {
    let group = lab.rest().get(&format!("{NATIVE}/{name}"))?;
    let all = group["status"]["conditions"].as_array().cloned();
    let mut all = all.unwrap_or_default().into_iter();
    Ok(all.find(|one| one["type"] == kind))
}

/// Waits until a PodGroup says whether it was placed; the words.
fn wait_placed(lab: &Lab, scheduler: &Scheduler, name: &str, placed: bool) -> Result<String> {
    let (status, reason) = match placed {
        true => ("True", "Scheduled"),
        false => ("False", "Unschedulable"),
    };
    scheduler.eventually(LIMIT, &format!("{name} says {status} for {PLACED}"), || {
        let told = condition_of(lab, name, PLACED)?.context("no such condition")?;
        ensure!(
            told["status"] == status && told["reason"] == reason,
            "{told}"
        );
        Ok(told["message"].as_str().map(str::to_owned))
    })
}

/// Waits until a condition of a pod in `default` whose name begins so holds these words.
fn wait_told(lab: &Lab, scheduler: &Scheduler, prefix: &str, part: &str) -> Result<()> {
    scheduler.eventually(LIMIT, &format!("{prefix} says {part:?}"), || {
        let mut pods = lab.rest().list(PODS)?;
        pods.retain(|pod| {
            let name = pod["metadata"]["name"].as_str();
            name.is_some_and(|name| name.starts_with(prefix))
        });
        let told: Vec<_> = pods
            .iter()
            .map(|pod| &pod["status"]["conditions"])
            .collect();
        let is_told = told.iter().any(|told| told.to_string().contains(part));
        ensure!(is_told, "{told:?}");
        Ok(Some(()))
    })
}

/// Waits for an event with this reason about a PodGroup of Kubernetes itself; its words.
fn wait_event(lab: &Lab, scheduler: &Scheduler, group: &str, reason: &str) -> Result<String> {
    scheduler.eventually(LIMIT, &format!("event {reason} about {group}"), || {
        let events = lab.rest().list("/api/v1/namespaces/default/events")?;
        let found = events.iter().find(|event| {
            let about = &event["involvedObject"];
            let version = about["apiVersion"].as_str().unwrap_or_default();
            about["kind"] == "PodGroup"
                && about["name"] == group
                && version.starts_with("scheduling.k8s.io/")
                && event["reason"] == reason
        });
        Ok(found.map(|event| event["message"].as_str().unwrap_or_default().to_owned()))
    })
}

/// Names of pods in `default` that are bound and whose name begins so.
fn bound_names(lab: &Lab, prefix: &str) -> Result<Vec<String>> {
    let bound = lab.bound(&format!("{prefix}-"))?.into_keys();
    let names = bound.map(|key| key.replacen("default/", "", 1));
    Ok(names.collect())
}
