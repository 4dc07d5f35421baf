//! The way to the leading scheduler, for `pumice explain`, `top`, `queues`, `cards`, `diag` and `dump`.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use pumice_cluster::remote::{
    self, PageRequest, Remote, RemoteError, RemoteOptions, RemotePage, RemoteRole, SchedulerPod,
    path_part,
};
use pumice_engine::view::{Ask, TopologyAsk};
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use super::user::ClusterConnection;
use crate::bad_input::BadInput;
use crate::output::OutputFormat;

/// Namespace and name of the scheduler's Lease unless told otherwise.
const LEASE: (&str, &str) = ("volcano-system", "volcano");

/// How long a command waits for the scheduler that can do without.
const SOON: Duration = Duration::from_secs(3);

/// Which cluster's scheduler.
#[derive(Args, Clone)]
pub struct LeaderPlace {
    /// Kubeconfig; default: $KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; default: the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace of the scheduler and its Lease
    #[arg(long, default_value = LEASE.0, value_name = "NAME")]
    lease_namespace: String,
    /// Lease of the scheduler
    #[arg(long, default_value = LEASE.1, value_name = "NAME")]
    lease_name: String,
    /// Pod of the scheduler that is asked, in the namespace of the Lease; default: the leader
    #[arg(long, value_name = "NAME")]
    pod: Option<String>,
    /// Port of the scheduler's --secure-address; default: the one its pod tells
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

/// A page that is written to a file as it is.
#[derive(Clone, Copy)]
pub enum SavedPage {
    /// The state.
    Dump,
    /// What was recorded.
    Record,
}

impl SavedPage {
    fn name(self) -> &'static str {
        match self {
            Self::Dump => "dump",
            Self::Record => "record",
        }
    }
}

impl LeaderPlace {
    fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--pod", self.pod.is_some()),
            ("--port", self.port.is_some()),
            ("--kubeconfig", self.kubeconfig.is_some()),
            ("--context", self.context.is_some()),
            ("--lease-namespace", self.lease_namespace != LEASE.0),
            ("--lease-name", self.lease_name != LEASE.1),
        ];
        let given = flags.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(flag, _)| flag)
    }

    fn options(&self, role: RemoteRole) -> RemoteOptions {
        RemoteOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            lease_namespace: self.lease_namespace.clone(),
            lease_name: self.lease_name.clone(),
            port: self.port,
            role,
            patience: None,
        }
    }

    /// The pod that is asked: the one that is named, else the leader, else one that stands by.
    async fn asked(&self, remote: &Remote) -> Result<SchedulerPod, RemoteError> {
        if let Some(name) = &self.pod {
            return remote.pod(name).await;
        }
        match remote.leader().await {
            Err(none @ (RemoteError::NoHolder { .. } | RemoteError::NoPod { .. })) => {
                remote.standby().await?.ok_or(none)
            }
            found => found,
        }
    }

    /// Writes what the leading scheduler has to `out`.
    pub fn save(&self, page: SavedPage, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
        let asked = async {
            let remote = Remote::connect(self.options(RemoteRole::Dump)).await?;
            let asked = self.asked(&remote).await?;
            let path = path(&[page.name()]);
            remote.save(&asked, PageRequest::read(&path), out).await
        };
        let page = runtime()?.block_on(asked).map_err(error)?;
        match page.status {
            200 => Ok(()),
            _ => Err(BadInput(format!("error: the scheduler says: {}", page.body.trim())).into()),
        }
    }
}

/// Where the scheduler is.
#[derive(Args, Clone)]
pub struct SchedulerPlace {
    #[command(flatten)]
    leader: LeaderPlace,
    /// Ask the scheduler at this address, without a cluster; one that runs with --debug-open answers
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["kubeconfig", "context", "pod", "port"]
    )]
    server: Option<String>,
}

impl SchedulerPlace {
    /// A flag by which somebody has named a scheduler.
    pub fn given(&self) -> Option<&'static str> {
        let server = self.server.as_ref().map(|_| "--server");
        server.or_else(|| self.leader.given())
    }
}

/// Where the scheduler is, and how its answer is shown.
#[derive(Args)]
pub struct SchedulerConnection {
    #[command(flatten)]
    place: SchedulerPlace,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: OutputFormat,
}

