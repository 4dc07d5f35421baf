//! What the HTTP server asks, answered.

use std::sync::Arc;

use pumice_admin::http::Answers;
use pumice_process::{DaemonStatus, MonotonicClock};
use serde_json::{Value, json};

/// Answers from the shared status.
pub struct ControllerPages {
    /// How the process is doing.
    pub status: Arc<DaemonStatus>,
    /// The process's clock.
    pub clock: MonotonicClock,
    /// Controllers that run.
    pub controllers: Vec<&'static str>,
}

impl Answers for ControllerPages {
    fn ready(&self) -> Result<(), Vec<String>> {
        self.status.ready()
    }

    fn live(&self) -> Result<(), String> {
        self.status.live(self.clock.ticks_ms())
    }

    fn config(&self) -> Value {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        json!({"controllers": self.controllers, "arguments": arguments})
    }
}
