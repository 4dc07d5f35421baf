//! A control plane on loopback: etcd, kube-apiserver, kube-controller-manager.

mod install;
mod launch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::process::{Process, Signal, free_ports};
use crate::wait::{eventually, run};
use crate::{Rest, programs, scratch};

/// How long the API server may take to be ready. About four seconds on two idle cores.
const READY: Duration = Duration::from_secs(180);

/// Where one that was ready once is ready again: the roles that it makes at its first start are there, and it answers
/// everybody while it looks through them, which takes minutes where cores have much else to do.
const READY_AGAIN: &str = "/readyz?exclude=poststarthook/rbac/bootstrap-roles";

/// How a cluster is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Leave kube-controller-manager out: no default ServiceAccounts, so no pods by ordinary means
    /// unless the admission plugin is off too, which this does.
    pub without_controllers: bool,
    /// The controller of resource claims runs too: where it does not, whoever tests makes claims from templates and gives
    /// devices back.
    pub with_claim_controller: bool,
    /// PodGroups of Kubernetes itself are not served, as by default.
    pub without_native_groups: bool,
    /// Further flags of kube-apiserver.
    pub apiserver_flags: Vec<String>,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// May do everything.
    Admin,
    /// The scheduler's ServiceAccount, which may do what its role allows.
    Scheduler,
    /// The controllers' ServiceAccount, likewise.
    Controllers,
}

impl Identity {
    const ALL: [Self; 3] = [Self::Admin, Self::Scheduler, Self::Controllers];

    /// The user name the API server sees.
    pub const fn user(self) -> &'static str {
        match self {
            Self::Admin => "e2e-admin",
            Self::Scheduler => "system:serviceaccount:volcano-system:volcano-scheduler",
            Self::Controllers => "system:serviceaccount:volcano-system:volcano-controllers",
        }
    }

    fn groups(self) -> &'static str {
        match self {
            Self::Admin => "system:masters",
            Self::Scheduler | Self::Controllers => {
                "system:serviceaccounts,system:serviceaccounts:volcano-system,system:authenticated"
            }
        }
    }

    fn token(self) -> &'static str {
        match self {
            Self::Admin => "token-of-admin",
            Self::Scheduler => "token-of-scheduler",
            Self::Controllers => "token-of-controllers",
        }
    }
}

/// A running control plane. Everything ends when it is dropped, or when this process ends.
pub struct Cluster {
    folder: PathBuf,
    program: PathBuf,
    options: Options,
    ports: Ports,
    was_ready: bool,
    // In the order in which they are dropped: clients before servers.
    controllers: Option<Process>,
    apiserver: Option<Process>,
    etcd: Option<Process>,
    rest: Rest,
}

struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
    controllers: u16,
}

impl Cluster {
    /// Starts a cluster and waits until it is ready.
    ///
    /// # Errors
    /// When a program is missing or does not become ready; with the end of its log.
    pub fn start(options: Options) -> Result<Self> {
        let program = programs::control_plane()?;
        let folder = scratch("cluster")?;
        let [etcd, etcd_peer, apiserver, controllers] = free_ports()?;
        let ports = Ports {
            etcd,
            etcd_peer,
            apiserver,
            controllers,
        };
        launch::write_keys(&program, &folder)?;
        launch::write_tokens(&folder)?;
        launch::write_audit_policy(&folder)?;
        for identity in Identity::ALL {
            let url = format!("https://127.0.0.1:{apiserver}");
            write_kubeconfig(&folder, &path_of(&folder, identity), &url, identity.token())?;
        }
        let rest = Rest::new(client_at(&path_of(&folder, Identity::Admin))?);
        let mut cluster = Self {
            folder,
            program,
            options,
            ports,
            was_ready: false,
            controllers: None,
            apiserver: None,
            etcd: None,
            rest,
        };
        cluster.launch_etcd()?;
        cluster.start_apiserver()?;
        cluster.start_controllers()?;
        cluster.wait_account("default")?;
        Ok(cluster)
    }

    /// The folder with keys, logs and kubeconfigs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The API as administrator.
    pub fn rest(&self) -> &Rest {
        &self.rest
    }

