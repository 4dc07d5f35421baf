//! `pumice ui`: the page, served on this machine to whoever opens it there.
//!
//! ```text
//!  cluster: pages of the scheduler ─┐
//!  FILE, DIR: a simulation ─────────┤
//!  a moment of a recording ─────────┴► Source ─ a thread of its own, the desk ─► pumice_page_server, on 127.0.0.1
//! ```

mod cluster;
mod past;
mod questions;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;
use jiff::Timestamp;
use pumice_page_server::{PageDesk, PageVisitors, PlanningSource, router, serve};
use pumice_sim::Mode;

use super::scheduler::SchedulerPlace;
use crate::bad_input::BadInput;
use crate::recordings::{moment_at, since_epoch};
use crate::simulate::{self, ClusterArguments, SimulatedSource};

use cluster::ClusterSource;
use past::PastSource;

const NO_THREAD: &str = "the system has no thread for the page";

/// Arguments of `pumice ui`.
#[derive(Args)]
pub struct UiArguments {
    /// Show what becomes of these manifests, or a dump, instead of a cluster: files, directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Scheduler configuration for PATH, as `pumice simulate` takes it
    #[arg(long, value_name = "FILE", requires = "paths")]
    config: Option<PathBuf>,
    /// Show what a scheduler knew, by recordings or a directory of them (--record-dir, `pumice record export`)
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    recording: Vec<PathBuf>,
    /// With --recording: as of the last step at this time, such as 2026-01-31T12:00:00Z; default: the last of all
    #[arg(long, value_name = "TIME", requires = "recording")]
    at: Option<Timestamp>,
    /// Port of the page on this machine; 0 takes a free one
    #[arg(long, default_value_t = 8765, value_name = "PORT")]
    listen: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    simulation: ClusterArguments,
    #[command(flatten)]
    place: SchedulerPlace,
}

/// Serves the page until it is interrupted.
pub fn run(arguments: &UiArguments) -> anyhow::Result<ExitCode> {
    let desk = if !arguments.recording.is_empty() {
        past(arguments)?
    } else if !arguments.paths.is_empty() {
        simulation(arguments)?
    } else {
        // Whoever cannot be asked is known before anything is opened.
        let source = ClusterSource::open(&arguments.place)?;
        PageDesk::start_with(move || Some(source)).context(NO_THREAD)?
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), arguments.listen);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| {
            BadInput(format!(
                "error: port {} cannot be listened at: {error}\n  = help: name another with --listen, or 0 for any",
                arguments.listen
            ))
        })?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}/");
        anstream::println!("The page is at {url} until this is interrupted (Ctrl-C).");
        if !arguments.no_open {
            open(&url);
        }
        let port = address.port();
        let pages = router("", PageVisitors::OfThisMachine { port }, desk);
        serve(listener, pages).await.context("the page has ended")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A desk before a simulation.
fn simulation(arguments: &UiArguments) -> anyhow::Result<PageDesk> {
    let mut settings = arguments.simulation.settings()?;
    settings.mode = Mode::FixedPoint;
    let (paths, config) = (arguments.paths.clone(), arguments.config.clone());
    made_there(move || {
        let paths: Vec<&PathBuf> = paths.iter().collect();
        let done = simulate::simulated(&paths, config.as_ref(), &settings, |_, _| {})?;
        Ok(SimulatedSource::new(&paths, done))
    })
}

/// A desk before a moment of a recording.
fn past(arguments: &UiArguments) -> anyhow::Result<PageDesk> {
    let (paths, at) = (arguments.recording.clone(), arguments.at);
    let at = at.map(since_epoch).transpose()?;
    made_there(move || {
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        Ok(PastSource {
            of: names.join(", "),
            moment: moment_at(&paths, at)?,
        })
    })
}

/// A desk before a source that is made on the desk's own thread, since engines stay where they are made.
fn made_there<S: PlanningSource>(
    make: impl FnOnce() -> anyhow::Result<S> + Send + 'static,
) -> anyhow::Result<PageDesk> {
    let (told, ended) = std::sync::mpsc::channel();
    let desk = PageDesk::start_with(move || {
        let (source, result) = match make() {
            Ok(source) => (Some(source), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let _ = told.send(result);
        source
    })
    .context(NO_THREAD)?;
    ended
        .recv()
        .context("what was to be shown ended in a panic")??;
    Ok(desk)
}

/// Opens a browser, where there is one; the address stands on the screen anyway.
fn open(url: &str) {
    let opener = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(opener);
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = quiet.arg(url).spawn();
}
