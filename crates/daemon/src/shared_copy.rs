//! What people ask, answered on a copy that all who ask within a short time share.
//!
//! ```text
//! GET /debug/…, the page ─► one at a time ─► the copy is young? ─ no ─► DecideRequest::Snapshot ─► the deciding thread copies,
//!                                              └─ yes ─► another thread answers                     and goes on
//! ```
//!
//! However many ask, and however long an answer takes to make, the deciding thread copies and does nothing else.

use std::sync::Arc;
use std::time::Duration;

use pumice_engine::ViewSnapshot;
use pumice_engine::view::{Ask, View};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::requests::{DecideRequest, NoView};

/// A copy is asked for so many times what it took to make: a hundredth of the deciding thread's time at most.
const TIMES_TAKEN: u32 = 100;
/// What is told is never older than this.
const MAX_AGE: Duration = Duration::from_secs(1);
/// A copy that nobody has asked for as long is let go: while there is one, each change copies what it changes.
const IDLE: Duration = Duration::from_secs(2);

/// A copy, as the deciding thread hands it out.
pub struct TakenSnapshot {
    /// What was known.
    pub snapshot: ViewSnapshot,
    /// How long it took to copy.
    pub took: Duration,
}

/// A copy that is asked.
struct KeptSnapshot {
    snapshot: ViewSnapshot,
    /// Until when nobody needs a newer one.
    young_until: Instant,
    asked_at: Instant,
}

/// The copy that all share, if there is one. Held while a question is answered, also where nobody waits for it any more:
/// questions take one processor at most.
#[derive(Default)]
pub struct SharedCopy(Arc<Mutex<Option<KeptSnapshot>>>);

impl SharedCopy {
    /// What is seen.
    ///
    /// # Errors
    /// There is nothing under that name, or no answer at the moment.
    pub async fn view(&self, core: &mpsc::Sender<DecideRequest>, ask: Ask) -> Result<View, NoView> {
        let mut kept = Arc::clone(&self.0).lock_owned().await;
        if kept
            .as_ref()
            .is_none_or(|kept| kept.young_until <= Instant::now())
        {
            let old = kept.take();
            let had_one = old.is_some();
            // Whatever only the old one has is freed here, not where decisions are made.
            drop(tokio::task::spawn_blocking(move || drop(old)));
            *kept = Some(taken(core).await?);
            if !had_one {
                self.let_go_when_idle();
            }
        }
        let made = tokio::task::spawn_blocking(move || told(&mut kept, &ask));
        // An answer that ends in a panic ends alone.
        let made = made
            .await
            .map_err(|error| NoView::NotNow(error.to_string()))?;
        made.map_err(NoView::Absent)
    }

    fn let_go_when_idle(&self) {
        let shared = Arc::clone(&self.0);
        drop(tokio::spawn(async move {
            loop {
                sleep(IDLE).await;
                let mut kept = shared.lock().await;
                if kept
                    .as_ref()
                    .is_some_and(|kept| kept.asked_at.elapsed() < IDLE)
                {
                    continue;
                }
                let old = kept.take();
                drop(tokio::task::spawn_blocking(move || drop(old)));
                return;
            }
        }));
    }
}

fn told(kept: &mut OwnedMutexGuard<Option<KeptSnapshot>>, ask: &Ask) -> Result<View, String> {
    let Some(kept) = kept.as_mut() else {
        return Err("there is no copy to be asked".to_owned());
    };
    kept.asked_at = Instant::now();
    let view = kept.snapshot.known().view(ask);
    view.map_err(|absent| absent.to_string())
}

async fn taken(core: &mpsc::Sender<DecideRequest>) -> Result<KeptSnapshot, NoView> {
    let ended = || NoView::NotNow("the scheduler is stopping".to_owned());
    let (reply, taken) = oneshot::channel();
    let sent = core.send(DecideRequest::Snapshot(reply)).await;
    sent.map_err(|_| ended())?;
    let TakenSnapshot { snapshot, took } = *taken.await.map_err(|_| ended())??;
    let now = Instant::now();
    Ok(KeptSnapshot {
        snapshot,
        young_until: now + (took * TIMES_TAKEN).min(MAX_AGE),
        asked_at: now,
    })
}

#[cfg(test)]
mod tests;
