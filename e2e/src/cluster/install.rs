//! What a user installs before the scheduler: namespace, CRDs, the scheduler's role.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Cluster, Identity};
use crate::programs;

/// Where the workspace is.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The CRDs, from the workspace's root.
const CRDS: &str = "config/crd";

/// What a user applies, from the workspace's root. It has the scheduler's role; the scheduler's
/// Deployment is left out, since nobody runs containers here.
const INSTALL: [&str; 2] = ["deploy/once/namespace.yaml", "deploy/install.yaml"];

/// Kinds taken from [`INSTALL`].
const KINDS: [&str; 6] = [
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

/// Kinds of [`Cluster::install_policies`].
const POLICIES: [&str; 4] = [
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

impl Cluster {
    /// Runs shell commands in a folder, as administrator of this cluster: `kubectl` and `pumice` are
    /// the ones built here. The first command that fails ends them. Returns standard output.
    ///
    /// # Errors
    /// When a command fails: with everything that was printed.
    pub fn shell(&self, folder: &Path, commands: &str) -> Result<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-e", "-c", commands])
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", self.tools()?.display()))
            .env("KUBECONFIG", self.kubeconfig(Identity::Admin))
            .env("KUBECACHEDIR", self.folder.join("kubectl-cache"))
            .env("KUBERC", "off")
            .stdin(Stdio::null())
            .output()
            .context("run sh")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("{commands}\nended with {}: {printed}{error}", output.status);
        }
        Ok(printed)
    }

    /// A folder with the programs of [`Self::shell`].
    fn tools(&self) -> Result<PathBuf> {
        let folder = self.folder.join("bin");
        fs::create_dir_all(&folder)?;
        let pumice = programs::ours("pumice")?;
        let programs = [
            ("kubectl", format!("'{}' kubectl", self.program.display())),
            ("pumice", format!("'{}'", pumice.display())),
        ];
        for (name, program) in programs {
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\nexec {program} \"$@\"\n"))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        Ok(folder)
    }

    /// Installs the CRDs and the scheduler's namespace and role with kubectl.
    ///
    /// # Errors
    /// When kubectl fails or a CRD is not served.
    pub fn install(&self) -> Result<()> {
        let crds = PathBuf::from(WORKSPACE).join(CRDS);
        let crds = crds.to_string_lossy();
        self.kubectl(&["apply", "--server-side", "-f", &crds], "")?;
        self.apply(&shipped(&KINDS)?.to_string())?;
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

    /// Installs the policies that check and fill in objects. The API server follows them, so they are
    /// in force a moment later.
    ///
    /// # Errors
    /// When kubectl fails.
    pub fn install_policies(&self) -> Result<()> {
        self.apply(&shipped(&POLICIES)?.to_string())
    }
}

/// The objects of these kinds of the installation as a List.
fn shipped(kinds: &[&str]) -> Result<Value> {
    let mut items = Vec::new();
    for file in INSTALL {
        let path = PathBuf::from(WORKSPACE).join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        for document in serde_yaml::Deserializer::from_str(&text) {
            let object = Value::deserialize(document).context(file)?;
            if kinds.iter().any(|kind| object["kind"] == *kind) {
                items.push(object);
            }
        }
    }
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}