/// The way to the scheduler.
pub struct Scheduler {
    runtime: Runtime,
    way: Route,
    /// What the last answer said of a replica that stands by.
    standby: RefCell<Option<StandbyWords>>,
    /// Whoever asks tells of that.
    is_silent: bool,
    /// Longest wait until an answer to a page that is read begins; usual where there is none.
    patience: Option<Duration>,
}

enum Route {
    Address(String),
    Cluster(Box<Remote>, SchedulerPod),
}

/// An answer that is there, or why it is not.
pub type Answered<T> = Result<T, String>;

impl SchedulerConnection {
    /// The cluster it is in; `None` where the scheduler itself is named.
    pub fn cluster(&self) -> Option<ClusterConnection> {
        self.place.cluster()
    }

    /// Finds the scheduler that is asked.
    pub fn open(&self) -> anyhow::Result<Scheduler> {
        self.place.open()
    }
}

impl SchedulerPlace {
    /// The usual scheduler of a cluster.
    pub fn of(cluster: &ClusterConnection) -> Self {
        Self {
            leader: LeaderPlace {
                kubeconfig: cluster.kubeconfig.clone(),
                context: cluster.context.clone(),
                lease_namespace: LEASE.0.to_owned(),
                lease_name: LEASE.1.to_owned(),
                pod: None,
                port: None,
            },
            server: None,
        }
    }

    /// The cluster it is in; `None` where the scheduler itself is named.
    pub fn cluster(&self) -> Option<ClusterConnection> {
        self.server.is_none().then(|| ClusterConnection {
            kubeconfig: self.leader.kubeconfig.clone(),
            context: self.leader.context.clone(),
        })
    }

    fn options(&self) -> RemoteOptions {
        self.leader.options(RemoteRole::Explain)
    }

    /// Finds the scheduler as [`open`](Self::open) does, for a page that somebody looks at: neither finding it nor the
    /// begin of an answer takes longer than this.
    pub fn open_within(&self, patience: Duration) -> anyhow::Result<Scheduler> {
        self.found(Some(patience))
    }

    /// What people call it: the context, or the address.
    pub fn name(&self) -> String {
        let named = self.server.as_ref().or(self.leader.context.as_ref());
        let file = self.leader.kubeconfig.as_ref();
        let file = || file.map(|file| file.display().to_string());
        named
            .cloned()
            .or_else(file)
            .unwrap_or_else(|| "cluster".to_owned())
    }

    /// Finds the leading scheduler, or where there is none one that stands by.
    pub fn open(&self) -> anyhow::Result<Scheduler> {
        self.found(None)
    }

    fn found(&self, patience: Option<Duration>) -> anyhow::Result<Scheduler> {
        let runtime = runtime()?;
        let options = RemoteOptions {
            patience,
            ..self.options()
        };
        let way = match &self.server {
            Some(address) => Route::Address(address.clone()),
            None => {
                let found = runtime.block_on(async {
                    let remote = Remote::connect(options).await?;
                    let asked = self.leader.asked(&remote).await?;
                    Ok((remote, asked))
                });
                let (remote, leader) = found.map_err(error)?;
                Route::Cluster(Box::new(remote), leader)
            }
        };
        Ok(Scheduler {
            runtime,
            way,
            standby: RefCell::default(),
            is_silent: patience.is_some(),
            patience,
        })
    }
}

impl Scheduler {
    /// Who answered last, where it was a replica that stands by.
    pub fn standby(&self) -> Option<StandbyWords> {
        self.standby.borrow().clone()
    }

    fn note_standby(&self, body: &str) {
        let answer = serde_json::from_str(body);
        let standby = answer.ok().map(|StandbyAnswer { standby }| standby);
        if let (Some(standby), false) = (&standby, self.is_silent) {
            let as_of = standby.as_of.as_deref().unwrap_or_default();
            anstream::eprintln!("note: as of {as_of}, {}", standby.words());
        }
        self.standby.replace(standby);
    }

    /// The namespace meant where none is named.
    pub fn namespace(&self) -> &str {
        match &self.way {
            Route::Address(_) => "default",
            Route::Cluster(remote, _) => remote.namespace(),
        }
    }

