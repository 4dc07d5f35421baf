//! The pages of the leading scheduler, read from outside of the cluster through the API server.
//!
//! ```text
//!  Lease ─► holder `<hostname>_<uuid>` ─► its pod ─► pods/portforward ─► TLS ─► /debug/… ─► Page
//!                                          └► serviceaccounts/token ─► a token ─►┘
//!  or, with an address: ─────────────────────────────────── TCP ───────►
//! ```
//!
//! The one who asks needs `get` on the Lease, `get` and `list` on pods of its namespace, `get` and
//! `create` on `pods/portforward` there, and `create` on `serviceaccounts/token` of the account as
//! which the scheduler is asked. So it works with every way of showing the API server who one is, and
//! what the scheduler gets is not the user's own token, but one that is good for nothing else.

mod error;
mod leader;
mod logs;
mod objects;
mod page;
mod tls;
mod token;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub use error::RemoteError;
pub use leader::SchedulerPod;
pub use logs::LogPart;
pub use objects::{ClusterObjects, ObjectsError, path_part};
pub use page::{PageRequest, RemotePage};

use crate::client::describe;
use token::RoleTokens;

/// Longest time for one step: a request to the API server, or an answer of the scheduler.
const LIMIT: Duration = Duration::from_secs(30);

/// Longest wait for the reason after a forwarded connection has broken.
const REASON_LIMIT: Duration = Duration::from_secs(1);

/// Waits for several answers at once.
pub async fn all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    futures::future::join_all(futures).await
}

/// What is asked for, and so as whom: each has an account of its own, which may nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoteRole {
    /// Pages about what waits.
    #[default]
    Explain,
    /// The whole state.
    Dump,
}

impl fmt::Display for RemoteRole {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Explain => "explain",
            Self::Dump => "dump",
        })
    }
}

/// Where the cluster and the scheduler are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// Kubeconfig; without it `$KUBECONFIG`, `~/.kube/config`, or the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it the current one.
    pub context: Option<String>,
    /// Namespace of the Lease and of the scheduler.
    pub lease_namespace: String,
    /// Name of the Lease.
    pub lease_name: String,
    /// Port of `--secure-address`; without it the one the pod tells.
    pub port: Option<u16>,
    /// As whom it is asked.
    pub role: RemoteRole,
    /// Longest time in which the scheduler is found; without it 30 s for each step.
    pub patience: Option<Duration>,
}

impl RemoteOptions {
    fn patience(&self) -> Duration {
        self.patience.unwrap_or(LIMIT)
    }
}

/// A client as kubectl would make it, and the namespace of its context.
async fn client_of(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<(Client, String), String> {
    let of_context = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = match kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path).map_err(|error| describe(&error))?;
            let config = Config::from_custom_kubeconfig(read, &of_context).await;
            config.map_err(|error| describe(&error))?
        }
        None => match Config::from_kubeconfig(&of_context).await {
            Ok(config) => config,
            Err(error) if context.is_some() => return Err(describe(&error)),
            Err(error) => Config::incluster().map_err(|_| describe(&error))?,
        },
    };
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config).map_err(|error| describe(&error))?;
    Ok((client, namespace))
}

/// A cluster.
pub struct Remote {
    client: Client,
    namespace: String,
    options: RemoteOptions,
    tokens: RoleTokens,
}

impl Remote {
    /// Reads the kubeconfig. Nothing is sent yet.
    ///
    /// # Errors
    /// It is missing or cannot be used.
    pub async fn connect(options: RemoteOptions) -> Result<Self, RemoteError> {
        let made = client_of(options.kubeconfig.as_deref(), options.context.as_deref()).await;
        let (client, namespace) = made.map_err(|reason| RemoteError::Kubeconfig { reason })?;
        Ok(Self {
            client,
            namespace,
            options,
            tokens: RoleTokens::default(),
        })
    }

    /// With this client, for tests.
    #[cfg(test)]
    fn with(client: Client, options: RemoteOptions) -> Self {
        Self {
            client,
            namespace: "default".to_owned(),
            options,
            tokens: RoleTokens::default(),
        }
    }

    /// The namespace of the context.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Finds the leading scheduler.
    ///
    /// # Errors
    /// There is no Lease, nobody holds it, its holder is no pod, or a permission is missing.
    pub async fn leader(&self) -> Result<SchedulerPod, RemoteError> {
        in_time(
            self.options.patience(),
            leader::find(&self.client, &self.options),
        )
        .await
    }

    /// Finds a scheduler's pod by its name.
    ///
    /// # Errors
    /// There is none, or a permission is missing.
    pub async fn pod(&self, name: &str) -> Result<SchedulerPod, RemoteError> {
        in_time(
            self.options.patience(),
            leader::find_named(&self.client, &self.options, name),
        )
        .await
    }

