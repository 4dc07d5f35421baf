//! `pumice ui`: the page, served on this machine to whoever opens it there.
//!
//! ```text
//!  cluster: pages of the scheduler ─┐
//!  FILE, DIR: a simulation ─────────┴► Source ─ a thread of its own, the desk ─► pumice_page ─► server on 127.0.0.1
//! ```

mod cluster;
mod desk;
mod questions;
mod server;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;
use pumice_sim::Mode;

use super::scheduler::SchedulerPlace;
use crate::bad_input::BadInput;
use crate::simulate::{self, ClusterArguments, SimulatedSource};

use cluster::ClusterSource;
use desk::PageDesk;

/// Arguments of `pumice ui`.
#[derive(Args)]
pub struct UiArguments {
    /// Show what becomes of these manifests, or a dump, instead of a cluster: files, directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Scheduler configuration for PATH, as `pumice simulate` takes it
    #[arg(long, value_name = "FILE", requires = "paths")]
    config: Option<PathBuf>,
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
    let desk = match arguments.paths.is_empty() {
        true => {
            // Whoever cannot be asked is known before anything is opened.
            let source = ClusterSource::open(&arguments.place)?;
            PageDesk::start(move || source)?
        }
        false => simulation(arguments)?,
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
        let url = format!("http://{}/", listener.local_addr()?);
        anstream::println!("The page is at {url} until this is interrupted (Ctrl-C).");
        if !arguments.no_open {
            open(&url);
        }
        server::serve(listener, desk).await
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A desk before a simulation, which is run on the desk's own thread: engines stay where they are made.
fn simulation(arguments: &UiArguments) -> anyhow::Result<PageDesk> {
    let mut settings = arguments.simulation.settings()?;
    settings.mode = Mode::FixedPoint;
    let (paths, config) = (arguments.paths.clone(), arguments.config.clone());
    let (told, ended) = std::sync::mpsc::channel();
    let desk = PageDesk::start_with(move || {
        let paths: Vec<&PathBuf> = paths.iter().collect();
        let done = simulate::simulated(&paths, config.as_ref(), &settings, |_, _| {});
        let (source, result) = match done {
            Ok(done) => (Some(SimulatedSource::new(&paths, done)), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let _ = told.send(result);
        source
    })?;
    ended.recv().context("the simulation ended in a panic")??;
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
