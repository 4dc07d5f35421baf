//! SIGTERM and SIGINT end a process in good order.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for the signals that end the process.
pub struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    /// From now on these signals no longer end the process by themselves.
    ///
    /// # Errors
    /// The system refuses to hand them over.
    pub fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("signals cannot be received");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Returns at the next one, with its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