    /// Finds a scheduler that stands by, where there is no leader to ask.
    ///
    /// # Errors
    /// A permission is missing.
    pub async fn standby(&self) -> Result<Option<SchedulerPod>, RemoteError> {
        in_time(
            self.options.patience(),
            leader::find_standby(&self.client, &self.options),
        )
        .await
    }

    /// Asks a scheduler for a page.
    ///
    /// # Errors
    /// The connection cannot be forwarded, it is not Pumice that answers, or it refuses.
    pub async fn ask(
        &self,
        leader: &SchedulerPod,
        asked: PageRequest<'_>,
    ) -> Result<RemotePage, RemoteError> {
        let mut body = Vec::new();
        let mut page = self.save(leader, asked, &mut body).await?;
        if page.body.is_empty() {
            page.body = String::from_utf8_lossy(&body).into_owned();
        }
        Ok(page)
    }

    /// Writes the answer, where there is one, to `out`. Of another status the text is in the page.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn save(
        &self,
        leader: &SchedulerPod,
        asked: PageRequest<'_>,
        out: &mut (dyn Write + Send),
    ) -> Result<RemotePage, RemoteError> {
        let patience = asked.patience;
        let token = self.tokens.get(&self.client, leader, &self.options);
        let token = in_time(patience, token).await?;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &leader.namespace);
        let ports = [leader.port];
        let forwarded = pods.portforward(&leader.pod, &ports);
        let mut forwarded = match timeout(patience, forwarded).await {
            Ok(forwarded) => {
                forwarded.map_err(|error| error::of_forwarding(leader, &error, &self.options))?
            }
            Err(_) => {
                let reason = format!("no answer within {patience:?}");
                return Err(RemoteError::not_forwarded(leader, &reason));
            }
        };
        let stream = forwarded.take_stream(leader.port);
        let reason = forwarded.take_error(leader.port);
        let (Some(stream), Some(reason)) = (stream, reason) else {
            return Err(RemoteError::not_forwarded(leader, "no stream"));
        };
        let page = match encrypted(stream, asked, &token, out).await {
            Ok(page) => page,
            Err(broken) => {
                let told = timeout(REASON_LIMIT, reason).await.ok().flatten();
                let why = told.filter(|told| !told.is_empty()).unwrap_or(broken);
                return Err(RemoteError::not_forwarded(leader, &why));
            }
        };
        forwarded.abort();
        if !page.is_ours {
            return Err(RemoteError::NotPumice {
                who: format!("pod {}/{}", leader.namespace, leader.pod),
            });
        }
        if matches!(page.status, 401 | 403 | 500) {
            let message = page.body.trim().to_owned();
            return Err(RemoteError::Refused { message });
        }
        Ok(page)
    }
}

async fn in_time<T>(
    patience: Duration,
    found: impl Future<Output = Result<T, RemoteError>>,
) -> Result<T, RemoteError> {
    match timeout(patience, found).await {
        Ok(found) => found,
        Err(_) => Err(RemoteError::Unreachable {
            reason: format!("no answer within {patience:?}"),
        }),
    }
}

/// # Errors
/// What happened to the connection.
async fn encrypted(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    asked: PageRequest<'_>,
    token: &str,
    out: &mut (dyn Write + Send),
) -> Result<RemotePage, String> {
    let stream = timeout(asked.patience, tls::encrypt(stream)).await;
    let stream = stream.map_err(|_| format!("no answer within {:?}", asked.patience))??;
    page::ask(stream, asked, Some(token), out).await
}

/// Asks for a page of a scheduler at an address, `http://127.0.0.1:8080`, which answers there with
/// `--debug-open`.
///
/// # Errors
/// The address cannot be read or reached, or it is not Pumice that answers.
pub async fn ask_at(address: &str, asked: PageRequest<'_>) -> Result<RemotePage, RemoteError> {
    let wrong = || RemoteError::Address {
        address: address.to_owned(),
    };
    let rest = address.strip_prefix("http://").unwrap_or(address);
    let authority = rest.trim_end_matches('/');
    let known: http::uri::Authority = authority.parse().map_err(|_| wrong())?;
    let port = known.port_u16().unwrap_or(80);
    let host = known.host().trim_start_matches('[').trim_end_matches(']');
    if rest.contains("://") || host.is_empty() {
        return Err(wrong());
    }
    let at = |reason: String| RemoteError::NoAnswer {
        address: address.to_owned(),
        reason,
    };
    let patience = asked.patience;
    let silent = |_| at(format!("no answer within {patience:?}"));
    let connected = timeout(patience, TcpStream::connect((host, port))).await;
    let stream = connected
        .map_err(silent)?
        .map_err(|error| at(error.to_string()))?;
    let mut body = Vec::new();
    let page = page::ask(stream, asked, None, &mut body).await;
    let mut page = page.map_err(at)?;
    if page.body.is_empty() {
        page.body = String::from_utf8_lossy(&body).into_owned();
    }
    if !page.is_ours {
        let who = address.to_owned();
        return Err(RemoteError::NotPumice { who });
    }
    Ok(page)
}

#[cfg(test)]
mod tests;
