//! `spec.workloadRef` of pods, which Kubernetes 1.35 alone has: `spec.schedulingGroup` took its place, and
//! what is read of it stands there.

use k8s_openapi::api::core::v1::{Pod, PodSchedulingGroup};
use serde::Deserialize;

/// The field in the text of a pod. Few pods have it, so nothing else is looked for in the others.
const FIELD: &str = "\"workloadRef\"";

#[derive(Default, Deserialize)]
#[serde(default)]
struct OldPod {
    spec: OldSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OldSpec {
    workload_ref: Option<WorkloadRef>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WorkloadRef {
    name: String,
    pod_group: String,
    pod_group_replica_key: Option<String>,
}

/// Names the pod's group of a Workload, `workload/group` or `workload/group/key`, as its scheduling group: no
/// PodGroup has such a name.
pub(crate) fn fill(pod: &mut Pod, json: &[u8]) {
    let text = std::str::from_utf8(json).unwrap_or_default();
    if !text.contains(FIELD) {
        return;
    }
    let old = serde_json::from_slice::<OldPod>(json).unwrap_or_default();
    let (Some(spec), Some(named)) = (&mut pod.spec, old.spec.workload_ref) else {
        return;
    };
    let group = group(named.name, named.pod_group, named.pod_group_replica_key);
    spec.scheduling_group.get_or_insert(group);
}

/// The scheduling group that stands for a group of a Workload.
pub(crate) fn group(workload: String, group: String, key: Option<String>) -> PodSchedulingGroup {
    let parts: Vec<String> = [workload, group].into_iter().chain(key).collect();
    PodSchedulingGroup {
        pod_group_name: Some(parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WireObject;

    fn group(spec: &str) -> Option<String> {
        let json = format!("{{\"metadata\": {{\"name\": \"p\"}}, \"spec\": {spec}}}");
        let pod = Pod::read(json.as_bytes()).expect("a pod");
        pod.spec?.scheduling_group?.pod_group_name
    }

    #[test]
    fn a_reference_of_1_35_names_a_group_that_nobody_else_can_name() {
        let cases = [
            (r#"{"containers": []}"#, None),
            (
                r#"{"containers": [], "workloadRef": {"name": "w", "podGroup": "g"}}"#,
                Some("w/g"),
            ),
            (
                r#"{"containers": [], "workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": "0"}}"#,
                Some("w/g/0"),
            ),
            (
                r#"{"containers": [], "schedulingGroup": {"podGroupName": "own"},
                    "workloadRef": {"name": "w", "podGroup": "g"}}"#,
                Some("own"),
            ),
            // In the text of something else.
            (
                r#"{"containers": [{"name": "c", "args": ["\"workloadRef\""]}]}"#,
                None,
            ),
        ];
        for (spec, expected) in cases {
            assert_eq!(group(spec).as_deref(), expected, "{spec}");
        }
    }
}
