//! The pages of the leading scheduler, read from outside of the cluster through the API server.
//!
//! ```text
//!  Lease ─► holder `<hostname>_<uuid>` ─► its pod ─► pods/portforward ─► GET /debug/… ─► Page
//!  or, with an address: ─────────────────────────────────── TCP ───────►
//! ```
//!
//! The one who asks needs `get` on the Lease and on pods of its namespace, and `get` and `create` on
//! `pods/portforward` there. Nothing is written.

mod error;
mod leader;
mod logs;
mod objects;
mod page;

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub use error::RemoteError;
pub use leader::Leader;
pub use logs::LogPart;
pub use objects::{ClusterObjects, ObjectsError};
pub use page::RemotePage;

use crate::client::describe;

/// Longest time for one step: a request to the API server, or an answer of the scheduler.
const LIMIT: Duration = Duration::from_secs(30);

/// Longest wait for the reason after a forwarded connection has broken.
const REASON_LIMIT: Duration = Duration::from_secs(1);

/// Waits for several answers at once.
pub async fn all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    futures::future::join_all(futures).await
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
    /// Port of `/debug`; without it the one the pod tells.
    pub port: Option<u16>,
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
        })
    }

    /// With this client, for tests.
    #[cfg(test)]
    fn with(client: Client, options: RemoteOptions) -> Self {
        Self {
            client,
            namespace: "default".to_owned(),
            options,
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
    pub async fn leader(&self) -> Result<Leader, RemoteError> {
        let found = leader::find(&self.client, &self.options);
        match timeout(LIMIT, found).await {
            Ok(found) => found,
            Err(_) => Err(RemoteError::Unreachable {
                reason: format!("no answer within {LIMIT:?}"),
            }),
        }
    }

    /// Reads a page of a scheduler.
    ///
    /// # Errors
    /// The connection cannot be forwarded, or it is not Pumice that answers.
    pub async fn get(&self, leader: &Leader, path: &str) -> Result<RemotePage, RemoteError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &leader.namespace);
        let ports = [leader.port];
        let forwarded = pods.portforward(&leader.pod, &ports);
        let mut forwarded = match timeout(LIMIT, forwarded).await {
            Ok(forwarded) => forwarded.map_err(|error| error::of_forwarding(leader, &error))?,
            Err(_) => return Err(RemoteError::not_forwarded(leader, "no answer")),
        };
        let stream = forwarded.take_stream(leader.port);
        let reason = forwarded.take_error(leader.port);
        let (Some(stream), Some(reason)) = (stream, reason) else {
            return Err(RemoteError::not_forwarded(leader, "no stream"));
        };
        let answer = timeout(LIMIT, page::get(stream, path)).await;
        let page = match answer {
            Ok(Ok(page)) => page,
            Ok(Err(broken)) => {
                let told = timeout(REASON_LIMIT, reason).await.ok().flatten();
                let why = told.filter(|told| !told.is_empty()).unwrap_or(broken);
                return Err(RemoteError::not_forwarded(leader, &why));
            }
            Err(_) => return Err(RemoteError::not_forwarded(leader, "no answer in time")),
        };
        forwarded.abort();
        if !page.is_ours {
            return Err(RemoteError::NotPumice {
                who: format!("pod {}/{}", leader.namespace, leader.pod),
            });
        }
        Ok(page)
    }
}

/// Reads a page of a scheduler at an address, `http://127.0.0.1:8080`.
///
/// # Errors
/// The address cannot be read or reached, or it is not Pumice that answers.
pub async fn get_at(address: &str, path: &str) -> Result<RemotePage, RemoteError> {
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
    let silent = |_| at(format!("no answer within {LIMIT:?}"));
    let connected = timeout(LIMIT, TcpStream::connect((host, port))).await;
    let stream = connected
        .map_err(silent)?
        .map_err(|error| at(error.to_string()))?;
    let page = timeout(LIMIT, page::get(stream, path)).await;
    let page = page.map_err(silent)?.map_err(at)?;
    if !page.is_ours {
        let who = address.to_owned();
        return Err(RemoteError::NotPumice { who });
    }
    Ok(page)
}

#[cfg(test)]
mod tests;
