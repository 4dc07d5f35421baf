//! The HTTP servers: one for metrics, one for probes, one for all that is told to those who may ask.
//!
//! ```text
//! --listen-address   /metrics /healthz /livez /readyz              plain
//! --healthz-address  /healthz /healthz/ping /livez /readyz         plain or TLS, by a thread of its own
//! --secure-address   /metrics /configz /debug/… and [`OwnPages`]   TLS; whom the API server lets ask
//! ```
//!
//! | page | answer |
//! |---|---|
//! | `/metrics` | text for Prometheus, made at most once a second |
//! | `/healthz`, `/healthz/ping` | `ok` while the process answers at all, as in Volcano |
//! | `/livez` | `ok`, or 503 and the sentence of [`Answers::live`] |
//! | `/readyz` | `ok`, or 503 and the reasons of [`Answers::ready`] |
//! | `/configz` | JSON of [`Answers::config`] |
//! | `/debug` | JSON: every page below it |
//! | `/debug/top`, `/debug/explain/{namespace}/{pod}`, … | JSON of [`Answers::page`] |
//! | `/debug/plan` | JSON of [`Answers::plan`], to a question that is posted |
//! | `/debug/history` | JSON of [`Answers::history`] |
//! | `/debug/decisions` | JSON of [`Answers::decisions`] |
//! | `/debug/dump` | the text of [`Answers::dump`] |
//! | `/debug/record` | the bytes of [`Answers::record`] |
//! | `/debug/diag`, `/debug/diag/text` | JSON or text of [`Answers::diag`]; `PUT` counts anew |
//! | `/debug/loglevel` | the verbosity; `PUT` with `?v=N` or a body changes it |
//! | `/debug/pprof/…` | 501: there is no Go profile |
//! | below [`OwnPages::path`] | what a process shows besides |
//!
//! `/configz` and `/debug` show names of pods of all tenants, so they are answered only to whom the
//! API server knows and lets ask ([`Gatekeeper`]), unless reading them was opened to all on
//! `--listen-address`. Every connection, request and answer has a bound in time and number, and no
//! client keeps another one from a place.

mod access;
mod address;
mod connection;
mod debug;
mod log_level;
mod places;
mod rendered;
mod reply;
mod routes;
mod tls;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use access::{AccessVerdict, Gatekeeper, PendingVerdict};
pub use address::ListenError;
pub use rendered::RenderedMetrics;
pub use tls::{OwnCertificateError, TlsError, TlsFiles};

pub(crate) use connection::{ConnectionRules, attend};
pub(crate) use places::PlaceLimits;

use tls::CurrentTls;

use crate::log::LevelHandle;

/// Connections for probes at a time. All three servers together stay below the 1,024 files that a
/// process may have open where nobody has said otherwise.
const PROBE_PLACES: PlaceLimits = PlaceLimits {
    all: 512,
    of_client: 256,
};

/// Connections to `--listen-address` at a time.
const METRICS_PLACES: PlaceLimits = PlaceLimits {
    all: 128,
    of_client: 32,
};

/// Connections to `--secure-address` at a time. Forwarded ports all come from one address, the pod's
/// own machine, and so do all who come through one proxy; each user counts alone once it has asked.
const SECURE_PLACES: PlaceLimits = PlaceLimits {
    all: 128,
    of_client: 32,
};

/// A question cannot be answered at the moment; the text says why and ends without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer at the moment: {0}")]
pub struct Unanswered(pub String);

/// An answer that another thread may have to give.
pub type PendingAnswer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Unanswered>> + Send + 'a>>;

/// A page of what the scheduler sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebugPage {
    /// One pod: why it waits, or where it is.
    Pod {
        /// Namespace of the object that the page is about.
        namespace: String,
        /// Name of the object that the page is about.
        name: String,
    },
    /// One job: a PodGroup, or a workload by its name.
    Job {
        /// Namespace of the object that the page is about.
        namespace: String,
        /// Name of the object that the page is about.
        name: String,
    },
    /// One queue.
    Queue(String),
    /// All queues.
    Queues,
    /// Shared cards of all nodes, or of one.
    Cards(Option<String>),
    /// Everything at a glance.
    Top,
    /// What tasks ask of cards, and which free cards are of use to none.
    Mix,
    /// A list of jobs.
    Jobs(JobsQuery),
    /// All nodes, each in few words.
    Nodes,
    /// One node.
    Node(String),
    /// Domains of the network.
    Topology(TopologyQuery),
}

