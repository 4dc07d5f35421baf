//! How the deciding thread and the writers come to rest, before the lease is released.

use std::sync::Arc;

use pumice_cluster::effects::Effects;
use tokio::sync::{mpsc, oneshot};

use crate::commands::DecideCommand;

/// What is ended in order.
pub struct Shutdown {
    /// The deciding thread.
    pub core: mpsc::Sender<DecideCommand>,
    /// The writers; none in a dry run.
    pub effects: Option<Arc<Effects>>,
}

impl Shutdown {
    /// Lets nothing more be decided, and waits until what was decided is written. Outcomes of the last binds make
    /// events, so the writers are waited for twice.
    pub async fn rest(&self) {
        for _ in 0..2 {
            let (reply, rests) = oneshot::channel();
            if self.core.send(DecideCommand::Rest(reply)).await.is_ok() {
                let _ = rests.await;
            }
            if let Some(effects) = &self.effects {
                effects.idle().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_rests_when_the_deciding_thread_has_rested_twice() {
        let (core, mut commands) = mpsc::channel(4);
        let shutdown = Shutdown {
            core,
            effects: None,
        };
        let rests = tokio::spawn(async move { shutdown.rest().await });
        for _ in 0..2 {
            let Some(DecideCommand::Rest(reply)) = commands.recv().await else {
                panic!("an order to rest");
            };
            tokio::task::yield_now().await;
            assert!(!rests.is_finished());
            reply.send(()).expect("it waits");
        }
        rests.await.expect("it ends");
    }
}
