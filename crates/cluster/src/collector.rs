//! Hands traces to a collector of OpenTelemetry: OTLP over HTTP, in JSON (OTLP specification 1.x,
//! "OTLP/HTTP").

use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use pumice_conf::HttpSource;

use crate::outside::{connect, post};

/// Path of traces below the address of a collector.
const PATH: &str = "v1/traces";
/// Largest answer, in bytes.
const LARGEST: usize = 1 << 20;
/// Longest wait for an answer.
const DEADLINE: Duration = Duration::from_secs(10);

/// One collector.
pub struct CollectorClient(Client);

/// A collector has not taken traces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotTaken {
    /// What it said, or why it could not be asked.
    pub why: String,
    /// It may take them when they are sent again.
    pub may_pass: bool,
}

impl CollectorClient {
    /// Nothing is sent yet. `address` is that of the collector (`http://collector:4318`), to which the
    /// path of traces is added; with `https` its certificate is proved by the authorities in `ca_file`,
    /// or else by those of the system.
    ///
    /// # Errors
    /// One sentence on what of address or file cannot be used.
    pub fn new(address: &str, ca_file: Option<PathBuf>, user_agent: &str) -> Result<Self, String> {
        let server = HttpSource {
            address: address.to_owned(),
            insecure: false,
            ca_file,
            token_file: None,
            user: None,
        };
        connect(&server, user_agent).map(Self)
    }

    /// One request, with a deadline of its own; nothing is repeated.
    ///
    /// # Errors
    /// The collector has not taken it.
    pub async fn send(&self, json: Vec<u8>) -> Result<(), NotTaken> {
        let answer = tokio::time::timeout(DEADLINE, post(&self.0, PATH, json, LARGEST)).await;
        let may_pass = |why| NotTaken {
            why,
            may_pass: true,
        };
        let late = |_| Err(format!("no answer within {DEADLINE:?}"));
        let (status, _) = answer.unwrap_or_else(late).map_err(may_pass)?;
        match status.as_u16() {
            200..300 => Ok(()),
            code => Err(NotTaken {
                why: format!("it answers with HTTP status {status}"),
                // As the specification has it.
                may_pass: matches!(code, 429 | 502 | 503 | 504),
            }),
        }
    }
}
