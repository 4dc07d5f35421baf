//! What a user installs before the scheduler: CRDs, the namespace, the scheduler's role.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::Cluster;

/// Where the workspace is.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The CRDs, from the workspace's root.
const CRDS: &str = "config/crd";

/// The role of the scheduler, from the workspace's root: its ServiceAccount is
/// `volcano-system/volcano-scheduler`.
const ROLE: &str = "e2e/manifests/scheduler-role.yaml";

impl Cluster {
    /// Installs the CRDs and the scheduler's namespace and role with kubectl.
    ///
    /// # Errors
    /// When kubectl fails or a CRD is not served.
    pub fn install(&self) -> Result<()> {
        self.create_namespace("volcano-system")?;
        self.apply_files(CRDS)?;
        self.apply_files(ROLE)?;
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
        })?;
        Ok(())
    }

    fn apply_files(&self, place: &str) -> Result<()> {
        let path = PathBuf::from(WORKSPACE).join(place);
        let path = path.to_string_lossy();
        self.kubectl(&["apply", "--server-side", "-f", &path], "")?;
        Ok(())
    }
}
