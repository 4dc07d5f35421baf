//! The pods that are to be bound.

use anyhow::Result;
use pumice_e2e::Rest;
use serde_json::{Value, json};

/// Requests in flight while objects are made.
const AT_ONCE: usize = 32;

/// Collection of the pods.
pub const PODS: &str = "/api/v1/namespaces/default/pods";

const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";

const NATIVE_GROUPS: &str = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";

/// A pod of a tenth of a CPU, in a PodGroup if one is named.
pub fn pod(name: &str, group: Option<&str>) -> Value {
    let mut metadata = json!({"name": name, "labels": {"bench": "load"}});
    if let Some(group) = group {
        metadata["annotations"] = json!({"scheduling.k8s.io/group-name": group});
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "schedulerName": "volcano",
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "main",
                "image": "example.com/none",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }],
        },
    })
}

/// Pods without PodGroup, named `<prefix>-0` …
pub fn bare_pods(rest: &Rest, prefix: &str, count: usize) -> Result<()> {
    let pods = (0..count).map(|n| pod(&format!("{prefix}-{n}"), None));
    rest.create_all(PODS, pods.collect(), AT_ONCE)
}

/// PodGroups of so many pods each, of Kubernetes itself or of Volcano; the last one may be smaller.
pub fn gangs(rest: &Rest, prefix: &str, count: usize, (size, native): (usize, bool)) -> Result<()> {
    let group_of = |n: usize| format!("{prefix}-{}", n / size);
    let members = |group: usize| size.min(count - group * size);
    let groups = (0..count.div_ceil(size)).map(|group| {
        let (version, spec) = match native {
            true => (
                "scheduling.k8s.io/v1beta1",
                json!({"schedulingPolicy": {"gang": {"minCount": members(group)}}}),
            ),
            false => (
                "scheduling.volcano.sh/v1beta1",
                json!({"minMember": members(group), "queue": "default"}),
            ),
        };
        json!({
            "apiVersion": version,
            "kind": "PodGroup",
            "metadata": {"name": format!("{prefix}-{group}")},
            "spec": spec,
        })
    });
    let collection = if native { NATIVE_GROUPS } else { GROUPS };
    rest.create_all(collection, groups.collect(), AT_ONCE)?;
    let pods = (0..count).map(|n| {
        let name = format!("{prefix}-{n}");
        if !native {
            return pod(&name, Some(&group_of(n)));
        }
        let mut pod = pod(&name, None);
        pod["spec"]["schedulingGroup"] = json!({"podGroupName": group_of(n)});
        pod
    });
    rest.create_all(PODS, pods.collect(), AT_ONCE)
}

/// Pods that are on a node from the beginning, spread over all nodes.
pub fn running_pods(rest: &Rest, count: usize, nodes: usize) -> Result<()> {
    let placed = |n: usize| {
        let mut pod = pod(&format!("running-{n}"), None);
        pod["metadata"]["labels"] = json!({"bench": "running"});
        pod["spec"]["nodeName"] = json!(format!("n-{}", n % nodes));
        pod
    };
    // In portions, so that not all of them are in memory at once.
    for start in (0..count).step_by(10_000) {
        let end = count.min(start + 10_000);
        rest.create_all(PODS, (start..end).map(placed).collect(), AT_ONCE)?;
    }
    Ok(())
}

/// Removes all PodGroups and all pods but those that run from the beginning.
pub fn clear(rest: &Rest) -> Result<()> {
    rest.delete_now(GROUPS)?;
    rest.delete_now(&format!("{PODS}?labelSelector=bench%3Dload"))?;
    // Whoever would take the finalizer off once the pods are gone does not run.
    for group in rest.list(NATIVE_GROUPS)? {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        let free = json!({"metadata": {"finalizers": null}});
        rest.patch(&format!("{NATIVE_GROUPS}/{name}"), &free)?;
    }
    rest.delete_now(NATIVE_GROUPS)
}
