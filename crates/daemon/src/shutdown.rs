//! The order in which the parts end, so that nobody else writes while one of our writes is under way.
//!
//! ```text
//!  told to end:  nothing more is decided ─► writes under way are answered ─► the lease is released
//!                                                └ not in time: it is kept, and runs out by itself
//! ```

use std::sync::Arc;
use std::time::Duration;

use pumice_cluster::effects::Effects;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::decide::DecideCommand;

/// Longest time for requests under way after the order to end.
const DRAIN: Duration = Duration::from_secs(10);

/// What is ended in order.
pub struct Shutdown {
    /// The deciding thread.
    pub core: mpsc::Sender<DecideCommand>,
    /// The writers; none in a dry run.
    pub effects: Option<Arc<Effects>>,
    /// Tells the elector to give the lease back.
    pub stop: watch::Sender<bool>,
    /// The elector, where there is an election.
    pub elector: Option<JoinHandle<()>>,
}

impl Shutdown {
    /// Ends what is under way, then gives the lease back.
    pub async fn orderly(self) {
        let drained = timeout(DRAIN, self.drain()).await;
        if drained.is_ok() {
            return self.release().await;
        }
        tracing::warn!(
            "some writes are still under way after {DRAIN:?}: the lease is not released, another \
             replica takes over when it runs out"
        );
        if let Some(elector) = self.elector {
            elector.abort();
        }
    }

    /// Outcomes of the last binds make events, so the writers are waited for twice.
    async fn drain(&self) {
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

    async fn release(self) {
        self.stop.send_replace(true);
        if let Some(elector) = self.elector {
            let _ = timeout(DRAIN, elector).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside_a_shutdown(test: impl AsyncFnOnce(Shutdown, mpsc::Receiver<DecideCommand>)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let (core, commands) = mpsc::channel(4);
        let shutdown = Shutdown {
            core,
            effects: None,
            stop: watch::Sender::new(false),
            elector: None,
        };
        runtime.block_on(test(shutdown, commands));
    }

    #[test]
    fn the_lease_is_released_after_the_deciding_thread_rests() {
        beside_a_shutdown(async |shutdown, mut commands| {
            let stop = shutdown.stop.subscribe();
            let ended = tokio::spawn(shutdown.orderly());
            for _ in 0..2 {
                let Some(DecideCommand::Rest(reply)) = commands.recv().await else {
                    panic!("an order to rest");
                };
                tokio::task::yield_now().await;
                assert!(!*stop.borrow());
                reply.send(()).expect("it waits");
            }
            ended.await.expect("it ends");
            assert!(*stop.borrow());
        });
    }
}
