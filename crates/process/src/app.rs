//! The life of a process that takes part in an election, whatever it does while it leads.
//!
//! ```text
//!  run ─► log, signals, clients ─► App::start ─► Running: until a signal, or until a part of it fails
//!                                   │ Shell: ports, election          │
//!                                   ▼ a signal: no more is started    ▼
//!                                             Running::rest ─► the lease is released
//!                                                   └ not in time, or another signal: it is kept, and runs out by itself
//! ```
//!
//! The order of the end is for nobody else to write while one of our writes is under way. So the lease is released by a
//! word alone, and never because whoever would say it has gone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pumice_admin::http::{Answers, Endpoints, OwnPages, RenderedMetrics};
use pumice_admin::log;
use pumice_admin::metrics::MetricsPage;
use pumice_cluster::client::{self, Clients, ConnectOptions};
use pumice_cluster::lease::{Elector, TermWatch};
use tokio::sync::watch as cell;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::flags::{ApiServerFlags, LeaseFlags, ServingFlags};
use crate::identity;
use crate::signals::EndSignals;
use crate::status::DaemonStatus;

/// How often the numbers of a process are published.
pub const NUMBERS: Duration = Duration::from_secs(5);

/// Longest time for requests under way after the order to end, and again for the release of the lease.
const DRAIN: Duration = Duration::from_secs(10);

/// What a process is started with, whatever it does.
#[derive(Clone, Debug)]
pub struct ShellSettings {
    /// Name of the program, as it holds leases.
    pub name: &'static str,
    /// Name and version, as others see it.
    pub program: &'static str,
    /// The way to the API server.
    pub connection: ApiServerFlags,
    /// The election.
    pub lease: LeaseFlags,
    /// Whether it stands for election at all; one that writes nothing need not.
    pub stands: bool,
    /// Ports and the log's verbosity.
    pub serving: ServingFlags,
    /// Log in JSON.
    pub log_json: bool,
    /// What the user should know; logged once.
    pub warnings: Vec<String>,
}

/// What a process does.
pub trait App {
    /// Parts of the process once they run.
    type Running: Running;

    /// What it is started with.
    fn settings(&self) -> ShellSettings;

    /// Starts its parts. It opens the ports and stands for election by the shell, in the order it needs.
    ///
    /// # Errors
    /// What cannot be started with.
    fn start(self, shell: &mut Shell) -> impl Future<Output = anyhow::Result<Self::Running>>;
}

/// The parts of a process that runs.
pub trait Running {
    /// Waits until a part has ended that must not, and says why it has. Asked again and again: whoever stops
    /// waiting loses nothing.
    fn failed(&mut self) -> impl Future<Output = anyhow::Error>;

    /// Publishes the numbers, every [`NUMBERS`].
    fn publish(&mut self);

    /// Decides nothing more, and waits until no write is under way.
    fn rest(&mut self) -> impl Future<Output = ()>;
}

/// What every process has.
pub struct Shell {
    /// The ways to the API server.
    pub clients: Clients,
    /// How the process is doing.
    pub status: Arc<DaemonStatus>,
    /// The verbosity of its log.
    pub level: log::LevelHandle,
    settings: ShellSettings,
    election: Option<Election>,
}

/// An election under way.
struct Election {
    elector: JoinHandle<()>,
    release: cell::Sender<bool>,
}

