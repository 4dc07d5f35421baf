//! The deciding thread's end of the history, and the thread that keeps it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use pumice_engine::{Engine, history};
use pumice_history::{BookNews, JobRecord};

use super::HistoryBounds;
use super::shelf::HistoryShelf;
use super::store::{HistoryStore, StoreFault};

/// How often records are handed over.
const PAUSE: Duration = Duration::from_secs(5);

/// How often it is told that nothing is new.
const ALIVE_PAUSE: Duration = Duration::from_secs(60);

/// Records that are handed over earlier.
const MANY: usize = 5_000;

/// Bundles that may wait for the thread that keeps them.
const MAX_BUNDLES: usize = 4;

/// What is handed over, and when that was, seconds since the epoch.
struct HistoryBundle(BookNews, i64);

/// The deciding thread's end.
pub struct HistoryFeed {
    sender: Option<SyncSender<HistoryBundle>>,
    /// Records of another process.
    before: Vec<JobRecord>,
    handed: Duration,
    /// What nobody has taken yet.
    waiting: Option<HistoryBundle>,
    keeper: Option<JoinHandle<()>>,
}

pub(super) fn open(
    folder: &Path,
    bounds: &HistoryBounds,
) -> Result<(HistoryFeed, Arc<HistoryShelf>), StoreFault> {
    let age_s = i64::try_from(bounds.age.as_secs())?;
    let store = HistoryStore::open(folder, bounds.size, age_s)?;
    let before = store.resume()?;
    let shelf = Arc::new(HistoryShelf::new(store));
    let (sender, bundles) = sync_channel(MAX_BUNDLES);
    let kept = Arc::clone(&shelf);
    let keeper = std::thread::Builder::new()
        .name("historian".to_owned())
        .spawn(move || keep(&kept, &bundles))?;
    let feed = HistoryFeed {
        sender: Some(sender),
        before,
        handed: Duration::ZERO,
        waiting: None,
        keeper: Some(keeper),
    };
    Ok((feed, shelf))
}

/// Keeps what comes until nobody can hand anything over any more.
fn keep(shelf: &HistoryShelf, bundles: &Receiver<HistoryBundle>) {
    while let Ok(HistoryBundle(news, now_s)) = bundles.recv() {
        let kept = shelf.keep(news, now_s);
        let problem = kept
            .err()
            .map(|error| format!("history is not written: {error}"));
        let mut open = shelf.open();
        if let Some(problem) = problem.as_ref().filter(|_| open.problem.is_none()) {
            tracing::error!("{problem}; scheduling goes on");
        } else if problem.is_none() && open.problem.is_some() {
            tracing::info!("history is written again");
        }
        open.problem = problem;
    }
}

impl HistoryFeed {
    /// One that keeps nothing.
    pub fn off() -> Self {
        Self {
            sender: None,
            before: Vec::new(),
            handed: Duration::ZERO,
            waiting: None,
            keeper: None,
        }
    }

    /// The engine begins, and knows nothing yet.
    pub fn begin(&mut self, engine: &mut Engine) {
        if self.sender.is_some() {
            history::keep(engine, std::mem::take(&mut self.before));
        }
    }

    /// Hands over what is new, if it is time. Never waits.
    pub fn hand_over(&mut self, engine: &mut Engine, now: Duration, is_last: bool) {
        let Some(sender) = &self.sender else {
            return;
        };
        let new = history::waiting(engine);
        let pause = if new == 0 { ALIVE_PAUSE } else { PAUSE };
        let is_due = is_last || now >= self.handed + pause || new >= MANY;
        // Before it has looked at all jobs it knows of none.
        if !is_due || !history::has_looked(engine) {
            return;
        }
        let now_s = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let bundle = match self.waiting.take() {
            Some(waiting) => waiting,
            None => HistoryBundle(history::take(engine), now_s),
        };
        self.handed = now;
        match sender.try_send(bundle) {
            Ok(()) => {}
            // The engine keeps what comes meanwhile, up to a bound.
            Err(TrySendError::Full(bundle)) => self.waiting = Some(bundle),
            Err(TrySendError::Disconnected(_)) => {
                tracing::error!("no history is kept any more: the thread that keeps it has ended");
                self.sender = None;
            }
        }
    }
}

impl Drop for HistoryFeed {
    /// What was handed over is kept.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}
