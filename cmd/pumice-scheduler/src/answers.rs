//! What the HTTP server asks, answered.

use std::sync::{Arc, RwLock};

use pumice_admin::http::{Answer, Answers, Unanswered};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::conf::InUse;
use crate::core::Question;
use crate::journal::Journal;
use crate::status::Status;

/// Answers from the shared status, and from the deciding thread where only it knows.
pub struct Desk {
    /// How the daemon is doing.
    pub status: Arc<Status>,
    /// Configuration in use.
    pub in_use: Arc<RwLock<Option<InUse>>>,
    /// The last decisions.
    pub journal: Arc<Journal>,
    /// The deciding thread.
    pub core: mpsc::Sender<Question>,
    /// The daemon's clock.
    pub clock: Clock,
}

impl Answers for Desk {
    fn ready(&self) -> Result<(), Vec<String>> {
        self.status.ready()
    }

    fn live(&self) -> Result<(), String> {
        self.status.live(self.clock.ticks_ms())
    }

    fn config(&self) -> Value {
        let in_use = self.in_use.read().ok().and_then(|in_use| in_use.clone());
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match in_use {
            Some(InUse { hash, config }) => {
                json!({ "hash": hash, "configuration": config, "arguments": arguments })
            }
            None => json!({ "configuration": null, "arguments": arguments }),
        }
    }

    fn explain<'a>(&'a self, namespace: &'a str, pod: &'a str) -> Answer<'a, Option<Value>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let question = Question::Explain(namespace.to_owned(), pod.to_owned(), reply);
            let ended = || Unanswered("the scheduler is stopping".to_owned());
            self.core.send(question).await.map_err(|_| ended())?;
            answer.await.map_err(|_| ended())
        })
    }

    fn decisions(&self) -> Answer<'_, Value> {
        Box::pin(async { Ok(self.journal.json()) })
    }
}
