//! Pods for namespaces that take only those of the profile `restricted`, as the chart's does.

use serde_json::{Value, json};

/// The pod with what the profile asks for.
pub fn restricted(mut pod: Value) -> Value {
    let spec = &mut pod["spec"];
    spec["securityContext"] = json!({
        "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"},
    });
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        container["securityContext"] = json!({
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        });
    }
    pod
}
