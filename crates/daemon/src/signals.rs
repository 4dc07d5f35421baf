//! Signals: SIGUSR1 and SIGUSR2 write the state of the daemon to a file.

use std::path::PathBuf;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::clock::DeciderClock;
use crate::dump;
use crate::requests::DecideRequest;

/// Writes the state to files on SIGUSR1 and SIGUSR2 for ever; without a folder both signals are
/// taken and ignored, as Volcano's scheduler does without `--cache-dumper`.
///
/// # Errors
/// The system refuses to hand the signals over.
pub fn dump_on_demand(
    folder: Option<PathBuf>,
    core: mpsc::Sender<DecideRequest>,
    clock: DeciderClock,
) -> anyhow::Result<()> {
    let listen = |kind| signal(kind).context("signals cannot be received");
    let mut first = listen(SignalKind::user_defined1())?;
    let mut second = listen(SignalKind::user_defined2())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = first.recv() => {}
                _ = second.recv() => {}
            }
            let Some(folder) = &folder else { continue };
            match dump_to_file(&core, folder.clone(), clock.unix_s() as u64).await {
                Ok((path, bytes)) => tracing::info!(
                    "state written to {}, {bytes} bytes; `pumice simulate` reads it",
                    path.display()
                ),
                Err(error) => tracing::error!("state not written: {error:#}"),
            }
        }
    });
    Ok(())
}

async fn dump_to_file(
    core: &mpsc::Sender<DecideRequest>,
    folder: PathBuf,
    unix_s: u64,
) -> anyhow::Result<(PathBuf, usize)> {
    let text = dump::text(core).await?;
    let write = move || anyhow::Ok((dump::write(&folder, unix_s, &text)?, text.len()));
    tokio::task::spawn_blocking(write).await?
}
