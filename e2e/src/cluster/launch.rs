//! The processes of the control plane and their files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{Cluster, Identity};
use crate::process::Process;

/// What kube-controller-manager does: no more than tests need, since nodes have no heartbeats.
const CONTROLLERS: &str = "namespace-controller,serviceaccount-controller,\
    garbage-collector-controller,replicaset-controller,deployment-controller,\
    statefulset-controller,job-controller,\
    resourcequota-controller,clusterrole-aggregation-controller,disruption-controller,\
    ephemeral-volume-controller,persistentvolume-binder-controller,\
    persistentvolume-protection-controller,persistentvolumeclaim-protection-controller,\
    podgroup-protection-controller";

/// Feature gates of PodGroups of Kubernetes itself with all of their fields, off by default in 1.37.
const NATIVE_GROUPS: &str = "GenericWorkload=true,CompositePodGroup=true,\
    TopologyAwareWorkloadScheduling=true,PodGroupPreemptionPolicy=true,\
    DRAWorkloadResourceClaims=true";

/// Versions in which they are served.
const NATIVE_VERSIONS: &str = "scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true";

/// Serving certificate, and the key that signs ServiceAccounts' tokens.
pub(super) fn write_keys(program: &Path, folder: &Path) -> Result<()> {
    let output = Command::new(program)
        .arg("keys")
        .arg(folder)
        .output()
        .context("make keys")?;
    if !output.status.success() {
        bail!("no keys: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

pub(super) fn write_tokens(folder: &Path) -> Result<()> {
    let line = |identity: &Identity| {
        let (token, user, groups) = (identity.token(), identity.user(), identity.groups());
        format!("{token},{user},{user},\"{groups}\"\n")
    };
    let lines: String = Identity::ALL.iter().map(line).collect();
    Ok(fs::write(folder.join("tokens.csv"), lines)?)
}

/// Every write of the scheduler and of the controllers, and nothing else, leaves one line.
pub(super) fn write_audit_policy(folder: &Path) -> Result<()> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {
                "level": "Metadata",
                "users": [Identity::Scheduler.user(), Identity::Controllers.user()],
                "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            },
            {"level": "None"},
        ],
    });
    let text = serde_json::to_string_pretty(&policy)?;
    Ok(fs::write(folder.join("audit-policy.yaml"), text)?)
}

impl Cluster {
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name).env("E2E_END_WITH_STDIN", "1");
        command
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    pub(super) fn launch_etcd(&mut self) -> Result<()> {
        let mut command = self.command("etcd");
        command.args([
            format!("--data-dir={}", self.path("etcd")),
            format!("--client-port={}", self.ports.etcd),
            format!("--peer-port={}", self.ports.etcd_peer),
        ]);
        let log = self.folder.join("etcd.log");
        self.etcd = Some(Process::spawn("etcd", command, &log)?);
        Ok(())
    }

    pub(super) fn launch_apiserver(&mut self) -> Result<()> {
        let mut command = self.command("apiserver");
        command.args([
            format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd),
            format!("--secure-port={}", self.ports.apiserver),
            format!("--tls-cert-file={}", self.path("apiserver.crt")),
            format!("--tls-private-key-file={}", self.path("apiserver.key")),
            format!("--token-auth-file={}", self.path("tokens.csv")),
            format!("--service-account-key-file={}", self.path("sa.key")),
            format!("--service-account-signing-key-file={}", self.path("sa.key")),
            format!("--audit-policy-file={}", self.path("audit-policy.yaml")),
            format!("--audit-log-path={}", self.path("audit.log")),
        ]);
        // Nodes here have no controller that would take away the taint of a new node.
        let mut off = "TaintNodesByCondition".to_owned();
        if self.options.without_controllers {
            off.push_str(",ServiceAccount");
        }
        command.args([
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=RBAC",
            "--enable-admission-plugins=ResourceQuota",
            "--allow-privileged=true",
            "--audit-log-mode=batch",
            "--profiling=false",
        ]);
        command.arg(format!("--disable-admission-plugins={off}"));
        if !self.options.without_native_groups {
            command.arg(format!("--feature-gates={NATIVE_GROUPS}"));
            command.arg(format!("--runtime-config={NATIVE_VERSIONS}"));
        }
        command.args(&self.options.apiserver_flags);
        let log = self.folder.join("apiserver.log");
        self.apiserver = Some(Process::spawn("kube-apiserver", command, &log)?);
        Ok(())
    }

    pub(super) fn start_controllers(&mut self) -> Result<()> {
        if self.options.without_controllers {
            return Ok(());
        }
        let mut controllers = CONTROLLERS.to_owned();
        if self.options.with_claim_controller {
            controllers.push_str(",resourceclaim-controller");
        }
        let mut command = self.command("kcm");
        command.args([
            format!("--kubeconfig={}", self.path("admin.kubeconfig")),
            format!("--controllers={controllers}"),
            format!("--secure-port={}", self.ports.controllers),
            format!("--tls-cert-file={}", self.path("apiserver.crt")),
            format!("--tls-private-key-file={}", self.path("apiserver.key")),
        ]);
        command.arg(format!("--feature-gates={NATIVE_GROUPS}"));
        command.args([
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
            "--profiling=false",
        ]);
        let log = self.folder.join("controllers.log");
        self.controllers = Some(Process::spawn("kube-controller-manager", command, &log)?);
        Ok(())
    }
}