    fn page(&self, parts: &[&str]) -> anyhow::Result<Answered<String>> {
        self.read(&path(parts))
    }

    fn read(&self, path: &str) -> anyhow::Result<Answered<String>> {
        let asked = PageRequest::read(path);
        self.ask(match self.patience {
            Some(patience) => asked.within(patience),
            None => asked,
        })
    }

    fn ask(&self, asked: PageRequest<'_>) -> anyhow::Result<Answered<String>> {
        let page = self.runtime.block_on(async {
            match &self.way {
                Route::Address(address) => remote::ask_at(address, asked).await,
                Route::Cluster(remote, leader) => remote.ask(leader, asked).await,
            }
        });
        let RemotePage { status, body, .. } = page.map_err(error)?;
        match status {
            200 => {
                self.note_standby(&body);
                Ok(Ok(body))
            }
            404 => Ok(Err(body.trim().to_owned())),
            _ => Err(BadInput(format!("error: the scheduler says: {}", body.trim())).into()),
        }
    }

    /// Reads the page that answers a question.
    pub fn view<T: DeserializeOwned>(&self, ask: &Ask) -> anyhow::Result<Answered<T>> {
        let parts = match ask {
            Ask::Pod { namespace, name } => vec!["explain", namespace, name],
            Ask::Job { namespace, name } => vec!["jobs", namespace, name],
            Ask::Queue(name) => vec!["queues", name],
            Ask::Queues => vec!["queues"],
            Ask::Cards(None) => vec!["cards"],
            Ask::Cards(Some(node)) => vec!["cards", node],
            Ask::Top => vec!["top"],
            Ask::Mix => vec!["mix"],
            Ask::Waiting => vec!["decisions"],
            Ask::Nodes => vec!["nodes"],
            Ask::Node(name) => vec!["nodes", name],
            Ask::Topology(of) => return self.topology(of),
            Ask::Jobs(of) => {
                let from = of.from.to_string();
                let query = [
                    ("search", of.search.as_str()),
                    ("queue", &of.queue),
                    ("reason", &of.reason),
                    ("shown", of.shown.name()),
                    ("from", &from),
                ];
                return self.get_with(&["jobs"], &query);
            }
        };
        self.get(&parts)
    }

    fn topology<T: DeserializeOwned>(&self, of: &TopologyAsk) -> anyhow::Result<Answered<T>> {
        let (from, pods) = (of.from.to_string(), of.pods.to_string());
        let tier = of.tier.map(|tier| tier.to_string());
        let mut query = vec![
            ("search", of.search.as_str()),
            ("job", &of.job),
            ("pods", &pods),
            ("from", &from),
        ];
        query.extend(tier.as_deref().map(|tier| ("tier", tier)));
        self.get_with(&["topology"], &query)
    }

    /// Reads a page; parts of the path are escaped.
    pub fn get<T: DeserializeOwned>(&self, parts: &[&str]) -> anyhow::Result<Answered<T>> {
        self.get_with(parts, &[])
    }

    /// Reads a page of which something is asked: keys and values, which are escaped.
    fn get_with<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, &str)],
    ) -> anyhow::Result<Answered<T>> {
        let mut path = path(parts);
        for (at, (key, value)) in query.iter().enumerate() {
            path.push(if at == 0 { '?' } else { '&' });
            path.push_str(key);
            path.push('=');
            path.push_str(&path_part(value));
        }
        let body = match self.read(&path)? {
            Ok(body) => body,
            Err(absent) => return Ok(Err(absent)),
        };
        read(&body).map(Ok)
    }

    /// Reads a page of which something is asked, and that must be there.
    pub fn get_known_with<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, &str)],
    ) -> anyhow::Result<T> {
        self.get_with(parts, query)?.map_err(absent)
    }

    /// Posts a question in JSON to a page that must be there.
    pub fn post<T: DeserializeOwned>(&self, parts: &[&str], question: &str) -> anyhow::Result<T> {
        let asked = self.ask(PageRequest::post(&path(parts), question))?;
        read(&asked.map_err(absent)?)
    }

    /// Reads a page that is a text, and must be there.
    pub fn text(&self, parts: &[&str]) -> anyhow::Result<String> {
        self.page(parts)?.map_err(absent)
    }

    /// Reads a page that must be there.
    pub fn get_known<T: DeserializeOwned>(&self, parts: &[&str]) -> anyhow::Result<T> {
        self.get(parts)?.map_err(absent)
    }
}