/// What is asked of the list of jobs; empty for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub struct JobsQuery {
    /// Part of `namespace/name`.
    pub search: String,
    /// Queue of the jobs.
    pub queue: String,
    /// Kind of reason for which they wait.
    pub reason: String,
    /// `all`, `waiting` or `running`.
    pub shown: String,
    /// How many are passed over.
    pub from: usize,
}

/// What is asked of the domains of the network; nothing for any.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub struct TopologyQuery {
    /// Part of the name of a domain.
    pub search: String,
    /// Tier of the domains.
    pub tier: Option<i64>,
    /// `namespace/name` of a job for whose pods room is counted.
    pub job: String,
    /// Pods there have to be room for; 0 for as many as the job needs.
    pub pods: u64,
    /// How many are passed over.
    pub from: usize,
}

/// What is asked of the history of jobs; nothing for any.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub struct HistoryAsk {
    /// Begin of the time, seconds since the epoch.
    pub from: i64,
    /// End of it; now where it is not given.
    pub until: Option<i64>,
    /// Namespace of the jobs.
    pub namespace: String,
    /// Queue of the jobs.
    pub queue: String,
    /// User of the jobs.
    pub user: String,
    /// Name of a job.
    pub name: String,
    /// `all`, `waiting`, `running` or `ended`.
    pub shown: String,
    /// Sums by `queue`, `user`, `namespace`, `day`, with commas between, in place of jobs.
    pub by: String,
    /// What the answer before said of where to go on.
    pub after: String,
}

/// What is asked of where the time of the deciding thread goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagAsk {
    /// As data.
    Read,
    /// As text for people.
    Text,
    /// As data, and counting begins again.
    Reset,
}

/// What the servers ask the daemon.
///
/// The first three are called from a server's thread and return at once; the others may wait, up
/// to the bound of a request (30 s).
pub trait Answers: Send + Sync + 'static {
    /// Whether the process is fit to take over or work; otherwise every reason why not.
    ///
    /// # Errors
    /// The reasons, a short sentence each.
    fn ready(&self) -> Result<(), Vec<String>>;

    /// Whether the process makes progress; otherwise what stands still.
    ///
    /// # Errors
    /// What stands still, since when.
    fn live(&self) -> Result<(), String>;

    /// The configuration in use, with its hash, and the flags.
    fn config(&self) -> Value;

    /// What a page shows; otherwise why there is nothing to show under that name. A process that
    /// schedules nothing has none.
    fn page(&self, page: DebugPage) -> PendingAnswer<'_, Result<Value, String>> {
        let _ = page;
        Box::pin(async { Ok(Err("this page is the scheduler's".to_owned())) })
    }

    /// The state, for `pumice simulate`. A process that schedules nothing has none.
    fn dump(&self) -> PendingAnswer<'_, Vec<u8>> {
        Box::pin(async { Err(Unanswered("the state is the scheduler's".to_owned())) })
    }

    /// What was recorded, for `pumice replay`. A process that schedules nothing has nothing.
    fn record(&self) -> PendingAnswer<'_, Vec<u8>> {
        Box::pin(async { Err(Unanswered("this page is the scheduler's".to_owned())) })
    }

    /// What would happen if, to a question in JSON; otherwise what is wrong with the question. A process that
    /// schedules nothing has nothing to tell.
    fn plan(&self, question: Vec<u8>) -> PendingAnswer<'_, Result<Value, String>> {
        let _ = question;
        Box::pin(async { Err(Unanswered("this page is the scheduler's".to_owned())) })
    }

    /// Where the time of the deciding thread went; a text where one was asked for. A process that decides
    /// nothing has nothing to tell.
    fn diag(&self, ask: DiagAsk) -> PendingAnswer<'_, Value> {
        let _ = ask;
        Box::pin(async { Err(Unanswered("this page is the scheduler's".to_owned())) })
    }

    /// What became of jobs; otherwise what is wrong with the question. A process that schedules nothing has nothing to tell.
    fn history(&self, asked: HistoryAsk) -> PendingAnswer<'_, Result<Value, String>> {
        let _ = asked;
        Box::pin(async { Err(Unanswered("this page is the scheduler's".to_owned())) })
    }

    /// The latest decisions, and what waits. A process that schedules nothing has none.
    fn decisions(&self) -> PendingAnswer<'_, Value> {
        Box::pin(async { Ok(Value::Array(Vec::new())) })
    }
}

