//! What core types say about themselves beyond their JSON schema: how lists and maps merge under
//! server-side apply, defaults, and which names may be left out. `controller-gen` reads these from
//! markers in the Go sources of `k8s.io/api`.

use serde_json::{Value, json};

/// What `controller-gen` writes for a quantity.
const QUANTITY: &str = concat!(
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))",
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
);

/// Types that are replaced as a whole, beside those of [`NAMELESS`].
const ATOMIC: [&str; 9] = [
    "api.core.v1.FileKeySelector",
    "api.core.v1.NodeSelector",
    "api.core.v1.NodeSelectorTerm",
    "api.core.v1.ObjectFieldSelector",
    "api.core.v1.ObjectReference",
    "api.core.v1.ResourceFieldSelector",
    "api.core.v1.TypedLocalObjectReference",
    "apimachinery.pkg.apis.meta.v1.LabelSelector",
    "apimachinery.pkg.apis.meta.v1.OwnerReference",
];

/// Lists whose items are merged by these keys; every other list is replaced as a whole.
const KEYED: [(&str, &str, &[&str]); 14] = [
    ("api.core.v1.PodSpec", "containers", &["name"]),
    ("api.core.v1.PodSpec", "ephemeralContainers", &["name"]),
    ("api.core.v1.PodSpec", "hostAliases", &["ip"]),
    ("api.core.v1.PodSpec", "imagePullSecrets", &["name"]),
    ("api.core.v1.PodSpec", "initContainers", &["name"]),
    ("api.core.v1.PodSpec", "resourceClaims", &["name"]),
    ("api.core.v1.PodSpec", "schedulingGates", &["name"]),
    (
        "api.core.v1.PodSpec",
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("api.core.v1.PodSpec", "volumes", &["name"]),
    ("*Container", "env", &["name"]),
    ("*Container", "ports", &["containerPort", "protocol"]),
    ("*Container", "volumeDevices", &["devicePath"]),
    ("*Container", "volumeMounts", &["mountPath"]),
    ("api.core.v1.ResourceRequirements", "claims", &["name"]),
];

/// Both types of containers.
const CONTAINERS: [&str; 2] = ["api.core.v1.Container", "api.core.v1.EphemeralContainer"];

/// Defaults of fields.
const DEFAULTS: [(&str, &str, &str); 11] = [
    ("api.core.v1.AzureDiskVolumeSource", "fsType", r#""ext4""#),
    ("api.core.v1.AzureDiskVolumeSource", "readOnly", "false"),
    ("api.core.v1.ContainerPort", "protocol", r#""TCP""#),
    ("api.core.v1.FileKeySelector", "optional", "false"),
    ("api.core.v1.GRPCAction", "service", r#""""#),
    (
        "api.core.v1.ISCSIVolumeSource",
        "iscsiInterface",
        r#""default""#,
    ),
    (
        "api.core.v1.RBDVolumeSource",
        "keyring",
        r#""/etc/ceph/keyring""#,
    ),
    ("api.core.v1.RBDVolumeSource", "pool", r#""rbd""#),
    ("api.core.v1.RBDVolumeSource", "user", r#""admin""#),
    ("api.core.v1.ScaleIOVolumeSource", "fsType", r#""xfs""#),
    (
        "api.core.v1.ScaleIOVolumeSource",
        "storageMode",
        r#""ThinProvisioned""#,
    ),
];

/// References whose `name` defaults to the empty one instead of being required.
const NAMELESS: [&str; 8] = [
    "api.core.v1.ConfigMapEnvSource",
    "api.core.v1.ConfigMapKeySelector",
    "api.core.v1.ConfigMapProjection",
    "api.core.v1.ConfigMapVolumeSource",
    "api.core.v1.LocalObjectReference",
    "api.core.v1.SecretEnvSource",
    "api.core.v1.SecretKeySelector",
    "api.core.v1.SecretProjection",
];

/// The schema of types whose form in a definition differs from their own schema.
pub(super) fn replacement(name: &str) -> Option<Value> {
    let schema = match name {
        "apimachinery.pkg.api.resource.Quantity" => json!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": true,
        }),
        "apimachinery.pkg.util.intstr.IntOrString" => json!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        }),
        // What a template may say about its objects; the API server sets the rest.
        "apimachinery.pkg.apis.meta.v1.ObjectMeta" => json!({
            "type": "object",
            "properties": {
                "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                "finalizers": {"type": "array", "items": {"type": "string"}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "name": {"type": "string"},
                "namespace": {"type": "string"},
            },
        }),
        _ => return None,
    };
    Some(schema)
}

/// Adds to the schema of the core type `name` what it leaves out.
pub(super) fn complete(name: &str, schema: &mut Value) {
    if ATOMIC.contains(&name) || NAMELESS.contains(&name) {
        schema["x-kubernetes-map-type"] = "atomic".into();
    }
    for (owner, field, keys) in KEYED {
        let applies = owner == name || (owner == "*Container" && CONTAINERS.contains(&name));
        if applies && let Some(list) = field_of(schema, field) {
            list["x-kubernetes-list-type"] = "map".into();
            list["x-kubernetes-list-map-keys"] = json!(keys);
        }
    }
    for (owner, field, default) in DEFAULTS {
        if owner == name
            && let Some(field) = field_of(schema, field)
        {
            field["default"] = serde_json::from_str(default).unwrap_or_default();
        }
    }
    if NAMELESS.contains(&name) {
        if let Some(field) = field_of(schema, "name") {
            field["default"] = "".into();
        }
        forget_required(schema, "name");
    }
}

fn field_of<'a>(schema: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    schema.get_mut("properties")?.get_mut(field)
}

fn forget_required(schema: &mut Value, field: &str) {
    let Some(Value::Array(required)) = schema.get_mut("required") else {
        return;
    };
    required.retain(|name| name != field);
    if required.is_empty()
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("required");
    }
}