/// Runs until told to end. A process that loses the lease stands by and for election again.
///
/// # Errors
/// What cannot be started with, or why a part has ended.
pub fn run(app: impl App) -> anyhow::Result<()> {
    let settings = app.settings();
    let format = match settings.log_json {
        true => log::LogFormat::Json,
        false => log::LogFormat::Klog,
    };
    let verbosity = u32::try_from(settings.serving.verbosity.max(0)).unwrap_or(u32::MAX);
    let level = log::init(format, verbosity)?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    let result = runtime.block_on(async {
        let mut signals = EndSignals::listen()?;
        let mut end = async || signals.next().await;
        match unless_ended(&mut end, Shell::connect(settings, level)).await? {
            Some(shell) => live(app, shell, end).await,
            None => Ok(()),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// Starts a process that has its clients, and leads it to its end. `end` returns at the next signal that ends a process,
/// with its name.
async fn live(
    app: impl App,
    mut shell: Shell,
    mut end: impl AsyncFnMut() -> &'static str,
) -> anyhow::Result<()> {
    let Some(mut running) = unless_ended(&mut end, app.start(&mut shell)).await? else {
        return Ok(());
    };
    let result = until_the_end(&mut end, &mut running).await;
    tokio::select! {
        () = orderly(&mut running, shell.election) => {}
        name = end() => tracing::warn!("{name} again: ending at once, and the lease is not released"),
    }
    result
}

/// What comes of a part of the start, unless a signal ends it before.
async fn unless_ended<T>(
    end: &mut impl AsyncFnMut() -> &'static str,
    part: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    tokio::select! {
        done = part => done.map(Some),
        name = end() => {
            tracing::info!("{name}: ending, before all has started");
            Ok(None)
        }
    }
}

async fn until_the_end(
    end: &mut impl AsyncFnMut() -> &'static str,
    running: &mut impl Running,
) -> anyhow::Result<()> {
    let mut numbers = tokio::time::interval(NUMBERS);
    loop {
        tokio::select! {
            name = end() => {
                tracing::info!("{name}: ending");
                return Ok(());
            }
            error = running.failed() => return Err(error),
            _ = numbers.tick() => running.publish(),
        }
    }
}

/// Ends what is under way, then gives the lease back.
async fn orderly(running: &mut impl Running, election: Option<Election>) {
    let rests = timeout(DRAIN, running.rest()).await.is_ok();
    let Some(Election { elector, release }) = election else {
        return;
    };
    if !rests {
        tracing::warn!(
            "some writes are still under way after {DRAIN:?}: the lease is not released, another \
             replica takes over when it runs out"
        );
        return elector.abort();
    }
    release.send_replace(true);
    let _ = timeout(DRAIN, elector).await;
}

/// Returns when the lease is to be released, and never without a word.
async fn told(mut released: cell::Receiver<bool>) {
    if released.wait_for(|released| *released).await.is_err() {
        std::future::pending().await
    }
}

impl Shell {
    async fn connect(settings: ShellSettings, level: log::LevelHandle) -> anyhow::Result<Self> {
        let ApiServerFlags {
            master, kubeconfig, ..
        } = &settings.connection;
        let options = ConnectOptions {
            master: Some(master.clone()).filter(|master| !master.is_empty()),
            kubeconfig: Some(PathBuf::from(kubeconfig)).filter(|path| path != Path::new("")),
            user_agent: settings.program.to_owned(),
        };
        let clients = client::connect(&options).await?;
        tokio::spawn(clients.contact.clone().probe(clients.probe.clone()));
        Ok(Self {
            clients,
            status: Arc::new(DaemonStatus::default()),
            level,
            settings,
            election: None,
        })
    }

    /// Opens the ports, with pages that only this process has.
    ///
    /// # Errors
    /// An address is taken or none, or a certificate cannot be used.
    pub async fn serve(
        &self,
        answers: Arc<dyn Answers>,
        metrics: Arc<dyn MetricsPage>,
        own: Option<OwnPages>,
    ) -> anyhow::Result<()> {
        let serving = &self.settings.serving;
        let endpoints = Endpoints {
            program: self.settings.program,
            metrics: serving
                .enable_metrics
                .then(|| RenderedMetrics::new(metrics)),
            answers,
            level: self.level.clone(),
            debug_open: serving.debug_open,
            own,
        };
        let api = self.clients.probe.clone();
        serving.open_ports(endpoints, api).await
    }

    /// Stands for election, where there is one, and gives the term it sets. Nothing may be listed before that.
    ///
    /// # Errors
    /// The times of the election do not fit together.
    pub async fn elect(&mut self) -> anyhow::Result<TermWatch> {
        let holder = identity::lease_holder(self.settings.name);
        let election = self.settings.lease.election(&holder);
        let Some(election) = election.filter(|_| self.settings.stands) else {
            return Ok(TermWatch::always());
        };
        let (mut elector, term) = Elector::new(self.clients.lease.clone(), election)?;
        elector.look_before_lists().await;
        let (release, released) = cell::channel(false);
        self.election = Some(Election {
            elector: tokio::spawn(elector.run(told(released))),
            release,
        });
        Ok(term)
    }
}

#[cfg(test)]
mod tests;