/// What a replica that stands by says of itself in an answer.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct StandbyAnswer {
    standby: StandbyWords,
}

/// A replica that stands by.
#[derive(Clone, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StandbyWords {
    leader: Option<String>,
    /// As of when it answers, as RFC 3339 writes it.
    pub as_of: Option<String>,
}

impl StandbyWords {
    /// Whose answer it is, in words.
    pub fn words(&self) -> String {
        let leader = match &self.leader {
            Some(leader) => format!("the leader is {leader}"),
            None => "there is no leader".to_owned(),
        };
        format!("what a replica that stands by would decide; {leader}")
    }
}

fn read<T: DeserializeOwned>(body: &str) -> anyhow::Result<T> {
    let view = serde_json::from_str(body);
    view.map_err(|wrong| {
        let text = format!(
            "error: the answer of the scheduler is not understood: {wrong}\n  = help: use the same \
             version of `pumice` and `pumice-scheduler`"
        );
        BadInput(text).into()
    })
}

/// What the usual scheduler of a cluster says, for a command that can do without: nothing where it
/// may not be asked, or does not answer soon.
pub fn asked_by_the_way<T: DeserializeOwned>(
    cluster: &ClusterConnection,
    parts: &[&str],
) -> Option<T> {
    let connection = SchedulerPlace::of(cluster);
    let runtime = runtime().ok()?;
    let path = path(parts);
    let asked = async {
        let remote = Remote::connect(connection.options()).await.ok()?;
        let leader = remote.leader().await.ok()?;
        remote.ask(&leader, PageRequest::read(&path)).await.ok()
    };
    let page = runtime.block_on(async { tokio::time::timeout(SOON, asked).await });
    let page = page.ok().flatten().filter(|page| page.status == 200)?;
    serde_json::from_str(&page.body).ok()
}

fn runtime() -> anyhow::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("no runtime")
}

/// Path of a page; the parts are escaped.
fn path(parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| path_part(part)).collect();
    format!("/debug/{}", parts.join("/"))
}

/// Said on standard error; what it was can still be asked.
fn error(error: RemoteError) -> anyhow::Error {
    let said = BadInput(format!("error: {error}"));
    anyhow::Error::new(error).context(said)
}

/// Nobody answers, or nobody of us: another one may.
pub fn is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<RemoteError>().is_some()
}

/// The API server answers, but the one who asks may not ask the scheduler.
pub fn is_denied(error: &anyhow::Error) -> bool {
    let remote = error.downcast_ref::<RemoteError>();
    matches!(remote, Some(RemoteError::Denied { .. }))
}

/// The API server answers and the scheduler cannot be asked, so that its objects are the next best.
pub fn is_out_of_reach(error: &anyhow::Error) -> bool {
    let remote = error.downcast_ref::<RemoteError>();
    remote.is_some_and(|remote| match remote {
        RemoteError::Denied { .. }
        | RemoteError::NoLease { .. }
        | RemoteError::NoHolder { .. }
        | RemoteError::NoPod { .. }
        | RemoteError::NoAccount { .. }
        | RemoteError::Refused { .. }
        | RemoteError::NotForwarded { .. }
        | RemoteError::NotPumice { .. } => true,
        RemoteError::Kubeconfig { .. }
        | RemoteError::Unreachable { .. }
        | RemoteError::NoSuchPod { .. }
        | RemoteError::Address { .. }
        | RemoteError::NoAnswer { .. } => false,
    })
}

/// Says that an answer is not the scheduler's, and why.
pub fn note_out_of_reach(namespace: &str, error: &anyhow::Error) {
    let why = error.to_string();
    let why = why.strip_prefix("error: ").unwrap_or(&why);
    anstream::eprintln!(
        "note: this is what the objects of namespace {namespace} say; the scheduler, which knows \
         more, was not asked: {why}"
    );
}

/// What is asked for is not there.
pub fn absent(why: String) -> anyhow::Error {
    BadInput(format!("error: {why}")).into()
}