    /// A client of its own for this identity, with a connection pool of its own.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub fn client(&self, identity: Identity) -> Result<Client> {
        client_at(&self.kubeconfig(identity))
    }

    /// Path of the kubeconfig of this identity.
    pub fn kubeconfig(&self, identity: Identity) -> PathBuf {
        path_of(&self.folder, identity)
    }

    /// Writes a kubeconfig of this identity for another address of the API server.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn kubeconfig_for(&self, identity: Identity, url: &str, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        write_kubeconfig(&self.folder, &path, url, identity.token())?;
        Ok(path)
    }

    /// kubectl as administrator, with this on its standard input.
    ///
    /// # Errors
    /// When it fails: with what it printed.
    pub fn kubectl(&self, arguments: &[&str], input: &str) -> Result<String> {
        let stdin = self
            .folder
            .join(format!("stdin-{:?}", std::thread::current().id()));
        fs::write(&stdin, input)?;
        let output = Command::new(&self.program)
            .arg("kubectl")
            .args(arguments)
            // One that waits for what does not come fails its test, and stops no other.
            .arg("--request-timeout=60s")
            .arg("--kubeconfig")
            .arg(self.kubeconfig(Identity::Admin))
            .arg("--cache-dir")
            .arg(self.folder.join("kubectl-cache"))
            .env("KUBERC", "off")
            .stdin(fs::File::open(&stdin)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .context("run kubectl")?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {} failed: {error}", arguments.join(" "));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// `kubectl apply` of this text, on the server's side.
    ///
    /// # Errors
    /// When kubectl fails.
    pub fn apply(&self, manifests: &str) -> Result<()> {
        let arguments = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        self.kubectl(&arguments, manifests).map(|_| ())
    }

    /// Makes a namespace that takes pods.
    ///
    /// # Errors
    /// When the API server refuses it or its ServiceAccount does not appear.
    pub fn create_namespace(&self, name: &str) -> Result<()> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.rest.create("/api/v1/namespaces", &object) {
            Err(error) if crate::is_status(&error, 409) => {}
            other => {
                other?;
            }
        }
        self.wait_account(name)
    }

    /// Pods are refused until their namespace has its default ServiceAccount.
    fn wait_account(&self, namespace: &str) -> Result<()> {
        if self.options.without_controllers {
            return Ok(());
        }
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        let what = format!("the default ServiceAccount of {namespace} exists");
        eventually(READY, &what, || self.rest.get(&path).map(Some))?;
        Ok(())
    }

    /// Process number of kube-apiserver, while it runs.
    pub fn apiserver_id(&self) -> Option<u32> {
        self.apiserver.as_ref().map(Process::id)
    }

    /// Kills kube-apiserver: connections break, requests are refused.
    pub fn kill_apiserver(&mut self) {
        self.apiserver = None;
    }

    /// Starts kube-apiserver on the same port and data, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready: with the end of its log.
    pub fn start_apiserver(&mut self) -> Result<()> {
        self.launch_apiserver()?;
        let rest = self.rest.clone();
        let page = self.ready_page();
        let apiserver = self.apiserver.as_mut();
        let process = apiserver.ok_or_else(|| anyhow!("kube-apiserver was not started"))?;
        let ready = eventually(READY, "kube-apiserver is ready", || {
            match process.ended() {
                // Nothing to wait for any more.
                Some(_) => Ok(Some(false)),
                None => rest.get(page).map(|_| Some(true)),
            }
        });
        self.was_ready |= matches!(ready, Ok(true));
        match ready {
            Ok(true) => Ok(()),
            Ok(false) => bail!("kube-apiserver ended\n{}", process.log_tail(30)),
            Err(error) => Err(error.context(process.log_tail(30))),
        }
    }

    fn ready_page(&self) -> &'static str {
        match self.was_ready {
            true => READY_AGAIN,
            false => "/readyz",
        }
    }

    /// Whether kube-apiserver answers.
    pub fn is_ready(&self) -> bool {
        self.rest.get(self.ready_page()).is_ok()
    }

    /// Stops all processes where they are. One that nobody uses takes up to a tenth of a core otherwise.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets all processes go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let all = [&self.etcd, &self.apiserver, &self.controllers];
        let running = all.into_iter().flatten();
        running.for_each(|process| process.signal(signal));
    }

    /// Whether kube-apiserver serves PodGroups of Kubernetes itself.
    pub fn serves_native_groups(&self) -> bool {
        !self.options.without_native_groups
    }

    /// Starts kube-apiserver again, so that it serves PodGroups of Kubernetes itself, or does not. Those that are there
    /// stay in etcd.
    ///
    /// # Errors
    /// As [`Cluster::start_apiserver`].
    pub fn serve_native_groups(&mut self, served: bool) -> Result<()> {
        self.options.without_native_groups = !served;
        self.restart_apiserver()
    }

    /// Kills kube-apiserver and starts it again.
    ///
    /// # Errors
    /// As [`Cluster::start_apiserver`].
    pub fn restart_apiserver(&mut self) -> Result<()> {
        self.kill_apiserver();
        self.start_apiserver()
    }
}

fn path_of(folder: &Path, identity: Identity) -> PathBuf {
    folder.join(match identity {
        Identity::Admin => "admin.kubeconfig",
        Identity::Scheduler => "scheduler.kubeconfig",
        Identity::Controllers => "controllers.kubeconfig",
    })
}

fn write_kubeconfig(folder: &Path, path: &Path, url: &str, token: &str) -> Result<()> {
    let authority = folder.join("apiserver.crt");
    let mut cluster = json!({"server": url});
    if url.starts_with("https:") {
        cluster["certificate-authority"] = json!(authority);
    }
    // JSON is YAML too.
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    });
    fs::write(path, serde_json::to_string_pretty(&config)?)
        .with_context(|| format!("write {}", path.display()))
}

/// A client as the kubeconfig says, which tries nothing twice.
///
/// # Errors
/// When the kubeconfig cannot be used.
pub fn client_at(kubeconfig: &Path) -> Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    run(async {
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(file, &options).await?;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    })
}