/// Pages that a process has besides those of all processes, for whom the gatekeeper lets ask.
#[derive(Clone)]
pub struct OwnPages {
    /// Path below which they lie, such as `/ui`.
    pub path: &'static str,
    /// The pages; paths begin behind that one. Its own bounds hold for bodies, the server's for time.
    pub pages: axum::Router,
}

/// What the servers of `--listen-address` and `--secure-address` show.
#[derive(Clone)]
pub struct Endpoints {
    /// Name and version of the program, as clients see it.
    pub program: &'static str,
    /// Source of `/metrics`; `None` when `--enable-metrics` is not given.
    pub metrics: Option<Arc<RenderedMetrics>>,
    /// Who answers the questions.
    pub answers: Arc<dyn Answers>,
    /// The verbosity behind `/debug/loglevel`.
    pub level: LevelHandle,
    /// Let everybody read `/configz` and `/debug` on `--listen-address`, whoever it is.
    pub debug_open: bool,
    /// What `--secure-address` shows besides.
    pub own: Option<OwnPages>,
}

/// A running server, until it is dropped or [`HttpServer::stop`] is called.
pub struct HttpServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl HttpServer {
    /// The address it listens on, with the port the system chose when 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections and ends when the requests under way are answered, or after
    /// `grace`.
    pub async fn stop(self, grace: Duration) {
        self.stop.send_replace(true);
        let stopper = self.task.abort_handle();
        if timeout(grace, self.task).await.is_err() {
            stopper.abort();
        }
    }

    /// Returns when it has ended, which it does not by itself.
    pub async fn ended(self) {
        let _ = self.task.await;
    }
}

/// A server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address to listen at is not usable.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The certificates of TLS are not usable.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// There is no certificate, and none could be made.
    #[error(transparent)]
    OwnCertificate(#[from] OwnCertificateError),
}

/// Starts the server of `--listen-address`. `address` is written as Go takes it: `:8080`,
/// `127.0.0.1:0`, `[::1]:8080`, `localhost:8080`.
///
/// # Errors
/// The address cannot be read or listened on.
pub async fn serve(address: &str, endpoints: Endpoints) -> Result<HttpServer, ServeError> {
    let listener = address::listen("--listen-address", address).await?;
    let rules = ConnectionRules {
        places: METRICS_PLACES,
        keep_alive: true,
        tls: None,
    };
    start(listener, routes::plain(endpoints), rules)
}

/// Starts the server of `--healthz-address`, with TLS (1.2 at least, client certificates checked
/// when given) if there are files for it. A connection brings one request, as those of kubelets do.
///
/// # Errors
/// The address cannot be read or listened on, or a file cannot be used.
pub async fn serve_health(
    address: &str,
    files: Option<&TlsFiles>,
    answers: Arc<dyn Answers>,
) -> Result<HttpServer, ServeError> {
    let rules = ConnectionRules {
        places: PROBE_PLACES,
        keep_alive: false,
        tls: files.map(CurrentTls::of_files).transpose()?,
    };
    let listener = address::listen("--healthz-address", address).await?;
    start(listener, routes::probes(answers), rules)
}

/// Starts the server of `--secure-address`, with the certificate of the files, or one of its own.
///
/// # Errors
/// The address cannot be read or listened on, or a file cannot be used.
pub async fn serve_secure(
    address: &str,
    files: Option<&TlsFiles>,
    endpoints: Endpoints,
    gatekeeper: Arc<dyn Gatekeeper>,
) -> Result<HttpServer, ServeError> {
    let tls = match files {
        Some(files) => CurrentTls::of_files(files)?,
        None => CurrentTls::own()?,
    };
    let rules = ConnectionRules {
        places: SECURE_PLACES,
        keep_alive: true,
        tls: Some(tls),
    };
    let listener = address::listen("--secure-address", address).await?;
    start(listener, routes::secure(endpoints, gatekeeper), rules)
}

fn start(
    listener: TcpListener,
    router: axum::Router,
    rules: ConnectionRules,
) -> Result<HttpServer, ServeError> {
    let address = listener.local_addr().map_err(ListenError::lost)?;
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(attend(listener, router, rules, stopped));
    Ok(HttpServer {
        address,
        stop,
        task,
    })
}

#[cfg(test)]
mod tests;
