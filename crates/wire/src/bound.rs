//! Pods on nodes some of whose text does not have its type: what they take must not be lost with it.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::object::WireObject;
use crate::problem::WireProblem;

/// Fields that are taken out of one pod. One with more is read without anything but its name and node.
const MAX_FIELDS: usize = 64;
/// What stands for an amount that is not known: no quantity.
const UNKNOWN: &str = "unknown";
/// What a pod takes of its node besides devices.
const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Maps of amounts.
const AMOUNTS: [&str; 5] = [
    "requests",
    "limits",
    "overhead",
    "allocatedResources",
    "resources",
];
/// Where what a pod takes is told.
const TAKES: [&str; 3] = ["containers", "initContainers", "resources"];

/// Reads a pod that has a node without the fields that do not have their type. An amount among them becomes one
/// that cannot be read. Where more is lost than an amount, so do cpu, memory and storage.
pub(crate) fn read(json: &[u8]) -> Option<(Pod, Vec<WireProblem>)> {
    let mut text: Value = serde_json::from_slice(json).ok()?;
    let node = text.pointer("/spec/nodeName").and_then(Value::as_str);
    let node = node.filter(|node| !node.is_empty())?.to_owned();
    let mut lost = Vec::new();
    loop {
        let problem = match Pod::read(text.to_string().as_bytes()) {
            Ok(pod) => return Some((pod, lost)),
            Err(problem) => problem,
        };
        let is_out = lost.len() < MAX_FIELDS && take_out(&mut text, &problem.path);
        lost.push(problem);
        if !is_out {
            let pod = Pod::read(bare(&text, &node).to_string().as_bytes()).ok()?;
            return Some((pod, lost));
        }
    }
}

/// The name and the node of a pod that takes nobody knows what.
fn bare(text: &Value, node: &str) -> Value {
    let own = |at: &str| text.pointer(at).and_then(Value::as_str);
    let mut bare = json!({
        "metadata": {
            "namespace": own("/metadata/namespace"),
            "name": own("/metadata/name"),
            "uid": own("/metadata/uid"),
            "resourceVersion": own("/metadata/resourceVersion"),
        },
        "spec": {"nodeName": node, "schedulerName": own("/spec/schedulerName"), "containers": []},
        "status": {"phase": own("/status/phase")},
    });
    close(&mut bare);
    bare
}

/// Makes a pod take nobody knows how much.
fn close(text: &mut Value) {
    if let Some(Value::Object(spec)) = text.get_mut("spec") {
        let all = RESOURCES
            .iter()
            .map(|name| ((*name).to_owned(), UNKNOWN.into()));
        spec.insert("overhead".to_owned(), Value::Object(all.collect()));
    }
}

/// Takes a field out; whether it was there.
fn take_out(text: &mut Value, path: &str) -> bool {
    let Some(steps) = steps(text, path) else {
        return false;
    };
    let Some((last, before)) = steps.split_last() else {
        return false;
    };
    let mut within = &mut *text;
    for step in before {
        let next = match step {
            ClampStep::Key(key) => within.get_mut(key.as_str()),
            ClampStep::Item(at) => within.get_mut(*at),
        };
        match next {
            Some(next) => within = next,
            None => return false,
        }
    }
    let is_amount = matches!(before.last(), Some(ClampStep::Key(map)) if AMOUNTS.contains(&map.as_str()))
        && within.is_object();
    match (last, within) {
        (ClampStep::Key(key), Value::Object(map)) if is_amount && map[key] != UNKNOWN => {
            map.insert(key.clone(), UNKNOWN.into());
        }
        (ClampStep::Key(key), Value::Object(map)) => {
            map.remove(key);
        }
        (ClampStep::Item(at), Value::Array(list)) => {
            list.remove(*at);
        }
        _ => return false,
    }
    let takes =
        |step: &ClampStep| matches!(step, ClampStep::Key(key) if TAKES.contains(&key.as_str()));
    if !is_amount && steps.iter().take(2).any(takes) {
        close(text);
    }
    true
}

enum ClampStep {
    Key(String),
    Item(usize),
}

/// The way to a field. Keys may have dots: of several that a path could begin with the longest is meant.
fn steps(text: &Value, path: &str) -> Option<Vec<ClampStep>> {
    let (mut within, mut rest) = (text, path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (at, after) = after.split_once(']')?;
            let at = at.parse().ok()?;
            within = within.get(at)?;
            (rest, steps) = (after, with(steps, ClampStep::Item(at)));
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let keys = within.as_object()?.keys();
            let begins = |key: &&String| {
                let after = name.strip_prefix(key.as_str());
                after.is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
            };
            let key = keys.filter(begins).max_by_key(|key| key.len())?.clone();
            rest = &name[key.len()..];
            within = within.get(&key)?;
            steps = with(steps, ClampStep::Key(key));
        }
    }
    Some(steps)
}

fn with(mut steps: Vec<ClampStep>, step: ClampStep) -> Vec<ClampStep> {
    steps.push(step);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_value(pod: &Value) -> Option<(Pod, Vec<String>)> {
        let (pod, lost) = read(pod.to_string().as_bytes())?;
        Some((pod, lost.into_iter().map(|problem| problem.path).collect()))
    }

    fn overhead(pod: &Pod) -> usize {
        let overhead = pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref());
        overhead.map_or(0, |amounts| amounts.len())
    }

    #[test]
    fn a_pod_on_a_node_is_read_without_what_does_not_have_its_type() {
        let pod = json!({
            "metadata": {"name": "p", "labels": {"a.b/c": 1}},
            "spec": {"nodeName": "n1", "priority": "high", "containers": [
                {"name": "c", "resources": {"requests": {"cpu": [1], "memory": "1Gi"}}},
            ]},
            "status": {"phase": "Running"},
        });
        let (pod, lost) = read_value(&pod).expect("a pod");
        let amounts = "spec.containers[0].resources.requests.cpu";
        let mut expected = ["metadata.labels.a.b/c", amounts, "spec.priority"].to_vec();
        let mut lost: Vec<&str> = lost.iter().map(String::as_str).collect();
        expected.sort_unstable();
        lost.sort_unstable();
        assert_eq!(lost, expected);
        assert_eq!(overhead(&pod), 0);
        let spec = pod.spec.expect("a spec");
        assert_eq!(spec.node_name.as_deref(), Some("n1"));
        let resources = spec.containers[0].resources.as_ref().expect("resources");
        let requests = resources.requests.as_ref().expect("requests");
        assert_eq!(
            (&*requests["cpu"].0, &*requests["memory"].0),
            (UNKNOWN, "1Gi")
        );
    }

    #[test]
    fn what_is_lost_of_containers_may_be_anything() {
        for containers in [
            json!("none"),
            json!([3]),
            json!([{"name": "c", "resources": 7}]),
        ] {
            let pod = json!({
                "metadata": {"name": "p"},
                "spec": {"nodeName": "n1", "containers": containers},
            });
            let (pod, lost) = read_value(&pod).expect("a pod");
            assert_eq!(
                (lost.len(), overhead(&pod)),
                (1, RESOURCES.len()),
                "{pod:?}"
            );
        }
        let pod = json!({"metadata": [], "spec": {"nodeName": "n1"}, "status": 1});
        assert!(read_value(&pod).is_some());
    }

    #[test]
    fn a_pod_without_node_and_what_is_no_object_is_not_read_in_part() {
        let waiting = json!({"metadata": {"name": "p"}, "spec": {"priority": "high"}});
        for text in [waiting.to_string(), "[]".to_owned(), "{".to_owned()] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
