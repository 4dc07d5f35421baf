//! The HTTP servers: one for metrics and questions, one that only says that the process is there.
//!
//! ```text
//! --listen-address   /metrics /healthz /livez /readyz /configz /debug/…   plain
//! --healthz-address  /healthz /healthz/ping                               plain or TLS
//! ```
//!
//! | page | answer |
//! |---|---|
//! | `/metrics` | text for Prometheus |
//! | `/healthz`, `/healthz/ping` | `ok` while the process answers at all, as in Volcano |
//! | `/livez` | `ok`, or 503 and the sentence of [`Answers::live`] |
//! | `/readyz` | `ok`, or 503 and the reasons of [`Answers::ready`] |
//! | `/configz` | JSON of [`Answers::config`] |
//! | `/debug` | JSON: every page below it |
//! | `/debug/top`, `/debug/explain/{namespace}/{pod}`, … | JSON of [`Answers::page`] |
//! | `/debug/decisions` | JSON of [`Answers::decisions`] |
//! | `/debug/diag`, `/debug/diag/text` | JSON or text of [`Answers::diag`]; `PUT` counts anew |
//! | `/debug/loglevel` | the verbosity; `PUT` with `?v=N` or a body changes it |
//! | `/debug/pprof/…` | 501: there is no Go profile |
//!
//! `/debug` shows names of pods of all tenants, so only clients on the same machine get an answer
//! (`kubectl port-forward` makes one), unless it was opened to all. Every connection, request and
//! answer has a bound in time and number.

mod address;
mod connection;
mod debug;
mod routes;
mod tls;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use address::ListenError;
pub use tls::{TlsError, TlsFiles};

pub(crate) use connection::limited;

use crate::log::LevelHandle;
use crate::metrics::MetricsPage;

/// How long requests under way may take when a server ends (spec/01 §1.6).
pub const GRACE: Duration = Duration::from_secs(30);

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
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// One job: a PodGroup, or a workload by its name.
    Job {
        /// Namespace.
        namespace: String,
        /// Name.
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

    /// Where the time of the deciding thread went; a text where one was asked for. A process that decides
    /// nothing has nothing to tell.
    fn diag(&self, ask: DiagAsk) -> PendingAnswer<'_, Value> {
        let _ = ask;
        Box::pin(async { Err(Unanswered("this page is the scheduler's".to_owned())) })
    }

    /// The latest decisions, and what waits. A process that schedules nothing has none.
    fn decisions(&self) -> PendingAnswer<'_, Value> {
        Box::pin(async { Ok(Value::Array(Vec::new())) })
    }
}

/// What the server of `--listen-address` shows.
#[derive(Clone)]
pub struct Endpoints {
    /// Name and version of the program, as clients see it.
    pub program: &'static str,
    /// Source of `/metrics`; `None` when `--enable-metrics` is not given.
    pub metrics: Option<Arc<dyn MetricsPage>>,
    /// Who answers the questions.
    pub answers: Arc<dyn Answers>,
    /// The verbosity behind `/debug/loglevel`.
    pub level: LevelHandle,
    /// Answer `/debug` to every client, not only to those on this machine.
    pub debug_open: bool,
}

/// A running server. Dropping it leaves it running; [`HttpServer::stop`] ends it.
pub struct HttpServer {
    address: SocketAddr,
    handle: Handle<SocketAddr>,
    task: JoinHandle<std::io::Result<()>>,
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
        self.handle.graceful_shutdown(Some(grace));
        if let Ok(Err(error)) = self.task.await {
            tracing::warn!(address = %self.address, %error, "the HTTP server ended with an error");
        }
    }
}

/// The health server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// Its address is not usable.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Its certificates are not usable.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Starts the server of `--listen-address`. `address` is written as Go takes it: `:8080`,
/// `127.0.0.1:0`, `[::1]:8080`, `localhost:8080`.
///
/// # Errors
/// The address cannot be read or listened on.
pub async fn serve(address: &str, endpoints: Endpoints) -> Result<HttpServer, ListenError> {
    let listener = address::listen("--listen-address", address).await?;
    start(listener, routes::router(endpoints), None)
}

/// Starts the server of `--healthz-address`, with TLS (1.2 at least, client certificates checked
/// when given) if there are files for it.
///
/// # Errors
/// The address cannot be read or listened on, or a file cannot be used.
pub async fn serve_health(
    address: &str,
    files: Option<&TlsFiles>,
) -> Result<HttpServer, HealthError> {
    let tls = files.map(tls::load).transpose()?;
    let listener = address::listen("--healthz-address", address).await?;
    let router = Router::new()
        .route("/healthz", get(routes::OK))
        .route("/healthz/ping", get(routes::OK));
    Ok(start(listener, router, tls.map(RustlsConfig::from_config))?)
}

fn start(
    listener: TcpListener,
    router: Router,
    tls: Option<RustlsConfig>,
) -> Result<HttpServer, ListenError> {
    let address = listener.local_addr().map_err(ListenError::lost)?;
    let handle = Handle::new();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let server = limited(axum_server::Server::from_listener(listener)).handle(handle.clone());
    let task = match tls {
        None => tokio::spawn(server.serve(service)),
        Some(config) => {
            let server = server.map(|plain| RustlsAcceptor::new(config).acceptor(plain));
            tokio::spawn(server.serve(service))
        }
    };
    Ok(HttpServer {
        address,
        handle,
        task,
    })
}

#[cfg(test)]
mod tests;
