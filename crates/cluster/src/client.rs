//! The way to the API server (spec/01 §1.1).
//!
//! Token and certificate files are read again by the client itself, about once a minute: the token
//! of a service account and its CA bundle, and both files a kubeconfig points to.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use http::header::{HeaderValue, USER_AGENT};
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;

use crate::contact::Contact;

/// Longest time to open a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Where the API server is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// `--master`: URL of the API server; wins over that of the kubeconfig.
    pub master: Option<String>,
    /// `--kubeconfig`. Without it and without `master` the service account of the pod is used.
    pub kubeconfig: Option<PathBuf>,
    /// `User-Agent` of every request.
    pub user_agent: String,
}

/// Clients with connections of their own, so that a burst of writes does not hold up watches.
/// Neither repeats a request by itself.
#[derive(Clone)]
pub struct Clients {
    /// For lists and watches.
    pub reads: Client,
    /// For everything that changes something.
    pub writes: Client,
    /// For the lease, so that a burst of writes does not delay a renewal.
    pub lease: Client,
    /// For the question whether the API server is back.
    pub probe: Client,
    /// What the requests of all of them find out about the API server.
    pub contact: Contact,
    /// URL of the API server, for messages.
    pub server: String,
}

/// Why there is no client.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig {} cannot be used: {reason}; correct --kubeconfig", path.display())]
    Kubeconfig {
        /// Path of the kubeconfig.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The URL is none.
    #[error("--master {0:?} is not a URL; write for example https://10.0.0.1:6443")]
    Master(String),
    /// Not in a pod with a service account.
    #[error(
        "there is no service account of a pod ({0}); outside of a cluster name the API server with \
         --kubeconfig or --master"
    )]
    NotInCluster(String),
    /// The credentials or certificates cannot be used.
    #[error("the credentials for {server} cannot be used: {reason}")]
    Credentials {
        /// URL of the API server.
        server: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The API server does not answer.
    #[error("the API server {server} does not answer: {reason}")]
    Unreachable {
        /// URL of the API server.
        server: String,
        /// What happened instead.
        reason: String,
    },
}

/// Makes the clients. Nothing is sent yet.
///
/// # Errors
/// A missing or broken kubeconfig, URL, service account or credential.
pub async fn connect(options: &ConnectOptions) -> Result<Clients, ConnectError> {
    let mut config = config(options).await?;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_LIMIT);
    // Watches are silent for long; who waits for an answer has a limit of its own.
    config.read_timeout = None;
    if let Ok(agent) = HeaderValue::from_str(&options.user_agent) {
        config.headers.push((USER_AGENT, agent));
    }
    if config.cluster_url.scheme_str() == Some("http") && config.root_cert.is_none() {
        // Without this the certificates of the system are read, which a small image has not.
        config.root_cert = Some(Vec::new());
    }
    fix_token(&mut config);
    let server = config.cluster_url.to_string();
    let server = server.trim_end_matches('/').to_owned();
    let contact = Contact::default();
    let client = |config: Config| {
        contact
            .client(config)
            .map_err(|error| ConnectError::Credentials {
                server: server.clone(),
                reason: describe(&error),
            })
    };
    Ok(Clients {
        reads: client(config.clone())?,
        writes: client(config.clone())?,
        lease: client(config.clone())?,
        probe: client(config)?,
        contact: contact.clone(),
        server: server.clone(),
    })
}

/// Asks the API server for its version, once.
///
/// # Errors
/// It does not answer within 10 s, or denies it.
pub async fn check(clients: &Clients) -> Result<Info, ConnectError> {
    let unreachable = |reason: String| ConnectError::Unreachable {
        server: clients.server.clone(),
        reason,
    };
    match tokio::time::timeout(CONNECT_LIMIT, clients.reads.apiserver_version()).await {
        Ok(version) => version.map_err(|error| unreachable(describe(&error))),
        Err(_) => Err(unreachable(format!("no answer within {CONNECT_LIMIT:?}"))),
    }
}

/// A token file that ends with a newline, as editors write it, is no header value to the client,
/// though every other client takes it.
pub(crate) fn fix_token(config: &mut Config) {
    let Some(path) = &config.auth_info.token_file else {
        return;
    };
    let Ok(text) = std::fs::read_to_string(path) else {
        return;
    };
    if text.trim() != text {
        tracing::warn!(
            path,
            "the token file has spaces or newlines around the token: it is read only once; remove \
             them, so that a new token is noticed"
        );
        config.auth_info.token = Some(text.trim().to_owned().into());
        config.auth_info.token_file = None;
    }
}

async fn config(options: &ConnectOptions) -> Result<Config, ConnectError> {
    let master = options
        .master
        .as_deref()
        .filter(|master| !master.is_empty());
    let master = master.map(url).transpose()?;
    let kubeconfig = options.kubeconfig.as_ref();
    let config = match (
        kubeconfig.filter(|path| !path.as_os_str().is_empty()),
        master,
    ) {
        (None, None) => {
            return Config::incluster()
                .map_err(|error| ConnectError::NotInCluster(describe(&error)));
        }
        (None, Some(master)) => Config::new(master),
        (Some(path), master) => {
            let config = from_kubeconfig(path).await;
            let mut config = config.map_err(|error| ConnectError::Kubeconfig {
                path: path.clone(),
                reason: describe(&error),
            })?;
            config.cluster_url = master.unwrap_or(config.cluster_url);
            config
        }
    };
    Ok(config)
}

/// A URL; without a scheme it is `http`, as client-go takes it.
fn url(text: &str) -> Result<http::Uri, ConnectError> {
    let full = match text.contains("://") {
        true => text.to_owned(),
        false => format!("http://{text}"),
    };
    let url = full.parse::<http::Uri>().ok();
    url.filter(|url| url.host().is_some_and(|host| !host.is_empty()))
        .ok_or_else(|| ConnectError::Master(text.to_owned()))
}

async fn from_kubeconfig(path: &PathBuf) -> Result<Config, KubeconfigError> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    let ca_file = ca_file(&kubeconfig);
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    if !config.accept_invalid_certs {
        // Makes the client read the file again; without it the bundle is that of the start.
        config.root_cert_file = ca_file;
    }
    Ok(config)
}

/// File of the CA bundle of the current context, unless the bundle is in the kubeconfig itself.
fn ca_file(kubeconfig: &Kubeconfig) -> Option<PathBuf> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig
        .contexts
        .iter()
        .find(|context| &context.name == current)?;
    let cluster = &context.context.as_ref()?.cluster;
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|named| &named.name == cluster)?;
    let cluster = cluster.cluster.as_ref()?;
    match &cluster.certificate_authority_data {
        Some(data) if !data.is_empty() => None,
        _ => cluster.certificate_authority.as_ref().map(PathBuf::from),
    }
}

/// An error with its causes, which most of them leave out.
pub fn describe(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
