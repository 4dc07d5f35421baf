//! The verbosity at run time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};

/// The start of the target of each line that our own crates write.
const OURS: &str = "pumice";

/// Writes an error for every request that fails. Each of ours is reported by who made it, with what
/// it means and what is done about it.
const REQUESTS: &str = "kube_client::client::builder";

/// Which lines are shown at a verbosity; the table is in the module above.
pub(super) fn targets(verbosity: u32) -> Targets {
    let ours = match verbosity {
        0..=3 => LevelFilter::INFO,
        4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let libraries = match verbosity {
        0..=4 => LevelFilter::WARN,
        5..=7 => LevelFilter::INFO,
        8..=9 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let requests = match verbosity {
        0..=4 => LevelFilter::OFF,
        _ => libraries,
    };
    Targets::new()
        .with_default(libraries)
        .with_target(REQUESTS, requests)
        .with_target(OURS, ours)
}

/// The verbosity could not be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log level cannot be changed: {0}")]
pub struct SetLevelError(String);

type Apply = dyn Fn(u32) -> Result<(), String> + Send + Sync;

struct LevelState {
    now: u32,
    /// What holds when no time-limited level does.
    base: u32,
    /// Grows with each change, so that an overtaken timer knows that it is.
    changes: u64,
}

struct LevelInner {
    apply: Box<Apply>,
    state: Mutex<LevelState>,
}

/// The handle to the verbosity (klog's `-v`). Clones are the same handle.
#[derive(Clone)]
pub struct LevelHandle(Arc<LevelInner>);

impl LevelHandle {
    /// A handle that starts at `verbosity`, which holds already, and changes it through `apply`.
    pub fn new(
        verbosity: u32,
        apply: impl Fn(u32) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let state = LevelState {
            now: verbosity,
            base: verbosity,
            changes: 0,
        };
        Self(Arc::new(LevelInner {
            apply: Box::new(apply),
            state: Mutex::new(state),
        }))
    }

    /// The verbosity now.
    #[must_use]
    pub fn get(&self) -> u32 {
        self.state().now
    }

    /// Changes the verbosity until the next change.
    ///
    /// # Errors
    /// Logging has ended.
    pub fn set(&self, verbosity: u32) -> Result<(), SetLevelError> {
        let mut state = self.state();
        self.change(&mut state, verbosity)?;
        state.base = verbosity;
        Ok(())
    }

    /// Changes the verbosity for a while; then the one before the first such change returns. A
    /// change within that time ends the wait.
    ///
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// Logging has ended.
    pub fn set_for(&self, verbosity: u32, duration: Duration) -> Result<(), SetLevelError> {
        let change = {
            let mut state = self.state();
            self.change(&mut state, verbosity)?;
            state.changes
        };
        let level = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(duration).await;
            level.restore(change);
        });
        Ok(())
    }

    fn restore(&self, change: u64) {
        let mut state = self.state();
        if state.changes != change {
            return;
        }
        let base = state.base;
        if let Err(error) = self.change(&mut state, base) {
            drop(state);
            tracing::warn!(%error, "the log level stays as it is");
        }
    }

    fn change(&self, state: &mut LevelState, verbosity: u32) -> Result<(), SetLevelError> {
        (self.0.apply)(verbosity).map_err(SetLevelError)?;
        state.now = verbosity;
        state.changes += 1;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, LevelState> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}
