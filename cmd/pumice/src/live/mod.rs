//! What a running scheduler sees: `explain`, `top`, `queues`, `cards`; and what users do with objects of
//! a cluster: `job`, `queue`.
//!
//! ```text
//!  SchedulerConnection (flags) ─► pumice_cluster::remote ─► /debug/… of the leader ─► a view of pumice_engine
//!                                                                              └► table, JSON, YAML
//!  ClusterConnection (flags) ──► pumice_cluster::remote::ClusterObjects ─► Jobs, Queues, Commands ─┘
//! ```

pub mod cards;
pub mod explain;
pub mod job;
pub mod queue;
pub mod queues;
pub mod top;
mod user;

use std::io::Write;
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use clap::Args;
use pumice_cluster::remote::{self, Leader, Remote, RemoteOptions, RemotePage};
use pumice_engine::view::Quantities;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use crate::BadInput;
use crate::simulate::OutputFormat;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();
const HEAD: Style = Style::new().bold();

/// Characters of a reason in a list; all of it is told by `explain`.
const MAX_REASON: usize = 100;

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
fn escaped(part: &str) -> String {
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
fn absent(why: String) -> anyhow::Error {
    BadInput(format!("error: {why}")).into()
}

/// Prints a view as JSON or YAML, or by `table`.
pub fn print<T: Serialize>(
    view: &T,
    format: OutputFormat,
    table: impl FnOnce(&mut dyn Write, &T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match format {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, view).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Yaml => write!(out, "{}", serde_yaml::to_string(view)?)?,
        OutputFormat::Table => table(&mut out, view)?,
    }
    Ok(())
}

/// `cpu 2, memory 4Gi`, or `-`.
fn amounts(amounts: &Quantities) -> String {
    let text: Vec<String> = amounts
        .iter()
        .map(|(name, amount)| format!("{name} {amount}"))
        .collect();
    match text.is_empty() {
        true => "-".to_owned(),
        false => text.join(", "),
    }
}

/// `3 Pending, 1 Running`, or `none`.
fn counts(counts: &std::collections::BTreeMap<String, usize>) -> String {
    let text: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    match text.is_empty() {
        true => "none".to_owned(),
        false => text.join(", "),
    }
}

/// The beginning of a reason.
fn brief(text: &str) -> String {
    match text.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// `1st`, `2nd`, `3rd`, `11th`.
fn ordinal(number: usize) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

#[cfg(test)]
mod tests;
