//! Waiting: for conditions with a limit, and for futures.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tokio::runtime::{Builder, Runtime};

/// Bounds of the pause between two looks at a condition. It grows with the time waited so far:
/// looking takes processor time of the API server and of everyone who waits at the same time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The runtime of everything asynchronous here. It lives as long as the process.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let built = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        built.expect("threads can be started")
    })
}

/// Blocks until the future is done.
pub fn run<F: Future>(future: F) -> F::Output {
    runtime().block_on(future)
}

/// Looks again and again until `look` says `Some`, and gives that. Errors of a look count as "not
/// yet" (the API server may be restarting); the last one is told when the time is over.
///
/// # Errors
/// After `limit`: what was waited for, and the last error.
pub fn eventually<T>(
    limit: Duration,
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        let last = match look() {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let waited = start.elapsed();
        if waited > limit {
            let cause = last.map_or(String::new(), |error| format!(" (last error: {error:#})"));
            return Err(anyhow!("not within {limit:?}: {what}{cause}"));
        }
        std::thread::sleep((waited / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
    }
}
