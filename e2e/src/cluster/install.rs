//! What a user installs before the scheduler: namespace, CRDs, the scheduler's role.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Cluster;

/// Where the workspace is.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The CRDs, from the workspace's root.
const CRDS: &str = "config/crd";

/// What a user applies, from the workspace's root. It has the scheduler's role; the scheduler's
/// Deployment is left out, since nobody runs containers here.
const INSTALL: &str = "deploy/install.yaml";

/// Kinds taken from [`INSTALL`].
const KINDS: [&str; 6] = [
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

impl Cluster {
    /// Installs the CRDs and the scheduler's namespace and role with kubectl.
    ///
    /// # Errors
    /// When kubectl fails or a CRD is not served.
    pub fn install(&self) -> Result<()> {
        let crds = PathBuf::from(WORKSPACE).join(CRDS);
        let crds = crds.to_string_lossy();
        self.kubectl(&["apply", "--server-side", "-f", &crds], "")?;
        self.apply(&role()?.to_string())?;
        let wait = [
            "wait",
            "--for=condition=Established",
            "--timeout=30s",
            "crd",
            "--all",
        ];
        self.kubectl(&wait, "")?;
        // Established comes before the first answer: the path is served a moment later.
        let queues = "/apis/scheduling.volcano.sh/v1beta1/queues";
        crate::eventually(Duration::from_secs(30), "queues are served", || {
            self.rest.get(queues).map(Some)
        })
        .map(|_| ())
    }
}

/// The wanted objects of the installation as a List.
fn role() -> Result<Value> {
    let path = PathBuf::from(WORKSPACE).join(INSTALL);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut items = Vec::new();
    for document in serde_yaml::Deserializer::from_str(&text) {
        let object = Value::deserialize(document).context(INSTALL)?;
        if KINDS.iter().any(|kind| object["kind"] == *kind) {
            items.push(object);
        }
    }
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}
