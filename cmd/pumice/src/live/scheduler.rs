//! The way to the leading scheduler, for `pumice explain`, `top`, `queues` and `cards`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use pumice_cluster::remote::{self, Leader, Remote, RemoteOptions, RemotePage};
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use crate::bad_input::BadInput;
use crate::output::OutputFormat;

/// Where the scheduler is.
#[derive(Args)]
pub struct SchedulerConnection {
    /// Kubeconfig; default: $KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; default: the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace of the scheduler and its Lease
    #[arg(long, default_value = "volcano-system", value_name = "NAME")]
    lease_namespace: String,
    /// Lease of the scheduler
    #[arg(long, default_value = "volcano", value_name = "NAME")]
    lease_name: String,
    /// Port of the scheduler's --listen-address; default: the one its pod tells
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Ask the scheduler at this address, without a cluster
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["kubeconfig", "context", "port"]
    )]
    server: Option<String>,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: OutputFormat,
}

/// The way to the scheduler.
pub struct Scheduler {
    runtime: Runtime,
    way: Route,
}

enum Route {
    Address(String),
    Cluster(Box<Remote>, Leader),
}

/// An answer that is there, or why it is not.
pub type Answered<T> = Result<T, String>;

impl SchedulerConnection {
    /// Finds the leading scheduler.
    pub fn open(&self) -> anyhow::Result<Scheduler> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no runtime")?;
        let way = match &self.server {
            Some(address) => Route::Address(address.clone()),
            None => {
                let options = RemoteOptions {
                    kubeconfig: self.kubeconfig.clone(),
                    context: self.context.clone(),
                    lease_namespace: self.lease_namespace.clone(),
                    lease_name: self.lease_name.clone(),
                    port: self.port,
                };
                let found = runtime.block_on(async {
                    let remote = Remote::connect(options).await?;
                    let leader = remote.leader().await?;
                    Ok((remote, leader))
                });
                let (remote, leader) = found.map_err(error)?;
                Route::Cluster(Box::new(remote), leader)
            }
        };
        Ok(Scheduler { runtime, way })
    }
}

impl Scheduler {
    /// The namespace meant where none is named.
    pub fn namespace(&self) -> &str {
        match &self.way {
            Route::Address(_) => "default",
            Route::Cluster(remote, _) => remote.namespace(),
        }
    }

    /// Reads a page; parts of the path are escaped.
    pub fn get<T: DeserializeOwned>(&self, parts: &[&str]) -> anyhow::Result<Answered<T>> {
        let parts: Vec<String> = parts.iter().map(|part| escaped(part)).collect();
        let path = format!("/debug/{}", parts.join("/"));
        let page = self.runtime.block_on(async {
            match &self.way {
                Route::Address(address) => remote::get_at(address, &path).await,
                Route::Cluster(remote, leader) => remote.get(leader, &path).await,
            }
        });
        let RemotePage { status, body, .. } = page.map_err(error)?;
        match status {
            200 => {
                let view = serde_json::from_str(&body);
                let view = view.map_err(|wrong| {
                    BadInput(format!(
                        "error: the answer of the scheduler is not understood: {wrong}\n  = help: \
                         use the same version of `pumice` and `pumice-scheduler`"
                    ))
                })?;
                Ok(Ok(view))
            }
            404 => Ok(Err(body.trim().to_owned())),
            _ => Err(BadInput(format!("error: the scheduler says: {}", body.trim())).into()),
        }
    }

    /// Likewise, where it must be there.
    pub fn get_known<T: DeserializeOwned>(&self, parts: &[&str]) -> anyhow::Result<T> {
        self.get(parts)?.map_err(absent)
    }
}

/// A name of Kubernetes has nothing to be escaped; anything else is no name, but is said to be
/// unknown by the scheduler, not by a broken request.
pub fn escaped(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    part.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

fn error(error: remote::RemoteError) -> anyhow::Error {
    BadInput(format!("error: {error}")).into()
}

/// What is asked for is not there.
pub fn absent(why: String) -> anyhow::Error {
    BadInput(format!("error: {why}")).into()
}
